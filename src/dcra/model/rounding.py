"""What rounding may cost an objective evaluated in float64: bounds that decide whether a gap is a gap.

A residual is a sum of n products and b_i, so it is off by at most e_i = (n + 2) eps (sum_j |a_ij| + |b_i|),
whatever the order of summation. A convex f moves most at the ends of [z - e, z + e]; what its own arithmetic
may add is a few eps of |f(z)| and of z f'(z) <= f(2 z) - f(z).
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from dcra._array import Array, Host, to_numpy
from dcra.losses import Loss
from dcra.model.term import Term

if TYPE_CHECKING:
    from dcra.model.problem import Problem

EPS = float(np.finfo(np.float64).eps)
OWN = 8.0
"""Roundings inside a loss, in units of eps."""

EXACT = 2.0**52
"""Sums of whole numbers below this are exact."""


def error_at(problem: Problem, x: Array) -> float:
    """By how much F(x), x (n,), as computed may differ from F(x) of the numbers as they are stored."""
    size = _size_of_smooth_part(problem)
    parts = [_term_error(term, to_numpy(term.residual(x))) for term in problem.terms]
    total = sum(part[0] for part in parts) + (problem.n + 4) * EPS * size
    reach = size + sum(part[1] for part in parts)
    if reach < EXACT and problem.integer_valued:
        return 0.0
    return total + (len(parts) + 3) * EPS * reach


def _term_error(term: Term, z: Host) -> tuple[float, float]:
    """The error of one term at residuals z (r,), and the size of the numbers that were summed."""
    e = (term.operator.shape[1] + 2) * EPS * (term.operator.row_sizes() + np.abs(to_numpy(term.b)))
    weight = np.abs(np.asarray(to_numpy(term.weight) if not isinstance(term.weight, float) else term.weight))
    with np.errstate(over="ignore", invalid="ignore"):
        if not term.loss.separable:
            value = float(weight) * abs(float(term.loss.value(z)))
            moved = float(weight) * term.loss.lipschitz * float(np.linalg.norm(e))
            return moved + (z.size + OWN) * EPS * value, value
        f = _values(term.loss, z)
        moved = np.maximum(np.abs(_values(term.loss, z + e) - f), np.abs(_values(term.loss, z - e) - f))
        own = np.abs(f) + np.abs(_values(term.loss, 2 * z) - f)
        size = float(np.sum(weight * np.abs(f)))
        error = float(np.sum(weight * (moved + OWN * EPS * own))) + z.size * EPS * size
    return (error, size) if np.isfinite(error) else (inf, inf)


def _values(loss: Loss, z: Host) -> Host:
    return np.asarray(loss.values(z))


def _size_of_smooth_part(problem: Problem) -> float:
    """The absolute values of the linear and quadratic coefficients and of the constant, summed."""
    size = abs(problem.constant)
    if problem.linear is not None:
        size += float(np.sum(np.abs(to_numpy(problem.linear))))
    if problem.quadratic is not None:
        if problem.quadratic.matrix_free:
            return inf
        size += problem.quadratic.coefficients_sum() + float(np.sum(np.abs(problem.quadratic.diagonal)))
    return size
