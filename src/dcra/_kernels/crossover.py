"""The best child of two points: where they differ, each connected part is taken from the better parent.

Under counts, which parts to take is a knapsack: their weights are the changes of a count.
"""

import numpy as np

from .face import Loop
from .store import Array, Counts, Crossing, Dense, Sparse

_cross = Loop(
    "crossover.cross",
    """
    C      store (n, n)
    s      real (n) rw
    g      real (n) rw
    score  float64 (2) rw
    other  real (n)
    sign   float
    part   int64 (n) rw
    stack  int64 (n) rw
    """,
    returns=int,
)


def cross(
    C: Dense | Sparse,
    s: Array,
    g: Array,
    score: Array,
    other: Array,
    sign: float,
    part: Array,
    stack: Array,
) -> int:
    """Give s those parts of sign * other, connected by couplings, that lower its value.

    Parts do not touch each other, so what remains is at least as good as either parent.

    Parameters
    ----------
    s, g, score : the first parent, which becomes the child
    other, sign : the second parent, times 1 or -1
    part, stack : (n,) int64, scratch

    Returns the spins that were changed.
    """
    return _cross(C, s, g, score, other, sign, part, stack)


_cross_within = Loop(
    "crossover.cross_within",
    """
    C        store (n, n)
    s        real (n) rw
    g        real (n) rw
    score    float64 (2) rw
    other    real (n)
    sign     float
    counts   Counts
    scratch  Crossing
    changes  int64 (groups) rw
    """,
    returns=int,
)


def cross_within(
    C: Dense | Sparse,
    s: Array,
    g: Array,
    score: Array,
    other: Array,
    sign: float,
    counts: Counts,
    scratch: Crossing,
) -> int:
    """As `cross`, within counts: of the parts that change one count, those of the least sum that keeps it.

    Parameters
    ----------
    counts : Counts   from `store.counts`, for this very s
    scratch : Crossing   from `store.crossing`
    """
    return _cross_within(C, s, g, score, other, sign, counts, scratch, np.zeros(counts.ups.size, np.int64))
