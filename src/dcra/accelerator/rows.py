"""What the losses are to kernels: four numbers for each row, or none where all are sums of absolute values.

A table loss with k = e = 0, slopes lo and hi, is c |z| + m z with c = (hi - lo)/2, m = (hi + lo)/2. So l1,
hinge and quantile losses, weighted and mixed, are one sum of |z| over scaled rows and a linear term, exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dcra._array import Host, to_numpy
from dcra.compiled.form import Compiled
from dcra.compiled.piece import Piece, Smoothing
from dcra.losses import TableLoss
from dcra.model.operators import DenseMatrix

STEEP = 1e30
"""Stands for 1/k where k = 0."""


class Rows(NamedTuple):
    """The conjugate of the loss of each row of the residual, k g^2/2 + e |g| on [lo, hi]; (r,) each."""

    k: Host
    e: Host
    lo: Host
    hi: Host

    @property
    def plain(self) -> bool:
        """Whether all losses are sums of absolute values, but for a linear term."""
        bounded = np.isfinite(self.lo) & np.isfinite(self.hi)
        return bool(np.all((self.k == 0) & (self.e == 0) & bounded))

    def values(self, z: Host) -> Host:
        """The loss of each row, (..., r)."""
        g = self.slopes(z)
        return np.asarray(z * g - 0.5 * self.k * g * g - self.e * np.abs(g))

    def slopes(self, z: Host, d: Host | float = 0.0) -> Host:
        """Slopes of the losses, smoothed by d."""
        excess = np.sign(z) * np.maximum(np.abs(z) - self.e, 0.0)
        width = np.maximum(self.k + d, 1 / STEEP)
        with np.errstate(over="ignore"):
            return np.asarray(np.clip(excess / width, self.lo, self.hi))


def rows_of(compiled: Compiled) -> Rows:
    """The rows of all pieces."""
    parts = [_rows(p) for p in compiled.pieces]
    return Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def smoothing_of(compiled: Compiled, delta: Smoothing) -> Host:
    """What smoothing adds to k in each row."""
    pairs = zip(compiled.pieces, compiled.deltas(delta), strict=True)
    return np.concatenate([d / np.maximum(_weights(p), 1 / STEEP) for p, d in pairs])


def known(compiled: Compiled) -> bool:
    """Whether kernels can take it: dense pieces under table losses, no couplings."""
    dense = all(isinstance(p.operator, DenseMatrix) for p in compiled.pieces)
    tables = all(isinstance(p.loss, TableLoss) for p in compiled.pieces)
    return bool(compiled.pieces) and compiled.quadratic is None and dense and tables


def _rows(p: Piece) -> Rows:
    assert isinstance(p.loss, TableLoss)
    k, e, lo, hi = p.loss.table
    w, a = _weights(p), p.argument
    there = w > 0  # a row without weight has no slope, however steep its loss
    with np.errstate(divide="ignore", invalid="ignore"):
        steep = np.where(there, k / (w * a * a), 0.0) if k > 0 else 0 * w
        low, high = (np.where(there, w * a * end, 0.0) for end in (lo, hi))
    return Rows(steep, e / a + 0 * w, low, high)


def _weights(p: Piece) -> Host:
    count = p.where.stop - p.where.start
    if isinstance(p.weight, float):
        return np.full(count, p.weight)
    return to_numpy(p.weight).astype(np.float64)
