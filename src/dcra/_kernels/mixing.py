"""The SDP relaxation of s'Js + c's by its low-rank factor: every row of V in turn to where it is best."""

import numpy as np

from .face import Loop
from .store import Array, Dense, Sparse

_mix = Loop(
    "mixing.mix",
    """
    C      store (n, n)
    field  float64 (n)
    V      float64 (n+1, k) rw
    y      float64 (n+1) rw
    pull   float64 (k) rw
    first  int
    last   int
    """,
    returns=float,
)


def mix(C: Dense | Sparse, field: Array, V: Array, y: Array, pull: Array, first: int, last: int) -> float:
    """Minimise <8 M, V V'> over unit rows; V[n] stands for the constant 1 that c is coupled to.

    8 M has the couplings C inside and 2 field on its border. Row i becomes -p/|p|, p = (8 M V)_i.

    Parameters
    ----------
    field : (n,)             of any float type
    V : (n+1, k) float64     unit rows, updated
    y : (n+1,)               |p|, the multipliers of the unit rows: V is stationary when 8 M V = -Diag(y) V
    pull : (k,)              scratch
    first, last              rows to visit: a pass is 0..n+1, and can be cut anywhere

    Returns the sum of what the visited rows gained.
    """
    if not (0 <= first and last <= len(V)):
        raise ValueError(f"`first` and `last` must be in 0..{len(V)}; got {first} and {last}")
    return _mix(C, np.asarray(field, np.float64), V, y, pull, first, last)
