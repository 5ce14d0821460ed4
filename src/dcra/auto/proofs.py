"""Plans with a tree that proves: method "exact", and, where its root is cheap, beside what "auto" does."""

from __future__ import annotations

from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING

from dcra import costs
from dcra.auto.descents import Portfolio
from dcra.bounds.dual import rounded_up
from dcra.compiled.form import Compiled
from dcra.engines.base import Starts, State
from dcra.exact.kinks import has_kinks, is_straight
from dcra.exact.prove import Patience, ProofState, Prove
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.state import Search

if TYPE_CHECKING:
    from dcra.auto.decision import Traits

SHARE_BESIDE, SHARE_PROMISING = 0.05, 0.3
"""Shares of a time limit that a tree beside a search takes, and takes if that will be the end of it."""

PASSES_PER_START, PROMISING = 70, 6.0
"""The same where starts are counted: passes over A for each, and how many times as many."""

ROOTS = 2.0
"""Roots that must fit into it: what the first bound leaves open there is tried variable by variable."""

BEFORE = 3
"""Descents before the tree beside a search begins."""

DESCENTS = 4
"""Descents before the tree, where `starts` does not ask for fewer; one where a point is given."""

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
        enough = min(DESCENTS if search.points is None else 1, search.limits.most_starts)
        if not able or late or search.started >= enough:
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


def root_work(n: int, r: int) -> float:
    """About how many entries of A the relaxation at the root touches."""
    m = float(min(n, r))
    between = 0.4 * m
    return (10 + 0.4 * m * sqrt(m)) * (2 * between**2 + (between + 2) * (n + r))


def worthwhile(search: Search, seconds_left: float | None) -> bool:
    """Whether the root fits into what a tree beside a search may take."""
    compiled = search.compiled
    if not compiled.loops or not is_straight(compiled.problem) or not has_kinks(compiled.problem):
        return False
    return ROOTS * root_work(compiled.n, max(1, compiled.n_rows)) <= patience_for(search, seconds_left).least


def patience_for(search: Search, seconds_left: float | None) -> Patience:
    if seconds_left is None:
        work = PASSES_PER_START * min(search.limits.most_starts, 1e6) * search.compiled.work_per_pass
        return Patience(work, PROMISING * work)
    rate = costs.SIMPLEX_RATE / costs.slowdown() * max(0.0, seconds_left)
    return Patience(SHARE_BESIDE * rate, SHARE_PROMISING * rate)


def prove_beside(traits: Traits, general: Plan) -> Plan:
    return ProofBeside(general, patience_for(traits.search, traits.seconds_left))


class ProofBeside(Plan):
    """A search, and after its first descents a tree, which ends both if it can."""

    bounds = True

    def __init__(self, general: Plan, patience: Patience) -> None:
        self.general, self.patience = general, patience
        self.begun = False

    def next(self, search: Search) -> Task | None:
        if not self.begun and search.finished >= BEFORE:
            return self._tree(search)
        task = self.general.next(search)
        if task is not None:
            return task.within(self.general)
        idle = search.finished >= search.started and search.finished > 0
        return self._tree(search) if idle and not self.begun else None

    def _tree(self, search: Search) -> Task:
        self.begun = True
        points = None if search.spins is None else search.spins[None]
        engine = Prove(patience=self.patience)
        return ProofTask(engine, Starts(search.seed, search.started, 1, points), counts=False)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        if task.owner is not None and task.inner is not None:
            task.owner.learn(search, task.inner, outcome, fun)
            return
        assert isinstance(outcome.state, ProofState)
        if isfinite(outcome.state.least):
            search.prove(rounded_up(search.compiled.problem, outcome.state.least))

    def complete(self, search: Search) -> bool:
        return self.general.complete(search)

    def adopt(self, compiled: Compiled) -> None:
        self.general.adopt(compiled)
