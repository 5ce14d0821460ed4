"""Couplings alone as a matrix: F(x) = unit * z'Mz + constant over spins z.

Of these z and -z are the same point. Where fields tell up from down they are the couplings of one more spin,
the first. Otherwise the first is the variable that is coupled most. Variables that nothing is coupled to are
left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp

import numpy as np

from dcra._array import Host, to_numpy
from dcra.model.problem import Problem
from dcra.model.quadratic import Quadratic, lattice_step
from dcra.model.rounding import smooth_size

EPS = float(np.finfo(np.float64).eps)
LEAST = 1e-300
"""More than what numbers that are too small for float64 may add up to."""

EXACT = 2.0**44
"""Below this, sums of whole numbers are exact, and so are some more bits of them."""

MOST_VARIABLES = 500
"""The matrix of all couplings is factorised many times."""


@dataclass(frozen=True, eq=False)
class CouplingsForm:
    """M (p, p) symmetric with zeros on its diagonal; `vertex` (n,) is where a variable is in it, or -1.

    `slack` is what rounding may have cost F on the way to M, or to a matrix of fewer spins; values are whole
    numbers of `step` apart, where there is one.
    """

    M: Host
    vertex: Host
    bordered: bool
    unit: float
    constant: float
    slack: float
    step: float | None

    @property
    def p(self) -> int:
        return len(self.M)

    def spins(self, Z: Host) -> Host:
        """Spins (k, n) of the variables at Z (k, p)."""
        S = np.where(self.vertex < 0, 1.0, Z[:, np.maximum(self.vertex, 0)])
        return np.asarray(S * Z[:, :1]) if self.bordered else S

    def in_units(self, fun: float) -> float:
        """What values in our units must reach for F to reach `fun`."""
        value = (fun + self.slack - self.constant) / self.unit
        return value + 4 * EPS * (abs(value) + abs(self.constant) / self.unit)

    def objective(self, value: float) -> float:
        """A bound in our units as one of F."""
        own = self.unit * value
        return own + self.constant - self.slack - 4 * EPS * (abs(own) + abs(self.constant))

    def highest(self) -> float:
        """More than the value of any point."""
        return 1.0 + 1.01 * float(np.abs(self.M).sum())


def couplings_alone(problem: Problem) -> bool:
    """Whether couplings, and linear costs, are all there is to a problem, and there are not too many."""
    quadratic = problem.quadratic
    alone = quadratic is not None and not problem.terms and problem.constraints is None
    return alone and quadratic is not None and not quadratic.matrix_free and problem.n <= MOST_VARIABLES


def couplings_form(problem: Problem) -> CouplingsForm:
    """The matrix of a problem that is couplings alone."""
    quadratic = problem.quadratic
    assert quadratic is not None
    linear = np.zeros(problem.n) if problem.linear is None else to_numpy(problem.linear).astype(np.float64)
    unit = _unit(quadratic, linear)
    J, c, constant = _over_spins(quadratic, linear, problem.domain, unit)
    M = np.zeros((problem.n + 1, problem.n + 1))
    M[1:, 1:] = J
    M[0, 1:] = M[1:, 0] = 0.5 * c
    bordered = bool(np.any(c))
    sums = np.abs(M).sum(axis=1)
    kept = np.flatnonzero(sums[1:]) + 1
    if bordered:
        order = np.concatenate([[0], kept])
    else:
        order = kept[np.argsort(-sums[kept], kind="stable")] if kept.size else np.array([1])
    vertex = np.full(problem.n + 1, -1)
    vertex[order] = np.arange(order.size)
    M = np.ascontiguousarray(M[np.ix_(order, order)])
    step, size = lattice_step(quadratic, linear, problem.domain), smooth_size(problem)
    exact = step is not None and size < EXACT and problem.constant == np.rint(problem.constant)
    slack = 0.0 if exact else 8 * (problem.n + 16) * EPS * size + problem.n**2 * LEAST
    return CouplingsForm(M, vertex[1:], bordered, unit, problem.constant + constant, slack, step)


def _unit(quadratic: Quadratic, linear: Host) -> float:
    """A power of two of the size of the largest number."""
    largest = max(float(np.max(np.abs(part), initial=0.0)) for part in (linear, quadratic.diagonal))
    largest = max([largest, *(float(np.max(np.abs(piece), initial=0.0)) for piece in quadratic.couplings())])
    return float(2.0 ** min(max(frexp(largest)[1], -1000), 1000)) if largest > 0 else 1.0


def _over_spins(quadratic: Quadratic, linear: Host, domain: str, unit: float) -> tuple[Host, Host, float]:
    """J and c of s'Js + c's, in units, and the constant that is left, in units of F."""
    J = np.array(to_numpy(quadratic.off_diagonal.dense()), np.float64) / unit
    own, diagonal = linear / unit, quadratic.diagonal / unit
    if domain == "spin":
        return J, own, unit * float(np.sum(diagonal))
    half = 0.5 * (own + diagonal)
    return 0.25 * J, half + 0.5 * J.sum(axis=1), unit * (float(np.sum(half)) + 0.25 * float(np.sum(J)))
