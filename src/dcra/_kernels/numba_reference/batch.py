"""One A, many right-hand sides: annealing in lockstep.

LANES points move together. At each step all of them try the same column, so an entry of A is read once for
all, and what remains is arithmetic on rows of LANES numbers.
"""

import math
from typing import Any

import numpy as np

from dcra._kernels.store import CAPPED, LOGISTIC

from .column import entry, length
from .jit import inline, kernel
from .rng import below, reseed, uniform
from .rows import capped_value, curved_value, logistic_value, sharp_value

LANES = 32
DRAWS = 1024


@kernel
def batch(model, B, lo, hi, seed, starts, temperatures, X, F, scratch):
    """Anneal groups lo..hi of right-hand sides; fill their rows of X (k, n) and F (k,).

    A group is LANES // starts consecutive rows of B (k, r), each from `starts` random points. Its answer
    depends on (seed, group) only. Each temperature is one pass over the columns; temperature 0 is descent.

    Parameters
    ----------
    seed : uint64
    starts : int       1 .. LANES
    scratch : tuple    from `scratch`, one per thread

    Returns the entries of A touched, counting each once for every lane.
    """
    x, z, best_x, loss, linear, best, new, dx, draws, rng = scratch
    per_group = LANES // starts
    work = 0
    for group in range(lo, hi):
        reseed(rng, seed, np.uint64(group))
        for i in range(draws.size):
            draws[i] = -math.log(1.0 - uniform(rng))
        first = group * per_group
        _place(model, B, first, starts, x, z, loss, linear, best, rng)
        for temperature in temperatures:
            for j in range(model.c.size):
                work += _propose(model, x, z, loss, linear, new, dx, draws, rng, j, temperature)
            _keep(x, best_x, loss, linear, best)
        for lane in range(per_group * starts):
            q = first + lane // starts
            if q < F.size and (lane % starts == 0 or best[lane] < F[q]):
                F[q] = best[lane]
                for j in range(model.c.size):
                    X[q, j] = best_x[j, lane]
    return work


@inline
def _place(model, B, first, starts, x, z, loss, linear, best, rng):
    """Random corners, their residuals and values."""
    for lane in range(LANES):
        q = min(first + lane // starts, B.shape[0] - 1)
        for i in range(z.shape[0]):
            z[i, lane] = -B[q, i]
        loss[lane] = linear[lane] = 0
        best[lane] = np.inf
    for j in range(x.shape[0]):
        for lane in range(LANES):
            x[j, lane] = 1.0 if uniform(rng) < 0.5 else -1.0
            linear[lane] += model.c[j] * x[j, lane]
        _shift(model.A, j, x[j], z)
    for i in range(z.shape[0]):
        _add_values(model.rows, i, z.dtype.type(1), z.dtype.type(0), x[0], z[i], loss)


@inline
def _propose(model, x, z, loss, linear, new, dx, draws, rng, j, temperature):
    size, c = length(model.A, j), model.c[j]
    for lane in range(LANES):
        dx[lane] = -(x[j, lane] + x[j, lane])
    _trial(model, j, dx, z, loss, new)
    _decide(loss, new, dx, draws, below(rng, DRAWS), dx.dtype.type(temperature), c)
    if c != 0:
        for lane in range(LANES):
            linear[lane] += c * dx[lane]
    moved = dx.dtype.type(0)
    for lane in range(LANES):
        x[j, lane] += dx[lane]
        moved += abs(dx[lane])
    if moved > 0:
        _shift(model.A, j, dx, z)
        return 2 * LANES * size
    return LANES * size


@inline
def _decide(loss, new, dx, draws, skip, heat, c):
    """Metropolis' rule: dx becomes 0 where the flip is refused, loss follows. Two loops: they vectorise."""
    for lane in range(LANES):
        rise = new[lane] - loss[lane] + c * dx[lane]
        dx[lane] = dx[lane] if rise < heat * draws[skip + lane] else dx.dtype.type(0)
    for lane in range(LANES):
        loss[lane] = new[lane] if dx[lane] != 0 else loss[lane]


@inline
def _trial(model, j, dx, z, loss, new):
    """New losses after x_j += dx. A full column visits every row, so it need not start from the old ones."""
    size = length(model.A, j)
    full = size == z.shape[0]
    zero, one = dx.dtype.type(0), dx.dtype.type(1)
    for lane in range(LANES):
        new[lane] = zero if full else loss[lane]
    for p in range(size):
        i, a = entry(model.A, j, p)
        _add_values(model.rows, i, one, a, dx, z[i], new)
        if not full:
            _add_values(model.rows, i, -one, zero, dx, z[i], new)


@inline
def _shift(A, j, dx, z):
    for p in range(length(A, j)):
        i, a = entry(A, j, p)
        for lane in range(LANES):
            z[i, lane] += dx[lane] * a


@inline
def _add_values(rows, i, sign, a, dx, z, total):
    """Total += sign w f(z + dx a), the loss of row i in every lane."""
    t = rows.term[i]
    k, e, lo, hi = rows.table[t, 1], rows.table[t, 2], rows.table[t, 3], rows.table[t, 4]
    w = sign * rows.weight[i] if rows.weight.size else sign
    if rows.kind[t] == LOGISTIC:
        for lane in range(LANES):
            total[lane] += w * logistic_value(z[lane] + dx[lane] * a, k, e)
    elif rows.kind[t] == CAPPED:
        for lane in range(LANES):
            total[lane] += w * capped_value(z[lane] + dx[lane] * a, k, hi)
    elif k > 0:
        half_k, slope = z.dtype.type(0.5) * k, z.dtype.type(1) / k
        for lane in range(LANES):
            total[lane] += w * curved_value(z[lane] + dx[lane] * a, half_k, slope, e, lo, hi)
    elif e > 0:
        for lane in range(LANES):
            total[lane] += w * sharp_value(z[lane] + dx[lane] * a, e, lo, hi)
    else:
        for lane in range(LANES):
            u = z[lane] + dx[lane] * a
            total[lane] += w * max(lo * u, hi * u)


@inline
def _keep(x, best_x, loss, linear, best):
    """Where a lane has improved, remember its point."""
    for lane in range(LANES):
        if loss[lane] + linear[lane] < best[lane]:
            best[lane] = loss[lane] + linear[lane]
            for j in range(x.shape[0]):
                best_x[j, lane] = x[j, lane]


def scratch(n: int, r: int, dtype: Any) -> tuple[Any, ...]:
    """Work space of one thread."""
    x, best_x, z = np.zeros((n, LANES), dtype), np.zeros((n, LANES), dtype), np.zeros((r, LANES), dtype)
    loss, linear, best, new, dx = (np.zeros(LANES, dtype) for _ in range(5))
    return x, z, best_x, loss, linear, best, new, dx, np.zeros(DRAWS + LANES, dtype), np.zeros(4, np.uint64)
