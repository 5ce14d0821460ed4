"""The plan of method "exact": some descents for a point to begin with, then the tree of the proof."""

from __future__ import annotations

from math import inf

from dcra.auto.descents import Portfolio
from dcra.engines.base import Starts, State
from dcra.exact.prove import ProofState, Prove
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.state import Search

DESCENTS = 6
"""Descents before the tree, where `starts` does not ask for fewer."""

SHARE = 0.1
"""Share of a time limit after which they end."""


class ProofTask(Task):
    """A tree, which the search knows from its beginning."""

    def begin(self, search: Search) -> State:
        state = super().begin(search)
        assert isinstance(state, ProofState)
        search.proof = state
        return state


class ProvePlan(Plan):
    """Descents where there is no point given, then one tree."""

    exact = True

    def __init__(self, engine: Prove) -> None:
        self.engine = engine
        self.descents: Portfolio | None = None
        self.begun = False

    def next(self, search: Search) -> Task | None:
        if self.begun:
            return None
        task = self._descent(search)
        if task is not None:
            return task.within(self)
        if search.finished < search.started:  # the tree begins at the best of all descents
            return None
        self.begun = True
        points = None if search.spins is None else search.spins[None]
        return ProofTask(self.engine, Starts(search.seed, search.started, 1, points), counts=False)

    def _descent(self, search: Search) -> Task | None:
        compiled, limit = search.compiled, search.limits.time_limit
        able = compiled.tabulated and compiled.pieces and compiled.problem.constraints is None
        late = limit is not None and search.seconds > SHARE * limit
        if not able or late or search.started >= min(DESCENTS, search.limits.most_starts):
            return None
        self.descents = self.descents or Portfolio(compiled)
        return self.descents.next(search)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        if task.inner is not None:
            assert self.descents is not None
            self.descents.learn(search, task.inner, outcome, fun)
            return
        assert isinstance(outcome.state, ProofState)
        self.least = outcome.state.least

    def complete(self, search: Search) -> bool:
        return self.least > -inf
