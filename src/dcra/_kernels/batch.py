"""One A, many right-hand sides: annealing in lockstep.

LANES points move together. At each step all of them try the same column, so an entry of A is read once for
all, and what remains is arithmetic on rows of LANES numbers.
"""

from operator import index
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from .face import Loop, Struct
from .store import Array, Model

LANES = 32
DRAWS = 1024


class _BatchScratch(NamedTuple):
    x: Array
    z: Array
    best_x: Array
    loss: Array
    linear: Array
    best: Array
    draws: Array
    rng: Array


class BatchScratch(_BatchScratch, Struct):
    """Points, residuals and values of the lanes, what is random of a group, and its random state."""

    layout = f"""
        x       real (n, {LANES}) rw
        z       real (r, {LANES}) rw
        best_x  real (n, {LANES}) rw
        loss    real ({LANES}) rw
        linear  real ({LANES}) rw
        best    real ({LANES}) rw
        draws   real ({DRAWS + LANES}) rw
        rng     uint64 (4) rw
    """


def scratch(n: int, r: int, dtype: Any) -> BatchScratch:
    """Work space of one thread."""
    x, best_x, z = np.zeros((n, LANES), dtype), np.zeros((n, LANES), dtype), np.zeros((r, LANES), dtype)
    loss, linear, best = (np.zeros(LANES, dtype) for _ in range(3))
    return BatchScratch(
        x, z, best_x, loss, linear, best, np.zeros(DRAWS + LANES, dtype), np.zeros(4, np.uint64)
    )


_batch = Loop(
    "batch.batch",
    """
    model         Model
    B             real (k, r)
    lo            int
    hi            int
    seed          uint64
    starts        int
    temperatures  float64 (passes)
    X             real (k, n) rw
    F             real (k) rw
    scratch       BatchScratch
    """,
    returns=int,
)


def batch(
    model: Model,
    B: Array,
    lo: int,
    hi: int,
    seed: SupportsIndex,
    starts: int,
    temperatures: Array,
    X: Array,
    F: Array,
    scratch: BatchScratch,
) -> int:
    """Anneal groups lo..hi of right-hand sides; fill their rows of X (k, n) and F (k,).

    A group is LANES // starts consecutive rows of B (k, r), each from `starts` random points. Its answer
    depends on (seed, group) only. Each temperature is one pass over the columns; temperature 0 is descent.

    Parameters
    ----------
    seed : uint64
    starts : int             1 .. LANES
    scratch : BatchScratch   from `scratch`, one per thread

    Returns the entries of A touched, counting each once for every lane.
    """
    if lo < 0 or not 1 <= starts <= LANES:
        raise ValueError(f"`lo` must be at least 0, `starts` in 1..{LANES}; got {lo} and {starts}")
    return _batch(model, B, lo, hi, index(seed), starts, temperatures, X, F, scratch)
