"""Coordinate sweeps on the box form  env(Ax - b) + c'x + rho sum(t_j + shape t_j^2 / 2), t_j = 1 - x_j^2."""

from .face import Loop, placed
from .store import Array, Model

_sweep = Loop(
    "sweep.sweep",
    """
    model     Model
    trail     real (2, n) rw
    z         real (r) rw
    columns   int64 (m)
    blocks    int64 (k) rw
    rest      int64 (n) rw
    rng       uint64 (4) rw
    rho       float64 (1) rw
    first     int
    last      int
    total     int
    rule      float64 (6)
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
    trail: Array,
    z: Array,
    columns: Array,
    blocks: Array,
    rest: Array,
    rng: Array,
    rho: Array,
    first: int,
    last: int,
    total: int,
    rule: Array,
) -> int:
    """Run sweeps first..last, of `total` that take x from the inside of the box to its corners.

    x_j <- clip(x_j - slope_j / L_j + momentum (x_j - before_j), -1, 1)
    slope_j = grad_j + c_j - 2 rho x_j (1 + shape (1 - x_j^2)),  L_j = kappa sum_t slope_t L[t, j]

    Without momentum and with kappa >= 1/2 every step descends the box form. After each sweep rho is steered,
    up or down, so that the mean of x_j^2 over `columns` follows (sweep / total)^power: the penalty needs no
    scale of its own. It stays above `least` times where it began: where x is ahead of the schedule by itself,
    rho would otherwise fall for longer than it can rise again.
    With total = 0 rho stays as it is; then rho = 0 solves the convex relaxation.

    Parameters
    ----------
    trail : (2, n)         a point x of the box, and where each entry was before its last step; updated
    z : (r,)               residual of x, updated
    columns : (m,) int64   the columns that move; the others stay as they are
    blocks : (k,) int64    a permutation of range(k); columns are visited in shuffled runs of ceil(m / k)
    rest : (n,) int64      sweeps for which a column is left alone; zeros at the start, updated
    rho : (1,) float64     penalty, updated; 0 with total > 0 means: choose it
    rule : (6,) float64    kappa, momentum, shape, power, least, and patience: a column pinned at +-1 whose
                           step overshoots by v rests patience * v sweeps, 64 at most; with 0 none rests

    Returns the number of entries of A touched. Stops early once all columns are pinned.
    """
    work = _sweep(model, trail, z, columns, blocks, rest, rng, rho, first, last, total, rule)
    return placed(work, "`columns` and `blocks`")


def round_to_spins(model: Model, x: Array, z: Array) -> None:
    """Round x to signs, sign(0) = +1, keeping z = Ax - b."""
    _round_to_spins(model, x, z)
