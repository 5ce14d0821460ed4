"""Plans with a tree that proves: method "exact", and, where its root is cheap, beside what "auto" does."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING

from dcra import costs
from dcra.auto import remaining
from dcra.auto.agreement import Agreement
from dcra.auto.annealing import Annealing
from dcra.auto.descents import Portfolio
from dcra.bounds.dual import rounded_up
from dcra.compiled.form import Compiled
from dcra.engines.base import Starts, State
from dcra.exact.couplings_form import couplings_alone
from dcra.exact.kinks import has_kinks, is_straight
from dcra.exact.patience import Patience
from dcra.exact.prove import ProofState, Prove
from dcra.exact.tree_proof import TreeProof
from dcra.polish.recipes import sweep
from dcra.search.driver import take_in
from dcra.search.plans import Outcome, Plan, Repeat, Task, start_at_best
from dcra.search.state import Search

if TYPE_CHECKING:
    from dcra.auto.decision import Traits

SMALL_GAP = 0.1
"""Relative gap after the first descents up to which a proof is likely: planted points have it."""

SHARES = {True: (0.3, 0.5), False: (0.02, 0.3)}
"""Shares of a time limit that a tree beside a search may take, and may take if it will be closed by then:
where the gap is small, and where it is not."""

PASSES = {True: (200.0, 800.0), False: (5.0, 120.0)}
"""The same where starts are counted, as passes over A for each of them."""

ROOTS = {True: 1.5, False: 20.0}
"""Roots that must fit into it, by whether losses are straight: what the first bound leaves open is tried
variable by variable, and rows of curved losses have a kink for each tangent."""

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
        assert isinstance(state, TreeProof)
        search.proof = state
        return state


class ProvePlan(Plan):
    """Descents where there is no point given, then one tree, whose nodes are tasks of their own."""

    exact = True

    def __init__(self, engine: Prove) -> None:
        self.engine = engine
        self.descents: Plan | None = None
        self.tree: TreeProof | None = None

    def next(self, search: Search) -> Task | None:
        if self.tree is None:
            task = self._descent(search)
            if task is not None:
                return task.within(self)
            if search.finished < search.started:  # the tree begins at the best of all descents
                return None
            self.tree = self._begin(search)
        branch = self.tree.hand_out()
        self._report(search, self.tree)
        return None if branch is None else Task(branch, Starts(search.seed, search.started, 1), counts=False)

    def _begin(self, search: Search) -> TreeProof:
        wanted = search.pool.reserve if self.hands_in_pool(search) and search.pool is not None else 1
        engine = replace(self.engine, keep=max(wanted, self.engine.keep))
        search.proof = engine.start(search.working or search.compiled, start_at_best(search))
        return search.proof

    def hands_in_pool(self, search: Search) -> bool:
        """Where there are couplings alone, and points of the pool may be neighbours."""
        near = search.pool is not None and search.pool.asked.distance <= 1
        return near and couplings_alone(search.compiled.problem)

    def _report(self, search: Search, tree: TreeProof) -> None:
        self.least = tree.least
        take_in(search, tree.take_news())

    def _descent(self, search: Search) -> Task | None:
        compiled, limit = search.compiled, search.limits.time_limit
        coupled = compiled.quadratic is not None
        able = (compiled.pieces or coupled) and compiled.problem.constraints is None
        late = limit is not None and search.seconds > SHARE * limit
        enough = min(DESCENTS if search.points is None else 1, search.limits.most_starts)
        if not able or late or search.started >= enough:
            return None
        self.descents = self.descents or descents_of(compiled)
        return self.descents.next(search)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        if task.inner is not None:
            assert self.descents is not None
            self.descents.learn(search, task.inner, outcome, fun)
            return
        assert self.tree is not None
        self.tree.take_back(outcome.state.facts["taken"], outcome.spins)
        self._report(search, self.tree)

    def complete(self, search: Search) -> bool:
        return self.least > -inf


def descents_of(compiled: Compiled) -> Plan:
    """Descents before the tree: annealed where loops know the losses, else sweeps and flips."""
    if not compiled.tabulated:
        return Repeat(sweep())
    return Annealing(compiled) if compiled.quadratic is not None else Portfolio(compiled)


def root_work(n: int, r: int) -> float:
    """About how many entries of A the relaxation at the root touches."""
    m = float(min(n, r))
    between = 0.4 * m
    return (10 + 0.4 * m * sqrt(m)) * (2 * between**2 + (between + 2) * (n + r))


def worthwhile(search: Search, seconds_left: float | None) -> bool:
    """Whether the root fits into what a tree beside a search may take, should the gap be small."""
    compiled, problem = search.compiled, search.compiled.problem
    if not compiled.loops or not has_kinks(problem):
        return False
    if problem.constraint_kind != "linear":  # hinges of clauses have weak relaxations
        return False
    return fits(search, patience_for(search, seconds_left, likely=True))


def fits(search: Search, patience: Patience) -> bool:
    problem = search.compiled.problem
    rows = max(1, search.compiled.n_rows + problem.n_constraints)
    return ROOTS[is_straight(problem)] * root_work(search.compiled.n, rows) <= patience.least


def patience_for(search: Search, seconds_left: float | None, likely: bool) -> Patience:
    """What a tree may take, by whether it is likely to be closed."""
    if seconds_left is None:
        unit = min(search.limits.most_starts, 1e6) * search.compiled.work_per_pass
        return Patience(*(passes * unit for passes in PASSES[likely]))
    return Patience(*(work_within(share * seconds_left) for share in SHARES[likely]))


def work_within(seconds: float) -> float:
    """Entries of A that the simplex method touches in so many seconds, about."""
    return costs.SIMPLEX_RATE / costs.slowdown() * max(0.0, seconds)


def prove_beside(traits: Traits, general: Plan) -> Plan:
    return ProofBeside(general, traits.seconds_left)


class ProofBeside(Plan):
    """A search, and after its first descents and bound a tree, which ends both if it can."""

    def __init__(self, general: Plan, seconds_left: float | None) -> None:
        self.general, self.seconds_left = general, seconds_left
        self.agreement = Agreement()
        self.tried = False  # at all
        self.likely = False  # with a small gap, or of a search that has settled
        self.at_work = False

    def next(self, search: Search) -> Task | None:
        tree = self._tree(search) if search.finished >= BEFORE else None
        task = tree or self.general.next(search)
        if task is None:
            idle = search.finished >= search.started and search.finished > 0
            return self._tree(search) if idle else None
        return task if tree is not None else task.within(self.general)

    def _tree(self, search: Search) -> Task | None:
        """A tree, where none was tried, or where the gap has become small since, or the search has settled.

        Under a time limit `auto.settled` sees to the last.
        """
        small = search.fun - search.lower_bound <= SMALL_GAP * abs(search.fun)
        likely = small or (self.seconds_left is None and bool(self.agreement))
        if self.at_work or self.likely or (self.tried and not likely):
            return None
        self.tried, self.likely = True, likely
        patience = patience_for(search, self.seconds_left, likely)
        if not fits(search, patience):
            return None
        self.at_work = True
        return ProofTask(Prove(patience=patience), start_at_best(search), counts=False)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        if task.owner is not None and task.inner is not None:
            self.agreement.hear_of(search, task, fun)
            task.owner.learn(search, task.inner, outcome, fun)
            return
        assert isinstance(outcome.state, ProofState)
        self.at_work = False
        self._leave_out(search, outcome.state)
        if isfinite(outcome.state.least):
            search.prove(rounded_up(search.compiled.problem, outcome.state.least))

    def _leave_out(self, search: Search, state: ProofState) -> None:
        """Search what the root has left free from now on: any better point has the same values elsewhere."""
        if state.form is None or state.tree.done or search.spins is None:
            return
        if isinstance(self.general, Portfolio) and remaining.worthwhile(state.tree.fixed):
            self.general = remaining.Remaining(self.general, state.tree.fixed, search.spins)

    def complete(self, search: Search) -> bool:
        return self.general.complete(search)

    def adopt(self, compiled: Compiled) -> None:
        self.general.adopt(compiled)
