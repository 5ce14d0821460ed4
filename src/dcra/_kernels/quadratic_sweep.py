"""Coordinate sweeps on the box form  x'Jx + c'x + rho sum(1 - x_j^2)  through the fields g = 2 c + 4 J x."""

from .face import Loop, placed
from .store import Array, Dense, Sparse

_sweep = Loop(
    "quadratic_sweep.sweep",
    """
    C          store (n, n)
    x          real (n) rw
    g          real (n) rw
    blocks     int64 (q) rw
    rng        uint64 (4) rw
    rho        float64 (1) rw
    convexity  float
    first      int
    last       int
    total      int
    """,
    returns=int,
)


def sweep(
    C: Dense | Sparse,
    x: Array,
    g: Array,
    blocks: Array,
    rng: Array,
    rho: Array,
    convexity: float,
    first: int,
    last: int,
    total: int,
) -> int:
    """Run sweeps first..last, of `total` that take x from the inside of the box to its corners.

    x_j <- clip(-g_j / 4 (convexity - rho)), the minimiser along x_j while rho < convexity, and the corner
    that g_j points to from there on. After each sweep rho is steered so that the mean of x_j^2 follows
    sqrt(sweep / total).

    Parameters
    ----------
    blocks : (q,) int64   0..q-1, shuffled before each sweep: the order of runs of neighbouring variables
    rho : (1,) float64    rho so far, above 0

    Returns the couplings touched.
    """
    return placed(_sweep(C, x, g, blocks, rng, rho, convexity, first, last, total), "`blocks`")
