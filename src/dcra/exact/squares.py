"""Couplings as squares: a problem without a quadratic part that stands for one that has it.

Spins have x_j^2 = 1, and variables of {0,1} have x_j^2 = x_j. So for any d

    x'Qx = x'Sx - sum_j (d_j - Q_jj) x_j^2,     S = Q - Diag(Q) + Diag(d),

the last sum being a constant, or linear. Where S = R'R is positive semidefinite, and for any centre v,

    x'Sx = |R(x - v)|^2 + 2 v'Sx - v'Sv:

squared losses of rows R, whose residuals are small at good points if d comes from the semidefinite
relaxation and v from that of the box. R'R is not quite S. What F may lie below the sum of squares by is the
sum of absolute differences of all coefficients, and what rounding may have hidden of these.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from math import inf

import numpy as np

from dcra._array import Host, to_numpy
from dcra.exact.dual_ascent import DualAscent, strides_at
from dcra.exact.dual_rows import LEAST, dual_rows
from dcra.exact.kinks import EPS
from dcra.losses import SquaredL2
from dcra.model.constraints import Constraints
from dcra.model.problem import Problem
from dcra.model.term import Term

MOST_VARIABLES = 500
"""The matrix of all couplings is factorised; there is a row for each of them."""

CENTRING = 20
"""Rounds of dual ascent that look for the centre."""

MOST = 1e280
"""Rounding of this size belongs to numbers that are too large for squares."""

RANK = 4 * EPS
"""Eigenvalues below this, for each variable and in units of the largest, are left out."""


@dataclass(frozen=True, eq=False)
class Squares:
    """x'Qx + c'x + constant is |Rx - b|^2 + linear'x + constant, or lies at most `slack` below it.

    `bound` is what F does not fall below, as far as is known.
    """

    R: Host
    b: Host
    linear: Host
    constant: float
    slack: float
    bound: float = -inf

    @cached_property
    def key(self) -> bytes:
        """What tells them from others."""
        parts = (self.R, self.b, self.linear, np.array([self.constant, self.slack]))
        return sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Squares) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def stand_in(self, problem: Problem) -> Problem:
        """The problem with squares where it has couplings."""
        host = problem.on_host()
        rows = [Term(SquaredL2(), self.R, self.b)] if self.b.size else []  # none where nothing is coupled
        return Problem(
            [*host.terms, *rows],
            linear=self.linear,
            constant=self.constant,
            domain=host.domain,
            constraints=_stated(host.constraints),
        )


def _stated(constraints: Constraints | None) -> object:
    return () if constraints is None else constraints.stated()


def has_couplings(problem: Problem) -> bool:
    """Whether there is a quadratic part that can be written as squares."""
    quadratic = problem.quadratic
    return quadratic is not None and not quadratic.matrix_free and problem.n <= MOST_VARIABLES


def squares_of(problem: Problem, d: Host, x: Host) -> Generator[int, None, Squares | None]:
    """Squares by multipliers d (n,), about where the relaxation lies; None where numbers are too large.

    x (n,) is a good point. Yields its work.
    """
    R = _factor(problem, d)
    about = None if R is None else _written(problem, R, x)
    if R is None or about is None:
        return None
    centre, bound = yield from _relaxed(about, problem, x)
    found = _written(problem, R, centre)
    return found if found is None else replace(found, bound=bound)


def _factor(problem: Problem, d: Host) -> Host | None:
    """R (k, n) with R'R about Q + Diag(d), or more where that has negative eigenvalues."""
    S = couplings_of(problem) + np.diag(d)
    if not np.all(np.isfinite(S)):
        return None
    with np.errstate(all="ignore"):
        values, vectors = np.linalg.eigh(S)
        values = values - min(0.0, float(values[0]))
        kept = values > RANK * len(S) * float(values[-1])
        R = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    return np.ascontiguousarray(R) if np.all(np.isfinite(R)) else None


def couplings_of(problem: Problem) -> Host:
    """Q without its diagonal, written out."""
    assert problem.quadratic is not None
    return np.array(to_numpy(problem.quadratic.off_diagonal.dense()), np.float64)


def _relaxed(about: Squares, problem: Problem, x: Host) -> Generator[int, None, tuple[Host, float]]:
    """About where the relaxation over the box is least, from a point x on, and what F does not fall below."""
    rows = dual_rows(about.stand_in(problem), about.slack)
    ascent = DualAscent(rows, strides_at(rows, x))
    X, Y, free = x[None], np.zeros((1, rows.r)), np.zeros((1, rows.n), np.int8)
    bound = -inf
    for _ in range(CENTRING):
        X, Y, found, _ = ascent.round(X, Y, free)
        bound = max(bound, float(found[0]))
        yield ascent.work
    return np.where(np.isfinite(X[0]), X[0], x), bound


def _written(problem: Problem, R: Host, centre: Host) -> Squares | None:
    """The squares about a centre, and how far they may be off."""
    quadratic, n = problem.quadratic, problem.n
    assert quadratic is not None
    Q, own = couplings_of(problem), quadratic.diagonal
    c = np.zeros(n) if problem.linear is None else to_numpy(problem.linear).astype(np.float64)
    with np.errstate(all="ignore"):
        b, product, squared = R @ centre, R.T @ R, np.abs(R).T @ np.abs(R)
        left = own - np.diag(product)  # of the diagonal: constant over spins, linear over {0,1}
        binary = problem.domain == "binary"
        linear = c + 2 * (R.T @ b) + (left if binary else 0.0)
        constant = problem.constant - float(b @ b) + (0.0 if binary else float(np.sum(left)))
        missing = np.abs(Q - product)
        sizes = float(np.abs(Q).sum() + squared.sum() + np.abs(own).sum() + np.abs(c).sum())
        sizes += float(2 * (np.abs(R).T @ np.abs(b)).sum() + b @ b) + abs(problem.constant)
        rounded = 4 * (n + len(R) + 16) * EPS * sizes + (n + 1) * (n + 1) * (len(R) + 1) * LEAST
        slack = 1.01 * (float(missing.sum() - np.trace(missing)) + rounded)
    return Squares(R, b, linear, constant, slack) if slack < MOST else None
