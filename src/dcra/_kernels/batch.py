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
BEGIN = -2
MAX_WORK = 1 << 62


class _BatchScratch(NamedTuple):
    x: Array
    z: Array
    best_x: Array
    loss: Array
    linear: Array
    best: Array
    last_dx: Array
    draws: Array
    rng: Array
    at: Array


class BatchScratch(_BatchScratch, Struct):
    """Points, residuals and values of the lanes, what is random of a group, and where it is in its work.

    `at` is [group, pass, column, column of the last move]; a pass below 0 is of setting the group up.
    """

    layout = f"""
        x       real (n, {LANES}) rw
        z       real (r, {LANES}) rw
        best_x  real (n, {LANES}) rw
        loss    real ({LANES}) rw
        linear  real ({LANES}) rw
        best    real ({LANES}) rw
        last_dx real ({LANES}) rw
        draws   real ({DRAWS + LANES}) rw
        rng     uint64 (4) rw
        at      int64 (4) rw
    """


def scratch(n: int, r: int, dtype: Any) -> BatchScratch:
    """Work space of one thread."""
    x, best_x, z = np.zeros((n, LANES), dtype), np.zeros((n, LANES), dtype), np.zeros((r, LANES), dtype)
    loss, linear, best, last_dx = (np.zeros(LANES, dtype) for _ in range(4))
    draws, rng, at = np.zeros(DRAWS + LANES, dtype), np.zeros(4, np.uint64), np.zeros(4, np.int64)
    return BatchScratch(x, z, best_x, loss, linear, best, last_dx, draws, rng, at)


def begin(scratch: BatchScratch, group: int) -> None:
    """Let `batch` begin with a group."""
    if group < 0:
        raise ValueError(f"`group` must be at least 0; got {group}")
    scratch.at[:] = group, BEGIN, 0, -1


_batch = Loop(
    "batch.batch",
    """
    model         Model
    B             real (k, r)
    hi            int
    seed          uint64
    starts        int
    temperatures  float64 (passes)
    X             real (k, n) rw
    F             real (k) rw
    scratch       BatchScratch
    most          int
    """,
    returns=int,
)

_cut = Loop(
    "batch.cut",
    """
    starts   int
    X        real (k, n) rw
    F        real (k) rw
    scratch  BatchScratch
    """,
    returns=None,
)


def batch(
    model: Model,
    B: Array,
    hi: int,
    seed: SupportsIndex,
    starts: int,
    temperatures: Array,
    X: Array,
    F: Array,
    scratch: BatchScratch,
    work: int = MAX_WORK,
) -> int:
    """Anneal groups of right-hand sides up to `hi`; fill their rows of X (k, n) and F (k,).

    A group is LANES // starts consecutive rows of B (k, r), each from `starts` random points. Its answer
    depends on (seed, group) only. Each temperature is one pass over the columns; temperature 0 is descent.
    The first group is that of `begin`. A call ends after about `work` entries, and the next one goes on from
    there as if there had been no pause: scratch.at[0] == hi when all is done.

    Parameters
    ----------
    seed : uint64
    starts : int             1 .. LANES
    scratch : BatchScratch   from `scratch`, one per thread

    Returns the entries of A touched, counting each once for every lane.
    """
    _check_starts(starts)
    return _batch(model, B, hi, index(seed), starts, temperatures, X, F, scratch, work)


def cut(starts: int, X: Array, F: Array, scratch: BatchScratch) -> None:
    """Fill the rows of the group that `batch` was in the middle of with the best points that it has met.

    Where it has not met any yet, nothing happens.
    """
    _check_starts(starts)
    _cut(starts, X, F, scratch)


def _check_starts(starts: int) -> None:
    if not 1 <= starts <= LANES:
        raise ValueError(f"`starts` must lie in 1..{LANES}; got {starts}")
