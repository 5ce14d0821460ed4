"""Breadth-first search behind a triangular matrix: the best few partial points are kept at each depth."""

from typing import NamedTuple

import numpy as np

from .face import Loop, Struct
from .store import Array


class _TreeScratch(NamedTuple):
    points: Array
    fresh: Array
    costs: Array
    totals: Array
    order: Array


class TreeScratch(_TreeScratch, Struct):
    """Partial points and those one level deeper, their costs, and the costs of all levels of all points."""

    layout = """
        points  float64 (keep, n) rw
        fresh   float64 (keep, n) rw
        costs   float64 (keep) rw
        totals  float64 (keep, q) rw
        order   int64 (keep, q) rw
    """


def scratch(keep: int, n: int, q: int) -> TreeScratch:
    """Work space of one thread that keeps `keep` partial points of n unknowns with q levels."""
    points, fresh = np.ones((2, keep, n))
    return TreeScratch(points, fresh, np.empty(keep), np.empty((keep, q)), np.empty((keep, q), np.int64))


_breadth_first = Loop(
    "tree.breadth_first",
    """
    R        float64 (n, n)
    Z        float64 (frames, n)
    lo       int
    hi       int
    out      float64 (frames, n) rw
    scratch  TreeScratch
    """,
)


def breadth_first(
    R: Array, Z: Array, lo: int, hi: int, q: int, keep: int, out: Array, scratch: TreeScratch
) -> None:
    """Fill out[f], f = lo..hi, with levels of small |Z[f] - R u|^2, R upper triangular.

    scratch : TreeScratch   from `scratch`, for the same `keep` and q
    """
    if lo < 0 or hi > len(Z):
        raise ValueError(f"`lo` and `hi` must be in 0..{len(Z)}; got {lo} and {hi}")
    if scratch.totals.shape != (keep, q) or not (keep and q):
        raise ValueError(f"`scratch` must be for keep = {keep} and q = {q}; got {scratch.totals.shape}")
    _breadth_first(R, Z, lo, hi, out, scratch)
