"""Rows of all convex losses and constraints, and what slopes of them say about a box.

    F(x) >= -sum_t (w_t f_t)*(y_t) - b'y + constant + sum_j min(l_j q_j, u_j q_j),     q = A'y + c,

for slopes y_t in the domain of (w_t f_t)*. A constraint is a row whose conjugate is that of its two ends.
Slopes are brought into their domains first; what rounding can have cost is taken off.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from dcra._array import Host, to_numpy
from dcra.exact.kinks import EPS, hard_rows
from dcra.losses import L2Norm, LInf, Logistic, Loss, TableLoss
from dcra.model.operators import MatrixFree
from dcra.model.problem import DOMAINS, Problem
from dcra.model.term import Term

MOST_ENTRIES = 4_000_000
"""Entries of all rows, which are laid out."""

LEAST = 1e-300
"""More than what numbers that are too small for float64 may add up to, for each of them."""

KNOWN = (TableLoss, Logistic, L2Norm, LInf)
"""Losses whose conjugates are known."""


class Ends:
    """The conjugate of low <= z <= high for each row: what its slopes cost, and the step towards them."""

    def __init__(self, low: Host, high: Host) -> None:
        self.low, self.high = low, high

    def towards(self, u: Host, step: float) -> Host:
        """The slopes that a step of the dual ascent from u leads to."""
        return np.asarray(u - step * np.clip(u / step, self.low, self.high))

    def inside(self, Y: Host) -> Host:
        """Y, or what is near to it and has a cost."""
        Y = np.where(np.isinf(self.high), np.minimum(Y, 0.0), Y)
        return np.asarray(np.where(np.isinf(self.low), np.maximum(Y, 0.0), Y))

    def costs(self, Y: Host) -> Host:
        """What each slope costs; the size of a cost is its absolute value."""
        ends = np.where(Y > 0, self.high, self.low)
        return np.asarray(np.where(Y == 0, 0.0, Y * np.where(np.isinf(ends), 0.0, ends)))

    def most(self, reach: Host) -> float:
        """The most that rows may cost at a point of the box that satisfies them."""
        return 0.0


class Weighted:
    """A loss with its weight, none of which is 0."""

    def __init__(self, loss: Loss, weight: Host) -> None:
        self.loss, self.weight = loss, weight

    def towards(self, u: Host, step: float) -> Host:
        """By the identity of Moreau: slopes of the envelope at u / step."""
        own = self.weight / step
        return np.asarray(self.weight * self.loss.envelope_grad(u / step, own if own.ndim else float(own)))

    def inside(self, Y: Host) -> Host:
        w = self.weight
        if isinstance(self.loss, TableLoss):
            return np.asarray(np.clip(Y, w * self.loss.table.lo, w * self.loss.table.hi))
        if isinstance(self.loss, Logistic):
            return np.asarray(np.clip(Y, 0.0, w))
        size = np.linalg.norm(Y, ord=2 if isinstance(self.loss, L2Norm) else 1, axis=-1, keepdims=True)
        return np.asarray(Y * (w / np.maximum(size, w)))

    def costs(self, Y: Host) -> Host:
        if isinstance(self.loss, TableLoss):
            k, e, _, _ = self.loss.table
            return np.asarray(0.5 * k * Y * (Y / self.weight) + e * np.abs(Y))
        if isinstance(self.loss, Logistic):
            g = np.clip(Y / self.weight, 0.0, 1.0)
            return np.asarray(self.weight * (_entropy(g) + _entropy(1.0 - g)))
        return np.zeros(Y.shape)

    def most(self, reach: Host) -> float:
        ends = [self.loss.values(side * reach) for side in (1.0, -1.0)] if self.loss.separable else []
        own = np.maximum(*ends) if ends else np.asarray(self.loss.value(reach))
        return float(np.sum(np.abs(self.weight) * np.abs(own)))


def _entropy(g: Host) -> Host:
    return np.asarray(g * np.log(np.where(g > 0, g, 1.0)))


class Block(NamedTuple):
    """Rows that belong together, and what is known of their slopes."""

    where: slice
    kind: Weighted | Ends
    own: float  # what evaluating their costs may cost besides, in units of eps


@dataclass(frozen=True, eq=False)
class DualRows:
    """All rows of a problem. `slack` is what F may lie below the sum that they bound."""

    A: Host
    b: Host
    c: Host
    constant: float
    blocks: tuple[Block, ...]
    low: float
    high: float
    slack: float = 0.0

    @property
    def n(self) -> int:
        return self.c.size

    @property
    def r(self) -> int:
        return self.b.size

    @cached_property
    def reach(self) -> Host:
        """What a unit of each slope may cost a bound by rounding."""
        size = max(abs(self.low), abs(self.high))
        return np.asarray(size * np.abs(self.A).sum(axis=1) + np.abs(self.b))

    @cached_property
    def rest(self) -> float:
        """The same of all that does not depend on slopes."""
        size = max(abs(self.low), abs(self.high))
        own = sum(block.own for block in self.blocks)
        return size * float(np.abs(self.c).sum()) + abs(self.constant) + own

    def box(self, fixed: Host) -> tuple[Host, Host]:
        """Ends (k, n) of boxes, +-1 where fixed and else 0."""
        return np.where(fixed > 0, self.high, self.low), np.where(fixed < 0, self.low, self.high)

    def in_units(self, fun: float) -> float:
        """Values are those of F."""
        return fun

    def objective(self, value: float) -> float:
        """Values are those of F."""
        return value

    def highest(self) -> float:
        """More than the value of any point of the domain."""
        with np.errstate(all="ignore"):
            most = sum(kind.most(self.reach[where]) for where, kind, _ in self.blocks)
        return 1.0 + 1.01 * (most + self.rest + self.slack)

    def bounds(self, Y: Host, fixed: Host) -> tuple[Host, Host]:
        """What no point of boxes (k, n) falls below by slopes Y (k, r), and q (k, n)."""
        low, high = self.box(fixed)
        with np.errstate(all="ignore"):
            cost, size = np.zeros(len(Y)), np.zeros(len(Y))
            Y = Y.copy()
            for where, kind, _ in self.blocks:
                Y[:, where] = kind.inside(Y[:, where])
                own = kind.costs(Y[:, where])
                cost, size = cost + own.sum(axis=1), size + np.abs(own).sum(axis=1)
            q = Y @ self.A + self.c
            value = np.minimum(low * q, high * q).sum(axis=1) - Y @ self.b - cost + self.constant
            room = 2 * (self.n + self.r + 32) * EPS * (np.abs(Y) @ self.reach + size + self.rest)
            value = value - room - (self.n + 1) * (self.r + 1) * LEAST - self.slack
        return np.where(np.isfinite(value), value, -inf), q


def has_dual_rows(problem: Problem) -> bool:
    """Whether all losses have conjugates that are known, and matrices may be laid out.

    Couplings are a row for each variable.
    """
    if not all(isinstance(term.loss, KNOWN) for term in problem.terms):
        return False
    if any(isinstance(term.operator, MatrixFree) for term in problem.terms):
        return False
    rows = 1 + problem.n_rows + (0 if problem.constraints is None else 2 * len(problem.constraints))
    rows += 0 if problem.quadratic is None else problem.n
    return problem.n * rows <= MOST_ENTRIES


def dual_rows(problem: Problem, slack: float = 0.0) -> DualRows:
    """The rows of a problem without a quadratic part."""
    parts, blocks, first = [(np.zeros((0, problem.n)), np.zeros(0))], [], 0
    for term in problem.terms:
        A, b, kind, own = _weighted(term)
        blocks.append(Block(slice(first, first + b.size), kind, own))
        parts.append((A, b))
        first += b.size
    if problem.constraints is not None:
        A, ends = _constraints(problem)
        blocks.append(Block(slice(first, first + len(A)), ends, 0.0))
        parts.append((A, np.zeros(len(A))))
    A, b = (np.concatenate(part) for part in zip(*parts, strict=True))
    c = np.zeros(problem.n) if problem.linear is None else to_numpy(problem.linear).astype(np.float64)
    kept = tuple(block for block in blocks if block.where.stop > block.where.start)
    return DualRows(A, b, c, problem.constant, kept, *DOMAINS[problem.domain], slack)


def _weighted(term: Term) -> tuple[Host, Host, Weighted, float]:
    """The rows of a term that have a weight."""
    A, b = np.asarray(term.operator.dense(), np.float64), to_numpy(term.b).astype(np.float64)
    weight = np.asarray(to_numpy(term.weight), np.float64)
    kept = np.broadcast_to(weight != 0, b.shape)
    A, b, weight = A[kept], b[kept], weight[kept] if weight.ndim else weight
    own = float(np.sum(np.broadcast_to(weight, b.shape))) if isinstance(term.loss, Logistic) else 0.0
    return A, b, Weighted(term.loss, weight), own


def _constraints(problem: Problem) -> tuple[Host, Ends]:
    assert problem.constraints is not None
    parts = hard_rows(problem.constraints)
    A = np.concatenate([np.zeros((0, problem.n)), *(part.A for part in parts)])
    upper = [np.where(part.hi > 0, part.b, inf) for part in parts]
    lower = [np.where(part.lo < 0, part.b, -inf) for part in parts]
    return A, Ends(np.concatenate([np.zeros(0), *lower]), np.concatenate([np.zeros(0), *upper]))
