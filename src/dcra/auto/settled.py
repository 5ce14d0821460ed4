"""A tree that shares the time of a search from when this finds nothing but its best value again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING

from dcra import costs
from dcra._array import Host
from dcra.auto import proofs
from dcra.auto.agreement import Agreement
from dcra.bounds.dual import rounded_up
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, News, Starts, State
from dcra.exact.patience import Patience
from dcra.exact.prove import Prove
from dcra.exact.tree_proof import TreeProof
from dcra.exact.trees import TreeKind, tree_kind
from dcra.search.plans import Outcome, Plan, Task, start_at_best
from dcra.search.state import Search

if TYPE_CHECKING:
    from dcra.auto.decision import Traits

ROOT_SHARE = 0.5
"""Share of the time left that the root of the tree may take, as far as is known before."""

SHORTEST = 0.005
"""Seconds below which going on with the tree would be mostly overhead."""

LOADING = 0.05
"""Seconds below which none is begun: what a tree needs may have to be loaded first."""

PAIR_STEPS = 1000
"""Steps of the relaxation of couplings at the root; each multiplies its matrix and its factor."""


def worthwhile(traits: Traits) -> bool:
    """Whether there is a tree for the problem, and its root is quick beside the time left."""
    problem, seconds = traits.compiled.problem, traits.seconds_left
    if seconds is None or not traits.compiled.loops or traits.search.pool is not None:
        return False
    if problem.constraint_kind != "linear" or traits.on_accelerator or traits.search.on_device:
        return False
    kind = tree_kind(problem)
    if kind is TreeKind.NONE:
        return False
    if kind is TreeKind.COUPLINGS:
        return _pair_seconds(traits.compiled.n) <= ROOT_SHARE * seconds
    return proofs.fits(traits.search, Patience(proofs.work_within(ROOT_SHARE * seconds)))


def _pair_seconds(n: int) -> float:
    return PAIR_STEPS * n * n * sqrt(2.0 * n) / costs.RELAXATION_RATE * costs.slowdown()


def prove_when_settled(traits: Traits, general: Plan) -> Plan:
    return Settled(general)


class Slice(State):
    """A tree for some seconds; what it does not finish is gone on with by the next."""

    def __init__(self, tree: TreeProof, end: float, clock: Callable[[], float]) -> None:
        self.tree, self.end, self.clock = tree, end, clock

    def advance(self, work: int) -> None:
        self.tree.advance(work)

    @property
    def done(self) -> bool:
        return self.tree.done or self.clock() >= self.end

    def candidates(self) -> Host:
        return self.tree.candidates()

    def take_news(self) -> list[News]:
        return self.tree.take_news()

    @property
    def steps(self) -> int:
        return 0


@dataclass(frozen=True, eq=False)
class SliceTask(Task):
    """Some seconds for a tree, which is begun by the first of them."""

    plan: Settled | None = None
    seconds: float = 0.0

    def begin(self, search: Search) -> State:
        assert self.plan is not None
        tree = self.plan.tree_of(search, self.engine, self.starts)
        clock = search.limits.clock
        return Slice(tree, clock() + self.seconds, clock)


class Settled(Plan):
    """A search; from when it has settled, a tree has as much of the time as it."""

    def __init__(self, general: Plan) -> None:
        self.general = general
        self.tree: TreeProof | None = None
        self.at_work = False
        self.agreement = Agreement()
        self.searched = 0.0  # seconds of the search since the tree had its last

    def next(self, search: Search) -> Task | None:
        task = self._slice(search) if self._due(search) else self.general.next(search)
        if task is None or isinstance(task, SliceTask):
            return task
        return task.within(self.general)

    def _due(self, search: Search) -> bool:
        if self.at_work:  # another thread has the tree: it is not to be looked at
            return False
        going = search.seconds_left > LOADING if self.tree is None else not self.tree.done
        return going and search.feasible and bool(self.agreement) and self.searched >= SHORTEST

    def _slice(self, search: Search) -> Task:
        self.at_work = True
        seconds, self.searched = self.searched, 0.0
        return SliceTask(Prove(), start_at_best(search), counts=False, plan=self, seconds=seconds)

    def tree_of(self, search: Search, engine: Engine, starts: Starts) -> TreeProof:
        """The tree: one that was given up before, or a new one."""
        if self.tree is None:
            known = search.proof
            if known is None or not known.given_up:
                made = engine.start(search.working or search.compiled, starts)
                assert isinstance(made, TreeProof)
                known = made
            known.go_on()
            self.tree = search.proof = known
        if starts.points is not None:
            self.tree.hear_of(starts.points)
        return self.tree

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        if isinstance(task, SliceTask):
            self.at_work = False
            assert self.tree is not None
            if self.tree.done and self.tree.least > -inf:
                search.prove(rounded_up(search.compiled.problem, self.tree.least))
            return
        assert task.owner is not None
        assert task.inner is not None
        self.searched += outcome.seconds
        self.agreement.hear_of(search, task, fun)
        task.owner.learn(search, task.inner, outcome, fun)

    def complete(self, search: Search) -> bool:
        return self.general.complete(search)

    def adopt(self, compiled: Compiled) -> None:
        self.general.adopt(compiled)
