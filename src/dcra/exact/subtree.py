"""A node of a proof's tree, and the tree below it in the compiled loops.

Columns that are fixed, and rows that cannot change their sign within the box, become constants: what the
loops see is smaller the deeper the node lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra._kernels.branching import (
    FROM_BASIS,
    PAUSED_AT_ONCE,
    Answer,
    Cursor,
    Event,
    Kinks,
    Number,
    branch,
    kinks,
    relax,
    tree,
    vertex,
)
from dcra.exact.kinks import EPS, KinkForm

STORE = 4_000_000
"""Numbers of saved inverses that a subtree keeps; others are computed anew."""

RECORDS = 256
"""Slopes written down between two looks."""

EVERY = 50
"""Nodes between two looks around a rounded relaxation."""


class OpenNode(NamedTuple):
    """A node that waits: what it cannot fall below, its box (-1 low, 1 high, 0 free), slopes and basis."""

    bound: float
    number: int
    box: Host  # (n,) int8
    y: Host
    columns: Host
    rows: Host
    share: float = 1.0  # of the tree, were it full


class Records(NamedTuple):
    """What was concluded, in the problem's own numbers: rows [kind, node, variable, slopes or child]."""

    events: Host
    slopes: Host  # (k, r)


class Gains:
    """What branching on each variable has gained, per unit of its way to either end."""

    def __init__(self, n: int, like: Gains | None = None) -> None:
        self.gains, self.tries = np.zeros((2, n + 1)), np.zeros((2, n + 1))
        if like is not None:
            self.add(like)

    def add(self, more: Gains) -> None:
        """Learn what others have learned."""
        self.gains += more.gains
        self.tries += more.tries

    def less(self, known: Gains) -> Gains:
        """What is new in comparison with what was known."""
        new = Gains(self.gains.shape[1] - 1, self)
        new.gains -= known.gains
        new.tries -= known.tries
        return new


@dataclass(frozen=True, eq=False)
class Reduced:
    """The problem below a node: the columns that are left and the rows that are; slopes of the others."""

    form: KinkForm
    node: OpenNode

    @cached_property
    def columns(self) -> Host:
        kept = self.node.box == 0
        kept[self.node.columns] = True
        return np.flatnonzero(kept)

    @cached_property
    def ends(self) -> tuple[Host, Host]:
        """Lower and upper ends of all variables."""
        form, box = self.form, self.node.box
        return np.where(box > 0, form.high, form.low), np.where(box < 0, form.low, form.high)

    @cached_property
    def steady(self) -> Host:
        """Rows whose slope is the same at all points of the box: 1 the upper end, -1 the lower, 0 others."""
        form, (low, high) = self.form, self.ends
        middle = form.A @ ((low + high) / 2) - form.b
        radius = np.abs(form.A) @ ((high - low) / 2)
        up = (middle >= radius) & np.isfinite(form.hi)
        down = (middle <= -radius) & np.isfinite(form.lo)
        sign = np.where(up, 1, np.where(down, -1, 0))
        sign[self.node.rows] = 0
        if not np.any(sign == 0):
            sign[0] = 0
        return np.asarray(sign)

    @cached_property
    def rows(self) -> Host:
        return np.flatnonzero(self.steady == 0)

    @cached_property
    def slopes(self) -> Host:
        """Slopes of all rows, those of steady ones at their ends."""
        form, sign = self.form, self.steady
        return np.where(sign > 0, form.hi, np.where(sign < 0, form.lo, self.node.y))

    @cached_property
    def offset(self) -> float:
        """What the constant part adds to values."""
        low, gone = self.ends[0], np.setdiff1d(np.arange(self.form.n), self.columns)
        steady = self.steady != 0
        own = self.slopes[steady]
        fixed = self.form.A[np.ix_(steady, gone)] @ low[gone] - self.form.b[steady]
        return float(self.form.c[gone] @ low[gone] + own @ fixed)

    @cached_property
    def kinks(self) -> Kinks:
        form, rows, columns = self.form, self.rows, self.columns
        gone = np.setdiff1d(np.arange(form.n), columns)
        steady = np.flatnonzero(self.steady)
        b = form.b[rows] - form.A[np.ix_(rows, gone)] @ self.ends[0][gone]
        c = form.c[columns] + self.slopes[steady] @ form.A[np.ix_(steady, columns)]
        A = form.A[np.ix_(rows, columns)]
        return kinks(A, b, c, form.lo[rows], form.hi[rows], form.reach[rows])

    @cached_property
    def rest(self) -> float:
        """What rounding may cost a bound besides these rows, in units of eps."""
        steady = self.steady != 0
        return self.form.rest + float(np.abs(self.slopes[steady]) @ self.form.reach[steady])


