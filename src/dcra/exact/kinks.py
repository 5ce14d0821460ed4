"""A problem as a sum of kinks, whose relaxation over the box the dual simplex method solves:

    F(x) = unit * (sum_i max(hi_i z_i, lo_i z_i) + c'x) + constant,   z = Ax - b.

A loss with conjugate e|g| on [lo, hi] is one row, or two where e > 0. Of a curved one, with conjugate
k g^2/2 + e|g|, tangents are taken whose slopes lie close together where residuals are small, and far apart
beyond: from one tangent to the next is a kink. So it is with the logistic loss, whose conjugate is minus an
entropy. A constraint is a row that has no upper, or no lower, end.
Rows and values are divided by powers of two. Where a number must be rounded, it is rounded so that the sum
falls: bounds of the sum are bounds of F.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import frexp, inf
from typing import NamedTuple

import numpy as np

from dcra._array import Host, to_numpy
from dcra.losses import Logistic, TableLoss
from dcra.losses.table import Table
from dcra.model.constraints import Constraints
from dcra.model.operators import MatrixFree
from dcra.model.problem import DOMAINS, Problem
from dcra.model.term import Term

EPS = float(np.finfo(np.float64).eps)
MOST_ENTRIES = 4_000_000
"""Entries of all rows, which are laid out twice."""


MOST_TANGENTS, EVEN, GROWTH = 16, 8, 0.4
"""Tangents on either side of a curved loss, how many of them are evenly apart, and how the others grow."""

FINENESS = 0.5
"""Distance of two tangents, in residuals, as a share of the size that residuals have at a good point."""


LOGISTIC_STEP = 0.5
"""Distance of two tangents of the logistic loss, in residuals."""


class Unfit(ArithmeticError):
    """Numbers of a problem that powers of two do not bring to a common scale."""


class RowBlock(NamedTuple):
    """Rows before they are scaled: A, b, and the ends of their slopes."""

    A: Host
    b: Host
    lo: Host
    hi: Host


@dataclass(frozen=True, eq=False)
class KinkForm:
    """The sum of kinks; `scale` (r,) is what rows were divided by."""

    A: Host
    b: Host
    lo: Host
    hi: Host
    c: Host
    scale: Host
    unit: float
    constant: float
    low: float
    high: float
    n_hard: int  # the last rows are constraints
    mesh: tuple[float, ...] = ()  # of each term: the first slope of its tangents

    @property
    def n(self) -> int:
        return self.c.size

    @property
    def r(self) -> int:
        return self.b.size

    @property
    def size(self) -> float:
        return max(abs(self.low), abs(self.high))

    @property
    def roundings(self) -> float:
        """More than how often a number is rounded on the way to a bound, each time by half of eps."""
        return 2.0 * (self.n + self.r + 16)

    @cached_property
    def reach(self) -> Host:
        """What a unit of each row's slope may cost a bound by rounding, in units of eps."""
        return np.asarray(self.roundings * (self.size * np.abs(self.A).sum(axis=1) + np.abs(self.b)))

    @cached_property
    def rest(self) -> float:
        """The same of c."""
        return self.roundings * self.size * float(np.abs(self.c).sum())

    def highest(self) -> float:
        """More than the value of any point of the domain."""
        slope = np.maximum(np.abs(self.lo), np.abs(self.hi))
        soft = np.isfinite(slope)
        reach = self.size * np.abs(self.A).sum(axis=1) + np.abs(self.b)
        return 1.0 + 1.01 * (float(slope[soft] @ reach[soft]) + self.size * float(np.abs(self.c).sum()))

    def bounds(self, Y: Host, boxes: Host) -> Host:
        """What no point of boxes (k, n), +-1 where fixed and else 0, falls below, by slopes Y (k, r)."""
        q = Y @ self.A + self.c
        low = np.where(boxes > 0, self.high, self.low)
        high = np.where(boxes < 0, self.low, self.high)
        value = np.minimum(low * q, high * q).sum(axis=1) - Y @ self.b
        return np.asarray(value - EPS * (np.abs(Y) @ self.reach + self.rest))

    def in_units(self, fun: float) -> float:
        """A value of F in our units, rounded down."""
        value = (fun - self.constant) / self.unit
        return value - 4 * EPS * (abs(value) + abs(self.constant) / self.unit)

    def objective(self, value: float) -> float:
        """A bound in our units as one of F."""
        own = self.unit * value
        return own + self.constant - 4 * EPS * (abs(own) + abs(self.constant))


