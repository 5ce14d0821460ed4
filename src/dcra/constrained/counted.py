"""Method "auto" where constraints are counts of disjoint groups and the objective has couplings.

Annealing runs of growing length as in `auto.annealing`, from random or smooth points within the counts and,
one in three, from the best; what they look at are swaps, or flips that are charged for leaving the counts.
No penalties are needed, and no repair.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from math import inf

from dcra._array import Host
from dcra._kernels.store import counts, crossing
from dcra.auto.annealing import ENOUGH, GENTLE, HOT, Annealing
from dcra.auto.decision import Traits
from dcra.compiled.form import Compiled
from dcra.constrained.choices import ChoiceTabu, are_choices
from dcra.constrained.quadratic_swap import ChargedFlips
from dcra.constrained.smooth import Smooth
from dcra.constrained.swap import Swap, groups_of
from dcra.engines.base import Starts
from dcra.engines.polished import Polished
from dcra.model.constraints import Group
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.state import Search

SMOOTH = 0.0
HOTS = (SMOOTH, HOT, 1.5 * HOT, 3.0 * HOT)
"""First temperatures of runs from random points: where neighbours agree, order sets in at hotter ones. SMOOTH
stands for gentle runs from smooth points, where couplings are sparse."""

LEAST_TERMS, PREPARING, SMOOTH_SHARE = 40.0, 60.0, 0.25
"""Products that a smooth point takes, and what comes before the first one, in products: where this share of a
time limit allows no more, none is tried."""

SMOOTH_PASSES = 200
"""These have no more passes: where the borders are is decided by then. Where they lead, no run has more than
`ENOUGH`."""

TABU_TURN, TABU_MOVES = 2, 10
"""Where variables are choices, one run in so many is a tabu search, of so many moves for each pass."""

ROOM = 20
"""Variables that must be up, and as many down, in groups where charged flips find more than swaps."""


def anneal_within_counts(traits: Traits) -> Plan:
    return CountedAnnealing(traits.compiled, traits.working)


class CountedAnnealing(Annealing):
    """Annealing runs within counts; half of their work begins in the way by which most was found."""

    def __init__(self, compiled: Compiled, working: Compiled | None = None) -> None:
        super().__init__(compiled, working)
        roomy = all(map(is_roomy, groups_of(compiled)))
        self.engine = ChargedFlips if roomy and not compiled.pieces else Swap
        self.choices = are_choices(compiled, groups_of(compiled))
        smooth = self.crossing and self.engine is ChargedFlips
        self.ways = deque(hot for hot in HOTS if smooth or hot != SMOOTH)
        self.found = dict.fromkeys(self.ways, inf)  # the best objective of each
        self.spent = dict.fromkeys(self.ways, 0.0)  # its seconds, or its work where starts are counted

    def _run(self, search: Search, passes: int, hot: float, starts: Starts) -> Task:
        if self.choices and self.runs % TABU_TURN == 0:
            return Task(ChoiceTabu(TABU_MOVES * passes), starts)
        if starts.points is None:
            terms = self._most_terms(search)
            hot = self._way(terms >= LEAST_TERMS)
            if hot == SMOOTH:
                flips = self.engine(min(passes, SMOOTH_PASSES), GENTLE, self.unit)
                return Task(Polished(Smooth(terms), flips), starts)
        return Task(self.engine(passes, hot, self.unit), starts)

    @property
    def _lead(self) -> float | None:
        """The way by which most was found."""
        lead = min(self.ways, key=self.found.__getitem__)
        return lead if self.found[lead] < inf else None

    def _way(self, smooth: bool = True) -> float:
        """The one that leads until it had half of what was spent, else the next; smooth only if allowed."""
        lead = self._lead
        if lead is None or self.spent[lead] >= sum(self.spent.values()) / 2:
            self.ways.rotate(-1)
            lead = self.ways[-1]
        return lead if smooth or lead != SMOOTH else HOT

    def _most_terms(self, search: Search) -> float:
        """Of a field: what its share of the time allows."""
        if search.limits.time_limit is None:
            return inf
        seconds = min(SMOOTH_SHARE * search.limits.time_limit, search.seconds_left / 2)
        return seconds * search.rate / self.compiled.work_per_pass - PREPARING

    def _most_passes(self, search: Search, gentle: bool) -> int:
        most = super()._most_passes(search, gentle)
        return min(most, ENOUGH) if self._lead == SMOOTH else most

    def _cross(self, s: Host, g: Host, score: Host, partners: Iterable[tuple[Host, float]]) -> None:
        from dcra._kernels.crossover import cross_within

        quadratic, scratch = self.compiled.quadratic_tables, crossing(s.size)
        at = counts(s, groups_of(self.compiled))
        for other, sign in partners:
            cross_within(quadratic.C, s, g, score, other, sign, at, scratch)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        super().learn(search, task, outcome, fun)
        if task.starts.points is None and not isinstance(task.engine, ChoiceTabu):
            way = task.engine.hot if isinstance(task.engine, Swap) else SMOOTH
            self.found[way] = min(self.found[way], fun)
            timed = search.limits.time_limit is not None
            self.spent[way] += outcome.seconds if timed else outcome.state.work

    def _time(self, task: Task, outcome: Outcome) -> None:
        if isinstance(task.engine, Swap):
            super()._time(task, outcome)


def is_roomy(group: Group) -> bool:
    return group.least >= ROOM and group.members.size - group.most >= ROOM
