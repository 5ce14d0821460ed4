"""Proofs by branch and bound where there are couplings alone: a tree of semidefinite relaxations."""

from __future__ import annotations

import heapq
from math import isfinite

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import News
from dcra.exact.couplings_branch import PairBranch, PairBranchState, PairNode, PairTaken, form_of
from dcra.exact.couplings_certificate import PairCertificate, couplings_digest
from dcra.exact.couplings_form import CouplingsForm
from dcra.exact.couplings_log import INHERITED, PairLog
from dcra.exact.incumbent import Incumbent
from dcra.exact.merging import unmerged
from dcra.exact.open_nodes import OpenNodes
from dcra.exact.patience import ENDLESS, Patience
from dcra.exact.ranked import Ranked
from dcra.exact.tree_proof import TreeProof


class PairTree(OpenNodes[PairNode]):
    """Nodes that are open, least bound first, and those that somebody has taken on."""

    def __init__(self, form: CouplingsForm, incumbent: Incumbent, log: PairLog) -> None:
        self.form, self.log = form, log
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
            for closed in (node, *(waiting[2] for waiting in self.open)):
                self.log.closed(closed.number, closed.proof)
            self.open.clear()
            return None
        self.away[node.number] = node
        self.numbers += 2
        near = self.incumbent.drop / self.form.unit
        return PairBranch(node, self.incumbent.cutoff, self.numbers - 2, near, self.log.complete)

    def take_back(self, taken: PairTaken) -> None:
        """Take note of what became of a node that was handed out."""
        parent = self.away.pop(taken.number)
        base = self.log.join(taken.records, parent.proof)
        self.nodes += 1
        if taken.number == 0:
            self.at_root = taken.merge
        for node in taken.left:
            own = node._replace(proof=parent.proof if node.proof == INHERITED else node.proof + base)
            heapq.heappush(self.open, (own.bound, own.number, own))


class CouplingsProof(TreeProof):
    """The tree of one problem that is couplings alone, which may be asked for the `keep` best points."""

    closing = 2.0
    form: CouplingsForm
    tree: PairTree

    def __init__(
        self,
        compiled: Compiled,
        points: Host | None,
        record: int = 0,
        keep: int = 1,
        patience: Patience = ENDLESS,
    ) -> None:
        super().__init__(compiled, patience)
        self.work_done = 0.0  # of nodes that are done
        self.form = form_of(compiled)
        self.ranked = Ranked(compiled, self.form, keep) if keep > 1 else None
        self.incumbent = self.ranked or Incumbent(compiled, self.form, self.form.step)
        self.log = PairLog(self.form, record)
        self.tree = PairTree(self.form, self.incumbent, self.log)
        self.current: PairBranchState | None = None
        known = np.ones((1, compiled.n)) if points is None else np.atleast_2d(points)
        self._offer(known if self.ranked is None else self.ranked.around(known[0]))

    def _offer(self, spins: Host) -> None:
        """Judge points; all that a pool may need are news."""
        if self.ranked is None or not len(spins):
            super()._offer(spins)
            return
        alike = self.ranked.alike(spins)
        self.ranked.offer(alike)
        self.news.append(News(alike))

    def hand_out(self) -> PairBranch | None:
        return self.tree.hand_out()

    def take_back(self, taken: PairTaken, spins: Host) -> None:
        self.tree.take_back(taken)
        self._offer(spins)
        self._look_at(taken.leaves)
        self._tell()

    def advance(self, work: int) -> None:
        if self.done:
            return
        if self.current is None:
            branch = self.hand_out()
            self.current = None if branch is None else PairBranchState(branch, self.compiled)
            return
        self.current.advance(work)
        if self.current.done:
            self.work_done += self.current.work
            self.take_back(self.current.taken, self.current.candidates())
            self.current = None
            self.given_up = self.patience.exhausted(self.work_done)

    @property
    def done(self) -> bool:
        return self.given_up or (self.tree.done and self.current is None)

    @property
    def fixed(self) -> Host:
        """Which variables were fixed at the root, (n,) bool: none where nothing tells up from down."""
        label, vertex = self.tree.at_root.label, self.form.vertex
        if not self.form.bordered:
            return np.zeros(vertex.size, bool)
        return np.asarray((vertex >= 0) & (label[np.maximum(vertex, 0)] == 0))

    def certificate(self) -> PairCertificate | None:
        """The proof, once the tree is closed; None where it was not, or took too much to write down."""
        if not (self.tree.done and self.log.complete and isfinite(self.fun) and isfinite(self.bound)):
            return None
        point = np.where(self.spins > 0, 1, -1)
        about = couplings_digest(self.compiled.problem)
        return PairCertificate(
            **self.log.arrays(), unit=self.form.unit, bound=self.bound, point=point, problem=about
        )
