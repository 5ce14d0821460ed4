"""The best point that a tree knows, and what bounds must reach to rule out all that is better."""

from __future__ import annotations

from math import inf

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.exact.kinks import KinkForm
from dcra.model.rounding import error_at

WHOLE_DROP = 0.5
"""How far below the best value a bound may stay where values are whole numbers."""


class Incumbent:
    """`cutoff` and `best` are in the form's units; `fun` is inf before any feasible point is known."""

    def __init__(self, compiled: Compiled, form: KinkForm) -> None:
        self.compiled, self.form = compiled, form
        self.fun, self.drop = inf, 0.0
        self.spins = np.ones(compiled.n)
        self.cutoff = self.best = form.highest()

    def offer(self, spins: Host) -> bool:
        """Judge points (k, n); whether one is feasible and better, and so lowers the cutoff."""
        spins = feasible(self.compiled, np.atleast_2d(spins))
        if not len(spins):
            return False
        values = self.compiled.judged(spins)
        best = int(np.argmin(np.where(np.isnan(values), inf, values)))
        if not values[best] < self.fun:
            return False
        self.fun, self.spins = float(values[best]), spins[best].copy()
        self.best = min(self.best, self.form.in_units(self.fun))
        self.drop = self._drop()
        self.cutoff = min(self.cutoff, self.form.in_units(self.fun - self.drop))
        return True

    def _drop(self) -> float:
        """What is no gap: rounding, or less than the least difference of two values."""
        problem = self.compiled.problem
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
