"""Two lists of rows, sorted by the cells of a grid, and the pair of rows that are closest to each other."""

from operator import index
from typing import SupportsIndex

from .face import Loop
from .store import Array

_cells = Loop(
    "closest.cells",
    """
    rows     int32 (k, m)
    shift    float64 (m)
    scale    float64 (m)
    factors  uint64 (m)
    drop     uint64
    first    int
    last     int
    key      int64 (k) rw
    start    int64 (keys+1) rw
    """,
)
_scatter = Loop(
    "closest.scatter",
    """
    rows    int32 (k, m)
    key     int64 (k)
    place   int64 (places) rw
    first   int
    last    int
    out     int32 (k, m) rw
    origin  int64 (k) rw
    """,
    returns=int,
)
_closest = Loop(
    "closest.closest",
    """
    left         int32 (n_left, m)
    left_start   int64 (keys+1)
    right        int32 (n_right, m)
    right_start  int64 (keys+1)
    first        int
    last         int
    best         int64 (3) rw
    """,
    returns=int,
)


def cells(
    rows: Array,
    shift: Array,
    scale: Array,
    factors: Array,
    drop: SupportsIndex,
    first: int,
    last: int,
    key: Array,
    start: Array,
) -> None:
    """The keys of rows first..last, and how often each occurs, counted one place later in `start`.

    rows : (k, m) int32;  shift, scale : (m,) float64;  factors : (m,) uint64
    key : (k,) int64      the upper bits, all but `drop`, of a sum of factors times cells
    start : (2^(64 - drop) + 1,) int64
    """
    drop = index(drop)
    if not 1 <= drop <= 63 or start.size != (1 << (64 - drop)) + 1:
        raise ValueError(f"`start` must have shape (2^(64 - drop) + 1); got {start.shape}, drop = {drop}")
    _within(first, last, len(rows))
    _cells(rows, shift, scale, factors, drop, first, last, key, start)


def scatter(rows: Array, key: Array, place: Array, first: int, last: int, out: Array, origin: Array) -> None:
    """Put rows first..last at the places of their keys, which move on; origin says whence they came."""
    _within(first, last, len(rows))
    if _scatter(rows, key, place, first, last, out, origin) != max(0, last - first):
        raise ValueError("`key` and `place` must be those of `cells`; some rows have no place")


def closest(
    left: Array, left_start: Array, right: Array, right_start: Array, first: int, last: int, best: Array
) -> int:
    """Compare the rows that share a key, for the keys first..last.

    left, right : (k, m) int32, sorted by key
    left_start, right_start : (keys+1,) int64, where the rows of each key begin
    best : (3,) int64        distance (sum of absolute differences), and the two rows, of the closest so far

    Returns the pairs compared.
    """
    _within(first, last, len(left_start) - 1)
    pairs = _closest(left, left_start, right, right_start, first, last, best)
    if pairs < 0:
        raise ValueError("`left_start` and `right_start` must say where the rows of each key begin")
    return pairs


def _within(first: int, last: int, size: int) -> None:
    if first < 0 or last > size:
        raise ValueError(f"`first` and `last` must be in 0..{size}; got {first} and {last}")
