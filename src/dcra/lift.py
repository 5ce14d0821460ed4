"""Pure functions of the factor V = [v0 | W] with unit columns, V of shape (..., m, p).

x = W'v0 is the relaxed point, X = V'V its lifted matrix (never formed), p - ||V||_2^2 the rank gap.
"""

from __future__ import annotations

import numpy as np

from dcra._array import Array, Host, is_numpy, namespace
from dcra.foreign import importing

GRID = 2.0**20
"""Far coarser than rounding, far finer than any step that matters."""

LARGE_RANK = 100
"""From this rank on, one eigenvector is found without all the others; below, that would take longer."""


def random_factor(rank: int, n: int, seed: int, index: int) -> Host:
    """Start number `index` of a seed: Gaussian columns, normalised, (rank, n+1); always drawn on the host."""
    rng = np.random.default_rng((seed, index))
    V = rng.standard_normal((rank, n + 1))
    V /= np.linalg.norm(V, axis=0)
    return V


def relaxed(V: Array) -> Array:
    """x_j = <v0, w_j>, (..., n)."""
    xp = namespace(V)
    return xp.matmul(V[..., None, :, 0], V[..., :, 1:])[..., 0, :]


def gradient(V: Array, g: Array) -> Array:
    """Gradient in V of a function of x whose gradient in x is g: [W g | v0 g']."""
    xp = namespace(V)
    first = xp.matmul(V[..., :, 1:], g[..., :, None])
    return xp.concat([first, V[..., :, :1] * g[..., None, :]], axis=-1)


def leading_direction(V: Array) -> tuple[Array, Array]:
    """Top eigenvalue ||V||_2^2 and eigenvector u of the m x m matrix V V'."""
    xp = namespace(V)
    gram = xp.matmul(V, xp.matrix_transpose(V))
    if is_numpy(V) and V.shape[-2] >= LARGE_RANK:
        return _last_pairs(gram)
    values, vectors = xp.linalg.eigh(gram)
    return values[..., -1], vectors[..., :, -1]


def _last_pairs(gram: Host) -> tuple[Host, Host]:
    with importing():
        from scipy.linalg import eigh

    m = gram.shape[-1]
    pairs = [eigh(one, subset_by_index=[m - 1, m - 1]) for one in gram.reshape(-1, m, m)]
    values = np.concatenate([value for value, _ in pairs])
    vectors = np.stack([vector[:, 0] for _, vector in pairs])
    return values.reshape(gram.shape[:-2]), vectors.reshape(gram.shape[:-1])


def spectral_part(V: Array, u: Array) -> Array:
    """u u'V: minus half the subgradient of -||V||_2^2 at V."""
    xp = namespace(V)
    return u[..., :, None] * xp.matmul(u[..., None, :], V)


def rank_gap(V: Array) -> Array:
    """p - ||V||_2^2, zero exactly when V'V has rank one."""
    return V.shape[-1] - leading_direction(V)[0]


def normalize_columns(U: Array, old: Array) -> Array:
    """Columns of U scaled to unit length; one that is zero, or no number, is replaced by that of `old`."""
    xp = namespace(U)
    size = xp.sqrt(xp.sum(U * U, axis=-2, keepdims=True))
    fine = (size > 0) & xp.isfinite(size)
    if bool(xp.all(fine)):
        return U / size
    peak = xp.max(xp.abs(U), axis=-2, keepdims=True)  # squares may have been too large, or too small
    fine = (peak > 0) & xp.isfinite(peak)
    U = xp.where(fine, U / xp.where(fine, peak, xp.ones_like(peak)), old)
    return U / xp.sqrt(xp.sum(U * U, axis=-2, keepdims=True))


def snap(V: Array) -> Array:
    """Unit columns through multiples of 1/GRID: what rounding did to the last bits is forgotten."""
    return normalize_columns(namespace(V).floor(V * GRID + 0.5), V)


def round_factor(V: Array) -> Array:
    """sign(q_0 q_j) with q the leading right singular vector; sign(0) = +1."""
    xp = namespace(V)
    _, u = leading_direction(V)
    q = xp.matmul(u[..., None, :], V)[..., 0, :]
    one = xp.ones_like(q[..., 1:])
    return xp.where(q[..., 1:] * q[..., :1] >= 0, one, -one)
