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

FIRST_SHARE = 0.7
"""Share of a time limit up to which meeting comes first."""

OVERTIME = 16.0
"""Up to this many times the time limit it shares the time: a part of the residues may be enough."""

FEWEST, MOST = -24.0, 16.0
"""log2 of the solutions expected: below, a search has more rows to go by; above, it will meet one."""


class MeetPlan:
    """All segments of residues, and the tasks of another plan beside them.

    Parameters
    ----------
    engine : Meet
    beside : Plan, optional
        Its tasks come after the residues.
    share : bool
        Let both take turns instead, with as much time for one as for the other.
    """

    exact = False

    def __init__(self, engine: Meet, beside: Plan | None = None, share: bool = False) -> None:
        self.engine, self.beside, self.share = engine, beside, share
        self.segment = self.done = 0
        self.ahead = 0.0  # seconds that meeting has had more than the other plan

    def next(self, search: Search) -> Task | None:
        if self.beside is not None and (self.segment == SEGMENTS or (self.share and self.ahead > 0)):
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
            self.ahead -= outcome.seconds
            self.beside.learn(search, task, outcome, fun)
            return
        self.ahead += outcome.seconds
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
    needed = seconds_for(equations, compiled.loops)
    if needed <= (LONGEST if seconds_left is None else FIRST_SHARE * seconds_left):
        return MeetPlan(Meet(), inner)
    if seconds_left is not None and needed <= OVERTIME * seconds_left:
        return MeetPlan(Meet(), inner, share=True)
    return inner


def meetable(compiled: Compiled) -> bool:
    """Whether method "meet" can take a problem."""
    return 4 <= compiled.n <= MAX_VARIABLES and equations_of(compiled.problem) is not None
