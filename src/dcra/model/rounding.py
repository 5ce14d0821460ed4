"""What rounding may cost an objective evaluated in float64: bounds that decide whether a gap is a gap.

A residual is a sum of n products and b_i, so it is off by at most e_i = (n + 2) eps (sum_j |a_ij| + |b_i|),
whatever the order of summation. A convex f moves most at the ends of [z - e, z + e]; what its own arithmetic
may add is a few eps of |f(z)| and of z f'(z) <= f(2 z) - f(z).
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dcra._array import Array, Host, to_numpy
from dcra.losses import Loss, SquaredHinge, SquaredL2
from dcra.model.operators import MatrixFree
from dcra.model.term import Term

if TYPE_CHECKING:
    from dcra.model.problem import Problem

EPS = float(np.finfo(np.float64).eps)
OWN = 8.0
"""Roundings inside a loss, in units of eps."""

EXACT = 2.0**52
"""Sums of whole numbers below this are exact."""


class Part(NamedTuple):
    """Of one term at each of k points: what rounding may cost, and the size of the numbers summed."""

    error: Host
    size: Host


def error_at(problem: Problem, x: Array, box: float = 1.0) -> float:
    """By how much F(x), |x_j| <= box, as computed may differ from F(x) of the numbers as they are stored."""
    return float(errors_at(problem, x[None, ...], box)[0])


def errors_at(problem: Problem, X: Array, box: float = 1.0) -> Host:
    """The same at each of the points X (k, n)."""
    parts = [term_error(term, to_numpy(term.residual(X)), box) for term in problem.terms]
    return _total(problem, parts, X.shape[0], box)


def largest_error(problem: Problem, box: float = 1.0, most: float = inf) -> float:
    """What no point with |x_j| <= box and F(x) <= most exceeds of it; inf where that is not known."""
    room = max(most - plain_floor(problem), 0.0)  # what each of its parts is at most
    parts = []
    for term in problem.terms:
        if isinstance(term.operator, MatrixFree) or not (term.loss.convex or term.loss.lipschitz < inf):
            return inf
        reach = box * term.operator.row_sizes() + np.abs(to_numpy(term.b))
        if isinstance(term.loss, SquaredL2 | SquaredHinge) and room < inf:
            with np.errstate(divide="ignore"):  # w r^2 <= room; negative residuals of a hinge move nothing
                reach = np.minimum(reach, np.sqrt(room / np.asarray(to_numpy(term.weight))) + EPS * reach)
        ends = [term_error(term, side * reach[None], box) for side in (1.0, -1.0)]
        parts.append(Part(*(np.maximum(one, two) for one, two in zip(*ends, strict=True))))
    return 2.0 * float(_total(problem, parts, 1, box)[0])  # these bounds are rounded, too


def plain_floor(problem: Problem) -> float:
    """The constant, where F consists of it and of losses that are never negative; else -inf."""
    smooth = problem.linear is not None or problem.quadratic is not None
    return -inf if smooth or not all(t.loss.positive for t in problem.terms) else problem.constant


def _total(problem: Problem, parts: list[Part], count: int, box: float = 1.0) -> Host:
    size = smooth_size(problem, box)
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.zeros(count) + (problem.n + 4) * EPS * size
        reach = np.zeros(count) + size
        for part in parts:
            total, reach = total + part.error, reach + part.size
        total = total + (len(parts) + 3) * EPS * reach
    if problem.integer_valued:
        total = np.where(reach < EXACT, 0.0, total)
    return np.where(np.isfinite(total), total, inf)


def term_error(term: Term, z: Host, box: float = 1.0) -> Part:
    """The error of one term at residuals z (k, r) with |x_j| <= box, and the size of the numbers summed."""
    rows = box * term.operator.row_sizes() + np.abs(to_numpy(term.b))
    e = (term.operator.shape[1] + 2) * EPS * rows
    weight = np.abs(np.asarray(to_numpy(term.weight) if not isinstance(term.weight, float) else term.weight))
    with np.errstate(over="ignore", invalid="ignore"):
        if not term.loss.separable:
            value = float(weight) * np.abs(np.asarray(term.loss.value(z)))
            moved = float(weight) * term.loss.lipschitz * float(np.linalg.norm(e))
            error = moved + (z.shape[-1] + OWN) * EPS * value
            return Part(np.where(np.isfinite(error), error, inf), value + np.max(rows, initial=0.0))
        f = _values(term.loss, z)
        own = np.abs(f) + np.abs(_values(term.loss, 2 * z) - f)
        value = np.sum(weight * np.abs(f), axis=-1)
        moved = np.sum(weight * (_moved(term.loss, f, z, e) + OWN * EPS * own), axis=-1)
        error = moved + z.shape[-1] * EPS * value
    return Part(np.where(np.isfinite(error), error, inf), value + np.max(rows, initial=0.0))


def _moved(loss: Loss, f: Host, z: Host, e: Host) -> Host:
    """By how much values f at z may change within z +- e."""
    if not loss.convex:
        return np.asarray(loss.lipschitz * e + 0 * f)
    sides = [np.abs(_values(loss, z + end) - f) for end in (e, -e)]
    return np.asarray(np.maximum(*sides))


def _values(loss: Loss, z: Host) -> Host:
    return np.asarray(loss.values(z))


def smooth_size(problem: Problem, box: float = 1.0) -> float:
    """The absolute values that are summed where |x_j| <= box: linear, quadratic, and the constant."""
    size = abs(problem.constant)
    if problem.linear is not None:
        size += box * float(np.sum(np.abs(to_numpy(problem.linear))))
    if problem.quadratic is not None:
        if problem.quadratic.matrix_free:
            return inf
        form = problem.quadratic
        size += box**2 * (form.couplings_sum + float(np.sum(np.abs(form.diagonal))))
    return size
