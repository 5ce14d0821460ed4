"""The arrays that compiled loops see, and their layout in C. Building them is plain NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .face import Struct, check_places, exchanged

TABLE, LOGISTIC, CAPPED = 0, 1, 2

BLOCK = 1 << 14  # columns summed at a time

Array = NDArray[Any]


class _Dense(NamedTuple):
    cols: Array


class _Sparse(NamedTuple):
    ptr: Array
    idx: Array
    val: Array


class _Rows(NamedTuple):
    start: Array
    kind: Array
    table: Array
    weight: Array
    term: Array


class _Model(NamedTuple):
    A: Dense | Sparse
    rows: Rows
    c: Array
    L: Array


class _Memory(NamedTuple):
    rise: Array
    stamp: Array
    due: Array
    drift: Array
    flips: Array
    looks: Array


def memory(n: int) -> Memory:
    """A memory that knows nothing yet."""
    return Memory(
        np.zeros(n),
        np.full(n, -1, np.int64),
        np.zeros(n, np.int64),
        np.zeros(1),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )


class _TabuMemory(NamedTuple):
    best: Array
    until: Array
    clock: Array
    rng: Array


def tabu_memory(best: Array, rng: Array) -> TabuMemory:
    """A memory without moves; `best` is where the best point goes, `rng` a random state."""
    return TabuMemory(best, np.zeros(best.size, np.int64), np.zeros(1, np.int64), rng)


class _Counts(NamedTuple):
    group: Array
    place: Array
    members: Array
    start: Array
    ups: Array
    least: Array
    most: Array


def counts(x: Array, groups: Sequence[tuple[Array, int, int]]) -> Counts:
    """The counts at x of (members, least, most) groups; all other variables form a last, free group."""
    group = np.full(x.size, len(groups), np.int64)
    for g, (members, _, _) in enumerate(groups):
        group[members] = g
    members = np.lexsort((x <= 0, group))
    place = np.empty(x.size, np.int64)
    place[members] = np.arange(x.size)
    start = np.searchsorted(group[members], np.arange(len(groups) + 2))
    ups = np.bincount(group, x > 0, minlength=len(groups) + 1).astype(np.int64)
    ends = np.asarray([(least, most) for _, least, most in groups] + [(0, x.size)], np.int64)
    return Counts(group, place, members, start, ups, ends[:, 0].copy(), ends[:, 1].copy())


class _Crossing(NamedTuple):
    part: Array
    stack: Array
    rise: Array
    home: Array
    change: Array
    sums: Array
    took: Array


def crossing(n: int, cells: int = 1 << 20) -> Crossing:
    """Scratch for n variables; knapsacks of more than so many cells are not tried."""
    part, stack, home, change = (np.empty(n, np.int64) for _ in range(4))
    return Crossing(part, stack, np.empty(n), home, change, np.empty(n + 1), np.empty(cells, np.uint8))


class _Tally(NamedTuple):
    group: Array
    ups: Array
    least: Array
    most: Array
    rate: Array
    charge: Array


def tally(x: Array, groups: Sequence[tuple[Array, int, int]], rate: Array) -> Tally:
    """The tally at x; `rate` has one number for each group, and variables of none are free."""
    at = counts(x, groups)
    ups = at.ups[:, None] + np.array([0, -1, 1])
    excess = ups - np.clip(ups, at.least[:, None], at.most[:, None])
    rate = np.append(rate, 0.0).astype(x.dtype)
    charge = rate[:, None] * (excess[:, 1:] ** 2 - excess[:, :1] ** 2).astype(x.dtype)
    return Tally(at.group, at.ups, at.least, at.most, rate, charge)


def column_norms(A: Dense | Sparse, start: Array, weight: Array) -> Array:
    """Weighted squared column norms of each term, (T, n)."""
    n = A.cols.shape[0] if isinstance(A, Dense) else A.ptr.size - 1
    norms = np.empty((start.size - 1, n))
    for t, (lo, hi) in enumerate(itertools.pairwise(start)):
        if isinstance(A, Dense):
            block = A.cols[:, lo:hi]
            if weight.size:
                norms[t] = np.einsum("ji,ji,i->j", block, block, weight[lo:hi])
            else:
                norms[t] = np.einsum("ji,ji->j", block, block)
        else:
            square = np.square(A.val)
            if start.size > 2:
                square[(A.idx < lo) | (A.idx >= hi)] = 0.0
            if weight.size:
                square *= weight[A.idx]
            norms[t] = segment_sums(square, A.ptr)
    return norms


def segment_sums(values: Array, start: Array) -> Array:
    """Sums of values[start[j] : start[j + 1]] in float64, for every j; a block at a time, to save memory."""
    sums = np.zeros(start.size - 1)
    for j in range(0, sums.size, BLOCK):
        bounds = start[j : j + BLOCK + 1]
        block = values[bounds[0] : bounds[-1]].astype(np.float64)
        filled = np.flatnonzero(np.diff(bounds))
        if filled.size:
            sums[j + filled] = np.add.reduceat(block, bounds[filled] - bounds[0])
    return sums


def build(
    A: Dense | Sparse,
    table: Any,
    *,
    c: Any = None,
    start: Any = None,
    kind: Any = None,
    weight: Any = None,
    n_rows: int | None = None,
) -> Model:
    """Assemble a model whose arrays are contiguous, read-only and of one dtype.

    One array type per role keeps the compiled loops to one specialisation per store and dtype.
    """
    values = A.cols if isinstance(A, Dense) else A.val
    dtype = values.dtype
    r = A.cols.shape[1] if isinstance(A, Dense) else n_rows
    n = A.cols.shape[0] if isinstance(A, Dense) else A.ptr.size - 1
    table = np.atleast_2d(np.asarray(table, dtype))
    start = np.asarray([0, r] if start is None else start, np.int64)
    kind = np.asarray([TABLE] * len(table) if kind is None else kind, np.int64)
    weight = np.asarray([] if weight is None else weight, dtype)
    term = np.repeat(np.arange(len(table), dtype=np.uint8), np.diff(start))
    L = column_norms(A, start, weight).astype(dtype)
    c = np.zeros(n, dtype) if c is None else np.asarray(c, dtype)
    store = type(A)(*_frozen(A))
    return Model(store, Rows(*_frozen((start, kind, table, weight, term))), *_frozen((c, L)))


def smoothed(model: Model, delta: Any) -> Model:
    """The same model with smoothing `delta`, one number or one per term: only the slopes change."""
    rows = model.rows
    table = rows.table.copy()
    room = np.broadcast_to(np.asarray(delta, np.float64), rows.kind.shape)
    k = np.where(rows.kind == TABLE, table[:, 1], 0.0)
    slope = 1.0 / np.maximum(k + room, 1e-30)
    table[:, 0] = np.where(rows.kind == LOGISTIC, table[:, 0], slope)
    return exchanged(model, "rows", exchanged(rows, "table", _frozen((table,))[0]))


def _frozen(arrays: Sequence[Array]) -> list[Array]:
    out = []
    for array in arrays:
        view = np.require(array, requirements=["C", "A"]).view()
        view.flags.writeable = False
        out.append(view)
    return out


class Dense(_Dense, Struct):
    """A by columns: `cols` is A.T, (n, r), C-contiguous."""

    layout = "cols real (n, r)"
    variant = "dense"


class Sparse(_Sparse, Struct):
    """A in CSC form with sorted row indices: ptr (n+1,) int64, idx (nnz,) int32, val (nnz,)."""

    layout = """
        ptr  int64 (n+1)
        idx  int32 (entries)
        val  real (entries)
    """
    variant = "sparse"

    @cached_property
    def height(self) -> int:
        """The least number of rows that A can have."""
        return int(self.idx.max()) + 1 if self.idx.size else 0

    def verify(self) -> None:
        if self.ptr[0] != 0 or self.ptr[-1] != self.idx.size or np.any(self.ptr[1:] < self.ptr[:-1]):
            raise ValueError(f"`ptr` must rise from 0 to {self.idx.size}, the entries stored")
        if self.idx.size and self.idx.min() < 0:
            raise ValueError("`idx` must not be negative")


class Rows(_Rows, Struct):
    """Losses of the rows: term t owns rows start[t]:start[t+1].

    start : (T+1,) int64;  kind : (T,) int64;  table : (T, 5), five numbers per term, by kind
        TABLE     slope, k, e, lo, hi     g(z) = clip(soft(z, e) slope, lo, hi), slope = 1/(k + delta)
        LOGISTIC  slope, a, s, 0, 0       s log(1 + exp(a z)), slope = s a^2 / 4
        CAPPED    slope, reach, 0, lo, hi hi min(|z|, reach), slope = 1/delta, lo = -hi
    weight : (r,) row weights w, or (0,) when all are one; a row's smoothed loss is w env_delta f
    term : (r,) uint8, the term of each row
    """

    layout = """
        start   int64 (terms+1)
        kind    int64 (terms)
        table   real (terms, 5)
        weight  real (r) maybe
        term    uint8 (r)
    """

    def verify(self) -> None:
        r = self.term.size
        if self.start[0] != 0 or self.start[-1] != r or np.any(self.start[1:] < self.start[:-1]):
            raise ValueError(f"`start` must rise from 0 to {r}, the number of rows")
        if r and self.term.max() >= self.kind.size:
            raise ValueError(
                f"`term` must be below {self.kind.size}, the number of terms; got {self.term.max()}"
            )


class Model(_Model, Struct):
    """sum_t f_t(Ax - b) + c'x; L[t, j] = sum of w_i A_ij^2 over the rows of term t.

    Then sum_t slope_t L[t, j] bounds the curvature along x_j, for any smoothing.
    """

    layout = """
        A     store (n, r)
        rows  Rows
        c     real (n)
        L     real (terms, n)
    """

    def verify(self) -> None:
        if isinstance(self.A, Sparse) and self.A.height > self.rows.term.size:
            raise ValueError(f"`A` must have {self.rows.term.size} rows, as `rows` has; got {self.A.height}")


class Memory(_Memory, Struct):
    """What an annealing run knows about its flips.

    rise (n,): last known change of the objective;  stamp (n,): flips made when it was computed, -1 never;
    due (n,): flips after which to look again;  drift, flips, looks (1,): learned variance per flip, counters
    """

    layout = """
        rise   float64 (n) rw
        stamp  int64 (n) rw
        due    int64 (n) rw
        drift  float64 (1) rw
        flips  int64 (1) rw
        looks  int64 (1) rw
    """


class TabuMemory(_TabuMemory, Struct):
    """What a tabu search over spins knows.

    best (n,): the best point;  until (n,): first move at which a spin may flip again;  clock (1,): moves made
    so far;  rng (4,): random state
    """

    layout = """
        best   real (n) rw
        until  int64 (n) rw
        clock  int64 (1) rw
        rng    uint64 (4) rw
    """


class Counts(_Counts, Struct):
    """Groups of variables of which between least[g] and most[g] are up; each variable is in one group.

    group, place (n,): group of a variable, its position in members;  start (g+1,): members of group g are
    members[start[g]:start[g+1]], those that are up first;  ups, least, most (g,): how many are up, and may be
    """

    layout = """
        group    int64 (n) rw
        place    int64 (n) rw
        members  int64 (n) rw
        start    int64 (groups+1)
        ups      int64 (groups) rw
        least    int64 (groups)
        most     int64 (groups)
    """

    def verify(self) -> None:
        n, start = self.group.size, self.start
        if start[0] != 0 or start[-1] != n or np.any(start[1:] < start[:-1]):
            raise ValueError(f"`start` must rise from 0 to {n}, the number of variables")
        check_places("group", self.group, self.ups.size)
        check_places("place", self.place, n)
        check_places("members", self.members, n)
        if np.any((self.ups < 0) | (self.ups > np.diff(start))):
            raise ValueError("`ups` must be between 0 and the size of each group")


class Crossing(_Crossing, Struct):
    """Scratch of `crossover.cross_within`: of the parts, and of the knapsack that chooses among them."""

    layout = """
        part    int64 (n) rw
        stack   int64 (n) rw
        rise    float64 (n) rw
        home    int64 (n) rw
        change  int64 (n) rw
        sums    float64 (n+1) rw
        took    uint8 (cells) rw
    """


class Tally(_Tally, Struct):
    """Groups as in `Counts`, whose bounds may be left at a charge: rate[g] e^2 for e too many or too few.

    group (n,): group of a variable;  ups, least, most (g,): how many are up, and should be;  rate (g,);
    charge (g, 2): what is to be paid when one more of a group goes down, and up
    """

    layout = """
        group   int64 (n)
        ups     int64 (groups) rw
        least   int64 (groups)
        most    int64 (groups)
        rate    real (groups)
        charge  real (groups, 2) rw
    """

    def verify(self) -> None:
        check_places("group", self.group, self.ups.size)
