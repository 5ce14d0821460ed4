"""Annealing that keeps counts: one variable of a group goes up while another goes down."""

from .face import Loop
from .store import Array, Counts, Model

_anneal_swaps = Loop(
    "swap.anneal_swaps",
    """
    model         Model
    x             real (n) rw
    z             real (r) rw
    score         float64 (3) rw
    best_x        real (n) rw
    rng           uint64 (4) rw
    temperatures  float64 (passes)
    counts        Counts
    tries         int
    """,
    returns=int,
)


def anneal_swaps(
    model: Model,
    x: Array,
    z: Array,
    score: Array,
    best_x: Array,
    rng: Array,
    temperatures: Array,
    counts: Counts,
    tries: int,
) -> int:
    """One pass over the columns at each of `temperatures`; best_x keeps the best point, score[2] its value.

    Column j is proposed together with one of up to `tries` partners that have the other sign: members of its
    group, or free columns for a free one. It is proposed alone where the count of its group allows that, and
    always where it is free.

    Parameters
    ----------
    counts : Counts   from `store.counts`, for this very x

    Returns the entries of A touched. To resume, pass the rest of the temperatures.
    """
    return _anneal_swaps(model, x, z, score, best_x, rng, temperatures, counts, tries)
