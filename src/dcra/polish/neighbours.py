"""The points at one flip from given ones, in array code: any loss, any library, many points at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dcra._array import Array, Host, from_numpy, namespace, to_numpy
from dcra.compiled.form import Compiled
from dcra.model.operators import DenseMatrix, Operator, SparseMatrix

MOST_ENTRIES = 1 << 24
"""Residuals of neighbours in memory at once."""


class BestFlips(NamedTuple):
    """Of each point the variable whose flip gains most, and that gain: 0 where it is rounding only."""

    variable: Host
    gain: Host


class Neighbours:
    """All flips of points of a problem."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        eps = float(namespace(compiled.like).finfo(compiled.like.dtype).eps)
        self.tolerance = max(1e-12, 8 * eps)

    def best(self, spins: Host, Z: Array) -> BestFlips:
        """For spins (k, n) and their residuals Z (k, r)."""
        xp = namespace(Z)
        S = from_numpy(spins, self.compiled.like)
        now = self.compiled.smoothed(Z, 0.0) if self.compiled.pieces else xp.zeros(len(spins), dtype=S.dtype)
        gains = self._gains(S, Z, now)
        index = xp.argmax(gains, axis=-1)
        most = to_numpy(xp.max(gains, axis=-1)).astype(np.float64)
        least = self.tolerance * np.abs(to_numpy(now)).astype(np.float64)
        return BestFlips(to_numpy(index), np.where(most > least, most, 0.0))

    def _gains(self, S: Array, Z: Array, now: Array) -> Array:
        compiled, xp = self.compiled, namespace(S)
        parts = []
        width = max(1, MOST_ENTRIES // max(1, S.shape[0] * compiled.n_rows))
        for lo in range(0, compiled.n if compiled.pieces else 0, width):
            hi = min(compiled.n, lo + width)
            columns = [_columns(piece.operator, lo, hi, S) for piece in compiled.pieces]
            stacked = columns[0] if len(columns) == 1 else xp.concat(columns, axis=-1)
            moved = Z[:, None, :] - 2 * S[:, lo:hi, None] * stacked[None, :, :]
            parts.append(now[:, None] - compiled.smoothed(moved, 0.0))
        gains: Any = xp.concat(parts, axis=-1) if parts else xp.zeros_like(S)
        if compiled.c is not None:
            gains = gains + 2 * compiled.c * S
        if compiled.quadratic is not None:
            gains = gains + 4 * compiled.quadratic.apply(S) * S
        return gains


def _columns(operator: Operator, lo: int, hi: int, like: Array) -> Array:
    """The columns lo..hi of A as rows (hi - lo, r)."""
    if isinstance(operator, DenseMatrix):
        return operator.A[:, lo:hi].T
    if isinstance(operator, SparseMatrix):
        return operator.A[:, lo:hi].T.toarray()
    return operator.apply(from_numpy(np.eye(hi - lo, operator.shape[1], lo), like))
