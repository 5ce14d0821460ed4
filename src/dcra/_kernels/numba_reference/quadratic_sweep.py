"""Coordinate sweeps on the box form  x'Jx + c'x + rho sum(1 - x_j^2)  through the fields g = 2 c + 4 J x."""

import math

import numpy as np

from .column import length, shift
from .jit import inline, kernel
from .rng import shuffle


@kernel
def sweep(C, x, g, blocks, rng, rho, convexity, first, last, total):
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
    work = 0
    for s in range(first, last):
        shuffle(rng, blocks)
        work += _pass(C, x, g, blocks, 4.0 * (convexity - rho[0]))
        square = 0.0
        for j in range(x.size):
            square += np.float64(x[j]) * np.float64(x[j])
        rho[0] *= math.exp(math.sqrt((s + 1.0) / total) - square / x.size)
    return work


@inline
def _pass(C, x, g, blocks, bend):
    work, width = 0, -(-x.size // blocks.size)
    half = x.dtype.type(0.5)
    for q in blocks:
        for j in range(q * width, min(x.size, (q + 1) * width)):
            old = x[j]
            if bend > 0:
                x[j] = min(max(-g[j] / bend, -1.0), 1.0)
            elif g[j] != 0:
                x[j] = 1.0 if g[j] < 0 else -1.0
            if x[j] != old:
                shift(C, j, half * (x[j] - old), g)
                work += length(C, j)
            work += 1
    return work
