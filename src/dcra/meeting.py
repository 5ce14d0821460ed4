"""Plans that meet in the middle: alone, or beside a search that may be quicker."""

from __future__ import annotations

from dcra.certificate import trivial_bound
from dcra.compiled import Compiled
from dcra.engines.base import Starts
from dcra.equations import Equations, equations_of
from dcra.meet import MAX_VARIABLES, SEGMENTS, Meet, MeetState, seconds_for
from dcra.portfolio import Outcome, Plan, Search, Task

LONGEST = 2.0
"""Seconds of one thread that are worth it when there is no time limit."""

OVERTIME = 16.0
"""With a time limit the search may take this many times as long: a part of it may be enough."""

FEWEST, MOST = -24.0, 16.0
"""log2 of the solutions expected: below, a search has more rows to go by; above, it will meet one."""


class MeetPlan:
    """All segments of residues, and the tasks of another plan in between.

    The other plan comes first, so that there is an answer early, and then gets every second task; once all
    residues are done, every task.
    """

    exact = False

    def __init__(self, engine: Meet, beside: Plan | None = None) -> None:
        self.engine, self.beside = engine, beside
        self.segment = self.done = self.turn = 0

    def next(self, search: Search) -> Task | None:
        self.turn += 1
        if self.beside is not None and (self.turn % 2 or self.segment == SEGMENTS):
            task = self.beside.next(search)
            if task is not None or self.segment == SEGMENTS:
                return task
        if self.segment == SEGMENTS:
            return None
        self.segment += 1
        return Task(self.engine, Starts(search.seed, self.segment - 1, 1))

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        if not isinstance(outcome.state, MeetState):
            assert self.beside is not None
            self.beside.learn(search, task, outcome, fun)
            return
        search.finished -= 1  # a share of the residues is not a start
        self.done += 1
        if self.done == SEGMENTS:
            self._conclude(search, outcome.state.quarters.equations)

    def _conclude(self, search: Search, equations: Equations) -> None:
        """All solutions are known: what remains is not the least objective, or not feasible."""
        problem = search.compiled.problem
        if equations.required:
            search.bound(search.fun)
        elif problem.integer_valued and search.fun > trivial_bound(problem):
            search.bound(1.0 + problem.constant)


def meet_beside(compiled: Compiled, seconds_left: float | None, inner: Plan) -> Plan:
    """The plan `inner`, with meeting in the middle beside it where that promises anything."""
    if compiled.n > MAX_VARIABLES:
        return inner
    equations = equations_of(compiled.problem)
    if equations is None or not FEWEST <= equations.expected <= MOST:
        return inner
    budget = LONGEST if seconds_left is None else OVERTIME * seconds_left
    return MeetPlan(Meet(), inner) if seconds_for(equations, compiled.loops) <= budget else inner


def meetable(compiled: Compiled) -> bool:
    """Whether method "meet" can take a problem."""
    return 4 <= compiled.n <= MAX_VARIABLES and equations_of(compiled.problem) is not None
