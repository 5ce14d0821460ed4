"""The best child of two points: where they differ, each connected part is taken from the better parent."""

from .face import Loop
from .store import Array, Dense, Sparse

_cross = Loop(
    "crossover.cross",
    """
    C      store (n, n)
    s      real (n) rw
    g      real (n) rw
    score  float64 (2) rw
    other  real (n)
    sign   float
    part   int64 (n) rw
    stack  int64 (n) rw
    """,
    returns=int,
)


def cross(
    C: Dense | Sparse,
    s: Array,
    g: Array,
    score: Array,
    other: Array,
    sign: float,
    part: Array,
    stack: Array,
) -> int:
    """Give s those parts of sign * other, connected by couplings, that lower its value.

    Parts do not touch each other, so what remains is at least as good as either parent.

    Parameters
    ----------
    s, g, score : the first parent, which becomes the child
    other, sign : the second parent, times 1 or -1
    part, stack : (n,) int64, scratch

    Returns the spins that were changed.
    """
    return _cross(C, s, g, score, other, sign, part, stack)
