"""Method "auto" where couplings are sparse: annealing runs, and shorter ones that leave the best point.

A run that leaves the best point ends in another one, worse as a whole but better in places. Crossed with each
other, the two have a child that takes the better of every connected part: all parts of a graph are
searched at once, each for itself. Where that gains no more, a new lineage begins from random points; at last
the best of all are crossed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcra._array import Host
from dcra.auto.annealing import GENTLE, HOT, Annealing
from dcra.compiled.form import Compiled
from dcra.engines.base import Starts
from dcra.polish.anneal import Anneal
from dcra.search.plans import Outcome, Task, next_starts
from dcra.search.state import Search

LEAVING_SHARE = 0.5
"""Of all passes, those of runs that leave the best point."""

COOLEST, HOTTEST = 0.15, 0.55
"""First temperatures of these runs, in units of `Anneal`: how far from the best point they lead."""

SHORTEST, LONGEST = 100, 10_000
"""Their passes, as many runs of one order of magnitude as of another."""


WAIT, LEAST_WAIT = 1.0, 0.15
"""A lineage ends when it has not gained for as long as it had gained, and for this share of a time limit."""

LAST = 0.3
"""Share of a time limit at its end in which none begins: what is best by then is gone on with."""

PASSES_ANEW = 400
"""Of the first run of a new lineage."""


class Basins(Annealing):
    """Runs from random points, crossed with the elite, and runs that leave the best, crossed with it."""

    def __init__(self, compiled: Compiled) -> None:
        super().__init__(compiled)
        self.passes_made = {True: 0, False: 0}  # of runs that leave the best point, and of others
        self.ancestor: tuple[float, Host] | None = None  # the best of all lineages before
        self.begun = self.gained = 0.0  # when this one began, and when it last gained
        self.last = False

    def next(self, search: Search) -> Task | None:
        if search.starts_left <= 0:
            return None
        starts = next_starts(search, 1)
        leaving = starts.points is None and bool(self.elite) and self._leaving_is_due
        if leaving:
            task = self._leave_best(search, starts)
        else:
            given = starts.points is not None
            task = self._run(search, self._passes(search, given), GENTLE if given else HOT, starts)
        assert isinstance(task.engine, Anneal)
        self.passes_made[leaving] += task.engine.passes
        return task

    @property
    def _leaving_is_due(self) -> bool:
        return self.passes_made[True] < LEAVING_SHARE * sum(self.passes_made.values())

    def _leave_best(self, search: Search, starts: Starts) -> Task:
        rng = np.random.default_rng((starts.seed, starts.first, 3))
        hot = float(rng.uniform(COOLEST, HOTTEST))
        wanted = int(np.exp(rng.uniform(np.log(SHORTEST), np.log(LONGEST))))
        passes = min(wanted, self._most_passes(search, gentle=True))
        task = self._run(search, passes, hot, Starts(starts.seed, starts.first, 1, self.best[1][None].copy()))
        assert isinstance(task.engine, Anneal)
        return replace(task, engine=replace(task.engine, leaving=True))

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        before = self.best[0]
        if not (isinstance(task.engine, Anneal) and task.engine.leaving):
            super().learn(search, task, outcome, fun)
        elif self.elite:  # else it left the best point of a lineage that has ended
            self._learn_of_leaving(search, task, outcome)
        if self.best[0] < before:
            self.gained = search.seconds
        if search.limits.time_limit is not None and self.elite and not self.last:
            self._look_at_the_clock(search, search.limits.time_limit)

    def _learn_of_leaving(self, search: Search, task: Task, outcome: Outcome) -> None:
        self._time(task, outcome)
        child, value = self._crossed(outcome.spins[0], [(self.best[1], 1.0)])
        if value < self.best[0]:
            search.offer(child)
        if value <= self.best[0]:  # as good, but elsewhere: the next run begins there
            self.best = value, child

    def _look_at_the_clock(self, search: Search, limit: float) -> None:
        """End a lineage that gains no more, or the last of them."""
        now = search.seconds
        self.last = now > (1 - LAST) * limit
        idle = now - self.gained > max(WAIT * (self.gained - self.begun), LEAST_WAIT * limit)
        if not self.last and not idle:
            return
        self.ancestor = self._joined(search)
        if self.last:
            self.best = self.ancestor
            return
        self.elite.clear()
        self.best = np.inf, self.best[1]
        self.begun = self.gained = now
        self.passes, self.passes_made = float(PASSES_ANEW), {True: 0, False: 0}

    def _joined(self, search: Search) -> tuple[float, Host]:
        """The best of all lineages, and of what they have in common."""
        if self.ancestor is None:
            return self.best
        child, value = self._crossed(self.ancestor[1], self._both_ways(self.best[1]))
        search.offer(child)
        return min((value, child), self.best, self.ancestor, key=lambda pair: pair[0])

    def adopt(self, compiled: Compiled) -> None:
        super().adopt(compiled)
        self.ancestor = None
