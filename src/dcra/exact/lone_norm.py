"""A norm |Ax - b|_2 that is all there is to an objective: its square has the same best points.

Bounds of the sum of squares are bounds of the norm by their root, rounded down.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import sqrt

import numpy as np

from dcra._array import to_numpy
from dcra.exact.kinks import EPS, KinkForm, has_kinks, kink_form
from dcra.losses import L2Norm, SquaredL2
from dcra.model.operators import MatrixFree
from dcra.model.problem import Problem
from dcra.model.term import Term


@dataclass(frozen=True, eq=False)
class NormForm(KinkForm):
    """The kinks of |Ax - b|^2; F is `weight` times its root, and `shift`."""

    weight: float = 1.0
    shift: float = 0.0

    def in_units(self, fun: float) -> float:
        """What values in our units must reach for F to reach `fun`."""
        size = (abs(fun) + abs(self.shift)) / self.weight
        root = max(0.0, (fun - self.shift) / self.weight + 8 * EPS * size)
        return root * root * (1 + 32 * EPS) / self.unit

    def objective(self, value: float) -> float:
        """A bound in our units as one of F."""
        own = self.weight * sqrt(max(0.0, super().objective(value)))
        return own + self.shift - 4 * EPS * (own + abs(self.shift))


def is_lone_norm(problem: Problem) -> bool:
    """Whether a norm is the whole objective, and the kinks of its square may be laid out."""
    if problem.quadratic is not None or len(problem.terms) != 1:
        return False
    if problem.linear is not None and bool(np.any(to_numpy(problem.linear))):
        return False
    term = problem.terms[0]
    if not isinstance(term.loss, L2Norm) or isinstance(term.operator, MatrixFree):
        return False
    return bool(np.all(to_numpy(term.weight) > 0)) and has_kinks(squared(problem))


def squared(problem: Problem) -> Problem:
    """The problem with the square of the norm, without weight and constant."""
    host = problem.on_host()
    rows = () if host.constraints is None else host.constraints.stated()
    term = host.terms[0]
    return Problem([Term(SquaredL2(), term.operator.on_host(), term.b)], domain=host.domain, constraints=rows)


def norm_form(problem: Problem, mesh: tuple[float, ...]) -> NormForm:
    """The sum of kinks of the square; raises `Unfit` as `kink_form` does."""
    form = kink_form(squared(problem), mesh)
    own = {field.name: getattr(form, field.name) for field in fields(form)}
    return NormForm(**own, weight=float(problem.terms[0].weight), shift=problem.constant)
