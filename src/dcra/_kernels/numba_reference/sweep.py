"""Coordinate sweeps on the box form  env(Ax - b) + c'x + rho sum(1 - x_j^2)."""

import math

import numpy as np

from .column import grad, length, move_grad, shift
from .jit import inline, kernel
from .rng import shuffle


@kernel
def sweep(model, x, z, columns, blocks, rest, rng, rho, first, last, total, kappa, patience):
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
    work = 0
    if total > 0 and rho[0] == 0:
        rho[0] = _first_penalty(model, columns)
    for s in range(first, last):
        if total > 0 and s > 0 and _polarisation(x, columns) == 1.0:
            break
        work += _pass(model, x, z, columns, blocks, rest, rng, rho[0], kappa, patience)
        if total > 0:
            rho[0] *= math.exp(math.sqrt((s + 1.0) / total) - _polarisation(x, columns))
    return work


@inline
def _pass(model, x, z, columns, blocks, rest, rng, rho, kappa, patience):
    """Every column once. The move of one and the gradient of the next are one loop over the rows."""
    work, width = 0, -(-columns.size // blocks.size)
    moved, dx = -1, x.dtype.type(0)  # the column whose move z has not seen yet
    shuffle(rng, blocks)
    for q in blocks:
        for p in range(q * width, min(columns.size, (q + 1) * width)):
            j = columns[p]
            if rest[j] > 0:
                rest[j] -= 1
                continue
            if moved >= 0:
                g = move_grad(model.A, moved, dx, j, z, model.rows)
                work += length(model.A, moved)
            else:
                g = grad(model.A, j, z, model.rows)
            work += length(model.A, j)
            dx = _step(model, x, rest, j, g, rho, kappa, patience)
            moved = j if dx != 0 else -1
    if moved >= 0:
        shift(model.A, moved, dx, z)
        work += length(model.A, moved)
    return work


@inline
def _step(model, x, rest, j, g, rho, kappa, patience):
    """Minimise the majoriser in x_j; what x_j changed by."""
    old = x[j]
    target = old - (g + model.c[j] - 2.0 * rho * old) / (kappa * _curvature(model, j))
    x[j] = min(max(target, -1.0), 1.0)
    if x[j] == old and abs(old) == 1:
        rest[j] = np.int64(min(patience * (abs(target) - 1.0), 64.0))
    return x[j] - old


@inline
def _curvature(model, j):
    total = 1e-30
    for t in range(model.rows.kind.size):
        total += np.float64(model.rows.table[t, 0]) * np.float64(model.L[t, j])
    return total


@inline
def _first_penalty(model, columns):
    """Small against the curvature; steering does the rest."""
    total = 0.0
    for j in columns:
        total += _curvature(model, j)
    return total / (64.0 * columns.size)


@inline
def _polarisation(x, columns):
    total = 0.0
    for j in columns:
        total += np.float64(x[j]) * np.float64(x[j])
    return total / columns.size


@kernel
def round_to_spins(model, x, z):
    """Round x to signs, sign(0) = +1, keeping z = Ax - b."""
    for j in range(x.size):
        old = x[j]
        x[j] = 1.0 if old >= 0 else -1.0
        if x[j] != old:
            shift(model.A, j, x[j] - old, z)
