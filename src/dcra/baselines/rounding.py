"""What the continuous rivals share: where they begin, and the best rounding of what they pass through."""

from __future__ import annotations

import numpy as np

from dcra._array import Array, Host, from_numpy, namespace, to_numpy
from dcra.compiled.form import Compiled
from dcra.engines.base import Starts
from dcra.losses import L2Norm, LInf, Logistic, Loss, TableLoss
from dcra.polish.flip import value_of

NEARLY = 1e-6
"""Smoothing, in units of the residuals, where a loss offers no slope of its own."""


def initial_points(compiled: Compiled, starts: Starts, centre_first: bool = True) -> Array:
    """The given points; else 0 for start 0, as most authors have it, and uniform in the box for others."""
    if starts.points is not None:
        return from_numpy(starts.points, compiled.like)
    points = [
        np.zeros(compiled.n)
        if index == 0 and centre_first
        else np.random.default_rng((starts.seed, index)).uniform(-1, 1, compiled.n)
        for index in range(starts.first, starts.first + starts.count)
    ]
    return from_numpy(np.stack(points), compiled.like)


def slope(compiled: Compiled, Z: Array) -> Array:
    """A subgradient of the losses at residuals Z, or nearly one."""
    size = float(np.mean(np.abs(to_numpy(Z)))) if compiled.n_rows else 1.0
    return compiled.slopes(Z, tuple(0.0 if _knows_slope(p.loss) else NEARLY * size for p in compiled.pieces))


def _knows_slope(loss: Loss) -> bool:
    return isinstance(loss, TableLoss | Logistic | L2Norm | LInf)


class Roundings:
    """The best sign(x) met so far, for each start."""

    def __init__(self, compiled: Compiled, count: int) -> None:
        self.compiled = compiled
        self.spins: Host = np.ones((count, compiled.n))
        self.values: Host = np.full(count, np.inf)

    def offer(self, X: Array) -> None:
        """Round X (k, n), sign(0) = +1, and keep what is better than before."""
        compiled = self.compiled
        xp = namespace(X)
        one = xp.ones_like(X)
        S = xp.where(X >= 0, one, -one)
        values = to_numpy(value_of(compiled, S, compiled.residual(S)))
        better = values < self.values
        self.spins[better] = to_numpy(S)[better]
        self.values = np.where(better, values, self.values)
