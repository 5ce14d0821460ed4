"""One-flip tabu search with the rise of every flip at hand."""

from .face import Loop
from .store import Array, Dense, Model, Sparse

_rises_at = Loop(
    "tabu.rises_at",
    """
    model  Model
    x      real (n)
    z      real (r)
    score  float64 (3)
    rises  float64 (n) rw
    """,
    returns=int,
)
_tabu = Loop(
    "tabu.tabu",
    """
    model   Model
    mirror  like (r, n)
    x       real (n) rw
    z       real (r) rw
    score   float64 (3) rw
    best_x  real (n) rw
    rises   float64 (n) rw
    until   int64 (n) rw
    clock   int64 (1) rw
    rng     uint64 (4) rw
    moves   int
    tenure  int
    """,
    returns=int,
)


def rises_at(model: Model, x: Array, z: Array, score: Array, rises: Array) -> int:
    """rises[j] = change of the objective when x_j flips. Returns the entries of A touched."""
    return _rises_at(model, x, z, score, rises)


def tabu(
    model: Model,
    mirror: Dense | Sparse,
    x: Array,
    z: Array,
    score: Array,
    best_x: Array,
    rises: Array,
    until: Array,
    clock: Array,
    rng: Array,
    moves: int,
    tenure: int,
) -> int:
    """Make `moves` best flips that are not tabu, or that beat the best point.

    A move costs the columns that share a row with the flipped one: little for sparse A, all of A when dense.

    Parameters
    ----------
    mirror : Sparse       A by rows (the CSC form of A'); for dense A, A itself
    rises : (n,) float64  from `rises_at`, updated
    until : (n,) int64    zeros at the start; first move at which a column may flip again
    clock : (1,) int64    moves made so far
    tenure : int          moves for which a column stays, plus up to a third more at random
    """
    return _tabu(model, mirror, x, z, score, best_x, rises, until, clock, rng, moves, tenure)
