"""Near solutions of many equations: two lists of partial sums, and the two sums that are closest together.

Some variables are free, the others fixed so that the free ones have about half of their sums to reach. All
sums of one half of the free variables are compared with what those of the other half lack, but only where
both lie in the same cell of a random grid: N sums on either side stand for N^2 points at the cost of some N.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dcra._kernels import loading
from dcra.compiled import Compiled
from dcra.constraints import Host
from dcra.engines.base import Engine, Starts, State
from dcra.equations import Equations, equations_of
from dcra.near import subset_sums

HALF = 19
"""Variables of a half: lists of half a million sums."""

CROWD = 8.0
"""Sums of the other list in the cell of one, in the mean: wider cells separate fewer good pairs."""

CHUNK = 1 << 16
"""Sums, or keys, of one step."""

WORTH_COMPILING = 10.0
"""Seconds from which on the loops may be compiled: that takes about two."""

DRAWS, REPAIRS = 64, 40
"""Ways to fix variables from which the most central is taken, and flips that then improve it."""


def suitable(compiled: Compiled, equations: Equations, seconds: float) -> bool:
    """Whether there are variables for two lists, and loops to compare them or the time to compile these."""
    ready = compiled.loops and (loading.cached("closest") or seconds >= WORTH_COMPILING)
    return ready and not equations.required and equations.n >= 2 * HALF


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
    grids: int = 6

    name: ClassVar[str] = "closest"
    needs: ClassVar[frozenset[str]] = frozenset({"equations"})

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
        self.free = rng.permutation(equations.n)[: 2 * engine.half]
        self.t = self._central_point()
        self.least = np.iinfo(np.int64).max
        self._pairs = 0
        self._done = False
        self._steps_left = self._search()

    def _central_point(self) -> Host:
        """Fixed values that leave the free variables half of their sums to reach, or nearly so."""
        B, d = self.equations.B, self.equations.d
        T = self.rng.integers(0, 2, (DRAWS, self.equations.n))
        T[:, self.free] = 0
        wanted = d - 0.5 * B[:, self.free].sum(axis=1)
        t = T[np.argmin(np.sum((wanted - T @ B.T) ** 2, axis=1))]
        fixed = np.setdiff1d(np.arange(self.equations.n), self.free)
        for _ in range(REPAIRS if fixed.size else 0):
            lack = wanted - B @ t
            after = np.sum((lack[:, None] - B[:, fixed] * (1 - 2 * t[fixed])) ** 2, axis=0)
            best = int(np.argmin(after))
            if after[best] >= np.sum(lack**2):
                break
            t[fixed[best]] ^= 1
        return np.asarray(t)

    def advance(self, work: int) -> None:
        if not self._done:
            self._done = next(self._steps_left, True)

    def _search(self) -> Iterator[bool]:
        """The search in steps of some hundredths of a second; yields whether it has ended."""
        from dcra._kernels.closest import closest

        B, fixed = self.equations.B, self.t.copy()
        half = self.engine.half
        halves = self.free[:half], self.free[half:]
        left = subset_sums(B[:, halves[0]]).astype(np.int32)
        yield False
        lack = (self.equations.d - B @ fixed).astype(np.int32)
        right = lack - subset_sums(B[:, halves[1]]).astype(np.int32)
        for _ in range(self.engine.grids):
            grid = Grid(left, self.rng)
            lists: list[Sorted] = []
            for sums in (left, right):
                for found in grid.sort(sums):
                    lists += [] if found is None else [found]
                    yield False
            one, two = lists
            for first in range(0, grid.keys, CHUNK):
                best = np.array([self.least, -1, -1])
                ends = first, min(first + CHUNK, grid.keys)
                self._pairs += closest(one.sums, one.start, two.sums, two.start, *ends, best)
                if best[1] >= 0:
                    self._keep(int(best[0]), halves, (one.subset[best[1]], two.subset[best[2]]))
                yield False
        loading.remember("closest")
        yield True

    def _keep(self, distance: int, halves: tuple[Host, Host], subsets: tuple[Any, Any]) -> None:
        self.least = distance
        for half, subset in zip(halves, subsets, strict=True):
            self.t[half] = (int(subset) >> np.arange(half.size)) & 1

    @property
    def done(self) -> bool:
        return self._done

    @property
    def work(self) -> float:
        return float(self._pairs)

    def candidates(self) -> Host:
        return 2.0 * self.t[None] - 1


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

    def sort(self, sums: Host) -> Iterator[Sorted | None]:
        """Yields None between two steps, and the sorted list in the end."""
        from dcra._kernels.closest import cells, scatter

        key, start = np.empty(len(sums), np.int64), np.zeros(self.keys + 1, np.int64)
        for first in range(0, len(sums), CHUNK):
            ends = first, min(first + CHUNK, len(sums))
            cells(sums, self.shift, self.scale, self.factors, np.uint64(64 - self.bits), *ends, key, start)
            yield None
        np.cumsum(start, out=start)
        place, out, origin = start.copy(), np.empty_like(sums), np.empty_like(key)
        for first in range(0, len(sums), CHUNK):
            scatter(sums, key, place, first, min(first + CHUNK, len(sums)), out, origin)
            yield None
        yield Sorted(out, origin, start)
