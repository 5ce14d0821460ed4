"""Whether a problem is, at heart, a system of equations between integers."""

from __future__ import annotations

from math import log2, pi, sqrt
from typing import NamedTuple

import numpy as np

from dcra._array import Host, to_numpy
from dcra.losses import L1, CappedL1, Huber, L2Norm, LInf, SquaredL2
from dcra.model.problem import DOMAINS, Problem

LARGEST = 2**40
"""Largest integer in the equations: sums stay far from overflow."""

MAX_ROWS = 64
ZERO_ONLY_AT_ZERO = (L1, SquaredL2, Huber, CappedL1, L2Norm, LInf)


class Equations(NamedTuple):
    """B t = d for t in {0,1}^n, of integers (m, n) and (m,).

    required : whether every point must satisfy them; else a point that does has the least objective, 0
    """

    B: Host
    d: Host
    required: bool

    @property
    def n(self) -> int:
        return int(self.B.shape[1])

    @property
    def expected(self) -> float:
        """log2 of the number of solutions, were the equations random."""
        spread = np.sqrt(np.sum(self.B.astype(float) ** 2, axis=1) / 4)
        return self.n - sum(max(0.0, log2(sqrt(2 * pi) * s)) for s in spread if s > 0)


def equations_of(problem: Problem) -> Equations | None:
    """The equations of a problem, from its constraints or else from its losses; None where it has none."""
    if problem.constraints is not None:
        rows = np.flatnonzero(problem.constraints.equalities & problem.constraints.whole)
        if not 0 < rows.size <= MAX_ROWS:
            return None
        G, b = problem.constraints.G[rows].toarray(), problem.constraints.low[rows]
        return _whole_equations(G, b, problem.domain, required=True)
    if not _sought_at_zero(problem):
        return None
    A = np.concatenate([t.operator.dense() for t in problem.terms]).astype(np.float64)  # sums of theirs, too
    b = np.concatenate([to_numpy(t.b) for t in problem.terms])
    return _whole_equations(A, b, problem.domain, required=False)


def _sought_at_zero(problem: Problem) -> bool:
    """Whether F is least exactly where all residuals are 0, if there is such a point."""
    return (
        bool(problem.terms)
        and getattr(problem, "quadratic", None) is None
        and (problem.linear is None or not np.any(to_numpy(problem.linear)))
        and problem.n_rows <= MAX_ROWS
        and all(
            isinstance(t.loss, ZERO_ONLY_AT_ZERO)
            and np.all(to_numpy(t.weight) > 0)
            and t.operator.has_columns
            for t in problem.terms
        )
    )


def _whole_equations(A: Host, b: Host, domain: str, required: bool) -> Equations | None:
    bottom, top = DOMAINS[domain]
    B, d = (top - bottom) * A, b - bottom * A.sum(axis=1)
    if max(np.abs(B).max(initial=0.0), np.abs(d).max(initial=0.0)) > LARGEST:
        return None
    whole = all(np.all(np.rint(part) == part) for part in (B, d, 2.0 * b))  # d of whole 2 b is not rounded
    return Equations(B.astype(np.int64), d.astype(np.int64), required) if whole else None
