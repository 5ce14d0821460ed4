"""The SDP relaxation of z'Mz under triangle inequalities: a low-rank factor, and prices of triangles.

For spins a X_ij + b X_ik + c X_jk >= -1, where abc = 1 and X = zz'. A triangle is a row [i, j, k, kind] with
i < j < k: kind 0 has all signs 1; 1, 2 and 3 keep that of ij, ik and jk and turn the two others.
"""

import numpy as np

from .face import Loop
from .store import Array

_mix = Loop(
    "triangles.mix",
    """
    B       float64 (p, p)
    V       float64 (p, k) rw
    y       float64 (p) rw
    pull    float64 (k) rw
    passes  int
    """,
)
_press = Loop(
    "triangles.press",
    """
    M        float64 (p, p)
    V        float64 (p, k) rw
    y        float64 (p) rw
    X        float64 (p, p) rw
    B        float64 (p, p) rw
    mean     float64 (p, p) rw
    corners  int32 (t, 4)
    base     float64 (t) rw
    price    float64 (t) rw
    usual    float64 (t) rw
    pull     float64 (k) rw
    rate     float
    push     float
    share    float
    steps    int
    """,
    returns=int,
)
_priced = Loop(
    "triangles.priced",
    """
    M        float64 (p, p)
    corners  int32 (t, 4)
    price    float64 (t)
    B        float64 (p, p) rw
    """,
    returns=int,
)
_separate = Loop(
    "triangles.separate",
    """
    X      float64 (p, p)
    first  int
    last   int
    least  float
    rows   int32 (room, 4) rw
    by     float64 (room) rw
    count  int
    """,
    returns=int,
)


def mix(B: Array, V: Array, y: Array, passes: int) -> None:
    """Minimise <B, VV'> over unit rows of V (p, k), a row at a time; y (p,) are the lengths of rows of BV.

    Once it has settled, BV = -Diag(y) V.
    """
    _mix(B, V, y, np.empty(V.shape[1]), passes)


def press(
    M: Array,
    V: Array,
    y: Array,
    X: Array,
    B: Array,
    mean: Array,
    corners: Array,
    base: Array,
    price: Array,
    usual: Array,
    rate: float,
    push: float,
    share: float,
    steps: int,
) -> None:
    """Steps towards a saddle point of <M, VV'> less prices times triangles.

    Each raises `base` by `rate` times what triangles are violated by at X = VV', sets `price` to `push` times
    that above `base`, B to M less the triangles at these prices, and visits all rows of V once. `mean` and
    `usual` follow X and the prices by `share` of the distance.
    """
    pull = np.empty(V.shape[1])
    _checked(_press(M, V, y, X, B, mean, corners, base, price, usual, pull, rate, push, share, steps))


def priced(M: Array, corners: Array, price: Array) -> Array:
    """M less triangles at their prices: <B, X> = <M, X> - sum of price (a X_ij + b X_ik + c X_jk)."""
    B = np.empty_like(M)
    _checked(_priced(M, corners, price, B))
    return B


def separate(X: Array, first: int, last: int, least: float, rows: Array, by: Array, count: int) -> int:
    """Find triangles of X, with first corner in first..last, that are violated by more than `least`.

    `rows` and `by` hold `count` of them from earlier calls; where there is no room for all, the most violated
    ones stay. Returns how many they hold.
    """
    if not (0 <= first and last <= len(X) and 0 <= count <= len(rows)):
        raise ValueError(f"`first` and `last` must be in 0..{len(X)}; got {first} and {last}")
    return _separate(X, first, last, least, rows, by, count)


def _checked(answer: int) -> None:
    if answer < 0:
        raise ValueError("`corners` must be rows [i, j, k, kind] with i < j < k, and kind in 0..3")
