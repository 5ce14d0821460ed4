"""Descents: sweeps to a corner of the box, annealing from there, and flips to the end.

The first is short; its successors are granted twice as much work each, up to a share of the whole budget, so
that there is a good answer early and a slow, careful search later. Scales of smoothing and temperature follow
the best answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcra._array import from_numpy, to_numpy
from dcra.compiled.form import Compiled
from dcra.compiled.units import Units, natural_units, units_at
from dcra.engines.polished import Polished
from dcra.engines.sweep import Sweep
from dcra.polish.anneal import Anneal
from dcra.search.plans import Outcome, Plan, Task, next_starts
from dcra.search.state import Search

if TYPE_CHECKING:
    from dcra.auto.decision import Traits

FIRST_GRANT = 64
"""Passes over A granted to the first descent of a timed search."""

SHORTEST = 2e-3
"""Seconds below which a descent of a timed search would be mostly overhead."""

FULL_SHARE, LONGEST = 1 / 8, 1 / 3
"""Shares of a timed search's work, and of its time, that one descent may take."""

ENOUGH = 12_000
"""Passes over A beyond which new descents find more than longer ones."""

PASSES_PER_START = 400
"""Passes over A granted to each descent when starts are counted instead of seconds."""

SWEEP_SHARE = 0.5
"""Share of a descent's work that goes into sweeps; the rest into annealing."""

SWEEPS_PER_VARIABLE = 3
"""Sweeps of a descent, at most; what they would not gain any more is left to annealing."""

MIN_SWEEPS, MIN_PASSES, MAX_PASSES = 20, 50, 500_000
HOT, GENTLE, COLD = 0.55, 0.3, 0.1
"""First temperatures after sweeps and at a point that the user gave, and the last, in units of `Anneal`."""


def descend(traits: Traits) -> Plan:
    return Portfolio(traits.compiled)


class Portfolio(Plan):
    """Descents of growing length."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.units: Units | None = None
        self.grant = float(FIRST_GRANT * compiled.work_per_pass)
        self.sweep_cost = 1.5  # passes over A per sweep
        self.pace = 0.1 * compiled.work_per_pass  # entries of A per pass of annealing
        self.speed = 0.0  # entries of A per second and worker

    def next(self, search: Search) -> Task | None:
        if search.starts_left <= 0:
            return None
        if self.units is None:
            return self._scout(search) if search.started == 0 else None
        grant = self._grant(search)
        starts = next_starts(search, 1)
        if starts.points is not None:
            return Task(self._annealing(self.units, self._passes(grant), GENTLE), starts)
        cost = self.sweep_cost * self.compiled.work_per_pass
        sweeps = min(int(SWEEP_SHARE * grant / cost), SWEEPS_PER_VARIABLE * self.compiled.n)
        passes = self._passes(grant - sweeps * cost)
        return Task(self._descent(self.units, max(MIN_SWEEPS, sweeps), passes), starts)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        *sweeps, annealing = outcome.state.stages
        self.pace = max(annealing.pace, 1e-4 * self.compiled.work_per_pass)
        for state in sweeps:
            self.sweep_cost = max(0.05, state.pace / self.compiled.work_per_pass)
        self.speed = outcome.state.work / max(outcome.seconds, 1e-6)
        if search.starts_left > 0 and (self.units is None or fun <= search.fun):
            z = self.compiled.residual(from_numpy(outcome.spins, self.compiled.like))
            self.units = units_at(self.compiled, to_numpy(z))

    def adopt(self, compiled: Compiled) -> None:
        self.compiled = compiled

    def _scout(self, search: Search) -> Task:
        """The first descent, on rough scales; it begins at the user's point if there is one."""
        units = natural_units(self.compiled)
        starts = next_starts(search, 1)
        if starts.points is not None:
            return Task(self._annealing(units, MIN_PASSES, GENTLE), starts)
        return Task(self._descent(units, MIN_SWEEPS, MIN_PASSES), starts)

    def _descent(self, units: Units, sweeps: int, passes: int) -> Polished:
        return Polished(Sweep(sweeps, units.delta), self._annealing(units, passes, HOT))

    def _annealing(self, units: Units, passes: int, hot: float) -> Anneal:
        return Anneal(passes, hot, COLD, units.rho)

    def _grant(self, search: Search) -> float:
        """Entries of A that the next descent may touch."""
        limit = search.limits.time_limit
        if limit is None:
            return float(PASSES_PER_START * self.compiled.work_per_pass)
        full = min(FULL_SHARE * search.limits.n_jobs, LONGEST) * self.speed * limit
        left = self.speed * max(search.seconds_left, 0.0)
        enough = float(ENOUGH * self.compiled.work_per_pass)
        grant = min(max(self.grant, self.speed * SHORTEST), enough, full, left)
        self.grant *= 2
        return grant

    def _passes(self, work: float) -> int:
        return int(min(max(MIN_PASSES, work / self.pace), MAX_PASSES))
