"""Exact enumeration in Gray-code order, cut into segments that run side by side.

Compiled loops keep running values, which drift. They only say which blocks of points cannot hold the best
one, with a bound of that drift (`running_error`); the points of all other blocks are judged one by one
(`judging`). What no point of a segment falls below is a proof then, whatever the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dcra import costs
from dcra._array import Host, to_numpy
from dcra._kernels.gray import BLOCK
from dcra.compiled.form import Compiled, compile_problem
from dcra.compiled.tables import Tables
from dcra.engines.base import Engine, Starts, State
from dcra.exact.judging import Judge
from dcra.exact.running_error import RunningError
from dcra.model.problem import Problem
from dcra.model.term import Term

MAX_WORK = 2_000_000_000
"""Largest 2^n r that is enumerated."""

SEGMENTS = 8
CHUNK = BLOCK  # positions between two exact recomputations of the residual


def enumerable(compiled: Compiled, seconds_left: float | None, share: float = 1.0) -> bool:
    """Whether all points can be visited within the time left, and within a share of the most work."""
    if compiled.n > 40:
        return False
    work = 2**compiled.n * _rows(compiled)
    if seconds_left is None or work > share * MAX_WORK:
        return bool(work <= share * MAX_WORK)
    return bool(costs.slowdown() * seconds_for(compiled) <= 0.5 * seconds_left)


def seconds_for(compiled: Compiled) -> float:
    """What all points take on a machine of the usual pace."""
    rate = costs.GRAY_RATE if compiled.tabulated else costs.ARRAY_POINTS_RATE / max(1, compiled.n)
    if compiled.problem.constraints is not None:
        rate = costs.FEASIBLE_RATE / max(1, compiled.n)
    return float(2**compiled.n) * _rows(compiled) / rate


def _rows(compiled: Compiled) -> int:
    """Numbers that change with a flip: residuals and local fields."""
    return max(1, compiled.n_rows + (0 if compiled.quadratic is None else compiled.n))


@dataclass(frozen=True)
class Enumerate(Engine):
    """All 2^n points, feasible ones first; start number i of SEGMENTS covers the i-th part of them.

    `keep` is how many points of each part are handed in, the best ones.
    """

    keep: int = 1

    name: ClassVar[str] = "enumerate"
    needs: ClassVar[frozenset[str]] = frozenset({"small"})
    plan: ClassVar[str] = "exhaust"
    takes_constraints: ClassVar[bool] = True

    def start(self, compiled: Compiled, starts: Starts) -> SegmentState:
        chunks = -(-(2**compiled.n) // CHUNK)
        lo, hi = (CHUNK * (chunks * i // SEGMENTS) for i in (starts.first, starts.first + starts.count))
        kind: type[SegmentState] = LoopState if compiled.tabulated else SegmentState
        if compiled.problem.constraints is not None:
            kind = FeasibleSegment
        return kind(compiled, lo, min(hi, 2**compiled.n), self.keep)


class SegmentState(State):
    """Positions lo..hi of the Gray sequence, judged one by one; `code` is that of the best point.

    Position c has x_j = -1 where bit j of c ^ (c >> 1) is set.
    """

    def __init__(self, compiled: Compiled, lo: int, hi: int, keep: int = 1) -> None:
        self.compiled, self.keep = compiled, keep
        self.position, self.hi, self.code = lo, hi, lo
        self.judge = Judge(compiled)
        self.judge.bar = inf if keep > 1 else None
        self.codes, self.values = np.empty(0, np.int64), np.empty(0)  # the best points, where more are kept
        self.waiting: list[tuple[Host, Host]] = []  # to be taken among them, many at a time
        self.room = keep  # for points that wait

    def advance(self, work: int) -> None:
        if self.done:
            return
        count = CHUNK * max(1, work // (CHUNK * _rows(self.compiled)))
        last = min(self.hi, self.position + count)
        self.visit(self.position, last)
        self.position = last

    def visit(self, lo: int, hi: int) -> None:
        """Look at the points lo..hi."""
        for base in range(lo, hi, CHUNK):
            self.look_at(np.arange(base, min(base + CHUNK, hi)))

    def look_at(self, codes: Host) -> None:
        found = self.judge.look_at(self.spins(codes))
        if found is not None:
            self.code = int(codes[found])
        if self.keep > 1:
            self._keep(codes, self.judge.values)

    def _keep(self, codes: Host, values: Host) -> None:
        """Take note of points that are among the best; those above the last of them may be passed over."""
        assert self.judge.bar is not None
        worth = values < self.judge.bar
        if not worth.any():
            return
        self.waiting.append((codes[worth], values[worth]))
        self.room -= int(np.count_nonzero(worth))
        if self.room <= 0:
            self._merge()

    def _merge(self) -> None:
        self.room = self.keep
        codes, values = map(np.concatenate, zip((self.codes, self.values), *self.waiting, strict=True))
        self.waiting.clear()
        codes, where = np.unique(codes, return_index=True)
        values = values[where]
        order = np.argsort(values, kind="stable")[: self.keep]
        self.codes, self.values = codes[order], values[order]
        self.judge.bar = float(self.values[-1]) if order.size == self.keep else inf

    def spins(self, codes: Host) -> Host:
        return spins_of(codes, self.compiled.n)

    @property
    def least(self) -> float:
        """What no feasible point of the segment falls below; inf where there is none."""
        return self.judge.least

    @property
    def facts(self) -> dict[str, Any]:
        return {"least": self.least}

    @property
    def done(self) -> bool:
        return self.position >= self.hi

    def candidates(self) -> Host:
        self._merge()
        return self.spins(self.codes if len(self.codes) else np.asarray([self.code]))


class LoopState(SegmentState):
    """Running values in a compiled loop; then the blocks that may hold the best point, judged."""

    def __init__(self, compiled: Compiled, lo: int, hi: int, keep: int = 1) -> None:
        super().__init__(compiled, lo, hi, keep)
        self.ordered = compiled.once(_ordered)
        self.open: list[tuple[float, int]] = []  # blocks that may: what they cannot fall below, and where

    def spins(self, codes: Host) -> Host:
        spins = np.empty((codes.size, self.compiled.n))
        spins[:, self.ordered.order] = spins_of(codes, self.compiled.n)
        return spins

    def advance(self, work: int) -> None:
        if self.position < self.hi:
            super().advance(work)
            if self.position >= self.hi:
                self.open.sort(reverse=True)
            return
        for _ in range(max(1, work // (CHUNK * _rows(self.compiled) * self.compiled.n))):
            if not self.done:
                self._look_again(*self.open.pop())

    def _look_again(self, floor: float, base: int) -> None:
        if self.judge.rules_out(floor):  # and so all others
            self.judge.pass_over(floor)
            self.open.clear()
        else:
            self.look_at(np.arange(base, min(base + CHUNK, 2**self.compiled.n)))

    def visit(self, lo: int, hi: int) -> None:
        form, error = self.ordered.compiled, self.ordered.error
        bases = np.arange(lo, hi, CHUNK)
        least = np.empty(bases.size)
        best, code = self._run(form.tables(np.float64), lo, hi, least)
        floor = form.value_scale * least + form.offset - error(spins_of(bases, form.n))
        floor = np.where(np.isnan(floor), -inf, floor)
        if form.value_scale * best + form.offset < self.judge.best:
            self.look_at(np.asarray([code]))
        for at, base in zip(floor.tolist(), bases.tolist(), strict=True):
            if self.judge.rules_out(at):
                self.judge.pass_over(at)
            else:
                self.open.append((at, base))

    def _run(self, tables: Tables, lo: int, hi: int, least: Host) -> tuple[float, int]:
        n = self.compiled.n
        s, z = np.empty(n), np.empty_like(tables.b)
        if self.compiled.quadratic is None:
            from dcra._kernels.gray import gray

            return gray(tables.model, tables.b, lo, hi, s, z, least)
        from dcra._kernels import mixed

        quadratic = self.ordered.compiled.quadratic_tables
        scratch = (s, z, np.empty(n), np.empty(3), least)
        return mixed.gray(tables.model, tables.b, quadratic.C, quadratic.field, lo, hi, *scratch)

    @property
    def done(self) -> bool:
        return self.position >= self.hi and not self.open


class FeasibleSegment(SegmentState):
    """The best feasible point, or else the one that violates least, all rows together."""

    def __init__(self, compiled: Compiled, lo: int, hi: int, keep: int = 1) -> None:
        super().__init__(compiled, lo, hi, keep)
        self.lack = inf

    def look_at(self, codes: Host) -> None:
        constraints = self.compiled.problem.constraints
        assert constraints is not None
        lack = constraints.lack(self.compiled.in_domain(self.spins(codes)))
        least = float(lack.min())
        if least == 0:
            self.lack = 0.0
            super().look_at(codes[lack == 0])
        elif least < self.lack:
            self.lack, self.code = least, int(codes[np.argmin(lack)])


class Ordered(NamedTuple):
    """A problem in float64 whose variable j is number order[j] of the original: small columns flip most."""

    compiled: Compiled
    order: Host
    error: RunningError


def _ordered(compiled: Compiled) -> Ordered:
    problem = compiled.problem
    order = np.argsort(_column_sizes(compiled), kind="stable")
    terms = [
        Term(t.loss, t.operator.on_host()[:, order].astype(np.float64), to_numpy(t.b), t.weight)
        for t in problem.terms
    ]
    Q = None if problem.quadratic is None else problem.quadratic.operator.on_host()[:, order][order, :]
    twin = Problem(
        terms,
        linear=None if problem.linear is None else to_numpy(problem.linear)[order],
        quadratic=None if Q is None else Q.astype(np.float64),
        constant=problem.constant,
        domain=problem.domain,
    )
    form = compile_problem(twin, compiled.loops)
    return Ordered(form, order, RunningError(form))


def _column_sizes(compiled: Compiled) -> Host:
    """About what a flip of each variable may change."""
    size = np.zeros(compiled.n) if compiled.c is None else np.abs(to_numpy(compiled.c)).astype(np.float64)
    for p in compiled.pieces:
        size = size + p.heaviest * to_numpy(p.operator.column_norms).astype(np.float64)
    if compiled.quadratic is not None:
        size = size + to_numpy(compiled.quadratic.J.column_norms).astype(np.float64)
    return size


def spins_of(codes: Host, n: int) -> Host:
    """The points at some positions of the Gray sequence, (k, n)."""
    bits = (codes ^ (codes >> 1))[:, None] >> np.arange(n) & 1
    return np.where(bits, -1.0, 1.0)