def is_straight(problem: Problem) -> bool:
    """Whether all losses are piecewise linear, so that the sum of kinks is F itself."""
    return all(isinstance(t.loss, TableLoss) and not _curved(t) for t in problem.terms)


def has_kinks(problem: Problem) -> bool:
    """Whether a problem is, or is bounded by, a sum of kinks, with matrices that may be laid out."""
    rows = kink_rows(problem)
    return rows is not None and problem.quadratic is None and problem.n * rows <= MOST_ENTRIES


def kink_rows(problem: Problem) -> int | None:
    """Rows of the kinks of losses and constraints, at most; None where they cannot be written down."""
    if not all(isinstance(t.loss, TableLoss | Logistic) for t in problem.terms):
        return None
    if any(isinstance(t.operator, MatrixFree) for t in problem.terms):
        return None
    rows = 1 if problem.constraints is None else 1 + 2 * len(problem.constraints)
    return rows + sum(t.operator.shape[0] * (2 * MOST_TANGENTS if _curved(t) else 2) for t in problem.terms)


def mesh_at(problem: Problem, x: Host | None) -> tuple[float, ...]:
    """Where tangents begin, one number for each term, for residuals of the size that x (n,) has."""
    return tuple(_first_slope(term, x) for term in problem.terms)


def _first_slope(term: Term, x: Host | None) -> float:
    """The slope of the first tangent; 0 where tangents do not depend on it."""
    if isinstance(term.loss, Logistic) or not _curved(term):
        return 0.0
    z = to_numpy(term.b).astype(np.float64)
    if x is not None:
        z = np.asarray(term.operator.dense(), np.float64) @ x - z
    first = FINENESS * float(np.sqrt(np.mean(z * z))) / term.loss.table.k
    return float(2.0 ** (frexp(first)[1] - 1)) if 0 < first < inf else 1.0


def _curved(term: Term) -> bool:
    """Whether the loss is not piecewise linear."""
    return not isinstance(term.loss, TableLoss) or bool(term.loss.table.k > 0)


def kink_form(problem: Problem, mesh: tuple[float, ...] | None = None) -> KinkForm:
    """The sum of kinks that a problem is, or is bounded by; `mesh` is that of `mesh_at`.

    Raises `Unfit` where the scales of a problem do not go together.
    """
    mesh = mesh_at(problem, None) if mesh is None else mesh
    blocks = [
        block for term, first in zip(problem.terms, mesh, strict=True) for block in _rows_of(term, first)
    ]
    soft = sum(block.b.size for block in blocks)
    blocks += [] if problem.constraints is None else hard_rows(problem.constraints)
    if not blocks:
        none = np.zeros(1)
        blocks = [RowBlock(np.zeros((1, problem.n)), none, none, none)]
    A, b, lo, hi = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    c = np.zeros(problem.n) if problem.linear is None else to_numpy(problem.linear).astype(np.float64)
    exponent = np.frexp(np.abs(A).max(axis=1))[1]
    steepest = np.maximum(np.abs(lo), np.abs(hi))
    steepest[np.isinf(steepest)] = 0.0
    sizes = np.ldexp(np.frexp(steepest)[0], np.frexp(steepest)[1] + exponent)
    unit = frexp(max(float(np.max(sizes, initial=0.0)), float(np.max(np.abs(c), initial=0.0))))[1]
    low, high = DOMAINS[problem.domain]
    return KinkForm(
        A=_scaled(A, -exponent[:, None]),
        b=_scaled(b, -exponent),
        lo=_scaled(lo, exponent - unit),
        hi=_scaled(hi, exponent - unit),
        c=_scaled(c, -unit),
        scale=np.ldexp(1.0, exponent),
        unit=2.0**unit,
        constant=problem.constant,
        low=low,
        high=high,
        n_hard=b.size - soft,
        mesh=mesh,
    )


def _rows_of(term: Term, first: float) -> list[RowBlock]:
    A = np.asarray(term.operator.dense(), np.float64)
    b = to_numpy(term.b).astype(np.float64)
    weight = np.broadcast_to(np.asarray(to_numpy(term.weight), np.float64), b.shape)
    if isinstance(term.loss, Logistic):
        return _logistic_rows(A, b, weight)
    k, e, lo, hi = term.loss.table
    if k > 0:
        reach = float(np.max(term.operator.row_sizes() + np.abs(b)))
        return _tangent_rows(A, b, weight, term.loss.table, first, reach)
    if lo == hi:
        return [RowBlock(A, b, lo * weight, lo * weight)]
    low, high = _inward(weight, lo, inf), _inward(weight, hi, -inf)
    if e == 0:
        return [RowBlock(A, b, low, np.maximum(low, high))]
    nothing = np.zeros(b.size)
    return [
        RowBlock(A, _outward(b, 1.0, e), nothing, np.maximum(high, 0.0)),
        RowBlock(A, _outward(b, -1.0, e), np.minimum(low, 0.0), nothing),
    ]


