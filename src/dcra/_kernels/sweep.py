"""Coordinate sweeps on the box form  env(Ax - b) + c'x + rho sum(1 - x_j^2)."""

from .face import Loop
from .store import Array, Model

_sweep = Loop(
    "sweep.sweep",
    """
    model     Model
    x         real (n) rw
    z         real (r) rw
    columns   int64 (m)
    blocks    int64 (k) rw
    rest      int64 (n) rw
    rng       uint64 (4) rw
    rho       float64 (1) rw
    first     int
    last      int
    total     int
    kappa     float
    patience  float
    """,
    returns=int,
)
_round_to_spins = Loop(
    "sweep.round_to_spins",
    """
    model  Model
    x      real (n) rw
    z      real (r) rw
    """,
)


def sweep(
    model: Model,
    x: Array,
    z: Array,
    columns: Array,
    blocks: Array,
    rest: Array,
    rng: Array,
    rho: Array,
    first: int,
    last: int,
    total: int,
    kappa: float,
    patience: float,
) -> int:
    """Run sweeps first..last, of `total` that take x from the inside of the box to its corners.

    x_j <- clip(x_j - (grad_j + c_j - 2 rho x_j) / L_j, -1, 1), L_j = kappa sum_t slope_t L[t, j]; with
    kappa >= 1/2 every step descends the box form. After each sweep rho is steered, up or down, so that the
    mean of x_j^2 over `columns` follows sqrt(sweep / total): the penalty needs no scale of its own.
    With total = 0 rho stays as it is; then rho = 0 solves the convex relaxation.

    Parameters
    ----------
    x, z : (n,), (r,)      point in the box and its residual, updated
    columns : (m,) int64   the columns that move; the others stay as they are
    blocks : (k,) int64    a permutation of range(k); columns are visited in shuffled runs of ceil(m / k)
    rest : (n,) int64      sweeps for which a column is left alone; zeros at the start, updated
    rho : (1,) float64     penalty, updated; 0 with total > 0 means: choose it
    patience : float       a column pinned at +-1 whose step overshoots by v rests patience * v sweeps,
                           64 at most; 0 visits every column in every sweep

    Returns the number of entries of A touched. Stops early once all columns are pinned.
    """
    return _sweep(model, x, z, columns, blocks, rest, rng, rho, first, last, total, kappa, patience)


def round_to_spins(model: Model, x: Array, z: Array) -> None:
    """Round x to signs, sign(0) = +1, keeping z = Ax - b."""
    _round_to_spins(model, x, z)
