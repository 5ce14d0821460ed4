"""Plans that meet in the middle: alone, or beside a search that may be quicker."""

from __future__ import annotations

from math import inf

from dcra.bounds.dual import trivial_bound
from dcra.compiled.form import Compiled
from dcra.engines.base import Starts
from dcra.exact.closest_pairs import Closest, suitable
from dcra.exact.integer_equations import Equations, equations_of
from dcra.exact.meet_in_the_middle import MAX_VARIABLES, SEGMENTS, Meet, MeetState, seconds_for
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.state import Search

LONGEST = 2.0
"""Seconds of one thread that are worth it when there is no time limit."""

FIRST_SHARE = 0.7
"""Share of a time limit up to which meeting comes first."""

OVERTIME = 4.0
"""Up to this many times the time limit it shares the time: a part of the residues may be enough."""

SHORTEST_PAIRING = 2.0
"""Seconds below which near solutions are left to the descents."""

PAIRING_SHARE = 0.8
"""Share of the time for closest pairs: descents hardly ever come as near."""

FEWEST, MOST = -24.0, 16.0
"""log2 of the solutions expected: below, a search has more rows to go by; above, it will meet one."""


class MeetPlan:
    """All segments of residues."""

    exact = False
    alone = False

    def __init__(self, engine: Meet) -> None:
        self.engine = engine
        self.segment = self.done = 0

    def next(self, search: Search) -> Task | None:
        if self.segment == SEGMENTS:
            return None
        self.segment += 1
        return Task(self.engine, Starts(search.seed, self.segment - 1, 1))

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        assert isinstance(outcome.state, MeetState)
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


class PairingPlan:
    """Near solutions by closest pairs, one set of free variables after another."""

    exact = False
    alone = False

    def __init__(self) -> None:
        self.count = 0

    def next(self, search: Search) -> Task | None:
        self.count += 1
        return Task(Closest(), Starts(search.seed, self.count - 1, 1))

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        """Starts do not depend on each other."""


class Beside:
    """Two plans: `special`, for equations, and `general`.

    Parameters
    ----------
    share : float
        Share of the time that `special` gets; at 1, `general` has what it leaves.
    """

    exact = False
    alone = False

    def __init__(self, special: Plan, general: Plan, share: float) -> None:
        self.special, self.general, self.share = special, general, share
        self.ahead = 0.0  # seconds that `special` has had more than its share
        self.owner: dict[int, Plan] = {}  # of a task, by its identity

    def next(self, search: Search) -> Task | None:
        plans = [self.special, self.general]
        if self.share < 1 and self.ahead >= 0:
            plans.reverse()
        for plan in plans:
            task = plan.next(search)
            if task is not None:
                self.owner[id(task)] = plan
                return task
        return None

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        owner = self.owner.pop(id(task))
        special = owner is self.special
        self.ahead += (1 - self.share) * outcome.seconds if special else -self.share * outcome.seconds
        owner.learn(search, task, outcome, fun)


def meet_beside(compiled: Compiled, seconds_left: float | None, general: Plan) -> Plan:
    """The plan `general`, with those for equations beside it where they promise anything."""
    equations = equations_of(compiled.problem)
    if equations is None or not FEWEST <= equations.expected <= MOST:
        return general
    needed = seconds_for(equations, compiled.loops) if compiled.n <= MAX_VARIABLES else inf
    if needed <= (LONGEST if seconds_left is None else FIRST_SHARE * seconds_left):
        return Beside(MeetPlan(Meet()), general, share=1.0)
    if seconds_left is None:
        return general
    if seconds_left >= SHORTEST_PAIRING and suitable(compiled, equations, seconds_left):
        general = Beside(PairingPlan(), general, share=PAIRING_SHARE)
    return Beside(MeetPlan(Meet()), general, share=0.5) if needed <= OVERTIME * seconds_left else general


def meetable(compiled: Compiled) -> bool:
    """Whether method "meet" can take a problem."""
    return 4 <= compiled.n <= MAX_VARIABLES and equations_of(compiled.problem) is not None
