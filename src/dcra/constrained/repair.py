"""From a point that violates constraints to one that does not, at little cost to the objective."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host, from_numpy, to_numpy
from dcra.compiled.form import Compiled
from dcra.model.constraints import Constraints

STEPS = 200
"""Flips tried at least; and as many as three times the variables."""

TENURE = 7
"""A flipped variable stays for up to this many flips."""

ROUNDING = 1e-9
"""Changes of the violation below this, in units of coefficients, are rounding."""


class RepairTables(NamedTuple):
    """What all repairs of the same rows share.

    Rows are measured in units of their coefficients, so that no row counts more for its scale alone.
    """

    constraints: Constraints
    columns: Any  # G by columns
    scale: Host


def repair_tables(constraints: Constraints) -> RepairTables:
    return RepairTables(constraints, constraints.G.tocsc(), 1.0 / constraints.sizes)


class Repair:
    """Tabu search on the violation; among flips that lessen it, those that cost the objective least.

    It begins at x (n,) of the domain; `rise` (n,) is about what each flip adds to the objective. `best` is
    feasible if the search succeeds.
    """

    def __init__(self, tables: RepairTables, x: Host, rise: Host, seed: int) -> None:
        self.violation = Violation(tables, x.copy())
        self.rng = np.random.default_rng((seed, 3))
        self.price = np.maximum(rise, 0.0) + 1e-3 * (np.mean(np.abs(rise)) or 1.0)
        self.until = np.zeros(x.size, np.int64)
        self.flips, self.most = 0, max(STEPS, 3 * x.size)
        self.best, self.least = x.copy(), self.violation.total

    @property
    def done(self) -> bool:
        return self.least == 0 or self.flips >= self.most

    def advance(self, flips: int) -> None:
        for _ in range(flips):
            if self.done:
                return
            j = self.violation.cheapest(self.price, self.until <= self.flips, self.rng)
            self.violation.flip(j)
            self.flips += 1
            self.until[j] = self.flips + self.rng.integers(TENURE)
            total = self.violation.total
            if total < self.least:
                self.best, self.least = self.violation.x.copy(), total


class Violation:
    """The violation of all rows at x, and what each flip would change of it, kept up to date."""

    def __init__(self, tables: RepairTables, x: Host) -> None:
        self.constraints, self.columns, self.scale = tables
        self.x, self.activity = x, self.constraints.activity(x)
        self.excess = np.zeros(len(self.constraints))
        self.part = np.zeros(self.constraints.G.nnz)  # what an entry's flip changes of its row's violation
        self.change = np.zeros(x.size)
        self.touching = np.zeros(x.size, np.int64)  # violated rows of a column
        self._renew(np.arange(len(self.constraints)))

    @property
    def total(self) -> float:
        return float(self.excess @ self.scale)

    def cheapest(self, price: Host, free: Host, rng: np.random.Generator) -> int:
        """The flip that lessens the violation at the lowest price; the least bad one where none does."""
        allowed = free & (self.touching > 0)
        lessening = allowed & (self.change < -ROUNDING)
        if lessening.any():
            score = np.where(lessening, -price / np.where(lessening, self.change, -1.0), np.inf)
        else:
            score = np.where(allowed, self.change, np.inf) + ROUNDING * rng.random(self.x.size)
        return int(np.argmin(score))

    def flip(self, j: int) -> None:
        new = sum(self.constraints.values) - self.x[j]
        own = slice(self.columns.indptr[j], self.columns.indptr[j + 1])
        rows = self.columns.indices[own]
        self.activity[rows] += (new - self.x[j]) * self.columns.data[own]
        self.x[j] = new
        self._renew(rows)

    def _renew(self, rows: Host) -> None:
        """Bring up to date what depends on the activity of some rows."""
        G = self.constraints.G
        count = np.diff(G.indptr)[rows]
        row = np.repeat(rows, count)
        entry = np.repeat(G.indptr[rows] - np.cumsum(count) + count, count) + np.arange(row.size)
        column = G.indices[entry]
        step = sum(self.constraints.values) - 2 * self.x[column]
        excess = self.constraints.excess_of_rows(self.activity[rows], rows)
        after = self.constraints.excess_of_rows(self.activity[row] + step * G.data[entry], row)
        part = (after - np.repeat(excess, count)) * self.scale[row]
        self.change += np.bincount(column, part - self.part[entry], self.x.size)
        worse = (excess > 0).astype(np.int64) - (self.excess[rows] > 0)
        if worse.any():
            self.touching += np.bincount(column, np.repeat(worse, count), self.x.size).astype(np.int64)
        self.part[entry] = part
        self.excess[rows] = excess


def rises(compiled: Compiled, spins: Host) -> Host:
    """About what each flip adds to the penalised objective, from its gradient."""
    s = from_numpy(spins, compiled.like)
    z = compiled.residual(s)
    size = float(np.mean(np.abs(to_numpy(z)))) if compiled.n_rows else 1.0
    slopes = compiled.pull(compiled.slopes(z, 0.1 * size or 1.0))
    if compiled.quadratic is not None:
        slopes = slopes + 2.0 * compiled.quadratic.apply(s)
    return np.asarray(-2.0 * spins * to_numpy(slopes), np.float64)
