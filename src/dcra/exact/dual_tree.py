"""Proofs by branch and bound for convex losses of any kind: a tree of dual bounds of first order."""

from __future__ import annotations

import heapq

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.exact.dual_ascent import Strides, strides_at
from dcra.exact.dual_branch import DualBranch, DualBranchState, DualNode, DualTaken, rows_of
from dcra.exact.dual_rows import DualRows
from dcra.exact.incumbent import Incumbent
from dcra.exact.open_nodes import OpenNodes
from dcra.exact.patience import ENDLESS, Patience
from dcra.exact.prepared_proof import PreparedProof
from dcra.exact.squares import Squares
from dcra.exact.squaring import Squaring

BATCH = 64
"""Nodes that are taken on together."""

CROWD = 20_000
"""Open nodes above which those with the fewest free variables come first, so that there are not many more."""


class DualTree(OpenNodes[DualNode]):
    """Nodes that are open, least bound first."""

    def __init__(
        self, rows: DualRows, strides: Strides, squares: Squares | None, incumbent: Incumbent
    ) -> None:
        self.strides, self.squares = strides, squares
        self.numbers, self.nodes = 1, 0
        box, x = np.zeros(rows.n, np.int8), np.full(rows.n, 0.5 * (rows.low + rows.high))
        self.fixed = box
        super().__init__(DualNode(-np.inf, 0, box, x, np.zeros(rows.r)), incumbent)

    def hand_out(self) -> DualBranch | None:
        """Open nodes of the least bounds; None where there is none that could have a better point."""
        nodes = self._crowded() if len(self.open) > CROWD else self._least()
        if not nodes:
            return None
        for node in nodes:
            self.away[node.number] = node
        first = self.numbers
        self.numbers += 2 * len(nodes)
        return DualBranch(tuple(nodes), self.incumbent.cutoff, first, self.strides, self.squares)

    def _least(self) -> list[DualNode]:
        nodes: list[DualNode] = []
        while self.open and len(nodes) < BATCH and self.open[0][0] < self.incumbent.cutoff:
            nodes.append(heapq.heappop(self.open)[2])
        if not nodes:  # all that are left are closed
            self.open.clear()
        return nodes

    def _crowded(self) -> list[DualNode]:
        """Those with the fewest free variables; all that are closed are left out."""
        kept = [item for item in self.open if item[0] < self.incumbent.cutoff]
        kept.sort(key=lambda item: (int(np.count_nonzero(item[2].box == 0)), item[1]))
        self.open = kept[BATCH:]
        heapq.heapify(self.open)
        return [item[2] for item in kept[:BATCH]]

    def take_back(self, taken: DualTaken) -> None:
        """Take note of what became of nodes that were handed out."""
        for number in taken.numbers:
            del self.away[number]
        self.nodes += len(taken.numbers)
        if taken.at_root is not None:
            self.fixed = taken.at_root
        for node in taken.left:
            heapq.heappush(self.open, (node.bound, node.number, node))


class DualProof(PreparedProof):
    """The tree of one problem with convex losses."""

    closing = 2.0
    form: DualRows | None
    tree: DualTree

    def __init__(self, compiled: Compiled, points: Host | None, patience: Patience = ENDLESS) -> None:
        super().__init__(compiled, points, patience)
        self.current: DualBranchState | None = None
        self.work_done = 0.0  # of nodes that are done
        if self.prepared:
            self.begin(None)

    def begin(self, squares: Squares | None) -> None:
        compiled, rows = self.compiled, rows_of(self.compiled, squares)
        self.incumbent = Incumbent(compiled, rows)
        spins = np.zeros(compiled.n) if self.points is None else self.points[0]
        strides = strides_at(rows, np.asarray(compiled.in_domain(spins), np.float64))
        self.tree = DualTree(rows, strides, squares, self.incumbent)
        self.form = rows  # last: whoever finds it finds a tree
        if self.points is not None:
            self._offer(self.points)

    def hand_out(self) -> DualBranch | Squaring | None:
        if not self.prepared:
            return self.first_task()
        return None if self.form is None else self.tree.hand_out()

    def take_back(self, taken: DualTaken | Squares | None, spins: Host) -> None:
        if not isinstance(taken, DualTaken):
            self.begin_with(taken)
            return
        self.tree.take_back(taken)
        self._offer(spins)
        self._look_at(taken.leaves)
        self._tell()

    def advance(self, work: int) -> None:
        if self.done:
            return
        if not self.prepared:
            self.prepare(work)
            return
        if self.current is None:
            branch = self.hand_out()
            self.current = DualBranchState(branch, self.compiled) if isinstance(branch, DualBranch) else None
            return
        self.current.advance(work)
        if self.current.done:
            self.work_done += self.current.work
            self.take_back(self.current.taken, self.current.candidates())
            self.current = None
            self.given_up = self.patience.exhausted(self.work_done)

    @property
    def done(self) -> bool:
        if self.form is None:
            return self.prepared
        return self.given_up or (self.tree.done and self.current is None)

    @property
    def fixed(self) -> Host | None:
        return None if self.form is None else np.asarray(self.tree.fixed != 0)
