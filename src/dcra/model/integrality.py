"""Whether an objective has whole values only: lower bounds then round up."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcra._array import to_numpy
from dcra.losses import L1, Hinge, Linear, LInf, SquaredHinge, SquaredL2
from dcra.model.operators import MatrixFree
from dcra.model.problem import Problem
from dcra.model.quadratic import Quadratic, lattice_step
from dcra.model.term import Term

WHOLE_LOSSES = (L1, SquaredL2, Hinge, SquaredHinge, Linear, LInf)
"""Losses that are whole numbers at whole numbers."""


def has_whole_values(problem: Problem) -> bool:
    """Whether F is known to be an integer at every point of the domain."""
    return (
        _is_whole(problem.constant)
        and (problem.quadratic is None or _is_whole_form(problem.quadratic, problem.domain))
        and (problem.linear is None or _is_whole(to_numpy(problem.linear)))
        and all(map(_is_whole_term, problem.terms))
    )


def _is_whole_term(term: Term) -> bool:
    if not isinstance(term.loss, WHOLE_LOSSES) or isinstance(term.operator, MatrixFree):
        return False
    A = to_numpy(term.operator.stored)
    weight = term.weight if isinstance(term.weight, float) else to_numpy(term.weight)
    return _is_whole(weight) and _is_whole(to_numpy(term.b)) and _is_whole(A)


def _is_whole_form(quadratic: Quadratic, domain: str) -> bool:
    """Whether x'Qx is a whole number at every point: at one, and by every flip."""
    if domain == "spin":  # couplings are quarters there, and sums of these are not rounded
        at_one = float(np.sum(to_numpy(quadratic.row_sums)))
        if not (_is_whole(at_one) and _is_whole(4.0 * quadratic.diagonal)):
            return False
    return lattice_step(quadratic, None, domain) is not None


def _is_whole(x: Any) -> bool:
    flat = np.atleast_1d(np.asarray(x))
    step = 1 << 20
    rows = max(1, step // max(1, int(np.prod(flat.shape[1:]))))
    return all(
        bool(np.all(np.rint(flat[i : i + rows]) == flat[i : i + rows])) for i in range(0, len(flat), rows)
    )
