"""Natural units: what rho and delta are measured in, found from the data of each problem.

delta   a residual at a good answer, divided by the slope of the loss
rho     the gradient that such slopes send to one variable
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dcra._array import Host, from_numpy, to_numpy
from dcra.compiled.form import Compiled
from dcra.compiled.piece import Piece
from dcra.losses import TableLoss

WIDENING = 1.2
"""Natural delta in units of mean residual over typical slope."""

ANSWER_SHARE = 0.5
"""Residuals of a good answer, as a guess, in units of those of a random point."""


class Units(NamedTuple):
    """Natural delta of each piece (0 where the loss is smooth) and natural rho."""

    delta: tuple[float, ...]
    rho: float


def natural_units(compiled: Compiled) -> Units:
    """Units guessed from a random point; a better point gives better ones, by `units_at`."""
    signs = from_numpy(_random_signs(compiled.n).copy(), compiled.like)
    found = units_at(compiled, to_numpy(compiled.residual(signs)))
    return Units(tuple(ANSWER_SHARE * d for d in found.delta), found.rho)


@lru_cache(maxsize=4)
def _random_signs(n: int) -> Host:
    signs = np.where(np.random.default_rng(0).random((1, n)) < 0.5, -1.0, 1.0)
    signs.flags.writeable = False
    return signs


def units_at(compiled: Compiled, Z: Host) -> Units:
    """Units that the residuals Z (k, r) of some points suggest."""
    delta, squares = [], 0.0
    for p in compiled.pieces:
        z = Z[..., p.where].astype(np.float64)
        slopes = _slopes(p, z)
        typical = _root_mean_square(slopes)
        delta.append(0.0 if p.smooth else WIDENING * float(np.mean(np.abs(z))) / (typical or 1.0) or 1.0)
        weight = p.weight if isinstance(p.weight, float) else to_numpy(p.weight).astype(np.float64)
        norms = to_numpy(p.operator.column_norms).astype(np.float64)
        squares += float(np.mean((weight * slopes) ** 2)) * float(np.mean(norms**2))
    if compiled.quadratic is not None:
        norms = to_numpy(compiled.quadratic.J.column_norms).astype(np.float64)
        squares += 4 * float(np.mean(norms**2))
    linear = 0.0 if compiled.c is None else float(np.mean(to_numpy(compiled.c).astype(np.float64) ** 2))
    return Units(tuple(delta), float(np.sqrt(squares + linear)) or 1.0)


def _root_mean_square(x: Host) -> float:
    """Without overflow: slopes carry the scale that was taken out of A."""
    largest = float(np.max(np.abs(x), initial=0.0)) or 1.0
    return largest * float(np.sqrt(np.mean((x / largest) ** 2)))


def _slopes(piece: Piece, z: Host) -> Host:
    """Slopes of the piece at z without its weight, smoothed only as far as a loss needs it to have any."""
    a = piece.argument
    exact = piece.smooth or isinstance(piece.loss, TableLoss)
    step = 0.0 if exact else 1e-3 * a * (float(np.mean(np.abs(z))) or 1.0)
    slopes: Host = a * piece.loss.envelope_grad(a * z, step)
    return slopes
