"""Searches under constraints: engines see the penalised problem, the judge only feasible points.

A descent of any engine ends in a point of the penalised problem. What it violates makes the penalties grow;
the point itself is repaired, and improved by swaps that keep counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host
from dcra.auto.decision import Traits, decide
from dcra.bounds.dual import rounded_up
from dcra.compiled.form import Compiled
from dcra.constrained.branch_and_bound import Branch, BranchState, is_linear, nearest_feasible
from dcra.constrained.repair import Repair, rises
from dcra.constrained.state import ConstrainedSearch
from dcra.constrained.swap import TRIES, Swap
from dcra.engines.base import Engine, Starts, State
from dcra.model.constraints import Constraints
from dcra.polish.base import AsGiven
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.state import Search

SWAP_SHARE = 0.5
"""Work of the swaps after a descent, in units of the descent's own."""

MIN_PASSES, MAX_PASSES = 20, 20_000
RESCUE_AFTER = 2
"""Growths of the penalties without a feasible point after which a MILP solver looks for one."""

RESCUE_SECONDS, RESCUE_SHARE = 10.0, 0.2
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
        self.tools = Tools(search.penalties.constraints, search.halted)
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
        return Task(self._feasible(task.engine, search), task.starts, inner=task, owner=self.inner)

    def _opening(self, search: Search) -> Task | None:
        """Begin with the least violating point that is known, if any: repair is quicker than a descent."""
        assert isinstance(search, ConstrainedSearch)
        known = search.spins if search.nearest is None else search.nearest
        if known is None:
            return None
        starts = Starts(search.seed, 0, 1, known[None].copy())
        return Task(self._feasible(AsGiven(), search), starts, counts=False)

    def _feasible(self, engine: Engine, search: Search) -> Feasible:
        penalties = self.penalties
        return Feasible(
            engine, penalties.compiled, penalties.firm, self.tools, penalties.version, self._rescue(search)
        )

    def _rescue(self, search: Search) -> float:
        """Seconds that a MILP solver may take to find any feasible point."""
        if isfinite(search.fun) or self.penalties.version < RESCUE_AFTER:
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
        assert isinstance(task.engine, Feasible)
        assert isinstance(state, FeasibleState)
        inner = Outcome(state.first.candidates(), state.first, outcome.seconds)
        self.inner.learn(search, task.inner, inner, fun)
        if task.engine.version == self.penalties.version and self.penalties.grow(state.violated):
            self.inner.adopt(self.penalties.compiled)


class Tools:
    """What repairs share."""

    def __init__(self, constraints: Constraints, halted: Callable[[], bool]) -> None:
        self.constraints, self.halted = constraints, halted

    @cached_property
    def repair(self) -> Repair:
        return Repair(self.constraints)


@dataclass(frozen=True, eq=False)
class Feasible(Engine):
    """`first` on a penalised problem, then repair, then swaps on one with heavier penalties."""

    first: Engine
    compiled: Compiled
    firm: Compiled
    tools: Tools
    version: int
    rescue: float

    name: ClassVar[str] = "feasible"

    def start(self, compiled: Compiled, starts: Starts) -> FeasibleState:
        return FeasibleState(self, starts)


class FeasibleState(State):
    """`swaps` is None until `first` is done and repaired."""

    def __init__(self, engine: Feasible, starts: Starts) -> None:
        self.engine, self.starts = engine, starts
        self.compiled = engine.compiled
        self.first = engine.first.start(engine.compiled, starts)
        self.swaps: State | None = None
        self.repaired: Host | None = None
        self.violated = np.zeros(len(engine.tools.constraints), bool)

    def advance(self, work: int) -> None:
        if self.repaired is None:
            if not self.first.done:
                self.first.advance(work)
            if self.first.done:
                self._repair()
        elif self.swaps is not None:
            self.swaps.advance(work)

    def _repair(self) -> None:
        spins = self.first.candidates()
        constraints = self.engine.tools.constraints
        excess = np.atleast_2d(constraints.excess(self.compiled.in_domain(spins)))
        self.violated = np.any(excess > 0, axis=0)
        self.repaired = np.stack([self._repaired(s, e) for s, e in zip(spins, excess, strict=True)])
        if self.compiled.tabulated:
            self._swap()

    def _repaired(self, spins: Host, excess: Host) -> Host:
        if not excess.any():
            return spins
        tools = self.engine.tools
        x = self.compiled.in_domain(spins)
        fixed = tools.repair(x, rises(self.compiled, spins), self.starts.seed, tools.halted)
        if self.engine.rescue and tools.constraints.violation(fixed) > 0:
            found = nearest_feasible(tools.constraints, x, self.engine.rescue, tools.halted)
            fixed = fixed if found is None else found
        return self.compiled.encode(fixed)

    def _swap(self) -> None:
        assert self.repaired is not None
        groups = [g for g in self.engine.tools.constraints.groups if self._counts_hold(g)]
        passes = SWAP_SHARE * self.first.work / ((TRIES + 3) * self.compiled.work_per_pass)
        swap = Swap(groups, int(np.clip(passes, MIN_PASSES, MAX_PASSES)))
        self.swaps = swap.start(self.engine.firm, replace(self.starts, points=self.repaired))

    def _counts_hold(self, group: Any) -> bool:
        assert self.repaired is not None
        ups = np.count_nonzero(self.repaired[:, group.members] > 0, axis=1)
        return bool(np.all((ups >= group.least) & (ups <= group.most)))

    @property
    def done(self) -> bool:
        return self.repaired is not None and (self.swaps is None or self.swaps.done)

    @property
    def steps(self) -> int:
        return self.first.steps + (self.swaps.steps if self.swaps else 0)

    @property
    def work(self) -> float:
        return self.first.work + (self.swaps.work if self.swaps else 0.0)

    def candidates(self) -> Host:
        parts = [self.first.candidates() if self.repaired is None else self.repaired]
        return np.concatenate([*parts, *([self.swaps.candidates()] if self.swaps else [])])
