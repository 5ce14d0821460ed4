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
    least  float64 (blocks) rw
    """,
    returns=float,
)


BLOCK = 1024
"""Positions between two exact computations of the residual."""


def gray(
    model: Model, b: Array, lo: int, hi: int, x: Array, z: Array, least: Array | None = None
) -> tuple[float, int]:
    """Best objective over positions lo..hi of the Gray sequence, and its lowest position.

    Position c is the point with x_j = -1 where bit j of c ^ (c >> 1) is set; x, z are scratch. The residual
    is recomputed every 1024 positions, so a range split at multiples of that gives the same numbers; `least`
    is given the best of each such block.
    """
    least = blocks_of(lo, hi, x.size, least)
    code = np.empty(1, np.int64)
    best = _gray(model, b, lo, hi, x, z, code, least)
    return best, int(code[0])


def blocks_of(lo: int, hi: int, n: int, least: Array | None) -> Array:
    """Room for the best value of each block of a range; an error where it is none of the sequence's."""
    if not (0 <= lo and hi <= 1 << min(n, 62)):
        raise ValueError(f"`lo` and `hi` must be in 0..2^{n}; got {lo} and {hi}")
    count = max(0, -(-hi // BLOCK) - lo // BLOCK)
    if least is None:
        return np.empty(count)
    if least.size != count:
        raise ValueError(
            f"`least` must have {count} entries, one for each block of {lo}..{hi}; got {least.size}"
        )
    return least
