"""Coordinate sweeps on the box form  env(Ax - b) + c'x + rho sum(1 - x_j^2)."""

import numpy as np

from .column import grad, length, shift
from .jit import inline, kernel
from .rng import shuffle


@kernel
def sweep(model, x, z, order, rest, rng, first, last, rho, rise, kappa, patience):
    """Run sweeps first..last of a schedule whose sweep s has penalty rho + rise s.

    x_j <- clip(x_j - (grad_j + c_j - 2 rho x_j) / L_j, -1, 1), L_j = kappa sum_t slope_t L[t, j]; kappa >= 1/2
    makes every step a descent of the box form. With rho = rise = 0 it solves the convex relaxation.

    Parameters
    ----------
    x, z : (n,), (r,)    point in the box and its residual, updated
    order : (m,) int64   a permutation of range(m); columns are visited in shuffled runs of ceil(n / m)
    rest : (n,) int64    sweeps for which a column is left alone; zeros at the start, updated
    patience : float     a column pinned at +-1 whose step overshoots by v rests patience * v sweeps, 64 at most;
                         0 visits every column in every sweep

    Returns the number of entries of A touched.
    """
    n, width = x.size, -(-x.size // order.size)
    work = 0
    for s in range(first, last):
        shuffle(rng, order)
        for q in order:
            for j in range(q * width, min(n, (q + 1) * width)):
                if rest[j] > 0:
                    rest[j] -= 1
                else:
                    work += _update(model, x, z, rest, j, rho + rise * s, kappa, patience)
    return work


@inline
def _update(model, x, z, rest, j, rho, kappa, patience):
    old, size = x[j], length(model.A, j)
    g = grad(model.A, j, z, model.rows) + model.c[j] - 2.0 * rho * old
    target = old - g / (kappa * _curvature(model, j))
    x[j] = min(max(target, -1.0), 1.0)
    if x[j] != old:
        shift(model.A, j, x[j] - old, z)
        return size + size
    if abs(old) == 1:
        rest[j] = np.int64(min(patience * (abs(target) - 1.0), 64.0))
    return size


@inline
def _curvature(model, j):
    total = 1e-30
    for t in range(model.rows.kind.size):
        total += np.float64(model.rows.table[t, 0]) * np.float64(model.L[t, j])
    return total


@kernel
def round_to_spins(model, x, z):
    """Round x to signs, sign(0) = +1, keeping z = Ax - b."""
    for j in range(x.size):
        old = x[j]
        x[j] = 1.0 if old >= 0 else -1.0
        if x[j] != old:
            shift(model.A, j, x[j] - old, z)
