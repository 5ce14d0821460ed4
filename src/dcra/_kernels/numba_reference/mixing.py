"""The SDP relaxation of s'Js + c's by its low-rank factor: every row of V in turn to where it is best."""

import math

import numpy as np

from .column import entry, length
from .jit import inline, kernel


@kernel
def mix(C, field, V, y, pull, first, last):
    """Minimise <8 M, V V'> over unit rows; V[n] stands for the constant 1 that c is coupled to.

    8 M has the couplings C inside and 2 field on its border. Row i becomes -p/|p|, p = (8 M V)_i.

    Parameters
    ----------
    V : (n+1, k) float64     unit rows, updated
    y : (n+1,)               |p|, the multipliers of the unit rows: V is stationary when 8 M V = -Diag(y) V
    pull : (k,)              scratch
    first, last              rows to visit: a pass is 0..n+1, and can be cut anywhere

    Returns the sum of what the visited rows gained.
    """
    gained = 0.0
    n = V.shape[0] - 1
    for i in range(first, last):
        for k in range(V.shape[1]):
            pull[k] = 0.0
        if i < n:
            _gather(C, i, V, pull)
            _add(pull, V[n], 2.0 * field[i])
        else:
            for j in range(n):
                _add(pull, V[j], 2.0 * field[j])
        gained += _settle(V[i], pull, y, i)
    return gained


@inline
def _gather(C, i, V, total):
    for p in range(length(C, i)):
        j, coupling = entry(C, i, p)
        _add(total, V[j], np.float64(coupling))


@inline
def _add(total, v, factor):
    for k in range(total.size):
        total[k] += factor * v[k]


@inline
def _settle(v, p, y, i):
    square, product = 0.0, 0.0
    for k in range(v.size):
        square += p[k] * p[k]
        product += p[k] * v[k]
    size = math.sqrt(square)
    y[i] = size
    if size > 0:
        for k in range(v.size):
            v[k] = -p[k] / size
    return size + product
