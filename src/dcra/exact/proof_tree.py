"""The tree of a proof: open nodes, least bound first, each taken on by itself for some nodes."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra._kernels.branching import Event
from dcra.exact.branch import Branch, Taken
from dcra.exact.coupled_kinks import squares_in
from dcra.exact.incumbent import Incumbent
from dcra.exact.kinks import KinkForm
from dcra.exact.open_nodes import OpenNodes
from dcra.exact.subtree import Gains, OpenNode, Records

FIRST, SECOND, LATER = 0, 50, 2000
"""Nodes of the first subtrees, and of all others: what the root fixes is gone before anything is divided."""

CROWD = 500
"""Open nodes above which subtrees are taken further, so that there are not many more."""


class Closed(NamedTuple):
    """A node that was closed as it was met: what was concluded, and the point (k, n) if it is a leaf."""

    records: Records
    leaves: Host


class ProofTree(OpenNodes[OpenNode]):
    """The open nodes of a sum of kinks, and what was learned at those that are closed."""

    def __init__(self, form: KinkForm, y: Host, incumbent: Incumbent) -> None:
        self.form = form
        self.gains = Gains(form.n)
        self.numbers, self.nodes, self.count, self.work = 1, 1, 0, 0
        self.fixed = np.zeros(form.n, np.int8)  # at the root: -1 low, 1 high
        none = np.zeros(0, np.int64)
        y = np.clip(y, form.lo, form.hi)
        box = np.zeros(form.n, np.int8)
        root = OpenNode(float(form.bounds(y[None], box[None])[0]), 0, box, y, none, none)
        super().__init__(root, incumbent)

    @property
    def closed(self) -> float:
        """About how much of the tree is closed: every level of it counts half as much as the one above."""
        away = sum(node.share for node in self.away.values())
        return 1.0 - away - sum(node.share for _, _, node in self.open)

    def hand_out(self, record: int) -> Branch | Closed | None:
        """The open node of the least bound, to be taken on or closed at once; None where there is none.

        What is concluded may take `record` bytes.
        """
        if not self.open:
            return None
        node = heapq.heappop(self.open)[2]
        none = np.zeros((0, self.form.n))
        if node.bound >= self.incumbent.cutoff and (not record or self._own_slopes_reach(node)):
            return Closed(_record(Event.LEAF, node), none)
        if np.all(node.box):
            point = np.where(node.box > 0, self.form.high, self.form.low)
            return Closed(_record(Event.POINT, node), point[None])
        budget = FIRST if self.count == 0 else SECOND if self.count == 1 else LATER
        budget *= max(1, len(self.open) // CROWD)
        first, best = self.numbers, self.incumbent
        self.numbers += 2 * (budget + 1)
        self.count += 1
        self.away[node.number] = node
        gains = Gains(self.form.n, self.gains)
        known = (best.cutoff, best.best, best.fun)
        return Branch(self.form.mesh, node, gains, first, budget, *known, record, squares_in(self.form))

    def _own_slopes_reach(self, node: OpenNode) -> bool:
        """Whether what would be written down closes a node: its bound may be that of a node above."""
        return bool(self.form.bounds(node.y[None], node.box[None])[0] >= self.incumbent.cutoff)

    def take_back(self, taken: Taken) -> None:
        """Take note of what became of a node that was handed out."""
        del self.away[taken.number]
        self.nodes += taken.nodes
        self.work += taken.work
        self.gains.add(taken.learned)
        for kind, side in ((Event.TO_LOW, -1), (Event.TO_HIGH, 1)):
            self.fixed[taken.at_root[taken.at_root[:, 0] == kind, 2]] = side
        for node in taken.left:
            heapq.heappush(self.open, (node.bound, node.number, node))


def _record(kind: Event, node: OpenNode) -> Records:
    return Records(np.array([[kind, node.number, 0, 0]]), node.y[None])
