"""Reduction of lattices, and search of their points in a tree.

A basis has its vectors in rows of B, whole numbers that float64 holds without rounding, with b_i = b*_i + sum
over j < i of mu_ij b*_j for orthogonal b*_j of squared lengths r_j.
"""

from typing import NamedTuple

import numpy as np

from .face import Loop, Struct, placed
from .store import Array


class _Basis(NamedTuple):
    B: Array
    mu: Array
    r: Array
    products: Array


class Basis(_Basis, Struct):
    """Vectors, their Gram-Schmidt coefficients and squared lengths, and room for products."""

    layout = """
        B         float64 (d, w) rw
        mu        float64 (d, d) rw
        r         float64 (d) rw
        products  float64 (d) rw
    """


def basis(B: Array) -> Basis:
    """The basis with these vectors, which `reduce` changes."""
    d = len(B)
    return Basis(B, np.zeros((d, d)), np.zeros(d), np.zeros(d))


class _Tree(NamedTuple):
    x: Array
    step: Array
    centre: Array
    part: Array
    rest: Array
    stale: Array


class Tree(_Tree, Struct):
    """Where a search of a tree stands: coordinates, next steps, optima and distances at each level.

    rest[k, j] is what coordinates j, ..., leave of t_k; stale[k] is the last of them that has moved since.
    """

    layout = """
        x       float64 (d) rw
        step    float64 (d) rw
        centre  float64 (d) rw
        part    float64 (d+1) rw
        rest    float64 (d, d+1) rw
        stale   int64 (d) rw
    """


def tree(d: int) -> Tree:
    """A search that has not begun."""
    x, step, centre = np.zeros((3, d))
    return Tree(x, step, centre, np.zeros(d + 1), np.zeros((d, d + 1)), np.zeros(d, np.int64))


_reduce = Loop(
    "reduction.reduce",
    """
    basis   Basis
    cursor  int64 (1) rw
    last    int
    delta   float
    most    int
    """,
    returns=int,
)
_explore = Loop(
    "reduction.explore",
    """
    U          float64 (d, d)
    r          float64 (d)
    t          float64 (d)
    bounds     float64 (d)
    lo         int
    hi         int
    symmetric  int
    most       int
    cursor     int64 (4) rw
    tree       Tree
    """,
    returns=int,
)


def reduce(basis: Basis, cursor: Array, last: int, delta: float, most: int) -> int:
    """Lenstra, Lenstra and Lovasz on the first `last` vectors, from `cursor` (1,) on, for `most` entries.

    `cursor` is the first vector that is not known to be reduced, `last` at the end. Returns the work.
    """
    return placed(_reduce(basis, cursor, last, delta, most), "`cursor` and `last`")


def explore(
    U: Array,
    r: Array,
    t: Array,
    bounds: Array,
    lo: int,
    hi: int,
    symmetric: bool,
    most: int,
    cursor: Array,
    tree: Tree,
) -> int:
    """Depth-first search for whole x with sum_{i>=k} r_i (x_i - c_i)^2 <= bounds_k for every k in lo..hi.

    c_i = t_i - sum_{j>i} U_ij x_j. Visits at most `most` nodes and returns their number; `cursor` (4,), which
    begins as [lo, 0, 0, 0], is [level, whether the search has begun, whether tree.x is such a point, ...]: at
    a point the search pauses, at the end the level is `hi`. Where it is `symmetric`, t is 0, and of x and -x
    one is met, and x = 0 not at all.
    """
    nodes = _explore(U, r, t, bounds, lo, hi, int(symmetric), most, cursor, tree)
    return placed(nodes, "`lo`, `hi` and `cursor`")
