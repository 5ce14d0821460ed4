"""The best point that a tree knows, and what bounds must reach to rule out all that is better."""

from __future__ import annotations

from math import inf
from typing import Protocol

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.model.rounding import error_at

WHOLE_DROP = 0.5
"""How far below the best value a bound may stay where values are whole numbers."""


STEP_DROP = 0.99
"""The same, as a share of the step, where values are known to be equally spaced."""


class Units(Protocol):
    """A form of a problem whose values are not in the units of F."""

    def in_units(self, fun: float) -> float: ...

    def objective(self, value: float) -> float: ...

    def highest(self) -> float: ...


class Incumbent:
    """`cutoff` and `best` are in the form's units; `fun` is inf before any feasible point is known.

    `step` is what values are apart, where that is known.
    """

    def __init__(self, compiled: Compiled, form: Units, step: float | None = None) -> None:
        self.compiled, self.form, self.step = compiled, form, step
        self.fun, self.drop = inf, 0.0
        self.spins = np.ones(compiled.n)
        self.cutoff = self.best = form.highest()

    def offer(self, spins: Host) -> bool:
        """Judge points (k, n); whether one is feasible and better, and so lowers the cutoff."""
        spins = feasible(self.compiled, np.atleast_2d(spins))
        if not len(spins):
            return False
        values = self.compiled.judged(spins)
        values = np.where(np.isnan(values), inf, values)
        best = int(np.argmin(values))
        better = bool(values[best] < self.fun)
        if better:
            self.fun, self.spins = float(values[best]), spins[best].copy()
            self.best = min(self.best, self.form.in_units(self.fun))
            self.drop = self._drop()
        self._lower(spins, values)
        return better

    def _lower(self, spins: Host, values: Host) -> None:
        """Lower the cutoff to what rules out all that is better than the best point."""
        if self.fun < inf:
            self.cutoff = min(self.cutoff, self.form.in_units(self.fun - self.drop))

    def _drop(self) -> float:
        """What is no gap: rounding, or less than the least difference of two values."""
        problem = self.compiled.problem
        if self.step is not None:
            return STEP_DROP * self.step
        if problem.integer_valued:
            return WHOLE_DROP
        return error_at(problem, self.compiled.exact_points(self.spins))


def feasible(compiled: Compiled, spins: Host) -> Host:
    """Those of some points that satisfy all constraints."""
    constraints = compiled.problem.constraints
    if constraints is None or not len(spins):
        return spins
    fine = constraints.violation(compiled.in_domain(spins)) == 0
    return np.asarray(spins[fine])
