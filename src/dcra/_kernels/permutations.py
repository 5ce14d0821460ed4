"""Branch and bound over permutations for sum_ij F_ij D_p(i)p(j): facility by facility gets a place."""

from typing import NamedTuple

import numpy as np

from .face import Loop, Struct, placed
from .store import Array

MOST = 63
"""Places that can be told apart."""


class _Branches(NamedTuple):
    p: Array
    best: Array
    part: Array
    cross: Array


class Branches(_Branches, Struct):
    """Places so far, the best permutation, what the first facilities cost, and the others with them."""

    layout = """
        p      int64 (n) rw
        best   int64 (n) rw
        part   float64 (n) rw
        cross  float64 (n, n, n) rw
    """


def branches(F: Array, D: Array) -> Branches:
    """A search that has not begun."""
    n = len(F)
    cross = np.zeros((n, n, n))
    cross[0] = np.outer(np.diag(F), np.diag(D))
    return Branches(np.full(n, -1), np.arange(n), np.zeros(n), cross)


_branch = Loop(
    "permutations.branch",
    """
    F         float64 (n, n)
    D         float64 (n, n)
    rest      float64 (n)
    first     int
    cost      float64 (1) rw
    most      int
    cursor    int64 (2) rw
    branches  Branches
    """,
    returns=int,
)


def branch(
    F: Array, D: Array, rest: Array, first: int, cost: Array, most: int, cursor: Array, branches: Branches
) -> int:
    """Go on through all permutations with facility 0 at place `first`, for at most `most` nodes.

    Those that cannot cost less than `cost` (1,), the cost of `branches.best` or what is to be beaten, are
    left out. rest[k] is what facilities k, ..., n-1 cost at least among each other. `cursor` (2,) begins as
    [0, 0] and is [-1, 1] at the end. Returns the nodes visited.
    """
    if len(F) > MOST:
        raise ValueError(f"there must be at most {MOST} facilities; got {len(F)}")
    return placed(_branch(F, D, rest, first, cost, most, cursor, branches), "`first` and `cursor`")
