"""Plans that end with a proof because there are few points: a tree if it is soon closed, else all of them."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from dcra import costs
from dcra.auto.proofs import ProofTask, descents_of
from dcra.exact.enumeration import seconds_for
from dcra.exact.patience import Patience
from dcra.exact.prove import Prove
from dcra.exact.tree_proof import TreeProof
from dcra.exact.trees import TreeKind, tree_kind
from dcra.search.plans import Exhaust, Outcome, Plan, Task, start_at_best
from dcra.search.state import Search

if TYPE_CHECKING:
    from dcra.auto.decision import Traits

SOON = 0.02
"""Seconds of the loops below which all points are tried at once."""

TREE_SHARE = 0.25
"""Share of what they would take that a tree may take before them."""

DESCENTS = 3
"""Before the tree: there is a good point early, whatever becomes of the rest."""


def try_all(traits: Traits) -> Plan:
    """All points; where that takes a while, a tree before."""
    search, compiled = traits.search, traits.compiled
    seconds = seconds_for(compiled)
    tree = compiled.loops and search.pool is None and tree_kind(compiled.problem) is not TreeKind.NONE
    return TreeBeforeAll(TREE_SHARE * seconds) if tree and seconds > SOON else Exhaust()


class TreeBeforeAll(Exhaust):
    """Descents; a tree, given up after the work that loops usually do in so many seconds; then all points."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        work = seconds * costs.SIMPLEX_RATE
        self.engine_of_tree = Prove(patience=Patience(work, work))
        self.descents: Plan | None = None
        self.tree: TreeProof | None = None
        self.at_work = False

    def next(self, search: Search) -> Task | None:
        if self.tree is None:
            task = self._descent(search)
            if task is not None:
                return task.within(self)
            if self.at_work or search.finished < search.started:
                return None
            return self._tree(search)
        return None if self._proved else super().next(search)

    def _descent(self, search: Search) -> Task | None:
        compiled = search.compiled
        if compiled.problem.constraints is not None or search.started >= DESCENTS:
            return None
        self.descents = self.descents or descents_of(compiled)
        return self.descents.next(search)

    def _tree(self, search: Search) -> Task:
        self.at_work = True
        return ProofTask(self.engine_of_tree, start_at_best(search), counts=False)

    @property
    def _proved(self) -> bool:
        return self.tree is not None and isfinite(self.tree.least)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        if task.inner is not None:
            assert self.descents is not None
            self.descents.learn(search, task.inner, outcome, fun)
        elif isinstance(outcome.state, TreeProof):
            self.tree = outcome.state
            if self._proved:
                self.least = self.tree.least
        else:
            super().learn(search, task, outcome, fun)

    def complete(self, search: Search) -> bool:
        return self._proved or super().complete(search)
