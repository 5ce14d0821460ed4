"""Products of a matrix of float32 with a few points in float64, in one call without the GIL."""

import numpy as np

from . import library
from .face import Loop
from .store import Array

FEW = 4
"""Points up to which these loops are quicker than BLAS on parts of A converted before."""

_times_rows = Loop(
    "widened.times_rows",
    """
    A  float32 (m, n)
    X  float64 (k, n)
    Z  float64 (k, m) rw
    """,
)
_add_rows = Loop(
    "widened.add_rows",
    """
    A  float32 (m, n)
    Y  float64 (k, m)
    Z  float64 (k, n) rw
    """,
)


def widened_product(A: Array, X: Array) -> Array | None:
    """X A' in float64 for points X, (n,) or (k, n); None where these loops are not for it."""
    by_rows, few = A.flags.c_contiguous, X.ndim <= 2 and X.size <= FEW * A.shape[1]
    if not (few and A.dtype == np.float32 and A.flags.aligned and (by_rows or A.flags.f_contiguous)):
        return None
    if not library.available():
        return None
    points = np.ascontiguousarray(np.atleast_2d(X), np.float64)
    Z = np.zeros((len(points), len(A)))
    if by_rows:
        _times_rows(A, points, Z)
    else:
        _add_rows(A.T, points, Z)
    return Z if X.ndim == 2 else Z[0]
