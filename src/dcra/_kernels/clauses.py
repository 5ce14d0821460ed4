"""Local search over clauses: a count of true literals per clause, the change of every flip kept up to date.

A literal is 2 v + 1 where variable v is negated, 2 v otherwise; an entry of `occ` is 2 c + 1 where clause c
holds the negated variable. A flip touches the clauses of its variable, and all literals of a clause only when
that becomes false or ceases to be.
"""

from .face import Loop, placed
from .formula import Array, Formula, Walk

_place = Loop(
    "clauses.place",
    """
    formula  Formula
    walk     Walk
    """,
)
_anneal_clauses = Loop(
    "clauses.anneal_clauses",
    """
    formula       Formula
    walk          Walk
    best_x        uint8 (n) rw
    best          float64 (2) rw
    rng           uint64 (4) rw
    temperatures  float64 (passes)
    """,
    returns=int,
)
_walk_clauses = Loop(
    "clauses.walk_clauses",
    """
    formula  Formula
    walk     Walk
    best_x   uint8 (n) rw
    best     float64 (2) rw
    rng      uint64 (4) rw
    moves    int
    noise    float
    """,
    returns=int,
)
_propagate = Loop(
    "clauses.propagate",
    """
    formula   Formula
    x         uint8 (n) rw
    order     int64 (n)
    assigned  uint8 (n) rw
    free      int32 (m) rw
    sated     uint8 (m) rw
    queue     int32 (n) rw
    """,
    returns=int,
)


def place(formula: Formula, walk: Walk) -> None:
    """Counts, critical variables, changes and the list of false hard clauses for the point walk.x."""
    _place(formula, walk)


def anneal_clauses(
    formula: Formula, walk: Walk, best_x: Array, best: Array, rng: Array, temperatures: Array
) -> int:
    """One Metropolis pass over the variables at each of `temperatures`.

    best = [false hard clauses, cost] of best_x. Returns the entries touched, an untaken proposal being one.
    """
    return _anneal_clauses(formula, walk, best_x, best, rng, temperatures)


def walk_clauses(
    formula: Formula, walk: Walk, best_x: Array, best: Array, rng: Array, moves: int, noise: float
) -> int:
    """Focused Metropolis search for a point at which all hard clauses are true, on the weights of the walk.

    Each move takes a false hard clause and one of its variables at random, and flips it if that adds no
    weight, or else, adding w, with probability exp(-w / noise). Ends early when no hard clause is false.
    Returns the entries touched.
    """
    return _walk_clauses(formula, walk, best_x, best, rng, moves, noise)


def propagate(
    formula: Formula, x: Array, order: Array, assigned: Array, free: Array, sated: Array, queue: Array
) -> int:
    """Assign variables in `order`, always first those that hard clauses force once all else in them is false.

    x holds the values to take where nothing is forced, and the answer. assigned (n,) and sated (m,) uint8
    arrive as zeros; free (m,) and queue (n,) int32 are scratch. Returns the hard clauses that came out false.
    """
    return placed(_propagate(formula, x, order, assigned, free, sated, queue), "`order`")
