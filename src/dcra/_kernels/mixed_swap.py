"""Annealed swaps of `quadratic_swap` with losses beside: f(As - b) + c's + s'Js; score as in `mixed`."""

from .face import Loop
from .quadratic import check_thresholds
from .store import Array, Counts, Dense, Model, Sparse

_anneal_swaps = Loop(
    "mixed_swap.anneal_swaps",
    """
    model         Model
    C             store (n, n)
    s             real (n) rw
    z             real (r) rw
    g             real (n) rw
    score         float64 (3) rw
    best_s        real (n) rw
    rng           uint64 (4) rw
    temperatures  real (passes)
    thresholds    real (draws)
    counts        Counts
    """,
    returns=int,
)


def anneal_swaps(
    model: Model,
    C: Dense | Sparse,
    s: Array,
    z: Array,
    g: Array,
    score: Array,
    best_s: Array,
    rng: Array,
    temperatures: Array,
    thresholds: Array,
    counts: Counts,
) -> int:
    """`quadratic_swap.anneal_swaps`; every partner costs a look at its column of A."""
    check_thresholds(thresholds)
    return _anneal_swaps(model, C, s, z, g, score, best_s, rng, temperatures, thresholds, counts)
