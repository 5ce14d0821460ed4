"""Exact enumeration in Gray-code order."""

import numpy as np

from .face import Loop
from .store import Array, Model

_gray = Loop(
    "gray.gray",
    """
    model  Model
    b      real (r)
    lo     int
    hi     int
    x      real (n) rw
    z      real (r) rw
    code   int64 (1) rw
    """,
    returns=float,
)


def gray(model: Model, b: Array, lo: int, hi: int, x: Array, z: Array) -> tuple[float, int]:
    """Best objective over positions lo..hi of the Gray sequence, and its lowest position.

    Position c is the point with x_j = -1 where bit j of c ^ (c >> 1) is set; x, z are scratch. The residual
    is recomputed every 1024 positions, so a range split at multiples of that gives the same numbers.
    """
    if not (0 <= lo and hi <= 1 << min(x.size, 62)):
        raise ValueError(f"`lo` and `hi` must be in 0..2^{x.size}; got {lo} and {hi}")
    code = np.empty(1, np.int64)
    best = _gray(model, b, lo, hi, x, z, code)
    return best, int(code[0])
