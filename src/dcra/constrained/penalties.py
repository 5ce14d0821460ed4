"""Exact penalties: constraints as l1 and hinge terms whose weights grow until they are satisfied.

At a feasible point the penalised objective is F itself, so a lower bound on it is one on the constrained
minimum, whatever the weights are.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled, compile_problem
from dcra.compiled.units import natural_units
from dcra.model.constraints import Constraints
from dcra.model.problem import Problem
from dcra.model.soft import penalty_terms

GROWTH = 2.0
"""Factor on the weight of a row that a descent left violated."""

LARGEST = 2.0**20
"""Weights in units of the first ones at which growing ends: repair must do the rest."""


FIRMNESS = 16.0
"""Factor on all weights in searches that start at a feasible point and are to stay among such."""


@dataclass(frozen=True, eq=False)
class Penalised(Compiled):
    """A problem whose constraints have become penalties; they are still known here."""

    original: Compiled | None = None
    weights: Host | None = None

    @classmethod
    def of(cls, original: Compiled, weights: Host) -> Self:
        form = compile_problem(penalised(original.problem, weights), original.loops)
        known = {f.name: getattr(form, f.name) for f in fields(form)}
        known["made_by"] = (f"{__name__}:Penalised.of", weights)
        return cls(**known, original=original, weights=weights)

    @property
    def constraints(self) -> Constraints:
        assert self.original is not None
        assert self.original.problem.constraints is not None
        return self.original.problem.constraints

    @property
    def forgiven(self) -> float:
        """What the penalties may charge at points that count as feasible: slack, and rounding."""
        assert self.weights is not None
        rows = self.constraints
        apart = np.where(rows.equalities, 0.5 * (rows.high - rows.low), 0.0)
        return float(np.sum(self.weights * (rows.slack + rows.rounding + apart)))

    @property
    def firm(self) -> Penalised:
        """The same with weights that keep a search among feasible points."""
        return self.once(_firm)


def _firm(soft: Penalised) -> Penalised:
    assert soft.original is not None
    assert soft.weights is not None
    return Penalised.of(soft.original, FIRMNESS * soft.weights)


class Penalties:
    """The weights of the rows, and the penalised problem they make."""

    def __init__(self, compiled: Compiled) -> None:
        self.original = compiled
        self.first = self.weights = first_weights(compiled)
        self.growths = 0
        self.compiled = Penalised.of(compiled, self.weights)

    @property
    def constraints(self) -> Constraints:
        return self.compiled.constraints

    def grow(self, violated: Host) -> bool:
        """Raise the weights of violated rows; whether that changed anything."""
        grown = np.where(violated, np.minimum(self.weights * GROWTH, self.first * LARGEST), self.weights)
        if np.array_equal(grown, self.weights):
            return False
        self.growths += 1
        self.weights = grown
        self.compiled = Penalised.of(self.original, grown)
        return True


def penalised(problem: Problem, weights: Host) -> Problem:
    """The problem without constraints whose terms charge `weights` for each unit of violation."""
    assert problem.constraints is not None
    charged = penalty_terms(problem.constraints, weights, problem.like)
    return problem.replace(terms=(*problem.terms, *charged), constraints=())


def first_weights(compiled: Compiled) -> Host:
    """What makes a typical flip of a row's variables cost as much as a typical flip may gain."""
    constraints = compiled.problem.constraints
    assert constraints is not None
    gain = 2 * compiled.value_scale * natural_units(compiled).rho
    bottom, top = constraints.values
    size = np.maximum(np.diff(constraints.G.indptr), 1)
    step = (top - bottom) * np.sqrt((constraints.G**2).sum(axis=1) / size)
    return np.asarray(gain / np.where(step > 0, step, 1.0))
