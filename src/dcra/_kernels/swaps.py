"""Tabu search over permutations for sum_ij F_ij D_p(i)p(j): the change of every swap is at hand.

After a swap, the changes of pairs that it does not touch are corrected in O(1), the others computed anew.
"""

import numpy as np

from .face import Loop, placed
from .store import Array

_changes = Loop(
    "swaps.changes",
    """
    F         float64 (n, n)
    D         float64 (n, n)
    p         int64 (n)
    change    float64 (n, n) rw
    permuted  float64 (n, n) rw
    """,
    returns=int,
)
_search = Loop(
    "swaps.search",
    """
    F       float64 (n, n)
    D       float64 (n, n)
    p       int64 (n) rw
    cost    float64 (2) rw
    best_p  int64 (n) rw
    change  float64 (n, n) rw
    until   int64 (n, n) rw
    clock   int64 (1) rw
    rng     uint64 (4) rw
    moves   int
    floats  float64 (n+4, n) rw
    ints    int64 (2, n, n) rw
    """,
    returns=int,
)


def changes(F: Array, D: Array, p: Array, change: Array) -> None:
    """change[i, j] of every swap i < j."""
    placed(_changes(F, D, p, change, np.empty_like(change)), "`p`")


def search(
    F: Array,
    D: Array,
    p: Array,
    cost: Array,
    best_p: Array,
    change: Array,
    until: Array,
    clock: Array,
    rng: Array,
    moves: int,
) -> None:
    """Make `moves` best swaps that are not tabu, or that beat the best permutation.

    A facility may not return to a place that it left during about the last n moves, and a swap that was not
    made for a very long time is made when it is its turn.

    Parameters
    ----------
    cost : (2,)             now and best
    until : (n, n) int64    until[i, a]: move at which facility i may be at place a again
    clock : (1,) int64      moves made so far
    """
    n = len(p)
    floats, ints = np.empty((n + 4, n)), np.empty((2, n, n), np.int64)
    placed(_search(F, D, p, cost, best_p, change, until, clock, rng, moves, floats, ints), "`p`")
