"""What no number of a problem may be: masked, outside of its matrix, or too large for an objective."""

from __future__ import annotations

import sys
from math import prod, sqrt
from typing import Any

import numpy as np

from dcra._array import Array, is_numpy, namespace
from dcra.losses import Loss, VectorLoss

LARGEST = 1e304
"""No objective may be larger in size: a little below what float64 ends at, for the arithmetic in between."""

LARGEST_SINGLE = float(np.finfo(np.float32).max)


def refuse_masked(name: str, x: Any) -> None:
    """Refuse an array of which entries are masked: their values are not meant to be used."""
    if "numpy.ma" in sys.modules and np.ma.is_masked(x):  # without it nothing is, and it takes time to load
        count = int(np.sum(np.ma.getmaskarray(x)))
        raise ValueError(
            f"`{name}` must not be masked; {count} of its entries are. Leave their rows or columns out, or "
            f"give them a value with `filled`"
        )


def refuse_huge(name: str, x: Array | float, most: float) -> float:
    """Refuse numbers beyond `most` in size; the sum of squares of what is there, or more than that."""
    if isinstance(x, float):
        if abs(x) <= most:
            return x * x
        x = np.asarray([x])
    squares = _sum_of_squares(x)
    if sqrt(squares) <= most:
        return squares
    xp = namespace(x)
    size = max(float(xp.max(x)), -float(xp.min(x)))
    if size > most:
        raise ValueError(
            f"`{name}` must hold numbers of at most {most:.2g} in size, or the objective is too large for "
            f"float64; found {size:.3g}. Divide the problem by a common factor"
        )
    return min(squares, float(prod(x.shape)) * size * size)


def most_squared(entries: int, n: int) -> float:
    """How large `entries` numbers may be, of which squares of sums of n are summed."""
    return sqrt(LARGEST / (max(1, entries) * (n + 1)))


def require_norms(norms: Array) -> Array:
    """Norms of the columns of A; entries of float64 whose squares are none are refused."""
    xp = namespace(norms)
    if norms.dtype == xp.float64 and not bool(xp.all(xp.isfinite(norms))):
        raise ValueError(
            "`A` must hold numbers whose squares can be summed; those of a column are too large for float64. "
            "Divide the problem by a common factor"
        )
    return norms


def require_indices(name: str, A: Any) -> None:
    """Refuse indices that point outside: SciPy and our loops would follow them."""
    if A.format == "coo":
        for index, size in zip(A.coords, A.shape, strict=True):
            _require_inside(name, "coords", index, size)
    if A.format not in ("csc", "csr"):
        return
    lines, size = A.shape if A.format == "csr" else A.shape[::-1]
    begins = A.indptr
    rising = begins.size == lines + 1 and begins[0] == 0 and not np.any(np.diff(begins) < 0)
    stored = int(begins[-1]) if begins.size else 0
    if not rising or stored > min(A.indices.size, A.data.size):
        raise ValueError(f"`{name}` is damaged: its `indptr` does not fit its shape or its entries")
    _require_inside(name, "indices", A.indices[:stored], size)


def _require_inside(name: str, part: str, index: Any, size: int) -> None:
    if index.size and not 0 <= int(index.min()) <= int(index.max()) < size:
        raise ValueError(f"`{name}` is damaged: its `{part}` must lie in [0, {size})")


def is_foreign(loss: Loss) -> bool:
    """Whether a loss is not one of ours, and must be looked at."""
    return isinstance(loss, VectorLoss) or not type(loss).__module__.startswith("dcra.")


def require_numbers(loss: Loss, call: str, found: Array, shape: tuple[int, ...]) -> Array:
    """What a foreign loss has returned, if that has the right shape and is finite."""
    name = loss.label if isinstance(loss, VectorLoss) else type(loss).__name__
    got = tuple(getattr(found, "shape", ()))
    if got != shape:
        raise ValueError(
            f"`{call}` of the loss {name} must return shape {shape} here, the last axis of residuals being "
            f"rows; got {got}"
        )
    xp = namespace(found) if hasattr(found, "shape") else np
    if not bool(xp.all(xp.isfinite(found))):
        what = "NaN" if bool(xp.any(xp.isnan(found))) else "an infinite value"
        raise ValueError(
            f"`{call}` of the loss {name} returned {what}; it must return finite numbers for every vector of "
            f"residuals. What is not allowed belongs into `constraints`"
        )
    return found


def _sum_of_squares(x: Array) -> float:
    """In one pass and without a copy where that can be; infinite where it cannot."""
    if is_numpy(x) and x.dtype == np.float64 and x.flags.forc:
        flat = x.ravel(order="K")
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.dot(flat, flat))
    if str(x.dtype).endswith("float32"):
        return float(prod(x.shape)) * LARGEST_SINGLE**2
    return np.inf if prod(x.shape) else 0.0
