"""All permutations of an assignment, but for those that a bound rules out: the optimum, with its proof."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import e, factorial, inf
from typing import ClassVar

import numpy as np

from dcra import costs
from dcra._array import Host
from dcra._kernels.permutations import MOST
from dcra.apps.qap import (
    AssignmentProblem,
    AssignmentState,
    SwapTabu,
    assignment_cost,
    repaired,
    spins_of,
)
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.exact.prove import Prove
from dcra.search.plans import Outcome, Plan, Repeat, Task, start_at_best
from dcra.search.state import Search

VISITED = 0.1
"""Of the whole tree, what bounds leave to be visited; less, as a rule."""

MAX_WORK = 2_000_000_000
"""Entries touched up to which there need be no time limit."""

SHARE = 0.5
"""Of the time left, what it may take."""

SWAPPED = 4
"""Searches by swaps, before method "exact" begins with the best of them."""

MOVES = 30
"""Swaps for each facility, for a permutation to begin with."""

LARGEST = 2.0**52
"""Up to here sums of integers are not rounded."""


def enumerable(flow: Host, seconds_left: float | None) -> bool:
    """Whether all permutations can be gone through, but for those that bounds rule out."""
    n = len(flow)
    work = VISITED * e * factorial(min(n, 30)) * n * n
    if seconds_left is None:
        return work <= MAX_WORK
    return costs.slowdown() * work / costs.PASS_RATE <= SHARE * seconds_left


@dataclass(frozen=True)
class Branch(Engine):
    """Branch and bound over permutations; start number i has the first facility at place i."""

    name: ClassVar[str] = "branch"
    needs: ClassVar[frozenset[str]] = frozenset({"assignment", "loops"})

    def setup_work(self, compiled: Compiled) -> int:
        return 0

    def start(self, compiled: Compiled, starts: Starts) -> BranchState:
        problem = compiled.problem
        assert isinstance(problem, AssignmentProblem)
        return BranchState(problem.flow, problem.distance, starts)


class BranchState(State):
    """One place of the first facility; `least` is what no permutation with it there falls below.

    Facilities are taken in the order of their flows, largest first: what they cost is known early.
    """

    def __init__(self, flow: Host, distance: Host, starts: Starts) -> None:
        from dcra._kernels.permutations import branches

        self.order = np.argsort(-np.abs(flow).sum(0) - np.abs(flow).sum(1), kind="stable")
        self.flow, self.distance, self.first = flow, distance, starts.first
        self.F = np.ascontiguousarray(flow[np.ix_(self.order, self.order)])
        self.D = np.ascontiguousarray(distance)
        self.rest = rest_of(self.F, self.D)
        self.branches, self.cursor = branches(self.F, self.D), np.zeros(2, np.int64)
        self.branches.best[:] = self._descended(starts)[self.order]
        self.cost = np.array([assignment_cost(self.F, self.D, self.branches.best)])
        self._work = 0.0

    def _descended(self, starts: Starts) -> Host:
        """A permutation to begin with, which a few swaps have improved."""
        n = len(self.F)
        if starts.points is not None:
            return repaired(starts.points[0].reshape(n, n))
        state = AssignmentState(self.flow, self.distance, Starts(starts.seed, starts.first, 1))
        state.advance(MOVES * n**3)
        return np.asarray(state.out[0])

    def advance(self, work: int) -> None:
        from dcra._kernels.permutations import branch

        n = len(self.F)
        if not self.done:
            most = max(1, work // (n * n))
            self._work += (
                n
                * n
                * branch(self.F, self.D, self.rest, self.first, self.cost, most, self.cursor, self.branches)
            )

    @property
    def done(self) -> bool:
        return bool(self.cursor[0] < 0)

    @property
    def work(self) -> float:
        return self._work

    @property
    def least(self) -> float:
        """-inf before the end."""
        return float(self.cost[0]) - rounding(self.F, self.D) if self.done else -inf

    def candidates(self) -> Host:
        p = np.empty_like(self.order)
        p[self.order] = self.branches.best
        return spins_of(p[None])


def rest_of(F: Host, D: Host) -> Host:
    """What facilities k, ..., n-1 cost at least among each other: large flows over short distances, (n,).

    No two flows have the same distance: those above 0 cost no less than the shortest ones, the largest flow
    over the shortest, and those below 0 no less than over the longest.
    """
    n = len(F)
    away = ~np.eye(n, dtype=bool)
    short = np.sort(D[away])
    rest = np.zeros(n)
    for k in range(n - 1):
        flows = np.sort(F[k:, k:][away[k:, k:]])
        up, down = flows[flows > 0][::-1], flows[flows < 0]
        rest[k] = up @ short[: up.size] + down @ short[::-1][: down.size]
    return rest


def rounding(F: Host, D: Host) -> float:
    """What sums of the products may be off by; nothing where all of them are integers."""
    size = float(np.sum(np.abs(F))) * float(np.max(np.abs(D)))
    whole = np.array_equal(F, np.rint(F)) and np.array_equal(D, np.rint(D))
    return 0.0 if whole and 4 * size <= LARGEST else 4 * len(F) ** 2 * size * float(np.finfo(np.float64).eps)


class BranchPlan(Plan):
    """Every place of the first facility, once."""

    exact = True

    def __init__(self, n: int) -> None:
        self.n, self.given, self.least = n, 0, inf

    def next(self, search: Search) -> Task | None:
        if self.given == self.n:
            return None
        self.given += 1
        return Task(Branch(), Starts(search.seed, self.given - 1, 1))

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        assert isinstance(outcome.state, BranchState)
        self.least = min(self.least, outcome.state.least)


def proof_plan(engine: Prove, compiled: Compiled) -> Plan | None:
    """What method "exact" does with an assignment; None where no permutation need be the best point."""
    problem = compiled.problem
    if not isinstance(problem, AssignmentProblem) or not problem.permutes or problem.constraints is not None:
        return None
    n = len(problem.flow)
    return BranchAfterSwaps(n) if compiled.loops and n <= MOST else None


class BranchAfterSwaps(BranchPlan):
    """Some searches by swaps; then every place of the first facility, beginning with the best of them."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.swaps = Repeat(SwapTabu())

    def next(self, search: Search) -> Task | None:
        task = self.swaps.next(search) if search.started < SWAPPED else None
        if task is not None:
            return task
        if search.finished < search.started:
            return None
        branch = super().next(search)
        if branch is None:
            return None
        return Task(Branch(), replace(start_at_best(search), first=branch.starts.first), counts=False)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        if isinstance(outcome.state, BranchState):
            super().learn(search, task, outcome, fun)
