"""Numbers of float64 as whole multiples of a power of two, which are computed with without rounding."""

from __future__ import annotations

import numpy as np

from dcra._array import Host


def last_bit(x: Host) -> int:
    """The largest power of two, at most 1, of which all finite numbers are whole multiples: its exponent."""
    finite = x[np.isfinite(x) & (x != 0)]
    if not finite.size:
        return 0
    return min(0, int(np.frexp(finite)[1].min()) - 53)


def whole(x: Host, unit: int) -> Host:
    """x in units of 2^unit, as Python's whole numbers."""
    parts, exponents = np.frexp(x)
    found = [
        int(part) << (int(e) - 53 - unit) if part else 0
        for part, e in zip((parts * 2.0**53).ravel(), exponents.ravel(), strict=True)
    ]
    return np.array(found, object).reshape(x.shape)
