"""Proofs by branch and bound where there are couplings alone: a tree of semidefinite relaxations."""

from __future__ import annotations

import heapq

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.exact.couplings_branch import PairBranch, PairBranchState, PairNode, PairTaken, form_of
from dcra.exact.couplings_form import CouplingsForm
from dcra.exact.incumbent import Incumbent
from dcra.exact.merging import unmerged
from dcra.exact.open_nodes import OpenNodes
from dcra.exact.tree_proof import TreeProof


class PairTree(OpenNodes[PairNode]):
    """Nodes that are open, least bound first, and those that somebody has taken on."""

    def __init__(self, form: CouplingsForm, incumbent: Incumbent) -> None:
        self.form = form
        self.numbers, self.nodes = 1, 0
        root = PairNode(-form.highest(), 0, unmerged(form.p))
        super().__init__(root, incumbent)
        self.at_root = root.merge

    def hand_out(self) -> PairBranch | None:
        """The open node of the least bound; None where there is none that could have a better point."""
        if not self.open:
            return None
        node = heapq.heappop(self.open)[2]
        if node.bound >= self.incumbent.cutoff:  # and so are all others
            self.open.clear()
            return None
        self.away[node.number] = node
        self.numbers += 2
        return PairBranch(node, self.incumbent.cutoff, self.numbers - 2)

    def take_back(self, taken: PairTaken) -> None:
        """Take note of what became of a node that was handed out."""
        del self.away[taken.number]
        self.nodes += 1
        if taken.number == 0:
            self.at_root = taken.merge
        for node in taken.left:
            heapq.heappush(self.open, (node.bound, node.number, node))


class CouplingsProof(TreeProof):
    """The tree of one problem that is couplings alone."""

    form: CouplingsForm
    tree: PairTree

    def __init__(self, compiled: Compiled, points: Host | None) -> None:
        super().__init__(compiled)
        self.form = form_of(compiled)
        self.incumbent = Incumbent(compiled, self.form, self.form.step)
        self.tree = PairTree(self.form, self.incumbent)
        self.current: PairBranchState | None = None
        self._offer(np.ones((1, compiled.n)) if points is None else points)

    def hand_out(self) -> PairBranch | None:
        return self.tree.hand_out()

    def take_back(self, taken: PairTaken, spins: Host) -> None:
        self.tree.take_back(taken)
        self._offer(spins)
        self._look_at(taken.leaves)
        self._tell()

    def advance(self, work: int) -> None:
        if self.current is None:
            branch = self.hand_out()
            self.current = None if branch is None else PairBranchState(branch, self.compiled)
            return
        self.current.advance(work)
        if self.current.done:
            self.take_back(self.current.taken, self.current.candidates())
            self.current = None

    @property
    def done(self) -> bool:
        return self.tree.done and self.current is None

    @property
    def fixed(self) -> Host:
        """Which variables were fixed at the root, (n,) bool: none where nothing tells up from down."""
        label, vertex = self.tree.at_root.label, self.form.vertex
        if not self.form.bordered:
            return np.zeros(vertex.size, bool)
        return np.asarray((vertex >= 0) & (label[np.maximum(vertex, 0)] == 0))
