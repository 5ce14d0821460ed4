"""Searches under constraints: engines see the penalised problem, the judge only feasible points.

A descent of any engine ends in a point of the penalised problem. What it violates makes the penalties grow;
the point itself is repaired, and improved by swaps that keep counts.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host
from dcra.auto.decision import Traits, decide
from dcra.bounds.dual import rounded_up
from dcra.compiled.form import Compiled
from dcra.constrained.branch_and_bound import Branch, BranchState, is_linear, nearest_feasible
from dcra.constrained.penalties import Penalised
from dcra.constrained.repair import Repair, RepairTables, repair_tables, rises
from dcra.constrained.state import ConstrainedSearch
from dcra.constrained.swap import TRIES, Swap
from dcra.engines.base import Engine, News, Starts, State
from dcra.polish.base import AsGiven
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.state import Search

SWAP_SHARE = 0.5
"""Work of the swaps after a descent, in units of the descent's own."""

MIN_PASSES, MAX_PASSES = 20, 20_000
RESCUE_AFTER = 2
"""Growths of the penalties without a feasible point after which a MILP solver looks for one."""

RESCUE_SECONDS, RESCUE_SHARE = 10.0, 0.2
FLIP_WORK = 1 << 16
"""Work of a flip of the repair, which is array code: entries that compiled loops touch meanwhile."""

BRANCH_SHARE = 0.5
"""Share of the time that branch and bound may take where the objective is linear."""


def search_with_penalties(traits: Traits) -> Plan:
    """What "auto" finds on the penalised problem, repaired."""
    search = traits.search
    assert isinstance(search, ConstrainedSearch)
    inner = decide(search, search.relaxation).make_plan()
    return ConstrainedPlan(search, inner, branch=True)


class ConstrainedPlan(Plan):
    """The tasks of another plan, each followed by repair and swaps; penalties grow in between."""

    def __init__(self, search: Search, inner: Plan, branch: bool = False) -> None:
        assert isinstance(search, ConstrainedSearch)
        self.inner, self.penalties = inner, search.penalties
        self.branch = branch and is_linear(search.compiled)
        self.opened = False

    def next(self, search: Search) -> Task | None:
        if self.branch:
            self.branch = False
            return Task(Branch(BRANCH_SHARE * search.seconds_left), Starts(search.seed, 0, 1), counts=False)
        if not self.opened:
            self.opened = True
            opening = self._opening(search)
            if opening is not None:
                return opening
        task = self.inner.next(search)
        if task is None:
            return None
        return replace(self._feasible(task.engine, task.starts, search), inner=task, owner=self.inner)

    def _opening(self, search: Search) -> Task | None:
        """Begin with the least violating point that is known, if any: repair is quicker than a descent."""
        assert isinstance(search, ConstrainedSearch)
        known = search.spins if search.nearest is None else search.nearest
        if known is None:
            return None
        starts = Starts(search.seed, 0, 1, known[None].copy())
        return replace(self._feasible(AsGiven(), starts, search), counts=False)

    def _feasible(self, engine: Engine, starts: Starts, search: Search) -> Task:
        return Task(Feasible(engine, self._rescue(search)), starts, self.penalties.compiled)

    def _rescue(self, search: Search) -> float:
        """Seconds that a MILP solver may take to find any feasible point."""
        if isfinite(search.fun) or self.penalties.growths < RESCUE_AFTER:
            return 0.0
        left = search.seconds_left
        return RESCUE_SECONDS if left == inf else RESCUE_SHARE * left

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        state = outcome.state
        if isinstance(state, BranchState):
            search.bound(rounded_up(search.compiled.problem, state.bound))
            return
        if task.inner is None:
            return  # the opening
        first = state.facts["first"]
        self.inner.learn(search, task.inner, Outcome(first.candidates(), first, outcome.seconds), fun)
        if task.compiled is self.penalties.compiled and self.penalties.grow(state.facts["violated"]):
            self.inner.adopt(self.penalties.compiled)


