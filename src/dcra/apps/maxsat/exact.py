"""What method "exact" does with clauses: annealing, a short tree, then RC2 of python-sat, where installed.

Random clauses, weighted ones above all, are the tree's; cores are small where there is structure.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from math import inf, isfinite, nextafter
from typing import ClassVar, NamedTuple

import numpy as np

from dcra.apps.maxsat.clauses import Clauses
from dcra.apps.maxsat.cores import Cores
from dcra.apps.maxsat.plan import SPECIALIST
from dcra.apps.maxsat.problem import ClauseProblem
from dcra.apps.maxsat.search import parts
from dcra.auto.proofs import ProofTask, fits, work_within
from dcra.baselines.delegate import Delegate, Exact, Order, SolverAnswer, SolverTask
from dcra.bounds.dual import rounded_up
from dcra.compiled.form import Compiled
from dcra.exact.kinks import has_kinks
from dcra.exact.patience import Patience
from dcra.exact.prove import ProofState, Prove
from dcra.result import Status
from dcra.search.plans import Outcome, Plan, Task, start_at_best
from dcra.search.state import Search

ANNEALED, SHARE = 4, 0.1
"""Annealing runs before proofs, and the share of a time limit they may take: RC2 is silent until its end."""

TREE_SHARES, TREE_WORK = (0.1, 0.3), (2e8, 1e9)
"""What the tree may take, and may take if it will be closed by then: of a time limit; else entries of A."""

BUILD_PASSES = 200
"""Passes over the literals that handing them over costs, about."""

CLOSING = 2e-7
"""Seconds for each literal that letting go of them takes, about."""


def proof_plan(engine: Prove, compiled: Compiled) -> Plan | None:
    """The plan for clauses; None where a tree over their hinges is to prove what it can.

    Without python-sat there is that tree or, where it has no room, the search of "auto" with its bounds.
    """
    problem = compiled.problem
    if not isinstance(problem, ClauseProblem) or not problem.charges_its_clauses:
        return None
    if problem.constraints is not None or len(problem.terms) > len(problem.clause_terms):
        return None
    if engine.delegates and installed():
        return ClauseProof(compiled)
    return None if has_kinks(problem) else SPECIALIST.plan(compiled, None)


def installed() -> bool:
    """Whether there is python-sat, and not another package of that name."""
    try:
        return find_spec("pysat.examples.rc2") is not None
    except ImportError:
        return False


class ClauseModel(NamedTuple):
    """Clauses where other solvers have rows and columns; bounds on their cost are bounds on F."""

    clauses: Clauses
    unit: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class CoreGuided(Exact):
    """RC2, on one thread, until it has the optimum; there is no answer before."""

    name: ClassVar[str] = "rc2"
    needs: ClassVar[frozenset[str]] = frozenset({"clauses"})
    package: ClassVar[str] = "pysat.examples.rc2"
    relative: ClassVar[float] = 0.0

    def model_of(self, compiled: Compiled) -> ClauseModel:
        return ClauseModel(parts(compiled)[0])

    def allowance(self, model: ClauseModel) -> float:
        return 0.0

    def setup_work(self, compiled: Compiled) -> int:
        return BUILD_PASSES * parts(compiled)[0].literals.size

    def solve(self, model: ClauseModel, order: Order) -> SolverAnswer:
        run = Cores(model.clauses, lambda bound: order.bounded(rounded_down(bound)))
        order.on_stop(run.stop)
        answer = run.solve()
        found = np.empty((0, model.clauses.n)) if answer.x is None else answer.x[None].astype(float)
        if answer.wrong or _refuted(run, answer.bound, order):
            return SolverAnswer(found, status=Status.CONVERGED)
        ended = Status.OPTIMAL if len(found) else Status.INFEASIBLE if answer.infeasible else None
        return SolverAnswer(found, rounded_down(answer.bound), ended)

    def confirms_infeasible(self, compiled: Compiled, order: Order) -> bool:
        return True  # `solve` has looked at what is known


def _refuted(run: Cores, bound: Fraction, order: Order) -> bool:
    """Whether a point that was known before is feasible and costs less."""
    known = [] if order.points is None else [u for u in order.points if not run.clauses.violated(u)]
    return any(run.cost_of(u) < bound for u in known)


def rounded_down(bound: Fraction) -> float:
    """The next number that float64 has, below or equal."""
    nearest = float(bound)
    return nearest if nearest <= bound else nextafter(nearest, -inf)


class ClauseProof(Delegate):
    """Annealing for an answer to begin with, a tree over hinges if it is soon closed, then RC2."""

    def __init__(self, compiled: Compiled) -> None:
        super().__init__(CoreGuided())
        self.annealing = SPECIALIST.plan(compiled, None)
        self.left = [self._tree, self._cores]  # each of them once
        self.at_work: Task | None = None

    def next(self, search: Search) -> Task | None:
        task = self._annealed(search)
        if task is not None and self.annealing is not None:
            return task.within(self.annealing)
        if search.finished < search.started:  # they begin at the best of all answers
            return None
        while self.left and self.at_work is None:
            self.at_work = task = self.left.pop(0)(search)
        return task

    def _annealed(self, search: Search) -> Task | None:
        limit = search.limits.time_limit
        late = limit is not None and search.seconds > SHARE * limit
        enough = search.started >= min(ANNEALED, search.limits.most_starts)
        return None if self.annealing is None or late or enough else self.annealing.next(search)

    def _tree(self, search: Search) -> Task | None:
        patience = Patience(*TREE_WORK)
        if search.limits.time_limit is not None:
            patience = Patience(*(work_within(share * search.seconds_left) for share in TREE_SHARES))
        compiled = search.compiled
        if not compiled.loops or not has_kinks(compiled.problem) or not fits(search, patience):
            return None
        return ProofTask(Prove(patience=patience), start_at_best(search), counts=False)

    def _cores(self, search: Search) -> Task | None:
        if not search.affords(self.engine.setup_work(search.compiled)):
            return None
        search.closing += CLOSING * parts(search.compiled)[0].literals.size
        return SolverTask(self.engine, start_at_best(search), counts=False)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        if task.owner is not None and task.inner is not None:
            task.owner.learn(search, task.inner, outcome, fun)
            return
        self.at_work = None
        if isinstance(outcome.state, ProofState):
            if isfinite(outcome.state.least):
                search.prove(rounded_up(search.compiled.problem, outcome.state.least))
            return
        annealed = search.finished
        super().learn(search, task, outcome, fun)
        search.finished = max(annealed, search.finished)
