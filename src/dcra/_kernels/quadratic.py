"""Spins under couplings: s'Js + c's through its local fields g = 2 c + 4 J s, with C = 8 J.

Flipping s_j raises the objective by -s_j g_j and, with the new s_j, adds s_j C_j to g. J has no diagonal.
score = [value now, value of the best point].
"""

import numpy as np

from .face import Loop, placed
from .store import Array, Dense, Sparse, TabuMemory

_fields = Loop(
    "quadratic.fields",
    """
    C      store (n, n)
    field  real (n)
    s      real (n)
    g      real (n) rw
    """,
)
_descend = Loop(
    "quadratic.descend",
    """
    C       store (n, n)
    s       real (n) rw
    g       real (n) rw
    score   float64 (2) rw
    order   int64 (m)
    cursor  int64 (2) rw
    tiny    float
    trials  int
    """,
    returns=int,
)
_descend_pairs = Loop(
    "quadratic.descend_pairs",
    """
    C       store (n, n)
    s       real (n) rw
    g       real (n) rw
    score   float64 (2) rw
    cursor  int64 (2) rw
    tiny    float
    trials  int
    """,
    returns=int,
)
_anneal = Loop(
    "quadratic.anneal",
    """
    C             store (n, n)
    s             real (n) rw
    g             real (n) rw
    score         float64 (2) rw
    best_s        real (n) rw
    rng           uint64 (4) rw
    temperatures  real (passes)
    thresholds    real (draws)
    """,
    returns=int,
)
_tabu = Loop(
    "quadratic.tabu",
    """
    C       store (n, n)
    s       real (n) rw
    g       real (n) rw
    score   float64 (2) rw
    memory  TabuMemory
    moves   int
    tenure  int
    spread  int
    barred  real (n) rw
    listed  int64 (n) rw
    """,
    returns=int,
)


def fields(C: Dense | Sparse, field: Array, s: Array, g: Array) -> None:
    """g = field + C s / 2."""
    _fields(C, field, s, g)


def descend(
    C: Dense | Sparse,
    s: Array,
    g: Array,
    score: Array,
    order: Array,
    cursor: Array,
    tiny: float,
    trials: int,
) -> int:
    """Flip whatever improves by more than `tiny`, cyclically along `order`, for at most `trials` trials.

    cursor = [position, trials since the last flip], int64, zeros at the start; s is one-flip optimal when
    cursor[1] >= order.size. Returns the couplings touched.
    """
    return placed(_descend(C, s, g, score, order, cursor, tiny, trials), "`order` and `cursor`")


def descend_pairs(
    C: Dense | Sparse, s: Array, g: Array, score: Array, cursor: Array, tiny: float, trials: int
) -> int:
    """Flip coupled pairs that improve together; one trial is one first member with all its neighbours.

    cursor as in `descend`; no coupled pair improves when cursor[1] >= s.size.
    """
    return placed(_descend_pairs(C, s, g, score, cursor, tiny, trials), "`cursor`")


def anneal(
    C: Dense | Sparse,
    s: Array,
    g: Array,
    score: Array,
    best_s: Array,
    rng: Array,
    temperatures: Array,
    thresholds: Array,
) -> int:
    """One pass over the spins at each of `temperatures`; best_s keeps the best point.

    A rise is accepted when it is below temperature * e, e from an exponential distribution: Metropolis' rule
    without a logarithm in the loop. The e are read from `thresholds`, whose size is a power of two, from a
    random place in each pass.

    Returns the couplings touched, spins passed over counted as one each.
    """
    check_thresholds(thresholds)
    return _anneal(C, s, g, score, best_s, rng, temperatures, thresholds)


def tabu(
    C: Dense | Sparse,
    s: Array,
    g: Array,
    score: Array,
    memory: TabuMemory,
    moves: int,
    tenure: int,
    spread: int,
) -> int:
    """Make `moves` best flips that are not tabu, or that beat the best point.

    Parameters
    ----------
    memory : TabuMemory   from `store.tabu_memory`
    tenure, spread        moves for which a spin stays: tenure, plus up to spread - 1 at random
    """
    scratch = np.empty_like(s), np.empty(s.size, np.int64)
    return _tabu(C, s, g, score, memory, moves, tenure, spread, *scratch)


def check_thresholds(thresholds: Array) -> None:
    if thresholds.size.bit_count() != 1:
        raise ValueError(f"the size of `thresholds` must be a power of two; got {thresholds.size}")
