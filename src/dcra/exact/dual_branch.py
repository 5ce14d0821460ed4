"""Nodes of a tree over convex losses, some at a time: their bounds, what follows, and the nodes below.

A node is a box of spins, with the point and the slopes that its parent ended with. What is found depends on
what was known when the nodes were chosen, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.exact.dual_ascent import DualAscent, Strides
from dcra.exact.dual_rows import DualRows, dual_rows
from dcra.exact.incumbent import feasible
from dcra.exact.squares import Squares
from dcra.model.rounding import largest_error
from dcra.polish.flip import Flip

SMALL = 10
"""Variables that are left, up to which all points are looked at."""

LEAST_ROUNDS, MOST_ROUNDS = 2, 12
"""Rounds of ascent before a node is divided, and at most."""

AHEAD = 3.0
"""A node is divided where the gain of the last round, so many times, would not close it."""

FLIP_WORK = 1 << 16
"""Work of flips between two pauses."""


class DualNode(NamedTuple):
    """A node that waits: what it cannot fall below, its box (-1 low, 1 high, 0 free), a point and slopes."""

    bound: float
    number: int
    box: Host  # (n,) int8
    x: Host
    y: Host


class DualTaken(NamedTuple):
    """What became of some nodes: those below, and leaves (k, n) as spins; what the root has fixed (n,)."""

    numbers: tuple[int, ...]
    left: list[DualNode]
    leaves: Host
    at_root: Host | None


@dataclass(frozen=True, eq=False)
class DualBranch(Engine):
    """Open nodes, closed where values of F reach `cutoff`. Nodes below are numbered from `numbers`."""

    nodes: tuple[DualNode, ...]
    cutoff: float
    numbers: int
    strides: Strides
    squares: Squares | None = None

    name: ClassVar[str] = "exact"

    def start(self, compiled: Compiled, starts: Starts) -> DualBranchState:
        return DualBranchState(self, compiled)


def rows_of(compiled: Compiled, squares: Squares | None) -> DualRows:
    """The rows of a problem, made once."""
    return compiled.once(_make_rows, squares)


def _make_rows(compiled: Compiled, squares: Squares | None) -> DualRows:
    if squares is None:
        return dual_rows(compiled.problem.on_host())
    return dual_rows(squares.stand_in(compiled.problem), squares.slack)


def _largest_error(compiled: Compiled) -> float:
    return largest_error(compiled.problem)


class DualBranchState(State):
    """Rounds of ascent for all nodes that are not decided yet."""

    def __init__(self, own: DualBranch, compiled: Compiled) -> None:
        self.own, self.compiled = own, compiled
        self.rows = rows_of(compiled, own.squares)
        self.ascent = DualAscent(self.rows, own.strides)
        self.bound = np.array([node.bound for node in own.nodes])
        self.box, self.X, self.Y = (
            np.stack(parts) for parts in zip(*((node.box, node.x, node.y) for node in own.nodes), strict=True)
        )
        self.open = np.arange(len(own.nodes))
        self.left: list[DualNode] = []
        self.leaves = [np.zeros((0, compiled.n))]
        self.rounded = [np.zeros((0, compiled.n))]
        self.best = np.zeros((0, compiled.n))
        self.done_work, self._done = 0, False
        self._run = self._decide()

    def advance(self, work: int) -> None:
        end = self.done_work + work
        while not self._done and self.done_work < end:
            try:
                self.done_work += next(self._run)
            except StopIteration:
                self._done = True

    def _decide(self) -> Iterator[int]:
        """Close nodes, fix variables, look at all points, or divide; yields its work."""
        for number in range(1, MOST_ROUNDS + 1):
            self._look_at_all()
            if not self.open.size:
                break
            at, before = self.open, self.bound[self.open]
            self.X[at], self.Y[at], found, q = self.ascent.round(self.X[at], self.Y[at], self.box[at])
            self.bound[at] = np.maximum(self.bound[at], found)
            fixed = self._fix(at, found, q)
            closed = self.bound[at] >= self.own.cutoff
            with np.errstate(invalid="ignore"):  # of bounds that are -inf
                hopeless = self.bound[at] + AHEAD * (self.bound[at] - before) < self.own.cutoff
            divided = ~closed & (number >= LEAST_ROUNDS) & (hopeless & ~fixed | (number == MOST_ROUNDS))
            for k in np.flatnonzero(divided):
                self._divide(int(at[k]), q[k])
            self.open = at[~closed & ~divided]
            yield self.ascent.work * at.size
        yield from self._descend()

    def _fix(self, at: Host, found: Host, q: Host) -> Host:
        """Fix variables whose other value slopes rule out; whether a node has some that were free."""
        width = self.rows.high - self.rows.low
        out = (found[:, None] + width * np.abs(q) >= self.own.cutoff) & (self.box[at] == 0)
        self.box[at] = np.where(out, -np.sign(q), self.box[at]).astype(np.int8)
        return np.asarray(out.any(axis=1))

    def _divide(self, k: int, q: Host) -> None:
        """At a variable that is far from both ends, as far as its column weighs, or else is worth least."""
        rows, box, x = self.rows, self.box[k], self.X[k]
        free = np.flatnonzero(box == 0)
        if not free.size:
            self._hand_in(box[None].astype(np.float64))
            return
        apart = np.minimum(x - rows.low, rows.high - x)[free] * self._weights[free]
        j = int(free[np.argmax(apart) if np.max(apart) > 0 else np.argmin(np.abs(q[free]))])
        nearer = 1 if x[j] >= 0.5 * (rows.low + rows.high) else -1
        for i, side in enumerate((nearer, -nearer)):
            child = box.copy()
            child[j] = side
            number = self.own.numbers + 2 * k + i
            self.left.append(DualNode(float(self.bound[k]), number, child, x, self.Y[k]))
        middle = 0.5 * (rows.low + rows.high)
        self.rounded.append(np.where(box != 0, box, np.where(x >= middle, 1.0, -1.0))[None])

    @property
    def _weights(self) -> Host:
        """How much each column weighs."""
        return self.compiled.once(_column_norms, self.own.squares)

    def _look_at_all(self) -> None:
        """Hand in all points of small boxes that values, less what rounding may cost, do not rule out."""
        free = np.count_nonzero(self.box[self.open] == 0, axis=1)
        for k in self.open[free <= SMALL]:
            at = np.flatnonzero(self.box[k] == 0)
            codes = (np.arange(2**at.size)[:, None] >> np.arange(at.size)) & 1
            spins = np.broadcast_to(self.box[k], (len(codes), self.compiled.n)).astype(np.float64)
            spins[:, at] = 2.0 * codes - 1.0
            self._hand_in(spins)
            self.done_work += len(spins) * max(1, self.rows.A.size)
        self.open = self.open[free > SMALL]

    def _hand_in(self, spins: Host) -> None:
        spins = feasible(self.compiled, spins)
        if len(spins):
            floor = self.compiled.judged(spins) - self.compiled.once(_largest_error)
            self.leaves.append(spins[~(floor >= self.own.cutoff)])

    def _descend(self) -> Iterator[int]:
        """The best of the points that nodes are about, after flips where there are no constraints."""
        points = feasible(self.compiled, np.concatenate(self.rounded))
        if not len(points):
            return
        values = self.compiled.judged(points)
        self.best = points[np.argmin(np.where(np.isnan(values), inf, values))][None]
        if self.compiled.problem.constraints is None:
            flips = Flip().start(self.compiled, Starts(0, 0, 1, self.best))
            while not flips.done:
                flips.advance(FLIP_WORK)
                yield FLIP_WORK
            self.best = flips.candidates()

    @property
    def done(self) -> bool:
        return self._done

    @property
    def taken(self) -> DualTaken:
        """All there is to know, also before the end: nodes that are not decided are left as they are."""
        numbers = tuple(node.number for node in self.own.nodes)
        left = list(self.left)
        if not self._done:
            undecided = [int(k) for k in self.open]
            left += [self.own.nodes[k]._replace(bound=float(self.bound[k])) for k in undecided]
        at_root = self.box[0] if numbers[0] == 0 else None
        return DualTaken(numbers, left, np.concatenate(self.leaves), at_root)

    @property
    def facts(self) -> dict[str, Any]:
        return {"taken": self.taken}

    @property
    def work(self) -> float:
        return self.done_work

    def candidates(self) -> Host:
        return self.best

    def estimate(self) -> float | None:
        return None if len(self.best) else inf

    @property
    def steps(self) -> int:
        return len(self.own.nodes)


def _column_norms(compiled: Compiled, squares: Squares | None) -> Host:
    with np.errstate(all="ignore"):
        sizes = np.linalg.norm(rows_of(compiled, squares).A, axis=0)
    return np.where(np.isfinite(sizes) & (sizes > 0), sizes, 1.0)
