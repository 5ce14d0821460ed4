"""Which tree proves a problem."""

from __future__ import annotations

from enum import Enum

from dcra.exact.coupled_kinks import has_coupled_kinks
from dcra.exact.couplings_form import couplings_alone
from dcra.exact.dual_rows import has_dual_rows
from dcra.exact.kinks import has_kinks
from dcra.exact.lone_norm import is_lone_norm
from dcra.exact.squares import has_couplings
from dcra.model.problem import Problem


class TreeKind(Enum):
    """Over pairs of spins, over kinks, by dual bounds of first order, or none."""

    COUPLINGS = "couplings"
    KINKS = "kinks"
    DUALS = "duals"
    NONE = ""


def tree_kind(problem: Problem) -> TreeKind:
    """The tree that suits a problem best."""
    if couplings_alone(problem):
        return TreeKind.COUPLINGS
    if has_kinks(problem) or has_coupled_kinks(problem) or is_lone_norm(problem):
        return TreeKind.KINKS
    coupled = problem.quadratic is None or has_couplings(problem)
    return TreeKind.DUALS if coupled and has_dual_rows(problem) else TreeKind.NONE
