"""Method "auto" where couplings are sparse: annealing runs, and shorter ones that leave the best point.

A run that leaves the best point ends in another one, worse as a whole but better in places. Crossed with each
other, the two have a child that takes the better of every connected part: all parts of a graph are
searched at once, each for itself.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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


class Basins(Annealing):
    """Runs from random points, crossed with the elite, and runs that leave the best, crossed with it."""

    def __init__(self, compiled: Compiled) -> None:
        super().__init__(compiled)
        self.passes_made = {True: 0, False: 0}  # of runs that leave the best point, and of others

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
        if not (isinstance(task.engine, Anneal) and task.engine.leaving):
            super().learn(search, task, outcome, fun)
            return
        self._time(task, outcome)
        child, value = self._crossed(outcome.spins[0], [(self.best[1], 1.0)])
        if value < self.best[0]:
            search.offer(child)
        if value <= self.best[0]:  # as good, but elsewhere: the next run begins there
            self.best = value, child