def _tangent_rows(A: Host, b: Host, weight: Host, table: Table, first: float, reach: float) -> list[RowBlock]:
    """From slope s to slope t the tangents meet at k (s + t)/2 + e; rows of either side begin there."""
    k, e, lo, hi = table
    nothing, blocks = np.zeros(b.size), []
    for sign, steepest in ((1.0, hi), (-1.0, -lo)):
        before = 0.0
        for slope in _slopes(first, min(steepest, reach / k)):
            ends = _outward(b, sign, 0.5 * k * (before + slope) + e)
            price = np.maximum(_inward(weight, float(np.nextafter(slope - before, 0.0)), -inf), 0.0)
            blocks.append(RowBlock(A, ends, *((nothing, price) if sign > 0 else (-price, nothing))))
            before = slope
    return blocks


def _logistic_rows(A: Host, b: Host, weight: Host) -> list[RowBlock]:
    """Tangents g u + H(g), H the entropy, from the asymptote 0 to the asymptote u; g and h meet at -dH/dg."""
    middle = LOGISTIC_STEP * np.arange(1 - MOST_TANGENTS, MOST_TANGENTS)
    slopes = [0.0, *(1 / (1 + np.exp(-middle))).tolist(), 1.0]
    entropies = [-float(Logistic().conjugate(np.array([g]))) for g in slopes]
    nothing, blocks = np.zeros(b.size), []
    for i in range(1, len(slopes)):
        rise = slopes[i] - slopes[i - 1]
        meet = (entropies[i - 1] - entropies[i]) / rise
        ends = b + meet + EPS * (16 / rise + 4 * abs(meet) + 4 * np.abs(b))  # further than where they meet
        price = np.maximum(_inward(weight, float(np.nextafter(rise, 0.0)), -inf), 0.0)
        blocks.append(RowBlock(A, ends, nothing, price))
    return blocks


def _slopes(first: float, last: float) -> list[float]:
    """Slopes up to the last: evenly at first, then ever further apart."""
    found: list[float] = []
    step = first
    while len(found) < MOST_TANGENTS - 1 and (found[-1] if found else 0.0) + step < last:
        found.append((found[-1] if found else 0.0) + step)
        step = first if len(found) < EVEN else max(first, first * round(GROWTH * found[-1] / first))
    return [*found, last] if last > 0 else found


def _outward(b: Host, sign: float, shift: float) -> Host:
    """b + sign * shift, or what lies a little beyond."""
    return np.asarray((b + sign * shift) + sign * 2 * EPS * (np.abs(b) + shift))


def _inward(weight: Host, slope: float, towards: float) -> Host:
    """weight * slope, rounded in one direction where the product may have been rounded."""
    product = weight * slope
    exact = (weight == 0) | (np.frexp(weight)[0] == 0.5) | (abs(slope) in (0.0, 1.0))
    return np.where(exact, product, np.nextafter(product, towards))


def hard_rows(constraints: Constraints) -> list[RowBlock]:
    """Ends are moved outwards by what counts as satisfied, and by what rounding may add to that."""
    G = constraints.G.toarray().astype(np.float64)
    room = np.where(constraints.whole, 0.0, constraints.slack + 2 * constraints.rounding)
    blocks = []
    for end, out, lo, hi in ((constraints.high, inf, 0.0, inf), (constraints.low, -inf, -inf, 0.0)):
        kept = np.isfinite(end)
        if kept.any():
            moved = end[kept] + np.sign(out) * room[kept]
            ends = np.where(constraints.whole[kept], moved, np.nextafter(moved, out))
            slopes = np.full((2, ends.size), [[lo], [hi]])
            blocks.append(RowBlock(G[kept], ends, slopes[0], slopes[1]))
    return blocks


def _scaled(x: Host, exponent: Host | int) -> Host:
    """x times a power of two, without rounding."""
    with np.errstate(over="ignore", under="ignore"):
        y = np.ldexp(x, exponent)
        if not np.array_equal(np.ldexp(y, -np.asarray(exponent)), x):
            raise Unfit
    return np.asarray(y)
