"""Exact enumeration in Gray-code order, cut into segments that run side by side."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from dcra import costs
from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.compiled.tables import Tables
from dcra.engines.base import Engine, Starts, State

MAX_WORK = 2_000_000_000
"""Largest 2^n r that is enumerated."""

SEGMENTS = 8
CHUNK = 1024  # positions between two exact recomputations of the residual


def enumerable(compiled: Compiled, seconds_left: float | None) -> bool:
    """Whether all points can be visited within the time left."""
    if compiled.n > 40:
        return False
    work = 2**compiled.n * _rows(compiled)
    rate = costs.GRAY_RATE if compiled.tabulated else costs.ARRAY_POINTS_RATE / max(1, compiled.n)
    if seconds_left is None or work > MAX_WORK:
        return bool(work <= MAX_WORK)
    return bool(costs.slowdown() * work / rate <= 0.5 * seconds_left)


def _rows(compiled: Compiled) -> int:
    """Numbers that change with a flip: residuals and local fields."""
    return max(1, compiled.n_rows + (0 if compiled.quadratic is None else compiled.n))


@dataclass(frozen=True)
class Enumerate(Engine):
    """All 2^n points, feasible ones first; start number i of SEGMENTS covers the i-th part of them."""

    name: ClassVar[str] = "enumerate"
    needs: ClassVar[frozenset[str]] = frozenset({"small"})
    plan: ClassVar[str] = "exhaust"
    takes_constraints: ClassVar[bool] = True

    def start(self, compiled: Compiled, starts: Starts) -> State:
        chunks = -(-(2**compiled.n) // CHUNK)
        lo, hi = (CHUNK * (chunks * i // SEGMENTS) for i in (starts.first, starts.first + starts.count))
        kind: type[SegmentState] = LoopState if compiled.tabulated else ArrayState
        if compiled.problem.constraints is not None:
            kind = FeasibleSegment
        return kind(compiled, lo, min(hi, 2**compiled.n))


class SegmentState(State):
    """Positions lo..hi of the Gray sequence; position c has x_j = -1 where bit j of c ^ (c >> 1) is set."""

    def __init__(self, compiled: Compiled, lo: int, hi: int) -> None:
        self.compiled = compiled
        self.position, self.hi = lo, hi
        self.best, self.code = inf, lo

    def advance(self, work: int) -> None:
        if self.done:
            return
        count = CHUNK * max(1, work // (CHUNK * _rows(self.compiled)))
        last = min(self.hi, self.position + count)
        value, code = self.visit(self.position, last)
        if value < self.best:
            self.best, self.code = value, code
        self.position = last

    def visit(self, lo: int, hi: int) -> tuple[float, int]:
        raise NotImplementedError

    @property
    def done(self) -> bool:
        return self.position >= self.hi

    def candidates(self) -> Host:
        return spins_of(np.asarray([self.code]), self.compiled.n)


class LoopState(SegmentState):
    def visit(self, lo: int, hi: int) -> tuple[float, int]:
        from dcra._kernels.gray import gray

        tables = self.compiled.tables(np.float64)
        if self.compiled.quadratic is not None:
            return self._visit_coupled(tables, lo, hi)
        x, z = np.empty(self.compiled.n), np.empty_like(tables.b)
        best, code = gray(tables.model, tables.b, lo, hi, x, z)
        return float(best), int(code)

    def _visit_coupled(self, tables: Tables, lo: int, hi: int) -> tuple[float, int]:
        from dcra._kernels.mixed import gray

        quadratic = self.compiled.quadratic_tables
        s, z, g = np.empty(self.compiled.n), np.empty_like(tables.b), np.empty(self.compiled.n)
        scratch = (s, z, g, np.empty(3))
        best, code = gray(tables.model, tables.b, quadratic.C, quadratic.field, lo, hi, *scratch)
        return float(best), int(code)


class ArrayState(SegmentState):
    def visit(self, lo: int, hi: int) -> tuple[float, int]:
        compiled = self.compiled
        best, code = inf, lo
        for base in range(lo, hi, CHUNK):
            codes = np.arange(base, min(base + CHUNK, hi))
            values = compiled.judged(spins_of(codes, compiled.n))
            i = int(np.argmin(values))
            if values[i] < best:
                best, code = float(values[i]), int(codes[i])
        return best, code


class FeasibleSegment(SegmentState):
    """The best feasible point, or else the least violating."""

    def __init__(self, compiled: Compiled, lo: int, hi: int) -> None:
        super().__init__(compiled, lo, hi)
        self.least = inf

    def visit(self, lo: int, hi: int) -> tuple[float, int]:
        for base in range(lo, hi, CHUNK):
            codes = np.arange(base, min(base + CHUNK, hi))
            spins = spins_of(codes, self.compiled.n)
            violation = self._violation(spins)
            if violation.min() > self.least:
                continue
            nearest = codes[violation == violation.min()]
            values = self.compiled.judged(spins[violation == violation.min()])
            best = int(np.argmin(values))
            if (violation.min(), values[best]) < (self.least, self.best):
                self.least, self.best, self.code = (
                    float(violation.min()),
                    float(values[best]),
                    int(nearest[best]),
                )
        return self.best, self.code

    def _violation(self, spins: Host) -> Host:
        constraints = self.compiled.problem.constraints
        assert constraints is not None
        return constraints.violation(self.compiled.in_domain(spins))


def spins_of(codes: Host, n: int) -> Host:
    """The points at some positions of the Gray sequence, (k, n)."""
    bits = (codes ^ (codes >> 1))[:, None] >> np.arange(n) & 1
    return np.where(bits, -1.0, 1.0)
