"""What work costs, for choices made before a search has measured anything itself.

Measured by `benchmarks/costs.py` on a shared core, and taken to the careful side by up to four. Where there
is a time limit, `slowdown` says how much slower this machine is.
"""

from __future__ import annotations

import time
from functools import cache

import numpy as np

PASS_RATE = 1e9
"""Entries of a matrix that a pass touches in a second, before the first pass was measured."""

LAYOUT_SECONDS = 3e-9
"""To lay out an entry of A for the loops."""

COUPLING_SECONDS = 1e-7
"""To write out an entry of a dense Q, and to lay it out."""

GRAY_RATE, ARRAY_POINTS_RATE, FEASIBLE_RATE = 5e8, 3e8, 2e8
"""Residuals that a second visits: in Gray order by the loops; times n, by array code; times n, by array code
that looks at constraints too."""

PRODUCT_RATE, FACTOR_RATE = 1e10, 5e9
"""Operations of a dense product and of a Cholesky factorisation in a second."""

RELAXATION_RATE = 1e9
"""Operations of the passes of the semidefinite relaxation in a second."""

SIMPLEX_RATE = 2e9
"""Entries of A that the dual simplex method touches in a second."""

LITERAL_RATE = 1e8
"""Literals of clauses that a pass of annealing visits in a second."""

SUM_SECONDS, ARRAY_SUM_SECONDS = 25e-9, 500e-9
"""For one sum of two quarters that meet in the middle: in the loops, and in array code."""

NODE_SECONDS = 2.5e-8
"""For a node of a tree of lattice points."""

PROBE, PROBE_SECONDS = 60, 1.6e-5
"""A product of square matrices of this size, and the time it took where all this was measured.

BLAS does one so small in one thread: two that wait for each other on a busy machine say nothing of its pace.
"""


@cache
def slowdown() -> float:
    """How many times slower this machine is than the one above, at least 1; probed once, in a millisecond."""
    A = np.ones((PROBE, PROBE))
    best = min(_seconds_for(A) for _ in range(3))
    return max(1.0, best / PROBE_SECONDS)


def _seconds_for(A: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    begin = time.perf_counter()
    A @ A
    return time.perf_counter() - begin
