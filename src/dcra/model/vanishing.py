"""Objectives of which nothing is left in float64: squares of numbers that are too small."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from dcra._array import Array, namespace
from dcra.losses import TableLoss
from dcra.model.operators import MatrixFree

if TYPE_CHECKING:
    from dcra.model.problem import Problem
    from dcra.model.term import Term

LEAST_SQUARED = 1e-154
"""Squares of smaller numbers are no normal numbers of float64, or zero."""


def refuse_vanishing(problem: Problem) -> None:
    """Refuse a problem whose objective is the same at every point: A is too small for squares."""
    others = (problem.linear, problem.quadratic, problem.soft)
    if not problem.terms or any(other is not None for other in others):
        return
    if not all(_squares(term) for term in problem.terms):
        return
    largest = 0.0
    for term in problem.terms:
        largest = max(largest, _size(term))
        if largest >= LEAST_SQUARED:
            return
    if largest > 0:
        raise ValueError(
            f"`A` must hold numbers whose squares float64 holds, the largest of {LEAST_SQUARED:g} or more; "
            f"it is {largest:.3g}, and the objective would be the same at every point. Multiply the problem "
            f"by a common factor"
        )


def _squares(term: Term) -> bool:
    """Whether the loss of small residuals is that of their squares."""
    return isinstance(term.loss, TableLoss) and 0 < term.loss.curvature < inf


def _size(term: Term) -> float:
    """A size that entries of A have; that of all where a sample is small."""
    operator = term.operator
    size = max(operator.magnitude, _largest(operator.row_sums))
    if size < LEAST_SQUARED and not isinstance(operator, MatrixFree):
        return max(size, _largest(operator.stored))
    return size


def _largest(x: Array) -> float:
    xp = namespace(x)
    return float(xp.max(xp.abs(x))) if x.size else 0.0
