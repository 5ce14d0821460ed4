"""From a point that violates constraints to one that does not, at little cost to the objective."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcra.constraints import Constraints, Host

STEPS = 200
"""Flips tried at least; and as many as three times the variables."""

TENURE = 7
"""A flipped variable stays for up to this many flips."""


class Repair:
    """Tabu search on the violation; among flips that lessen it, those that cost the objective least.

    Rows are measured in units of their coefficients, so that no row counts more for its scale alone.
    """

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints
        G = constraints.G.tocsc()
        self.row, self.value, self.pointer = G.indices, G.data, G.indptr
        size = abs(constraints.G).max(axis=1).toarray().ravel() if len(constraints) else np.empty(0)
        self.scale = 1.0 / np.where(size > 0, size, 1.0)
        self.column = np.repeat(np.arange(constraints.n), np.diff(self.pointer))

    def __call__(self, x: Host, rise: Host, seed: int, halted: Callable[[], bool] = lambda: False) -> Host:
        """A point near x (n,) of the domain, feasible if the search succeeds.

        `rise` (n,) is about what each flip adds to the objective.
        """
        constraints = self.constraints
        rng = np.random.default_rng((seed, 3))
        x = x.copy()
        activity = constraints.activity(x)
        until = np.zeros(constraints.n, np.int64)
        price = np.maximum(rise, 0.0) + 1e-3 * (np.mean(np.abs(rise)) or 1.0)
        best, least = x.copy(), np.inf
        for step in range(max(STEPS, 3 * constraints.n)):
            excess = constraints.excess_of(activity)
            total = float(excess @ self.scale)
            if total < least:
                best, least = x.copy(), total
            if least == 0 or halted():
                break
            j = self._flip(x, activity, excess, price, until <= step, rng)
            self._move(x, activity, j)
            until[j] = step + 1 + rng.integers(TENURE)
        return best

    def _flip(
        self, x: Host, activity: Host, excess: Host, price: Host, free: Host, rng: np.random.Generator
    ) -> int:
        """The flip that lessens the violation at the lowest price; the least bad one where none does."""
        step = (sum(self.constraints.values) - 2 * x)[self.column]
        after = self.constraints.excess_of_rows(activity[self.row] + step * self.value, self.row)
        change = np.bincount(self.column, (after - excess[self.row]) * self.scale[self.row], minlength=x.size)
        touching = np.bincount(self.column, excess[self.row] > 0, minlength=x.size) > 0
        change[~(touching & free)] = np.inf
        lessening = change < -1e-12
        if lessening.any():
            score = np.where(lessening, -price / np.where(lessening, change, -1.0), np.inf)
        else:
            score = change + 1e-9 * rng.random(x.size)
        return int(np.argmin(score))

    def _move(self, x: Host, activity: Host, j: int) -> None:
        new = sum(self.constraints.values) - x[j]
        own = slice(self.pointer[j], self.pointer[j + 1])
        activity[self.row[own]] += (new - x[j]) * self.value[own]
        x[j] = new
