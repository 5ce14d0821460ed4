"""What a symmetric matrix of whole numbers lacks to be positive semidefinite, at most, without any rounding.

A factor in float64 is a guess L, rounded to whole numbers. With E = R - LL', computed exactly,

    R + Diag(d) = LL' + (E + Diag(d))   is positive semidefinite,   d_i = sum_(j != i) |E_ij| - E_ii or 0,

because the second part is diagonally dominant. Whatever the guess is, the sum of d is no less than what is
lacking; for a good one it is about what rounding is.
"""

from __future__ import annotations

import numpy as np

from dcra._array import Host

BITS, LIMB = 60, 20
"""Of the factor's numbers, and of the parts they are multiplied by: sums of products stay below 2^53."""

MOST_ROWS = 2 ** (53 - 2 * LIMB - 2)
"""For which they do."""

RAISED = (0.0, 2.0**-50, 2.0**-46, 2.0**-40)
"""Shares of its own size by which the diagonal is raised until there is a factor."""


def lacking(R: Host) -> int | None:
    """The sum of what R (k, k) lacks on its diagonal, at most, in its units; None where no factor is."""
    if not len(R):
        return 0
    size = max(abs(int(x)) for x in R.ravel()).bit_length()
    L = _factor(np.array([[int(x) / (1 << size) for x in row] for row in R]))
    if L is None:
        return None
    scale = 2 * BITS - size  # from units of R to those of LL'
    product = _product(np.rint(L * 2.0**BITS).astype(np.int64))
    E = (R * (1 << scale) if scale >= 0 else R) - (product if scale >= 0 else product * (1 << -scale))
    own = np.diag(E)
    d = np.abs(E).sum(axis=1) - np.abs(own) - own
    total = sum(int(x) for x in d if x > 0)
    return -(-total >> scale) if scale >= 0 else total


def _factor(R: Host) -> Host | None:
    """L with LL' about R, of entries at most 1."""
    L = _raised_factor(R)
    if L is None:
        L = _raised_factor(R - min(0.0, float(np.linalg.eigvalsh(R)[0])) * np.eye(len(R)))
    return None if L is None else np.clip(np.nan_to_num(L), -1.0, 1.0)


def _raised_factor(R: Host) -> Host | None:
    sizes = np.abs(np.diag(R)) + 2.0**-40 * float(np.max(np.abs(R)))
    for share in RAISED:
        try:
            return np.linalg.cholesky(R + np.diag(share * sizes))
        except np.linalg.LinAlgError:
            continue
    return None


def _product(L: Host) -> Host:
    """LL' of whole numbers, by parts whose products float64 adds up without rounding."""
    assert len(L) <= MOST_ROWS
    mask = (1 << LIMB) - 1
    limbs = [(L & mask), (L >> LIMB) & mask, L >> 2 * LIMB]
    floats = [limb.astype(np.float64) for limb in limbs]
    total = np.zeros(L.shape, object)
    for a, left in enumerate(floats):
        for b, right in enumerate(floats):
            total = total + (left @ right.T).astype(np.int64).astype(object) * (1 << LIMB * (a + b))
    return total
