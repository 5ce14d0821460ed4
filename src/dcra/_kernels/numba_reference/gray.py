"""Exact enumeration in Gray-code order."""

import numpy as np

from .column import shift, trial
from .jit import inline, kernel
from .state import linear_at, loss_at

BLOCK = 1024


@kernel
def gray(model, b, lo, hi, x, z):
    """Best objective over positions lo..hi of the Gray sequence, and its lowest position.

    Position c is the point with x_j = -1 where bit j of c ^ (c >> 1) is set; x, z are scratch. The residual
    is recomputed every 1024 positions, so a range split at multiples of that gives the same numbers.
    """
    best, code = np.inf, lo
    base = lo - lo % BLOCK
    while base < hi:
        _place(model, b, base, x, z)
        loss, linear = loss_at(model.rows, z), linear_at(model.c, x)
        for c in range(base, min(base + BLOCK, hi)):
            if c > base:
                j = _changed_bit(c)
                loss = trial(model.A, j, -(x[j] + x[j]), z, model.rows, loss)
                linear -= 2.0 * model.c[j] * x[j]
                x[j] = -x[j]
                shift(model.A, j, x[j] + x[j], z)
            if c >= lo and loss + linear < best:
                best, code = loss + linear, c
        base += BLOCK
    return best, code


@inline
def _place(model, b, c, x, z):
    for i in range(z.size):
        z[i] = -b[i]
    for j in range(x.size):
        x[j] = -1.0 if ((c ^ (c >> 1)) >> j) & 1 else 1.0
        shift(model.A, j, x[j], z)


@inline
def _changed_bit(c):
    j = 0
    while not (c >> j) & 1:
        j += 1
    return j
