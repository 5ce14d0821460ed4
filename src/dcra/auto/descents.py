"""Method "auto": enumeration where that is quick, a portfolio of descents otherwise.

A descent is sweeps to a corner of the box, annealing from there, and flips to the end. The first is short;
its successors are granted twice as much work each, up to a share of the whole budget, so that there is a good
answer early and a slow, careful search later. Scales of smoothing and temperature follow the best answer.
"""

from __future__ import annotations

import numpy as np

from dcra._array import from_numpy, to_numpy
from dcra._kernels import loading
from dcra.auto import annealing, least_squares
from dcra.auto.accelerator import array_plan
from dcra.compiled.form import Compiled
from dcra.compiled.units import Units, natural_units, units_at
from dcra.engines.base import State
from dcra.engines.polished import Polished, PolishedState
from dcra.engines.sweep import CoordinateState, Sweep
from dcra.exact.enumeration import enumerable
from dcra.polish.anneal import Anneal, AnnealState
from dcra.search.plans import Exhaust, Outcome, Plan, Task, next_starts
from dcra.search.state import Search

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

MIN_SWEEPS, MIN_PASSES, MAX_PASSES = 20, 50, 500_000
HOT, GENTLE, COLD = 0.55, 0.3, 0.1
"""First temperatures after sweeps and at a point that the user gave, and the last, in units of `Anneal`."""

COPY_SECONDS = 3e-9
"""Time per entry to lay out A for the compiled loops."""

COPY_SHARE = 0.4
"""Share of the time left that this may take: what remains is better spent there than in array code."""


def plan_for(compiled: Compiled, seconds_left: float | None) -> Plan:
    """The plan of method "auto" for a problem."""
    if compiled.quadratic is not None:
        return annealing.plan_for(compiled, seconds_left)
    if enumerable(compiled, seconds_left):
        return Exhaust()
    special = compiled.problem.plan(compiled, seconds_left)
    if special is not None:
        return special
    from dcra.auto.equations import meet_beside

    return meet_beside(compiled, seconds_left, search_plan(compiled, seconds_left))


def search_plan(compiled: Compiled, seconds_left: float | None) -> Plan:
    """The plan for problems with too many points to look at each."""
    if least_squares.worthwhile(compiled, seconds_left):
        return annealing.Annealing(least_squares.recast(compiled))
    copy = COPY_SECONDS * compiled.work_per_pass
    if compiled.tabulated and (seconds_left is None or copy <= COPY_SHARE * seconds_left):
        return Portfolio(compiled)
    return array_plan(compiled)


class Portfolio:
    """Descents of growing length."""

    exact = False
    alone = False

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
        sweeps = int(SWEEP_SHARE * grant / (self.sweep_cost * self.compiled.work_per_pass))
        passes = self._passes((1 - SWEEP_SHARE) * grant)
        return Task(self._descent(self.units, max(MIN_SWEEPS, sweeps), passes), starts)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        for state in stages(outcome.state):
            if isinstance(state, AnnealState):
                self.pace = max(state.pace, 1e-4 * self.compiled.work_per_pass)
            elif isinstance(state, CoordinateState):
                self.sweep_cost = max(0.05, state.work / (state.steps * self.compiled.work_per_pass))
        self.speed = outcome.state.work / max(outcome.seconds, 1e-6)
        if self.units is None or fun <= search.fun:
            z = self.compiled.residual(from_numpy(outcome.spins, self.compiled.like))
            self.units = units_at(self.compiled, to_numpy(z))
        loading.remember()

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
        return int(np.clip(work / self.pace, MIN_PASSES, MAX_PASSES))


def stages(state: State) -> list[State]:
    """The states that a state is made of."""
    if isinstance(state, PolishedState):
        return [state.first, *([state.second] if state.second else [])]
    return [state]
