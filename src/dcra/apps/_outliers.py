"""Rows that a regression does not explain."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host

MAD_TO_SIGMA = 1.4826
"""Normal data have this many median absolute deviations in a standard deviation."""

ROUNDING = 1e-12
"""Residuals up to this share of the largest number they come from are none."""


@dataclass(frozen=True, eq=False)
class OutlierReport:
    """Rows far from the fit, the farthest first; prints as a table.

    Attributes
    ----------
    rows : (k,) array of int
    targets, predictions, residuals : (k,) arrays
        y, X w + intercept, and their difference y - prediction, at these rows.
    scores : (k,) array
        Distance of the residual from the median one, in scales; infinite where the scale is 0.
    mask : (n_samples,) array of bool
        True at the rows of the report: `X[~mask]` is what remains.
    centre, scale : float
        Median residual, and 1.4826 times the median absolute deviation from it.
    factor : float
    """

    rows: np.ndarray[Any, np.dtype[np.intp]]
    targets: Host
    predictions: Host
    residuals: Host
    scores: Host
    mask: np.ndarray[Any, np.dtype[np.bool_]]
    centre: float
    scale: float
    factor: float

    SHOWN: ClassVar[int] = 10

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        lines = [
            f"{len(self)} of {self.mask.size} rows lie over {self.factor:g} scales from the median residual",
            f"median residual {self.centre:.4g}, scale {self.scale:.4g} (1.4826 MAD)",
        ]
        if len(self):
            lines.append(f"{'row':>8}{'y':>12}{'predicted':>12}{'residual':>12}{'scales':>10}")
        numbers = np.stack([self.targets, self.predictions, self.residuals], axis=1)
        for row, values, score in list(zip(self.rows, numbers, self.scores, strict=True))[: self.SHOWN]:
            lines.append(f"{row:>8}" + "".join(f"{v:>12.4g}" for v in values) + f"{score:>+10.1f}")
        if len(self) > self.SHOWN:
            lines.append(f"{'...':>8}  {len(self) - self.SHOWN} more")
        return "\n".join(lines)


def report(y: Host, prediction: Host, factor: float) -> OutlierReport:
    """The rows with |residual - median| > factor * scale."""
    residual = y - prediction
    centre = float(np.median(residual))
    distance = residual - centre
    scale = MAD_TO_SIGMA * float(np.median(np.abs(distance)))
    rounding = ROUNDING * float(np.max(np.abs(y) + np.abs(prediction)))
    mask = np.abs(distance) > max(factor * scale, rounding)
    rows = np.flatnonzero(mask)
    rows = rows[np.argsort(-np.abs(distance[rows]), kind="stable")]
    scores = distance[rows] / scale if scale > 0 else np.copysign(inf, distance[rows])
    return OutlierReport(rows, y[rows], prediction[rows], residual[rows], scores, mask, centre, scale, factor)
