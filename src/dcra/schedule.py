"""Natural units: what rho and delta are measured in, found from the data of each problem.

delta   a residual at a good answer, divided by the slope of the loss
rho     the gradient that such slopes send to one variable
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np

from dcra._array import from_numpy, to_numpy
from dcra.compiled import Compiled, Piece

QUICK_SWEEPS = 20
SETUP_PASSES = 4 * QUICK_SWEEPS + 60
"""Passes over A that finding the units takes, with the norm of A for good measure."""

DELTA_FLOOR = 1e-3
"""delta is at least this share of what a random point would suggest: exact fits have no residual."""


class Units(NamedTuple):
    """Natural delta of each piece (0 where the loss is smooth) and natural rho."""

    delta: tuple[float, ...]
    rho: float


def natural_units(compiled: Compiled) -> Units:
    """Units from the residuals of two quick block-sweep answers."""
    from dcra.engines.block import blocks_of, first_penalty, steered, sweep

    rng = np.random.default_rng(0)
    signs = np.where(rng.random((2, compiled.n)) < 0.5, -1.0, 1.0)
    Z = compiled.residual(from_numpy(signs, compiled.like))
    units = units_at(compiled, to_numpy(Z))
    start = from_numpy(rng.uniform(-0.1, 0.1, signs.shape), compiled.like)
    X, Z = start, compiled.residual(start)
    blocks = blocks_of(compiled)
    rho = first_penalty(compiled, blocks, units.delta, len(signs))
    for s in range(QUICK_SWEEPS):
        X, Z = sweep(compiled, blocks, rng.permutation(len(blocks)), X, Z, rho, units.delta, 0.5)
        rho = steered(rho, X, (s + 1) / QUICK_SWEEPS)
    rounded = from_numpy(np.where(to_numpy(X) >= 0, 1.0, -1.0), compiled.like)
    found = units_at(compiled, to_numpy(compiled.residual(rounded)))
    delta = tuple(max(d, DELTA_FLOOR * r) for d, r in zip(found.delta, units.delta, strict=True))
    return Units(delta, found.rho)


def units_at(compiled: Compiled, Z: np.ndarray[Any, Any]) -> Units:
    """Units that the residuals Z (k, r) of some points suggest."""
    delta = tuple(_delta(p, Z[..., p.where]) for p in compiled.pieces)
    share = [
        float(np.mean(to_numpy(p.operator.column_norms))) * p.heaviest * _slope(p, Z[..., p.where])
        for p in compiled.pieces
    ]
    linear = 0.0 if compiled.c is None else float(np.mean(np.abs(to_numpy(compiled.c))))
    return Units(delta, float(np.hypot(np.linalg.norm(share), linear)) or 1.0)


def _delta(piece: Piece, z: np.ndarray[Any, Any]) -> float:
    if piece.smooth:
        return 0.0
    return float(np.mean(np.abs(z))) / _slope(piece, z) or 1.0


def _slope(piece: Piece, z: np.ndarray[Any, Any]) -> float:
    """Typical size of the piece's slope per row, without its weight."""
    a, loss = piece.argument, piece.loss
    if loss.separable and loss.lipschitz < inf:
        return a * loss.lipschitz
    size = float(np.mean(np.abs(z))) or 1.0
    step = 0.0 if piece.smooth else 1e-3 * size * a
    rows = a * loss.envelope_grad(a * z.astype(np.float64), step)
    return float(np.sqrt(np.mean(rows**2))) or 1.0
