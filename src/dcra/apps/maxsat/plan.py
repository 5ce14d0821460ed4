"""What method "auto" does with clauses: runs of growing length, and with hard clauses of two kinds in turn."""

from __future__ import annotations

import numpy as np

from dcra._kernels import loading
from dcra.apps.maxsat.clauses import Clauses
from dcra.apps.maxsat.search import ClauseAnneal, ClauseState, ClauseWalk
from dcra.engines.base import Engine
from dcra.portfolio import Outcome, Search, Task, next_starts

FIRST_PASSES, FIRST_MOVES = 100, 2_000
"""Length of the first runs of a timed search."""

COUNTED_PASSES, COUNTED_MOVES = 2_000, 200_000
"""Length of all runs when starts are counted instead of seconds."""

FULL_SHARE = 1 / 8
"""Share of a timed search that one run may take."""

MOST = 50_000_000


class ClausePlan:
    """Annealing runs; where there are hard clauses every other run is a walk with growing weights."""

    exact = False

    def __init__(self, clauses: Clauses) -> None:
        self.partial = bool(clauses.hard.any())
        self.passes, self.moves = float(FIRST_PASSES), float(FIRST_MOVES)
        self.rates: dict[str, float] = {}  # steps per second and worker

    def next(self, search: Search) -> Task | None:
        if search.starts_left <= 0:
            return None
        walk = self.partial and search.started % 2 == 0
        return Task(self._walk(search) if walk else self._anneal(search), next_starts(search, 1))

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        if isinstance(outcome.state, ClauseState) and outcome.state.steps:
            self.rates[task.engine.name] = outcome.state.steps / max(outcome.seconds, 1e-6)
        loading.remember()

    def _walk(self, search: Search) -> Engine:
        if search.limits.time_limit is None:
            return ClauseWalk(COUNTED_MOVES)
        moves, self.moves = self._within(search, ClauseWalk.name, self.moves), 2 * self.moves
        return ClauseWalk(moves)

    def _anneal(self, search: Search) -> Engine:
        if search.limits.time_limit is None:
            return ClauseAnneal(COUNTED_PASSES)
        passes, self.passes = self._within(search, ClauseAnneal.name, self.passes), 2 * self.passes
        return ClauseAnneal(passes)

    def _within(self, search: Search, name: str, steps: float) -> int:
        """At most a share of the whole time, and what is left of it."""
        rate, limit = self.rates.get(name), search.limits.time_limit
        if rate is not None and limit is not None:
            share = FULL_SHARE * search.limits.n_jobs * limit
            steps = min(steps, rate * min(share, max(search.seconds_left, 0.0)))
        return int(np.clip(steps, 1, MOST))
