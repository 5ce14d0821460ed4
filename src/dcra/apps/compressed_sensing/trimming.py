"""Measurements that no signal explains: left out first, for message passing believes them all."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcra._array import Host, to_numpy
from dcra.model.operators import MatrixFree, Operator

GROSS, FAR = 6.0, 4.0
"""Robust standard deviations beyond which a measurement is left out at first, and beyond which a residual is:
before there is a signal, no measurement of one may be lost, for any may be needed."""

LEAST_SHARE = 0.5
"""Of the measurements that must be left for the others to be called outliers."""

DEVIATION = 1.4826
"""Standard deviation of normal numbers over their median absolute deviation."""


def plausible(y: Host, operator: Operator) -> Host:
    """Which measurements (M,) look like those of one signal: A_i x, in units of |A_i|, is about normal.

    All of them where rows cannot be left out, their spread says nothing, or too few would be left.
    """
    everything = np.ones(y.size, bool)
    if isinstance(operator, MatrixFree):
        return everything
    A: Any = operator.on_host()
    sizes = np.sqrt(np.asarray(A.multiply(A).sum(axis=1) if operator.sparse else np.einsum("ij,ij->i", A, A)))
    sums = np.asarray(to_numpy(operator.row_sums), np.float64)
    sizes = np.asarray(sizes, np.float64).ravel()
    if not np.all(sizes > 0):
        return everything
    share = _slope(sums / sizes, y / sizes)
    return near(y / sizes - share * sums / sizes, everything, GROSS)


def near(u: Host, among: Host, far: float = FAR) -> Host:
    """Which numbers lie near the bulk of some of them; all where that cannot be said."""
    middle = float(np.median(u[among]))
    spread = DEVIATION * float(np.median(np.abs(u[among] - middle)))
    found = np.abs(u - middle) <= far * spread
    return found if spread > 0 and np.mean(found) >= LEAST_SHARE else np.ones(u.size, bool)


def _slope(a: Host, b: Host) -> float:
    """The factor c of b ~ c a that most pairs agree on; 0 where a says nothing."""
    large = np.abs(a) > np.median(np.abs(a))
    return float(np.clip(np.median(b[large] / a[large]), 0.0, 1.0)) if large.any() else 0.0
