"""By how much the running values of an enumeration may be off, block by block.

Within a block only the first few variables flip, so that a row's residual stays within what they reach of its
value with these at 0. Every step rounds a residual, and the value it is added to, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from dcra._array import Host, to_numpy
from dcra._kernels.gray import BLOCK
from dcra.compiled.form import Compiled
from dcra.compiled.piece import Piece
from dcra.compiled.tables import is_cut_off
from dcra.model.rounding import EPS, OWN, smooth_size

FLIPPING = BLOCK.bit_length() - 1
"""Variables that flip within a block."""


@dataclass(frozen=True, eq=False)
class RunningError:
    """What rounding may cost the running values of a form in float64, in units of F."""

    compiled: Compiled

    def __call__(self, spins: Host) -> Host:
        """For blocks that begin at spins (k, n)."""
        compiled = self.compiled
        moved, size = np.zeros(len(spins)), np.zeros(len(spins))
        for piece, scale in zip(compiled.pieces, compiled.tables(np.float64).scales, strict=True):
            part = self._of_piece(piece, scale, spins)
            moved, size = moved + part[0], size + part[1]
        smooth = smooth_size(compiled.problem) / compiled.value_scale
        rows = compiled.n_rows + compiled.n
        with np.errstate(over="ignore", invalid="ignore"):
            steps = 2 * BLOCK * EPS * (rows + OWN) * (size + smooth)
            total = compiled.value_scale * (moved + steps) + 8 * EPS * abs(compiled.offset)
        return np.where(np.isfinite(total), total, inf)

    def _of_piece(self, p: Piece, scale: float, spins: Host) -> tuple[Host, Host]:
        """By how much residuals that are off move the piece, and the size of its values."""
        A = p.operator.dense().astype(np.float64)
        high = spins.copy()
        high[:, :FLIPPING] = 0.0
        sums, b = p.operator.row_sizes(), np.abs(to_numpy(p.b))
        with np.errstate(over="ignore", invalid="ignore"):
            reach = np.abs(high @ A.T - to_numpy(p.b)) + np.abs(A[:, :FLIPPING]).sum(axis=1)
            e = EPS * (first_roundings(A.shape[1]) * (2 * sums + b) + BLOCK * reach)
            if is_cut_off(p, scale, float(np.max(reach + e, initial=0.0))):
                return np.full(len(spins), inf), np.full(len(spins), inf)
            weight = np.abs(np.asarray(p.weight if isinstance(p.weight, float) else to_numpy(p.weight)))
            sides = [np.abs(p.loss.values(side * p.argument * reach)) for side in (1.0, -1.0)]
            value = np.maximum(*sides)
            if p.loss.lipschitz < inf:
                moved = p.argument * p.loss.lipschitz * e
            else:
                outer = [np.abs(p.loss.values(side * p.argument * (reach + e))) for side in (1.0, -1.0)]
                moved = np.maximum(outer[0] - sides[0], outer[1] - sides[1]) + OWN * EPS * value
            return np.sum(weight * moved, axis=-1), np.sum(weight * value, axis=-1)


def first_roundings(n: int) -> float:
    """Roundings of a residual before the first flip: of b in the spin form, and of n products."""
    return 2.0 * n + 8
