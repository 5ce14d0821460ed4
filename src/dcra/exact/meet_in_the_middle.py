"""Meeting in the middle: all solutions of a few equations between integers in 2^(n/2) time, 2^(n/4) memory.

Schroeppel and Shamir's four lists, with a residue in place of their heaps: the variables are cut in four, and
for each residue c the sums of the first two quarters with that residue are matched with those of the last
two. The equations are added up with random multipliers modulo 2^64, so that a point is one number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from dcra import costs
from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.exact.integer_equations import Equations, equations_of

if TYPE_CHECKING:
    from dcra._kernels.join import Lists, MeetScratch

MAX_VARIABLES = 88
"""Beyond, the lists alone would take a gigabyte and the search years."""

SEGMENTS = 256
RUN_BITS = 4
"""log2 of the keys with one residue in the longer lists: runs that the processor can foresee."""

SPARSITY = 32
"""Bits in a set of keys for each key."""


class Quarter(NamedTuple):
    """The sums over all subsets of some variables, sorted by residue, and which subset each one is."""

    key: Host
    residue: Host
    start: Host
    subset: Host

    @property
    def arrays(self) -> tuple[Host, Host, Host]:
        return self.key, self.residue, self.start


class Sides(NamedTuple):
    """Sums of the left half, sorted, and what those of the right half lack; the two subsets of each."""

    left: Host
    one: Host
    two: Host
    wanted: Host
    three: Host
    four: Host


class Quarters:
    """The four lists of a system of equations."""

    def __init__(self, equations: Equations, seed: int = 0) -> None:
        self.equations = equations
        rng = np.random.default_rng((seed, 4))
        m, n = equations.B.shape
        long = min(n // 4 + RUN_BITS, n // 2)
        self.cuts = [0, n // 2 - long, n // 2, n - long, n]
        self.modulus = _prime_from(1 << max(1, long - RUN_BITS))
        self.multipliers = rng.integers(0, 2**64, m, np.uint64)
        self.small = rng.integers(0, self.modulus, m)
        keys, residues = self._hashed(equations.B), self._residue(equations.B)
        self.lists = [_quarter(keys[lo:hi], residues[lo:hi], self.modulus) for lo, hi in self.spans]
        self.target = self._hashed(equations.d[:, None])[0]
        self.residue = int(self._residue(equations.d[:, None])[0])

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The variables of each list."""
        return list(pairwise(self.cuts))

    def _hashed(self, B: Host) -> Host:
        return np.asarray((self.multipliers[:, None] * B.astype(np.uint64)).sum(axis=0, dtype=np.uint64))

    def _residue(self, B: Host) -> Host:
        products = self.small[:, None] * (B % self.modulus) % self.modulus
        return np.asarray(products.sum(axis=0) % self.modulus)

    @cached_property
    def sums(self) -> float:
        """Sums of two quarters that share a residue, in the mean."""
        return self.lists[0].key.size * self.lists[1].key.size / self.modulus

    @cached_property
    def joined(self) -> Lists:
        """The lists as the compiled loop sees them."""
        from dcra._kernels.join import lists

        return lists(*(quarter.arrays for quarter in self.lists))

    @cached_property
    def bits(self) -> int:
        """log2 of the size of a set of keys in which few bits are set by such sums."""
        return max(10, int(np.ceil(np.log2(SPARSITY * self.sums))))

    def solutions(self, c: int) -> Host:
        """All solutions (k, n) in {0,1} whose first half has the residue c."""
        points = self.points(self.matches(self.sides(c)))
        return np.asarray(points[np.all(points @ self.equations.B.T == self.equations.d, axis=1)])

    def sides(self, c: int) -> Sides:
        """The sums of both halves whose residues are c and what is left for it."""
        left, one, two = self._pairs(0, c)
        right, three, four = self._pairs(2, self.residue - c)
        order = np.argsort(left, kind="stable")
        return Sides(left[order], one[order], two[order], self.target - right, three, four)

    def matches(self, sides: Sides, lo: int = 0, hi: int | None = None) -> list[Host]:
        """The four subsets of each point that the sums lo..hi of the right half complete to the target."""
        wanted = sides.wanted[lo:hi]
        first = np.searchsorted(sides.left, wanted, "left")
        count = np.searchsorted(sides.left, wanted, "right") - first
        j = np.repeat(np.arange(wanted.size), count)
        i = np.repeat(first - np.cumsum(count) + count, count) + np.arange(j.size)
        return [sides.one[i], sides.two[i], sides.three[lo + j], sides.four[lo + j]]

    def points(self, subsets: list[Host]) -> Host:
        """Points (k, n) in {0,1} from their four subsets."""
        parts = [
            (subset[:, None] >> np.arange(hi - lo)) & 1
            for subset, (lo, hi) in zip(subsets, self.spans, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def _pairs(self, i: int, c: int) -> tuple[Host, Host, Host]:
        """Sums of lists i and i + 1 with residue c, and the two subsets of each."""
        first, second = self.lists[i], self.lists[i + 1]
        v = (c - first.residue) % self.modulus
        count = second.start[v + 1] - second.start[v]
        a = np.repeat(np.arange(first.key.size), count)
        b = np.repeat(second.start[v] - np.cumsum(count) + count, count) + np.arange(a.size)
        return first.key[a] + second.key[b], first.subset[a], second.subset[b]


def _quarter(keys: Host, residues: Host, modulus: int) -> Quarter:
    key, residue = np.zeros(1, np.uint64), np.zeros(1, np.int64)
    for k, r in zip(keys, residues, strict=True):
        key = np.concatenate([key, key + k])
        residue = np.concatenate([residue, (residue + r) % modulus])
    order = np.argsort(residue, kind="stable")
    start = np.searchsorted(residue[order], np.arange(modulus + 1))
    return Quarter(key[order], residue[order], start, order)


def _prime_from(least: int) -> int:
    """The first prime at or above `least`."""
    candidate = max(2, least)
    while any(candidate % d == 0 for d in range(2, int(candidate**0.5) + 1)):
        candidate += 1
    return candidate


def seconds_for(equations: Equations, loops: bool) -> float:
    """About how long one thread takes for all residues."""
    return float(2.0 ** (equations.n / 2) * (costs.SUM_SECONDS if loops else costs.ARRAY_SUM_SECONDS))


@dataclass(frozen=True)
class Meet(Engine):
    """All solutions of the problem's equations; start number i of SEGMENTS covers a share of the residues."""

    name: ClassVar[str] = "meet"
    plan: ClassVar[str] = "meet"
    needs: ClassVar[frozenset[str]] = frozenset({"equations"})
    takes_constraints: ClassVar[bool] = True

    def start(self, compiled: Compiled, starts: Starts) -> State:
        quarters = compiled.once(quarters_of)
        lo, hi = (quarters.modulus * i // SEGMENTS for i in (starts.first, starts.first + 1))
        return MeetState(quarters, lo, hi, loops=compiled.loops)


def quarters_of(compiled: Compiled) -> Quarters:
    """The four lists of a problem that has equations."""
    equations = equations_of(compiled.problem)
    assert equations is not None
    return Quarters(equations)


def meetable(compiled: Compiled) -> bool:
    """Whether a problem is a few equations between integers."""
    return 4 <= compiled.n <= MAX_VARIABLES and equations_of(compiled.problem) is not None


class MeetState(State):
    """Residues lo..hi; ends at the first solution where one is enough."""

    def __init__(self, quarters: Quarters, lo: int, hi: int, loops: bool = True) -> None:
        self.quarters, self.position, self.hi, self.loops = quarters, lo, hi, loops
        self.found: list[Host] = []
        self._work = 0.0

    def advance(self, work: int) -> None:
        if self.done:
            return
        last = min(self.hi, self.position + max(1, int(work / (3 * self.quarters.sums))))
        for c in self._promising(last) if self.loops else range(self.position, last):
            points = self.quarters.solutions(int(c))
            if len(points):
                self.found.append(2.0 * points - 1)
        self.position = last

    def _promising(self, last: int) -> Host:
        """The residues up to `last` that have a solution, and perhaps a few others."""
        from dcra._kernels.join import meet

        quarters = self.quarters
        hits = np.zeros(last - self.position, bool)
        ends = (quarters.target, quarters.residue, self.position, last)
        self._work += meet(quarters.joined, *ends, self._scratch, hits)
        return np.flatnonzero(hits) + self.position

    @cached_property
    def _scratch(self) -> MeetScratch:
        from dcra._kernels.join import scratch

        return scratch(self.quarters.bits, 256 + int(4 * self.quarters.sums / SPARSITY))

    @property
    def done(self) -> bool:
        enough = bool(self.found) and not self.quarters.equations.required
        return enough or self.position >= self.hi

    @property
    def work(self) -> float:
        return self._work

    def candidates(self) -> Host:
        return np.concatenate(self.found) if self.found else np.ones((1, self.quarters.equations.n))
