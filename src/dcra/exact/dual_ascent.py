"""Slopes that give good bounds: many boxes at once, by primal-dual steps of first order.

The steps are those of Chambolle and Pock: x follows -(A'y + c) within its box, y follows the residuals and
is drawn back by the conjugate. Every few steps it is asked whether the last slopes, or their mean since the
last time, give the better bound; the better ones are gone on with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra.exact.dual_rows import Block, DualRows, Ends

STEPS = 50
"""Steps of a round, after which bounds are computed."""

POWER_STEPS = 30
"""Steps that estimate the norm of a block of rows, which is then taken a little larger."""

TINY = 1e-300


class Strides(NamedTuple):
    """How far x moves in a step, and how far the slopes of each block of rows."""

    x: float
    y: tuple[float, ...]


def strides_at(rows: DualRows, x: Host) -> Strides:
    """Strides that suit slopes as they are near a point x (n,)."""
    with np.errstate(all="ignore"):
        norms = [_norm(rows.A[block.where]) for block in rows.blocks]
        sizes = _slope_sizes(rows, norms, x)
        width = 0.5 * (rows.high - rows.low) * float(np.sqrt(rows.n))
        pull = sum(norm * size for norm, size in zip(norms, sizes, strict=True))
        own = tuple(max(size, TINY) / (width * norm) for norm, size in zip(norms, sizes, strict=True))
    return Strides(width / max(pull, TINY), own)


@dataclass(frozen=True, eq=False)
class DualAscent:
    """Rounds of steps for the rows of one problem; points and slopes are the caller's."""

    rows: DualRows
    strides: Strides

    @property
    def work(self) -> int:
        """Entries of A that a round touches for each box."""
        return 2 * STEPS * max(1, self.rows.A.size)

    def round(self, X: Host, Y: Host, fixed: Host) -> tuple[Host, Host, Host, Host]:
        """Points (k, n) and slopes (k, r) after a round; their bounds (k,), and q (k, n)."""
        rows = self.rows
        low, high = rows.box(fixed)
        X = np.clip(X, low, high)
        mean_x, mean_y = np.zeros_like(X), np.zeros_like(Y)
        with np.errstate(all="ignore"):
            for _ in range(STEPS):
                ahead = np.clip(X - self.strides.x * (Y @ rows.A + rows.c), low, high)
                Z = (2.0 * ahead - X) @ rows.A.T - rows.b
                X, Y = ahead, self._followed(Y, Z)
                mean_x += X / STEPS
                mean_y += Y / STEPS
        return self._better(X, Y, mean_x, mean_y, fixed)

    def _followed(self, Y: Host, Z: Host) -> Host:
        made = np.empty_like(Y)
        for (where, kind, _), step in zip(self.rows.blocks, self.strides.y, strict=True):
            made[:, where] = kind.towards(Y[:, where] + step * Z[:, where], step)
        return made

    def _better(
        self, X: Host, Y: Host, mean_x: Host, mean_y: Host, fixed: Host
    ) -> tuple[Host, Host, Host, Host]:
        last, q = self.rows.bounds(Y, fixed)
        mean, mean_q = self.rows.bounds(mean_y, fixed)
        better = (mean > last)[:, None]
        chosen = [np.where(better, one, two) for one, two in ((mean_x, X), (mean_y, Y), (mean_q, q))]
        return chosen[0], chosen[1], np.maximum(mean, last), chosen[2]


def _norm(A: Host) -> float:
    """A little more than the spectral norm, mostly."""
    v = np.ones(A.shape[1]) / np.sqrt(A.shape[1]) + 1e-3 * np.cos(np.arange(A.shape[1]))
    unit = float(np.max(np.abs(A), initial=0.0)) or 1.0
    size = 0.0
    for _ in range(POWER_STEPS):
        w = (A / unit).T @ ((A / unit) @ v)
        size = float(np.linalg.norm(w))
        v = w / (size or 1.0)
    return 1.05 * unit * float(np.sqrt(size)) or 1.0


def _slope_sizes(rows: DualRows, norms: list[float], x: Host) -> list[float]:
    """About how large the slopes of each block are, in the Euclidean norm, near a point x (n,)."""
    z = rows.A @ x - rows.b
    own = [_slope_size(block, z[block.where], norm) for block, norm in zip(rows.blocks, norms, strict=True)]
    pull = sum(norm * size for norm, size in zip(norms, own, strict=True)) + float(np.linalg.norm(rows.c))
    return [size or (pull or 1.0) / norm for norm, size in zip(norms, own, strict=True)]


def _slope_size(block: Block, z: Host, norm: float) -> float:
    """Of the envelope where residuals are as large as at x; 0 for constraints, of which nothing is known."""
    if isinstance(block.kind, Ends):
        return 0.0
    spread = float(np.sqrt(np.mean(z * z))) or norm
    step = spread / float(np.max(np.abs(block.kind.weight)))
    return float(np.linalg.norm(block.kind.towards(z / step, 1.0 / step)))
