"""Method "auto": enumeration where that is quick, a portfolio of descents otherwise.

Half of the budget goes to fresh starts, by sweeps or by annealing, whichever has given the better answers on
this problem. The other half goes to children of the best answers: what two parents agree on stays, the
variables they disagree on are relaxed, swept and annealed again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dcra._array import from_numpy, to_numpy
from dcra.compiled import Compiled
from dcra.engines.base import Host, Starts
from dcra.engines.descent import Descent, DescentState
from dcra.enumeration import enumerable
from dcra.portfolio import Exhaust, Outcome, Plan, Repeat, Search, Task, next_starts
from dcra.schedule import Units, units_at

UNITS_OF_BUDGET = 32
"""Tasks that a budget is cut into."""

PASSES_PER_START = 400
"""Work of one start in passes over A, when starts are counted instead of seconds."""

FRESH_SHARE = 0.5
POOL = 16
SIDE_BY_SIDE = 4
"""Tasks of a generation when starts are counted: the same at any number of jobs."""

COOLING_SHARE = 0.25
"""Share of a task's work that goes into annealing after its sweeps."""

EXTRA = 0.05
"""Share of the variables that a child lets go of besides those its parents disagree on."""

SWEEP, ANNEAL, CHILD = "sweep", "anneal", "child"
HOT = {SWEEP: 0.5, ANNEAL: 0.6, CHILD: 0.4}


def plan_for(compiled: Compiled, seconds_left: float | None) -> Plan:
    """The plan of method "auto" for a problem."""
    if enumerable(compiled, seconds_left):
        return Exhaust()
    if compiled.tabulated:
        return Portfolio(compiled)
    from dcra.engines import recipes

    return Repeat(recipes.sweep() if compiled.has_columns else recipes.dcra())


class Member(NamedTuple):
    """An answer worth crossing with others."""

    fun: float
    spins: Host


class Portfolio:
    """Fresh starts, then children; sizes of tasks follow the budget, scales follow the best answer."""

    exact = False

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.pool: list[Member] = []
        self.results: dict[str, list[float]] = {SWEEP: [], ANNEAL: []}
        self.kinds: dict[int, str] = {}
        self.units: Units | None = None
        self.sweep_cost = 1.45  # passes over A per sweep
        self.pace = dict.fromkeys(HOT, float(compiled.work_per_pass))  # entries per pass of annealing
        self.speed = 0.0  # entries per second of one worker

    def generation(self, search: Search) -> list[Task]:
        if search.starts_left <= 0:
            return []
        rng = np.random.default_rng((search.seed, search.started))
        if self.units is None:
            return [self._scout(search, rng)]
        timed = search.limits.starts is None and search.limits.time_limit is not None
        size = search.limits.n_jobs if timed else SIDE_BY_SIDE
        return [self._task(search, rng, k) for k in range(int(min(size, search.starts_left)))]

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        state = outcome.state
        assert isinstance(state, DescentState)
        kind = self.kinds.pop(task.starts.first, SWEEP)
        if state.passed:
            self.pace[kind] = max(state.cool_work / state.passed, 1e-3 * self.compiled.work_per_pass)
        if state.swept and task.starts.free is None:
            cost = state.sweep_work / (state.swept * self.compiled.work_per_pass)
            self.sweep_cost = max(0.1, 0.5 * (self.sweep_cost + cost))
        self.speed = state.total_work / max(outcome.seconds, 1e-6)
        if kind in self.results and task.starts.points is None and self.units is not None:
            self.results[kind].append(fun)
        spins = outcome.spins[0].astype(np.int8)
        if not any(fun == m.fun and np.array_equal(spins, m.spins) for m in self.pool):
            self.pool = sorted([*self.pool, Member(fun, spins)], key=lambda m: m.fun)[:POOL]
        if self.units is None or fun <= search.fun:
            self.units = self._units_at(outcome.spins)

    def _units_at(self, spins: Host) -> Units:
        z = self.compiled.residual(from_numpy(spins, self.compiled.like))
        return units_at(self.compiled, to_numpy(z))

    def _scout(self, search: Search, rng: np.random.Generator) -> Task:
        """A quick start, to learn scales and speeds from; it begins at the user's point if there is one."""
        signs = np.where(rng.random((1, self.compiled.n)) < 0.5, -1.0, 1.0)
        units = self._units_at(signs)
        units = Units(tuple(0.5 * d for d in units.delta), units.rho)
        passes = float(self.compiled.work_per_pass)
        starts = next_starts(search, 1)
        sweeps = 0 if starts.points is not None else 30
        return Task(Descent(units, sweeps, 20 * passes, HOT[SWEEP], passes), starts)

    def _allowance(self, search: Search) -> float:
        """Entries of A that one task may touch."""
        if search.limits.starts is None and search.limits.time_limit is not None:
            return self.speed * search.limits.time_limit * search.limits.n_jobs / UNITS_OF_BUDGET
        return float(PASSES_PER_START * self.compiled.work_per_pass)

    def _fresh(self, search: Search) -> bool:
        if search.limits.starts is None and search.limits.time_limit is not None:
            return search.seconds < FRESH_SHARE * search.limits.time_limit
        return search.started < FRESH_SHARE * search.limits.most_starts

    def _task(self, search: Search, rng: np.random.Generator, place: int) -> Task:
        starts = next_starts(search, 1)
        allowance = self._allowance(search)
        sweeps = int((1 - COOLING_SHARE) * allowance / (self.sweep_cost * self.compiled.work_per_pass))
        sweeps = max(20, sweeps)
        if starts.points is not None or self._fresh(search) or len(self.pool) < 1:
            return self._fresh_task(starts, self._arm(place), sweeps, allowance)
        return self._child_task(starts, rng, sweeps)

    def _arm(self, place: int) -> str:
        """Both arms in turn until each has two results, then the one with the better mean."""
        tried = {arm: len(values) for arm, values in self.results.items()}
        if min(tried.values()) < 2:
            return sorted(tried, key=lambda arm: tried[arm])[place % 2]
        return min(self.results, key=lambda arm: float(np.mean(self.results[arm])))

    def _fresh_task(self, starts: Starts, arm: str, sweeps: int, allowance: float) -> Task:
        self.kinds[starts.first] = arm
        if arm == ANNEAL or starts.points is not None:
            return self._descent(starts, arm, 0, allowance)
        return self._descent(starts, arm, sweeps, COOLING_SHARE * allowance)

    def _child_task(self, starts: Starts, rng: np.random.Generator, sweeps: int) -> Task:
        self.kinds[starts.first] = CHILD
        n = self.compiled.n
        chosen = rng.choice(len(self.pool), min(2, len(self.pool)), replace=False)
        first, second = self.pool[chosen[0]].spins, self.pool[chosen[-1]].spins
        free = np.flatnonzero((first != second) | (rng.random(n) < EXTRA))
        if free.size < min(n, 2):
            free = np.sort(rng.choice(n, max(1, n // 4), replace=False))
        work = sweeps * self.sweep_cost * self.compiled.work_per_pass * free.size / n
        cooling = max(work * COOLING_SHARE / (1 - COOLING_SHARE), 5.0 * self.compiled.work_per_pass)
        return self._descent(
            replace(starts, points=first[None].astype(np.float64), free=free), CHILD, sweeps, cooling
        )

    def _descent(self, starts: Starts, kind: str, sweeps: int, cooling: float) -> Task:
        assert self.units is not None
        return Task(Descent(self.units, sweeps, cooling, HOT[kind], self.pace[kind]), starts)
