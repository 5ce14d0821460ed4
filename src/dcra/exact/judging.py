"""Points judged in float64 with what rounding may cost, and by fractions where that leaves doubt."""

from __future__ import annotations

from math import inf, isnan, nextafter

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.model.rounding import errors_at, largest_error

MOST_FRACTIONS = 1000
"""Points whose value one judge computes without rounding."""

OVERFLOWN = 1e300
"""Less than any sum that is too large for float64."""


class Judge:
    """The best of the points seen and, what is a proof, the `least` value that none of them falls below.

    `tolerance` is what rounding may have cost `best` and a bound that equals it: points that lie no further
    below are not worth fractions. `values` are those of the points looked at last; where more points than
    the best are wanted, `bar` is what they must fall below.
    """

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.best, self.least, self.tolerance = inf, inf, 0.0
        self.bar: float | None = None
        self.values = np.empty(0)
        self.fractions = MOST_FRACTIONS
        self.largest_error = compiled.once(_largest_error)

    def look_at(self, spins: Host) -> int | None:
        """Judge points (k, n); the index of a new best one among them."""
        values = self.values = self.compiled.judged(spins)
        i = int(np.argmin(np.where(np.isnan(values), inf, values)))
        better = bool(values[i] < self.best)
        if better:
            self.best = float(values[i])
            self.tolerance = 2 * float(self._errors(spins[i : i + 1])[0])
        self.least = min(self.least, self._floor(values, spins))
        return i if better else None

    def rules_out(self, floor: float) -> bool:
        """Whether points that do not fall below `floor` cannot be better than the best, but for rounding."""
        return floor >= (self.best - self.tolerance if self.bar is None else self.bar)

    def pass_over(self, floor: float) -> None:
        """Take note of points that do not fall below `floor`, and need not be looked at."""
        self.least = min(self.least, floor)

    def _floor(self, values: Host, spins: Host) -> float:
        """What no one of these points falls below."""
        floor = np.where(values == inf, OVERFLOWN, values - self.largest_error)
        near = np.flatnonzero(~(floor >= self.best))
        if near.size:
            floor[near] = values[near] - self._errors(spins[near])
        for i in np.flatnonzero(~(floor >= self.best - self.tolerance)):
            floor[i] = self._without_rounding(spins[i], float(floor[i]))
        return float(np.min(floor))

    def _errors(self, spins: Host) -> Host:
        return errors_at(self.compiled.problem, self.compiled.exact_points(spins))

    def _without_rounding(self, spins: Host, otherwise: float) -> float:
        """The exact value, rounded down; `otherwise` where it cannot be had, or too many were asked for."""
        from dcra.model.exact_value import exact_value  # rarely needed, and slow to load

        self.fractions -= 1
        x = self.compiled.in_domain(spins)
        exact = exact_value(self.compiled.problem, x) if self.fractions >= 0 else None
        if exact is None:
            return -inf if isnan(otherwise) else otherwise
        nearest = float(exact) if abs(exact) < OVERFLOWN else OVERFLOWN if exact > 0 else -inf
        return nearest if nearest <= exact else nextafter(nearest, -inf)


def _largest_error(compiled: Compiled) -> float:
    return largest_error(compiled.problem)
