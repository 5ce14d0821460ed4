"""The tree of a proof: open nodes, least bound first, each taken on for some nodes depth first."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra._kernels.branching import Answer, Event
from dcra.exact.kinks import KinkForm
from dcra.exact.plain_subtree import PlainSubtree
from dcra.exact.subtree import Gains, OpenNode, Records, Subtree

FIRST, SECOND, LATER = 0, 50, 2000
"""Nodes of the first subtrees, and of all others: what the root fixes is gone before anything is divided."""

CROWD = 500
"""Open nodes above which subtrees are taken further, so that there are not many more."""


class Found(NamedTuple):
    """What a step has brought: better points (k, n), points that are leaves (k, n), what was concluded."""

    points: Host
    leaves: Host
    records: Records


class ProofTree:
    """Resumable; `cutoff` and `best`, values in the form's units, are set from outside.

    A node is closed once no point in it falls below `cutoff`. `bound` is what no point at all falls below.
    """

    def __init__(self, form: KinkForm, y: Host, loops: bool = True) -> None:
        self.form, self.loops = form, loops
        self.cutoff = self.best = form.highest()
        self.gains = Gains(form.n)
        self.numbers, self.nodes, self.taken, self.work = 1, 1, 0, 0
        self.fixed = np.zeros(form.n, np.int8)  # at the root: -1 low, 1 high
        none = np.zeros(0, np.int64)
        y = np.clip(y, form.lo, form.hi)
        box = np.zeros(form.n, np.int8)
        root = OpenNode(float(form.bounds(y[None], box[None])[0]), 0, box, y, none, none)
        self.open: list[tuple[float, int, OpenNode]] = [(root.bound, 0, root)]
        self.current: Subtree | PlainSubtree | None = None
        self.nothing = np.zeros((0, form.n))

    @property
    def done(self) -> bool:
        return self.current is None and not self.open

    @property
    def n_open(self) -> int:
        return len(self.open) + (self.current is not None)

    @property
    def bound(self) -> float:
        """What no point falls below, unless it is one of the leaves that were handed out."""
        waiting = [self.open[0][0]] if self.open else []
        at_work = [self.current.bound] if self.current is not None else []
        return min([self.cutoff, *waiting, *at_work])

    @property
    def closed(self) -> float:
        """About how much of the tree is closed: every level of it counts half as much as the one above."""
        at_work = 0.0 if self.current is None else self.current.share
        return 1.0 - at_work - sum(node.share for _, _, node in self.open)

    @property
    def progress(self) -> float:
        """About how much of the work is done: what is closed or, before that, what the root has fixed."""
        fixed = np.count_nonzero(self.fixed) / self.form.n
        return max(self.closed, fixed * fixed)

    def advance(self, work: int) -> Found:
        """Go on for about `work` entries of A."""
        if self.current is None:
            return self._take_up()
        before = self.current.nodes
        answer = self.current.advance(work, self.cutoff, self.best)
        self.nodes += self.current.nodes - before
        self.work += self.current.worked
        points = self.current.point(leaf=False) if answer is Answer.FOUND else self.nothing
        leaves = self.current.point(leaf=True) if answer is Answer.REACHED else self.nothing
        records = self.current.take_records()
        self._note_fixed(records)
        if answer in (Answer.CLOSED, Answer.SPLIT):
            self._put_down(answer is Answer.SPLIT)
        return Found(points, leaves, records)

    def pause(self) -> None:
        """Leave the subtree at work: all nodes are open ones, with bounds as they are now."""
        if self.current is not None:
            self._put_down(split=True)

    def _take_up(self) -> Found:
        """Begin with the open node of the least bound; nodes that can be closed at once are."""
        node = heapq.heappop(self.open)[2]
        if node.bound >= self.cutoff:
            return Found(self.nothing, self.nothing, _record(Event.LEAF, node))
        if np.all(node.box):
            point = np.where(node.box > 0, self.form.high, self.form.low)
            return Found(self.nothing, point[None], _record(Event.POINT, node))
        budget = FIRST if self.taken == 0 else SECOND if self.taken == 1 else LATER
        budget *= max(1, len(self.open) // CROWD)
        if self.loops:
            self.current = Subtree(self.form, node, self.gains, self.numbers, budget)
        else:
            self.current = PlainSubtree(self.form, node, self.numbers, budget)
        self.taken += 1
        return Found(self.nothing, self.nothing, no_records(self.form.r))

    def _put_down(self, split: bool) -> None:
        assert self.current is not None
        self.numbers = self.current.numbers
        for node in self.current.open_nodes() if split else []:
            heapq.heappush(self.open, (node.bound, node.number, node))
        self.current = None

    def _note_fixed(self, records: Records) -> None:
        for kind, side in ((Event.TO_LOW, -1), (Event.TO_HIGH, 1)):
            rows = records.events[(records.events[:, 0] == kind) & (records.events[:, 1] == 0)]
            self.fixed[rows[:, 2]] = side


def no_records(r: int) -> Records:
    return Records(np.zeros((0, 4), np.int64), np.zeros((0, r)))


def _record(kind: Event, node: OpenNode) -> Records:
    return Records(np.array([[kind, node.number, 0, 0]]), node.y[None])
