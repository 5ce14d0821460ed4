"""What no number of a problem may be: masked, or so large that its square is none."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcra._array import Array, is_numpy, namespace

LARGEST = 1e75
"""Squares of numbers up to this, times a weight and summed over rows, are still numbers in float64."""

LARGEST_SUM = 1e90
"""The same for right-hand sides and linear terms, which sums of many such numbers are moved to."""


def refuse_masked(name: str, x: Any) -> None:
    """Refuse an array of which entries are masked: their values are not meant to be used."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        count = int(np.sum(np.ma.getmaskarray(x)))
        raise ValueError(
            f"`{name}` must not be masked; {count} of its entries are. Leave their rows or columns out, or "
            f"give them a value with `filled`"
        )


def refuse_huge(name: str, x: Array, most: float = LARGEST) -> None:
    """Refuse finite numbers of which squares overflow."""
    if str(x.dtype).endswith("float32") or _sum_of_squares(x) <= most**2:
        return
    xp = namespace(x)
    size = max(float(xp.max(x)), -float(xp.min(x)))
    if size > most:
        raise ValueError(
            f"`{name}` must hold numbers of at most {most:g} in size, so that squares can be computed; "
            f"found {size:.3g}. Divide the problem by a common factor"
        )


def refuse_nan(loss: Any, values: Array) -> Array:
    """Values of a loss from elsewhere; NaN among them is refused."""
    xp = namespace(values) if hasattr(values, "shape") else np
    if bool(xp.any(xp.isnan(values))):
        raise ValueError(
            f"`value` of the loss {type(loss).__name__} returned NaN; it must return a "
            f"number for every vector of residuals"
        )
    return values


def _sum_of_squares(x: Array) -> float:
    """In one pass and without a copy where that can be; infinite where it cannot."""
    if not is_numpy(x) or not (x.flags.c_contiguous or x.flags.f_contiguous):
        return np.inf if x.size else 0.0
    flat = x.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.dot(flat, flat))
