"""State shared by the kernels: z = Ax - b, and score = [loss, linear part, best seen]."""

import numpy as np

from dcra._kernels.store import CAPPED, LOGISTIC

from .column import shift
from .jit import inline, kernel
from .rows import capped_value, curved_value, logistic_value, sharp_value


@kernel
def refresh(model, b, x, z):
    """Z = A x - b."""
    for i in range(z.size):
        z[i] = -b[i]
    for j in range(x.size):
        if x[j] != 0:
            shift(model.A, j, x[j], z)


@kernel
def value(model, x, z):
    """The objective at x, accumulated in float64."""
    return loss_at(model.rows, z) + linear_at(model.c, x)


@kernel
def measure(model, x, z, score):
    """Set score = [loss, linear part, objective] for the point (x, z)."""
    score[0] = loss_at(model.rows, z)
    score[1] = linear_at(model.c, x)
    score[2] = score[0] + score[1]


@inline
def linear_at(c, x):
    total = 0.0
    for j in range(x.size):
        total += np.float64(c[j]) * np.float64(x[j])
    return total


@inline
def loss_at(rows, z):
    total = 0.0
    for t in range(rows.kind.size):
        for i in range(rows.start[t], rows.start[t + 1]):
            f = row_value(rows.kind[t], rows.table[t], np.float64(z[i]))
            total += rows.weight[i] * f if rows.weight.size else f
    return total


@inline
def row_value(kind, p, z):
    k, e = np.float64(p[1]), np.float64(p[2])
    lo, hi = np.float64(p[3]), np.float64(p[4])
    if kind == LOGISTIC:
        return logistic_value(z, k, e)
    if kind == CAPPED:
        return capped_value(z, k, hi)
    if k == 0:
        return sharp_value(z, e, lo, hi)
    return curved_value(z, 0.5 * k, 1.0 / k, e, lo, hi)


@inline
def rounding(z, total):
    """A change of the objective below this is rounding."""
    return (1e-6 if z.itemsize == 4 else 1e-12) * abs(total)