class Subtree:
    """Resumable: the tree below a node, until it is closed or has taken `budget` nodes."""

    def __init__(self, form: KinkForm, node: OpenNode, gains: Gains, numbers: int, budget: int) -> None:
        self.form, self.node, self.gains = form, node, gains
        self.worked = 0  # in the last advance
        part = self.part = Reduced(form, node)
        low, high = (end[part.columns] for end in part.ends)
        self.kinks, self.vertex = part.kinks, vertex(part.rows.size, part.columns.size)
        room = min(STORE, (low.size + 1) * min(part.rows.size, low.size) ** 2)
        self.tree = tree(low, high, part.rows.size, low.size + 1, room, RECORDS)
        self.ids = np.append(part.columns, form.n)
        self.tree.gains[:], self.tree.tries[:] = gains.gains[:, self.ids], gains.tries[:, self.ids]
        self.tree.numbers[Number.REST] = part.rest
        self.tree.numbers[Number.ROOT] = node.bound - part.offset
        cursor = self.tree.cursor
        cursor[Cursor.BUDGET], cursor[Cursor.EVERY] = budget, EVERY
        cursor[Cursor.NODE], cursor[Cursor.NEXT] = node.number, numbers
        self._begin()

    def _begin(self) -> None:
        part, v = self.part, self.vertex
        v.l[:], v.u[:] = self.tree.low, self.tree.high
        v.y[:] = self._at_ends(self.node.y)[part.rows]
        at = np.full(self.form.n, -1), np.full(self.form.r, -1)
        at[0][part.columns], at[1][part.rows] = np.arange(part.columns.size), np.arange(part.rows.size)
        J, I = at[0][self.node.columns], at[1][self.node.rows]
        v.counts[0] = J.size
        v.J[: J.size], v.I[: I.size] = J, I
        v.in_J[J], v.in_I[I] = np.arange(J.size), np.arange(I.size)
        relax(self.kinks, v, -inf, PAUSED_AT_ONCE, FROM_BASIS)

    def _at_ends(self, y: Host) -> Host:
        """Slopes of rows outside the basis at the end that is nearer; 0 where both are infinite."""
        lo, hi = self.form.lo, self.form.hi
        finite = np.isfinite(lo) & np.isfinite(hi)
        with np.errstate(invalid="ignore"):
            near = np.where(y - lo < hi - y, lo, hi)
        one = np.where(np.isfinite(lo), lo, np.where(np.isfinite(hi), hi, 0.0))
        ends = np.where(finite, near, one)
        ends[self.node.rows] = y[self.node.rows]
        return np.asarray(ends)

    @property
    def nodes(self) -> int:
        return int(self.tree.cursor[Cursor.NODES])

    @property
    def bound(self) -> float:
        """What no point below the node falls under, or else it is worse than the best."""
        root = float(self.tree.numbers[Number.ROOT])
        return max(self.node.bound, root + self.part.offset - 2 * EPS * (abs(root) + abs(self.part.offset)))

    @property
    def share(self) -> float:
        """What is open of the whole tree, were it full."""
        depth = int(self.tree.cursor[Cursor.DEPTH])
        return self.node.share * float(np.sum(0.5 ** np.arange(1, depth + 1)) + 0.5**depth)

    @property
    def numbers(self) -> int:
        """The first number that no node has."""
        return int(self.tree.cursor[Cursor.NEXT])

    def advance(self, work: int, cutoff: float, best: float) -> Answer:
        """Go on; values are those of the whole problem, in its units."""
        numbers = self.tree.numbers
        numbers[Number.CUTOFF], numbers[Number.BEST] = cutoff - self.part.offset, best - self.part.offset
        answer = branch(self.kinks, self.vertex, self.tree, work)
        self.worked = work - int(self.tree.cursor[Cursor.LEFT])
        self.gains.gains[:, self.ids], self.gains.tries[:, self.ids] = self.tree.gains, self.tree.tries
        return answer

    def point(self, leaf: bool) -> Host:
        """The better point that was found, or the one that is a leaf: (1, n)."""
        x = self.part.ends[0].copy()
        x[self.part.columns] = self.tree.point if leaf else self.tree.best
        return x[None]

    def take_records(self) -> Records:
        """What was concluded since the last call."""
        cursor = self.tree.cursor
        events = self.tree.events[: cursor[Cursor.EVENTS]].copy()
        named = np.isin(events[:, 0], (Event.TO_LOW, Event.TO_HIGH, Event.BRANCH))
        events[named, 2] = self.part.columns[events[named, 2]]
        slopes = np.tile(self.part.slopes, (int(cursor[Cursor.SLOPES]), 1))
        slopes[:, self.part.rows] = self.tree.slopes[: cursor[Cursor.SLOPES]]
        cursor[Cursor.EVENTS] = cursor[Cursor.SLOPES] = 0
        return Records(events, slopes)

    def open_nodes(self) -> list[OpenNode]:
        """All nodes that are left, the present one first."""
        t, v, k = self.tree, self.vertex, int(self.vertex.counts[0])
        depth, used = int(t.cursor[Cursor.DEPTH]), int(t.cursor[Cursor.USED])
        found = [self._open(int(t.cursor[Cursor.NODE]), used, v.y, v.J[:k], v.I[:k], depth)]
        for d in range(depth):
            k = int(t.size[d])
            found.append(self._open(int(t.node[d]), int(t.mark[d]), t.y[d], t.J[d, :k], t.I[d, :k], d + 1))
            found[-1].box[self.part.columns[t.var[d]]] = 1 if t.side[d] else -1
        bounds = self.form.bounds(np.stack([n.y for n in found]), np.stack([n.box for n in found]))
        return [n._replace(bound=max(self.bound, float(b))) for n, b in zip(found, bounds, strict=True)]

    def _open(self, number: int, used: int, y: Host, J: Host, I: Host, depth: int) -> OpenNode:
        part, fixed = self.part, self.tree.trail[:used]
        box = self.node.box.copy()
        box[part.columns[fixed]] = np.where(self.vertex.l[fixed] > self.form.low, 1, -1)
        slopes = part.slopes.copy()
        slopes[part.rows] = y
        share = self.node.share * 0.5**depth
        return OpenNode(-inf, number, box, slopes, part.columns[J], part.rows[I], share)
