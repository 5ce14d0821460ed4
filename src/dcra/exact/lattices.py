"""Lattices of whole vectors: their reduction, and the lattice of all solutions of A x = 0.

Reduction is that of Lenstra, Lenstra and Lovasz, then that of Korkine and Zolotarev in blocks (Schnorr and
Euchner): a vector of the lattice becomes shorter where a search among the next few vectors finds a way.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, lgamma, log, pi
from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra.exact.pruning import quantiles

DELTA = 0.99
"""By how much an exchange of neighbours must gain."""

SHARE = 0.7
"""Of the searches within a block, what each level lets pass."""

NEAR = 1.2
"""A block is searched for vectors up to this many times the squared length to expect of its shortest."""

CHUNK, NODE = 1 << 20, 8
"""Entries of one step, and how many a node of a tree counts as."""

DIGITS, MORE_DIGITS = 20, 10
"""Binary digits of an equation that are looked at first, and with each reduction."""

HEAVIEST = 2.0**40
"""Weight of an equation beyond which rounding would decide."""

LARGEST = 2.0**50
"""Coordinates beyond which float64 might round."""

ONES_PER_VECTOR = 3
"""Other vectors that a random basis adds to each one."""


class Lattice:
    """A basis B (d, w), which is reduced in place.

    Steps are generators that yield the entries they have touched, about CHUNK at a time.
    """

    def __init__(self, B: Host) -> None:
        from dcra._kernels import reduction

        self.loops = reduction
        self.basis = reduction.basis(np.ascontiguousarray(B, np.float64))
        self.tree = reduction.tree(len(B))
        self.cursor = np.zeros(1, np.int64)

    @property
    def d(self) -> int:
        return len(self.basis.B)

    def reduce(self, last: int | None = None) -> Iterator[int]:
        """Reduce the first `last` vectors, all by default."""
        last = self.d if last is None else last
        while self.cursor[0] < last:
            yield self.loops.reduce(self.basis, self.cursor, last, DELTA, CHUNK)

    def tour(self, block: int) -> Iterator[int]:
        """Shorten every vector once by what can be had of the `block` vectors from it on."""
        for lo in range(self.d - 1):
            yield from self._shorten(lo, min(lo + block, self.d))
        yield from self.reduce()

    def _shorten(self, lo: int, hi: int) -> Iterator[int]:
        yield from self.reduce(hi)
        r = self.basis.r
        radius = min(DELTA * r[lo], NEAR * expected_shortest(r[lo:hi]))
        bounds = np.ones(self.d)
        bounds[lo:hi] = radius * quantiles(hi - lo, SHARE)[::-1]
        search = self.search(np.zeros(self.d), bounds, lo, hi, symmetric=True)
        found = None
        for point, nodes in search:
            if point is not None:
                found = np.zeros(self.d, np.int64)
                found[lo:hi] = point[lo:hi]
                bounds[lo:hi] *= DELTA * self.tree.part[lo] / bounds[lo]
            yield NODE * nodes
        if found is not None:
            insert(self.basis.B, found, lo)
            self.cursor[0] = min(int(self.cursor[0]), lo)

    def search(
        self, t: Host, bounds: Host, lo: int = 0, hi: int | None = None, symmetric: bool = False
    ) -> Iterator[tuple[Host | None, int]]:
        """The whole x that `explore` meets, (d,), and None between them; with the nodes of each step."""
        hi = self.d if hi is None else hi
        U, cursor = np.ascontiguousarray(self.basis.mu.T), np.array([lo, 0, 0, 0])
        while cursor[0] < hi:
            nodes = self.loops.explore(
                U, self.basis.r, t, bounds, lo, hi, symmetric, CHUNK // NODE, cursor, self.tree
            )
            yield (self.tree.x.copy() if cursor[2] else None), nodes

    def projection(self, u: Host) -> tuple[Host, float]:
        """t (d,), with u = sum t_i b*_i but for a part outside the span, and the square of that part."""
        mu = np.tril(self.basis.mu, -1) + np.eye(self.d)
        products = np.linalg.solve(mu, self.basis.B @ u)
        t = products / self.basis.r
        return t, float(u @ u - products @ t)

    def shuffle(self, rng: np.random.Generator) -> None:
        """Go on from a random basis of the same lattice."""
        B, d = self.basis.B, self.d
        B[:] = B[rng.permutation(d)]
        for i in range(d - 1):
            for j in rng.integers(i + 1, d, ONES_PER_VECTOR):
                B[i] += rng.choice((-1.0, 1.0)) * B[j]
        self.cursor[0] = 0


def expected_shortest(r: Host) -> float:
    """The squared length to expect of the shortest vector of a random lattice, by its volume."""
    k = len(r)
    return exp((2 * lgamma(k / 2 + 1) + float(np.sum(np.log(r)))) / k - log(pi))


def insert(B: Host, x: Host, place: int) -> None:
    """Make sum x_i b_i, whose x has no common divisor, the vector at `place`, at or before all its parts."""
    x = x.copy()
    (*others, i) = np.flatnonzero(x)
    for j in reversed(others):
        while x[j]:  # x_i b_i + x_j b_j stays what it is
            q = x[i] // x[j]
            B[j] += q * B[i]
            x[i] -= q * x[j]
            i, j = j, i
        # x_j is 0 now, and x_i the common divisor
    new = x[i] * B[i]
    B[place + 1 : i + 1] = B[place:i].copy()
    B[place] = new


class Solutions(NamedTuple):
    """A basis K (d, n) of all whole x with A x = 0, and one with A x = b."""

    K: Host
    p: Host


def solutions_of(A: Host, b: Host) -> Solutions | None:
    """All whole solutions of A x = b, for integers A (m, n) and b (m,); None where none was found.

    One equation after the other is taken into account: of the vectors (x, s) with A x = b s found so far,
    those that the next row makes zero.
    """
    n = A.shape[1]
    K: Host | None = np.eye(n + 1)
    for row, right in zip(A, b, strict=True):
        parts = None if K is None else _separate(K, np.append(row, -right))
        K = None if parts is None else parts[0]
    parts = None if K is None else _separate(K, np.append(np.zeros(n, np.int64), 1))
    if parts is None or parts[1] is None or abs(parts[1][-1]) != 1:
        return None
    K, p = parts[0][:, :-1], parts[1][:-1] * parts[1][-1]
    whole, start = K.astype(np.int64), p.astype(np.int64)
    right_ones = not np.any(A @ whole.T) and np.array_equal(A @ start, b)
    return Solutions(np.ascontiguousarray(K), p) if right_ones else None


def _separate(K: Host, a: Host) -> tuple[Host, Host | None] | None:
    """The vectors of a lattice that a' makes zero, and the one that makes the lattice together with them.

    There is no such one where a' makes all zero; None in all where rounding keeps from telling.
    """
    weight, hidden = 1.0, 0
    values = _products(K, a)
    if not any(values):
        return K, None
    hidden = max(0, max(map(abs, values)).bit_length() - DIGITS)
    while weight <= HEAVIEST:
        column = weight * np.array([float(v >> hidden) for v in values])
        lattice = Lattice(np.column_stack([K, column]))
        for _ in lattice.reduce():
            pass
        K = lattice.basis.B[:, :-1]
        if not np.max(np.abs(K)) < LARGEST:
            return None
        values = _products(K, a)
        last = np.flatnonzero(values)
        if hidden:
            hidden = max(0, hidden - MORE_DIGITS)
        elif len(last) == 1:
            return np.delete(K, last[0], axis=0), K[last[0]]
        else:
            weight *= 8
    return None


def _products(K: Host, a: Host) -> list[int]:
    """K a in integers of any size."""
    return list(K.astype(np.int64).astype(object) @ a.astype(object))
