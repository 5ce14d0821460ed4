"""What method "auto" does with clauses: annealing of growing length, repaired where hard clauses fail."""

from __future__ import annotations

import numpy as np

from dcra import costs
from dcra.apps.maxsat.bound import stage_for
from dcra.apps.maxsat.clauses import Clauses
from dcra.apps.maxsat.problem import ClauseProblem
from dcra.apps.maxsat.search import ClauseAnneal, ClauseWalk, parts
from dcra.bounds.dual import Stage
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine
from dcra.engines.polished import Polished
from dcra.search.plans import Outcome, Plan, Task, next_starts
from dcra.search.state import Search

FIRST_PASSES = 100
"""Passes of the first run of a timed search; every later one may be twice as long as the one before."""

COUNTED_PASSES = 2_000
"""Passes of all runs when starts are counted instead of seconds."""

FULL_SHARE = 1 / 8
"""Share of a timed search that one run may take."""

ENOUGH, ROOM = 500, 0.9
"""Passes of a good run, for which it may take more than its share: so much of the time left."""

PILOT_SECONDS = 0.3
"""About what the first run of a timed search may take: it is there to learn the pace."""

MOST_PASSES = 50_000_000
MOVES_PER_CLAUSE = 200
"""Length of a repair."""

SAFE = 1.5
"""Weight of a hard clause, as a share of the soft ones around it, that usually keeps it true; every other run
is at least at this."""

LEAST, MOST = 0.1, 1000.0
HEAVIER, LIGHTER = 2.0, 0.7
"""Hard clauses become heavier after a run that left some of them false, and lighter after others."""


class ClausePlan(Plan):
    """Annealing; hard clauses weigh as much as turns out to be needed, and what stays false is repaired."""

    def __init__(self, clauses: Clauses) -> None:
        self.partial = bool(clauses.hard.any())
        self.repair = ClauseWalk(MOVES_PER_CLAUSE * max(1000, int(np.count_nonzero(clauses.hard))))
        self.passes = float(FIRST_PASSES)
        self.entries = max(1, clauses.literals.size)
        self.hard_share = SAFE
        self.rate: float | None = None  # passes per second and worker

    def next(self, search: Search) -> Task | None:
        if search.starts_left <= 0:
            return None
        first = search.started == 0
        starts = next_starts(search, 1)
        if not self.partial:
            return Task(self._anneal(search), starts)
        return Task(self.repair if first else Polished(self._anneal(search), self.repair), starts)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        if task.engine is not self.repair:
            state = outcome.state.stages[0]
            self.rate = state.steps / max(outcome.seconds, 1e-6)
            used = state.facts["hard_share"]
            share = max(self.hard_share, HEAVIER * used) if state.facts["broken"] else LIGHTER * used
            self.hard_share = float(np.clip(share, LEAST, MOST))

    def _anneal(self, search: Search) -> Engine:
        limit = search.limits.time_limit
        share = max(self.hard_share, SAFE) if search.started % 2 else self.hard_share
        if limit is None:
            return ClauseAnneal(COUNTED_PASSES, hard_share=share)
        if self.rate is None:
            passes = PILOT_SECONDS * costs.LITERAL_RATE / self.entries
            return ClauseAnneal(int(np.clip(passes, 1, FIRST_PASSES)), hard_share=share)
        self.passes *= 2
        left = max(search.seconds_left, 0.0)
        full = max(FULL_SHARE * search.limits.n_jobs * limit, min(ENOUGH / self.rate, ROOM * left))
        passes = min(self.passes, self.rate * min(full, left))
        return ClauseAnneal(int(np.clip(passes, 1, MOST_PASSES)), hard_share=share)


class ClauseSpecialist:
    """What "auto" does with clauses."""

    def plan(self, compiled: Compiled, seconds_left: float | None) -> Plan | None:
        if not _charges_clauses(compiled):
            return None
        clauses, formula = parts(compiled)
        return ClausePlan(clauses) if compiled.loops and formula.hard.size > 0 else None

    def bound_stage(self, compiled: Compiled, fun: float, seconds: float) -> Stage | None:
        if not _charges_clauses(compiled):
            return None
        return stage_for(compiled, parts(compiled)[0], fun, seconds)


def _charges_clauses(compiled: Compiled) -> bool:
    return isinstance(compiled.problem, ClauseProblem) and compiled.problem.charges_its_clauses


SPECIALIST = ClauseSpecialist()
