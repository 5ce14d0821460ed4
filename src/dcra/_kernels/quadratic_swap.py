"""The searches of `quadratic` under counts: swaps, which keep them, and flips that are charged for leaving.

For spins of opposite signs a swap raises the objective by -s_i g_i - s_j g_j - C_ij.
"""

from .face import Loop, placed
from .quadratic import check_thresholds
from .store import Array, Counts, Dense, Sparse, Tally

_POINT = """
    C             store (n, n)
    s             real (n) rw
    g             real (n) rw
    score         float64 (2) rw
"""
_LADDER = """
    best_s        real (n) rw
    rng           uint64 (4) rw
    temperatures  real (passes)
    thresholds    real (draws)
"""
_anneal_swaps = Loop("quadratic_swap.anneal_swaps", f"{_POINT}{_LADDER}    counts  Counts", returns=int)
_descend_swaps = Loop(
    "quadratic_swap.descend_swaps",
    f"""{_POINT}
    cursor  int64 (2) rw
    tiny    float
    trials  int
    counts  Counts
    reach   float
    """,
    returns=int,
)
_anneal_charged = Loop("quadratic_swap.anneal_charged", f"{_POINT}{_LADDER}    tally  Tally", returns=int)
_settle = Loop(
    "quadratic_swap.settle",
    f"""{_POINT}
    best_s  real (n) rw
    tally   Tally
    """,
    returns=int,
)


def anneal_swaps(
    C: Dense | Sparse,
    s: Array,
    g: Array,
    score: Array,
    best_s: Array,
    rng: Array,
    temperatures: Array,
    thresholds: Array,
    counts: Counts,
) -> int:
    """One pass over the spins at each of `temperatures`; best_s keeps the best point; see `quadratic.anneal`.

    Spin j flips alone where the count of its group allows that, and otherwise together with one of a few
    partners of its group that have the other sign.

    Parameters
    ----------
    counts : Counts   from `store.counts`, for this very s
    """
    check_thresholds(thresholds)
    return _anneal_swaps(C, s, g, score, best_s, rng, temperatures, thresholds, counts)


def descend_swaps(
    C: Dense | Sparse,
    s: Array,
    g: Array,
    score: Array,
    cursor: Array,
    tiny: float,
    trials: int,
    counts: Counts,
    reach: float,
) -> int:
    """Flip or swap whatever improves by more than `tiny`; one trial is one spin with its best partner.

    cursor as in `quadratic.descend`; no flip that counts allow and no swap improves when cursor[1] >= s.size.
    `reach` is the largest coupling: swaps that would not improve even with it are passed over quickly.
    """
    return placed(_descend_swaps(C, s, g, score, cursor, tiny, trials, counts, reach), "`cursor`")


def anneal_charged(
    C: Dense | Sparse,
    s: Array,
    g: Array,
    score: Array,
    best_s: Array,
    rng: Array,
    temperatures: Array,
    thresholds: Array,
    tally: Tally,
) -> int:
    """Single flips as in `quadratic.anneal`, charged rate[g] e^2 where the count of group g is off by e.

    A pass is several times quicker than one of swaps, and passes between points that swaps keep apart. best_s
    keeps the best point that is within all counts at the end of a pass.

    Parameters
    ----------
    tally : Tally   from `store.tally`, for this very s
    """
    check_thresholds(thresholds)
    return _anneal_charged(C, s, g, score, best_s, rng, temperatures, thresholds, tally)


def settle(C: Dense | Sparse, s: Array, g: Array, score: Array, best_s: Array, tally: Tally) -> int:
    """Bring all counts within their bounds, by the flips that cost least; best_s keeps the point if best."""
    return _settle(C, s, g, score, best_s, tally)
