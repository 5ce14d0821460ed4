"""The arrays that the loops over clauses see, and their layout in C. Building them takes array code alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcra.foreign import importing

from .face import Struct, check_places

Array = NDArray[Any]


class _Formula(NamedTuple):
    ptr: Array
    lit: Array
    occ_ptr: Array
    occ: Array
    cost: Array
    hard: Array


class Formula(_Formula, Struct):
    """Clauses by literals, and variables by clauses.

    ptr (m+1,) int64, lit : literals 2 v + negated of each clause
    occ_ptr (n+1,) int64, occ : entries 2 c + negated of each variable
    cost : (m,) float64, what a false soft clause costs; 0 for hard ones
    hard : (m,) uint8
    """

    layout = """
        ptr      int64 (m+1)
        lit      index (literals)
        occ_ptr  int64 (n+1)
        occ      index (literals)
        cost     float64 (m)
        hard     uint8 (m)
    """

    def verify(self) -> None:
        m, n = self.hard.size, self.occ_ptr.size - 1
        for name, ptr in (("ptr", self.ptr), ("occ_ptr", self.occ_ptr)):
            if ptr[0] != 0 or ptr[-1] != self.lit.size or np.any(ptr[1:] < ptr[:-1]):
                raise ValueError(f"`{name}` must rise from 0 to {self.lit.size}, the literals stored")
        for name, entries, size in (("lit", self.lit, n), ("occ", self.occ, m)):
            check_places(name, entries, 2 * size)


class _Walk(NamedTuple):
    x: Array
    truths: Array
    critical: Array
    weight: Array
    change: Array
    total: Array
    broken: Array
    place: Array


class Walk(_Walk, Struct):
    """A point and what is known about its flips.

    x (n,) uint8, truths and critical (m,): true literals, and the exclusive or of their variables
    weight (m,), change (n,): the weights searched on, and what a flip adds to the weight of false clauses
    total (2,): false hard clauses, cost of the false soft ones
    broken, place (m,): the false hard clauses, and the place of each in that list
    """

    layout = """
        x         uint8 (n) rw
        truths    int32 (m) rw
        critical  int32 (m) rw
        weight    float64 (m)
        change    float64 (n) rw
        total     float64 (2) rw
        broken    int32 (m) rw
        place     int32 (m) rw
    """


def formula(ptr: Array, literals: Array, n: int, cost: Array, hard: Array) -> Formula:
    """From literals +v and -v, v = 1..n, clause c being literals[ptr[c]:ptr[c+1]]."""
    with importing():
        from scipy import sparse
    m = ptr.size - 1
    kind: Any = np.int32 if max(2 * n, 2 * m) < 2**31 else np.int64
    negated = (literals < 0).astype(kind)
    variable = np.abs(literals).astype(kind) - 1
    entries = 2 * np.repeat(np.arange(m, dtype=kind), np.diff(ptr)) + negated
    occurring = sparse.csr_array((entries, variable, ptr), shape=(m, n)).tocsc()  # in the order of clauses
    return Formula(
        ptr.astype(np.int64),
        2 * variable + negated,
        occurring.indptr.astype(np.int64),
        occurring.data,
        np.where(hard, 0.0, cost).astype(np.float64),
        hard.astype(np.uint8),
    )


def walk(f: Formula, x: Array, weight: Array) -> Walk:
    """An empty walk at x, to be filled by `clauses.place`."""
    m = f.hard.size
    return Walk(
        x=x.astype(np.uint8),
        truths=np.zeros(m, np.int32),
        critical=np.zeros(m, np.int32),
        weight=weight.astype(np.float64),
        change=np.zeros(x.size),
        total=np.zeros(2),
        broken=np.zeros(m, np.int32),
        place=np.zeros(m, np.int32),
    )
