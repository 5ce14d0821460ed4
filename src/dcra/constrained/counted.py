"""Method "auto" where constraints are counts of disjoint groups and the objective has couplings.

Annealing runs of growing length as in `auto.annealing`, from random points within the counts and, one in
three, from the best; what they look at are swaps, or flips that are charged for leaving the counts. No
penalties are needed, and no repair.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from dcra._array import Host
from dcra._kernels.store import counts, crossing
from dcra.auto.annealing import HOT, Annealing
from dcra.auto.decision import Traits
from dcra.compiled.form import Compiled
from dcra.constrained.choices import ChoiceTabu, are_choices
from dcra.constrained.quadratic_swap import ChargedFlips
from dcra.constrained.swap import Swap, groups_of
from dcra.engines.base import Starts
from dcra.model.constraints import Group
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.state import Search

HOTS = (HOT, 1.5 * HOT, 3.0 * HOT)
"""First temperatures of runs from random points: where neighbours agree, order sets in at hotter ones."""

TABU_TURN, TABU_MOVES = 2, 10
"""Where variables are choices, one run in so many is a tabu search, of so many moves for each pass."""

ROOM = 20
"""Variables that must be up, and as many down, in groups where charged flips find more than swaps."""


def anneal_within_counts(traits: Traits) -> Plan:
    return CountedAnnealing(traits.compiled)


class CountedAnnealing(Annealing):
    """Annealing runs within counts; every other one begins as hot as the one that has found most."""

    def __init__(self, compiled: Compiled) -> None:
        super().__init__(compiled)
        roomy = all(map(is_roomy, groups_of(compiled)))
        self.engine = ChargedFlips if roomy and not compiled.pieces else Swap
        self.choices = are_choices(compiled, groups_of(compiled))
        self.fresh = 0  # runs from random points
        self.found = dict.fromkeys(HOTS, inf)  # the best objective of theirs, by first temperature

    def _run(self, search: Search, passes: int, hot: float, starts: Starts) -> Task:
        if self.choices and self.runs % TABU_TURN == 0:
            return Task(ChoiceTabu(TABU_MOVES * passes), starts)
        if starts.points is None:
            hot = self._hot()
        return Task(self.engine(passes, hot, self.unit), starts)

    def _hot(self) -> float:
        self.fresh += 1
        if self.fresh % 2:
            return HOTS[self.fresh // 2 % len(HOTS)]
        return min(self.found, key=self.found.__getitem__)

    def _cross(self, s: Host, g: Host, score: Host, partners: Iterable[tuple[Host, float]]) -> None:
        from dcra._kernels.crossover import cross_within

        quadratic, scratch = self.compiled.quadratic_tables, crossing(s.size)
        at = counts(s, groups_of(self.compiled))
        for other, sign in partners:
            cross_within(quadratic.C, s, g, score, other, sign, at, scratch)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        super().learn(search, task, outcome, fun)
        if task.starts.points is None and isinstance(task.engine, Swap):
            hot = task.engine.hot
            self.found[hot] = min(self.found[hot], fun)

    def _time(self, task: Task, outcome: Outcome) -> None:
        if isinstance(task.engine, Swap):
            super()._time(task, outcome)


def is_roomy(group: Group) -> bool:
    return group.least >= ROOM and group.members.size - group.most >= ROOM
