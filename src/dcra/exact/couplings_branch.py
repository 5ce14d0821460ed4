"""A node of a tree over couplings: its bound, what follows from it, and the two nodes below.

What is found depends on what was known when the node was chosen, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, News, Starts, State
from dcra.exact.couplings_form import EPS, CouplingsForm, couplings_form
from dcra.exact.couplings_log import INHERITED, NodeLog, PairRecords
from dcra.exact.merging import Merge, fixed_pairs, merge_of
from dcra.exact.triangle_bound import PAUSE, Proved, TriangleRelaxation, Warm

SMALL = 13
"""Spins that are left, up to which all points are looked at."""

LEAST_ROUNDS, WARM_ROUNDS, MOST_ROUNDS = 8, 3, 40
"""Rounds before anything is concluded: from nothing, and from where the parent ended; and rounds at most."""

BACK, AHEAD = 2, 3.0
"""A node is divided where the gain of the last BACK rounds, AHEAD times, would not close it."""

WARM_START = 12
"""The round that a relaxation goes on with, as far as its rates are concerned."""


class PairNode(NamedTuple):
    """A node that waits: what it cannot fall below, its spins, and the relaxation of its parent.

    `merge` leads from all spins to those of the parent that are left, `last` from these to its own. `proof`
    is the number of the multipliers that its bound rests on.
    """

    bound: float
    number: int
    merge: Merge
    warm: Warm | None = None
    last: Merge | None = None
    proof: int = INHERITED


class PairTaken(NamedTuple):
    """What became of a node: the nodes below, leaves (k, n) as spins, and how its spins were merged."""

    number: int
    left: list[PairNode]
    leaves: Host
    merge: Merge
    work: int
    records: PairRecords | None


@dataclass(frozen=True, eq=False)
class PairBranch(Engine):
    """An open node; it is closed where its values, in the form's units, reach `cutoff`."""

    node: PairNode
    cutoff: float
    numbers: int  # of the nodes below
    near: float = 0.0  # how close to the cutoff a bound is not told before the node is closed
    record: bool = False  # whether what is concluded is written down

    name: ClassVar[str] = "exact"

    def start(self, compiled: Compiled, starts: Starts) -> PairBranchState:
        return PairBranchState(self, compiled)


def form_of(compiled: Compiled) -> CouplingsForm:
    """The matrix of a problem, made once."""
    return compiled.once(_make_form)


def _make_form(compiled: Compiled) -> CouplingsForm:
    return couplings_form(compiled.problem)


