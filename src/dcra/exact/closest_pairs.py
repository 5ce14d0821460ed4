"""Near solutions of many equations: two lists of partial sums, and the two sums that are closest together.

Some variables are free, those whose sums lie closest together; the others are fixed so that the free ones
have about half of their sums to reach. All sums of one half of the free variables are compared with what
those of the other half lack, but only where both lie in the same cell of a random grid: N sums on either side
stand for N^2 points at the cost of some N.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from math import pi, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.exact.free_variables import central_point, narrowest
from dcra.exact.integer_equations import Equations, equations_of

HALF = 19
"""Variables of a half: lists of half a million sums."""

CROWD = 0.25
"""Sums of the other list in the cell of one, were the equations independent: wider cells separate fewer good
pairs, but take longer to compare."""

FEW = 14
"""Variables whose sums are added up in one step."""

CHUNK = 1 << 16
"""Sums, or keys, of one step."""

LARGEST = 2**30
"""Sums stay below this, and their differences within 32 bits."""

FIXINGS = 5
"""Ways to fix the other variables that are tried with each grid."""

CHOICE = 0.9
"""Share of the variables, drawn at random, of which the free ones are chosen."""


def suitable(compiled: Compiled, equations: Equations) -> bool:
    """Whether there are variables for two lists, and loops to compare them."""
    small = int(np.abs(equations.B).sum(axis=1).max()) + int(np.abs(equations.d).max()) < LARGEST
    return compiled.loops and small and not equations.required and equations.n >= 2 * HALF


@dataclass(frozen=True)
class Closest(Engine):
    """One set of free variables for each start.

    Parameters
    ----------
    half : int
        Free variables of each of the two lists.
    grids : int
        Grids laid over the same two lists.
    """

    half: int = HALF
    grids: int = 4

    name: ClassVar[str] = "closest"
    needs: ClassVar[frozenset[str]] = frozenset({"equations", "loops"})

    def start(self, compiled: Compiled, starts: Starts) -> ClosestState:
        equations = equations_of(compiled.problem)
        assert equations is not None
        return ClosestState(self, equations, np.random.default_rng((starts.seed, starts.first, 6)))


class Sorted(NamedTuple):
    """A list of sums in the order of their keys: which subsets they are, and where each key begins."""

    sums: Host
    subset: Host
    start: Host


class ClosestState(State):
    """The best point so far."""

    def __init__(self, engine: Closest, equations: Equations, rng: np.random.Generator) -> None:
        self.engine, self.equations, self.rng = engine, equations, rng
        n = equations.n
        kept = rng.permutation(n)[: max(2 * engine.half, int(CHOICE * n))]
        self.free = rng.permutation(narrowest(equations.B, kept, 2 * engine.half))
        self.fixed = np.setdiff1d(np.arange(n), self.free)
        self.t = np.zeros(n, np.int64)
        self.least = np.iinfo(np.int64).max
        self._pairs = 0
        self._done = False
        self._steps_left = self._search()

    def advance(self, work: int) -> None:
        if not self._done:
            self._done = next(self._steps_left, True)

    def _search(self) -> Iterator[bool]:
        """The search in steps of some hundredths of a second; yields whether it has ended."""
        B, half = self.equations.B, self.engine.half
        left = yield from subset_sums(B[:, self.free[:half]])
        right = yield from subset_sums(B[:, self.free[half:]])
        for _ in range(self.engine.grids):
            grid = Grid(left, self.rng)
            one = yield from grid.sort(left)
            for _ in range(FIXINGS):
                t = central_point(self.equations, self.free, self.fixed, self.rng)
                lack = (self.equations.d - B @ t).astype(np.int32)
                two = yield from grid.sort(lack - right)
                yield from self._compare(grid, one, two, t)
        yield True

    def _compare(self, grid: Grid, one: Sorted, two: Sorted, t: Host) -> Iterator[bool]:
        """Keep the closest pair of two lists, if it is closer than the best."""
        from dcra._kernels.closest import closest

        half = self.engine.half
        for first in range(0, grid.keys, CHUNK):
            best = np.array([self.least, -1, -1])
            ends = first, min(first + CHUNK, grid.keys)
            self._pairs += closest(one.sums, one.start, two.sums, two.start, *ends, best)
            if best[1] >= 0:
                self.least = int(best[0])
                self.t = t.copy()
                self.t[self.free[:half]] = bits(one.subset[best[1]], half)
                self.t[self.free[half:]] = bits(two.subset[best[2]], self.free.size - half)
            yield False

    @property
    def done(self) -> bool:
        return self._done

    @property
    def work(self) -> float:
        return float(self._pairs)

    def candidates(self) -> Host:
        return 2.0 * self.t[None] - 1


def subset_sums(B: Host) -> Generator[bool, None, Host]:
    """The sums of all subsets of the columns of B, (2^k, rows), in steps; bit j of a subset is column j."""
    few = _sums_of_few(B[:, :FEW])
    others = _sums_of_few(B[:, FEW:])
    sums = np.empty((others.shape[0], *few.shape), np.int32)
    for block, offset in zip(sums, others, strict=True):
        np.add(few, offset, out=block)
        yield False
    return sums.reshape(-1, len(B))


def _sums_of_few(B: Host) -> Host:
    sums = np.zeros((1, B.shape[0]), np.int32)
    for column in B.T.astype(np.int32):
        sums = np.concatenate([sums, sums + column])
    return sums


def bits(subset: Any, count: int) -> Host:
    return np.asarray((int(subset) >> np.arange(count)) & 1)


class Grid:
    """Cells of equal width in all equations, shifted at random; a cell has one of about N keys."""

    def __init__(self, sums: Host, rng: np.random.Generator) -> None:
        N, m = sums.shape
        spread = np.std(sums[:: max(1, N >> 14)], axis=0) + 0.5
        width = np.maximum(1.0, 2 * sqrt(pi) * spread * (CROWD / N) ** (1 / m))
        self.scale, self.shift = 1 / width, rng.random(m) * width
        self.factors = rng.integers(0, 2**64, m, np.uint64) | np.uint64(1)
        self.bits = max(1, int(N).bit_length() - 1)

    @property
    def keys(self) -> int:
        return 1 << self.bits

    def sort(self, sums: Host) -> Generator[bool, None, Sorted]:
        """The sorted list, in steps: yields False between two of them."""
        from dcra._kernels.closest import cells, scatter

        key, start = np.empty(len(sums), np.int64), np.zeros(self.keys + 1, np.int64)
        for first in range(0, len(sums), CHUNK):
            ends = first, min(first + CHUNK, len(sums))
            cells(sums, self.shift, self.scale, self.factors, np.uint64(64 - self.bits), *ends, key, start)
            yield False
        np.cumsum(start, out=start)
        place, out, origin = start.copy(), np.empty_like(sums), np.empty_like(key)
        for first in range(0, len(sums), CHUNK):
            scatter(sums, key, place, first, min(first + CHUNK, len(sums)), out, origin)
            yield False
        return Sorted(out, origin, start)