@dataclass(frozen=True, eq=False)
class Feasible(Engine):
    """`first` on a penalised problem, then repair, then swaps on one with heavier penalties.

    `rescue` is how many seconds a MILP solver may take where repair fails.
    """

    first: Engine
    rescue: float = 0.0

    name: ClassVar[str] = "feasible"

    def start(self, compiled: Compiled, starts: Starts) -> FeasibleState:
        assert isinstance(compiled, Penalised)
        return FeasibleState(self, compiled, starts)


class FeasibleState(State):
    """`points` are those of `first`, once it is done, as far as they are repaired."""

    def __init__(self, engine: Feasible, compiled: Penalised, starts: Starts) -> None:
        self.engine, self.compiled, self.starts = engine, compiled, starts
        self.first = engine.first.start(compiled, starts)
        self.points: Host | None = None
        self.swaps: State | None = None
        self.violated = np.zeros(len(compiled.constraints), bool)
        self.over, self.hopeless = False, False
        self.turns = self._turns()
        next(self.turns)

    def advance(self, work: int) -> None:
        if not self.over:
            self.turns.send(work)

    def _turns(self) -> Generator[None, int, None]:
        """One stage after another; what is sent is the work until the next yield."""
        work = yield
        while not self.first.done:
            self.first.advance(work)
            work = yield
        self.points = self.first.candidates()
        excess = np.atleast_2d(self.compiled.constraints.excess(self.compiled.in_domain(self.points)))
        self.violated = np.any(excess > 0, axis=0)
        for i in np.flatnonzero(excess.any(axis=1)):
            yield from self._repair(int(i))
        if self.compiled.tabulated:
            self.swaps = self._swap()
            while not self.swaps.done:
                self.swaps.advance(work)
                work = yield
        self.over = True
        yield

    def _repair(self, i: int) -> Generator[None, int, None]:
        """Bring one of the points to where no row is violated."""
        assert self.points is not None
        compiled, rows = self.compiled, self.compiled.constraints
        x = compiled.in_domain(self.points[i])
        repair = Repair(compiled.once(_repair_tables), x, rises(compiled, self.points[i]), self.starts.seed)
        while not repair.done:
            work = yield
            repair.advance(1 + work // (FLIP_WORK + rows.n))
            self.points[i] = compiled.encode(repair.best)
        if self.engine.rescue and repair.least > 0:
            rescue = nearest_feasible(rows, x, self.engine.rescue)
            while not rescue.wait():
                yield
            if rescue.point is not None:
                self.points[i] = compiled.encode(rescue.point)
            self.hopeless = rescue.bound == inf

    def take_news(self) -> list[News]:
        """That nothing is feasible, where that was found out."""
        return [News(np.empty((0, self.compiled.n)), inf)] if self.hopeless else []

    def _swap(self) -> State:
        passes = SWAP_SHARE * self.first.work / ((TRIES + 3) * self.compiled.work_per_pass)
        swap = Swap(int(np.clip(passes, MIN_PASSES, MAX_PASSES)))
        return swap.start(self.compiled.firm, replace(self.starts, points=self.points))

    @property
    def done(self) -> bool:
        return self.over

    @property
    def steps(self) -> int:
        return self.first.steps + (self.swaps.steps if self.swaps else 0)

    @property
    def work(self) -> float:
        return self.first.work + (self.swaps.work if self.swaps else 0.0)

    @property
    def facts(self) -> dict[str, Any]:
        return {"first": self.first, "violated": self.violated}

    def candidates(self) -> Host:
        parts = [self.first.candidates() if self.points is None else self.points]
        return np.concatenate([*parts, *([self.swaps.candidates()] if self.swaps else [])])


def _repair_tables(compiled: Penalised) -> RepairTables:
    return repair_tables(compiled.constraints)