class PairBranchState(State):
    """The relaxation of a node, a few steps at a time."""

    def __init__(self, own: PairBranch, compiled: Compiled) -> None:
        self.own, self.form = own, form_of(compiled)
        node = own.node
        self.merge = node.merge if node.last is None else node.merge.then(node.last)
        self.warm = node.warm if node.warm is None or node.last is None else node.last.warm(node.warm)
        self.bound, self.proof = node.bound, INHERITED
        self.log = NodeLog(self.form, node.number) if own.record else None
        self.left: list[PairNode] = []
        self.leaves = self.rounded = np.zeros((0, compiled.n))
        self.done_work, self.news = 0, list[News]()
        self._done = False
        self._run = self._decide()

    def advance(self, work: int) -> None:
        end = self.done_work + min(work, PAUSE)  # annealing before may have taken longer strides
        while not self._done and self.done_work < end:
            try:
                self.done_work += next(self._run)
            except StopIteration:
                self._done = True

    def _decide(self) -> Iterator[int]:
        """Look at all points, close the node, merge spins and try again, or divide it; yields its work."""
        while self.merge.left > SMALL:
            M, constant = self.merge.matrix(self.form.M)
            cutoff = self.own.cutoff - constant
            relaxation = TriangleRelaxation(M, self.warm, 0 if self.warm is None else WARM_START)
            proved = yield from self._relax(relaxation, cutoff)
            at = INHERITED if self.log is None else self.log.multipliers(proved, relaxation, self.merge)
            known = proved.bound + constant - 4 * EPS * (abs(proved.bound) + abs(constant))
            if known > self.bound:
                self.bound, self.proof = known, at
            if self.bound >= self.own.cutoff:
                self._close()
                return
            self._round(relaxation)
            pairs = yield from fixed_pairs(proved, cutoff - proved.bound)
            if not pairs:
                self._divide(relaxation)
                return
            if self.log is not None:
                self.log.merged(pairs, at, self.merge)
            merge = merge_of(len(M), pairs)
            self.warm, self.merge = merge.warm(relaxation.ended), self.merge.then(merge)
        self._look_at_all()

    def _close(self) -> None:
        if self.log is not None:
            self.log.closed(self.proof)

    def _relax(self, relaxation: TriangleRelaxation, cutoff: float) -> Generator[int, None, Proved]:
        """Rounds until the node is closed, or is not going to be."""
        values: list[float] = []
        least = LEAST_ROUNDS if relaxation.warm is None else WARM_ROUNDS
        patience, again = 1, 0
        yield from relaxation.begin()
        if relaxation.warm is None:  # the root: limits may leave no time for more
            proved = yield from relaxation.prove()
            if proved.bound < cutoff - self.own.near:
                self.news.append(News(self.leaves, self.form.objective(proved.bound)))
            if proved.bound >= cutoff:
                return proved
        while len(values) < MOST_ROUNDS:
            yield from relaxation.round()
            values.append(relaxation.value)
            if len(values) < least:
                continue
            if abs(values[-1] - cutoff) <= relaxation.resolution:
                break
            if values[-1] >= cutoff:
                if len(values) < again:
                    continue
                proved = yield from relaxation.prove()
                if proved.bound >= cutoff:
                    return proved
                again, patience = len(values) + patience, 2 * patience
            elif values[-1] + AHEAD * max(0.0, values[-1] - values[-1 - BACK]) < cutoff:
                break
        return (yield from relaxation.prove())

    def _round(self, relaxation: TriangleRelaxation) -> None:
        """Take note of the point that the relaxation is about."""
        Z = np.where(relaxation.mean[:1] < 0, -1.0, 1.0)
        self.rounded = self.form.spins(self.merge.spread(Z))

    def _divide(self, relaxation: TriangleRelaxation) -> None:
        """At a spin of which little is known whether it is as the first one, and which others follow."""
        p, X = len(relaxation.M), relaxation.mean
        at = int(np.argmax((1.0 - X[0, 1:] ** 2) * np.sum(X[1:] ** 2, axis=1))) + 1
        first = 1.0 if X[0, at] >= 0 else -1.0
        ended = relaxation.ended
        for k, sign in enumerate((first, -first)):
            merge = merge_of(p, [(at, 0, sign)])
            self.left.append(PairNode(self.bound, self.own.numbers + k, self.merge, ended, merge, self.proof))
        if self.log is not None:
            self.log.divided(at, 0, first, self.own.numbers, self.merge)

    def _look_at_all(self) -> None:
        """Hand in all points that values, less what rounding may have cost them, do not rule out."""
        M, constant = self.merge.matrix(self.form.M)
        p = len(M)
        codes = np.arange(2 ** (p - 1))[:, None] >> np.arange(p - 1)
        Z = np.column_stack([np.ones(len(codes)), 1.0 - 2.0 * (codes & 1)])
        values = np.sum((Z @ M) * Z, axis=1) + constant
        floor = values - 4 * (p + 2) * EPS * (float(np.abs(M).sum()) + abs(constant))
        near = Z[floor < self.own.cutoff]
        self.leaves = self.form.spins(self.merge.spread(near))
        self.done_work += Z.size * p
        if self.log is not None:
            self.log.looked_at()

    @property
    def done(self) -> bool:
        return self._done

    @property
    def taken(self) -> PairTaken:
        records = None if self.log is None else self.log.records
        return PairTaken(self.own.node.number, self.left, self.leaves, self.merge, self.done_work, records)

    def take_news(self) -> list[News]:
        news, self.news = self.news, []
        return news

    @property
    def facts(self) -> dict[str, Any]:
        return {"taken": self.taken}

    @property
    def work(self) -> float:
        return self.done_work

    def candidates(self) -> Host:
        """The point that the relaxation is about, once there is one."""
        return self.rounded

    def estimate(self) -> float | None:
        return None if len(self.rounded) else inf

    @property
    def steps(self) -> int:
        return 1
