"""Semidefinite relaxation over natural-binary spins, solved in low rank, rounded by random hyperplanes."""

from __future__ import annotations

import numpy as np

from dcra._array import Host
from dcra.apps.mimo.model import Received

SWEEPS, DRAWS = 60, 100


def semidefinite(model: Received, seed: int = 0) -> Host:
    """The best of DRAWS roundings of the relaxation of each frame."""
    A = model.spin_channel
    Q, C = A.T @ A, -(model.real_y @ A).T
    np.fill_diagonal(Q, 0.0)
    rng = np.random.default_rng(seed)
    V = _relaxed(Q, C, rng)
    return model.constellation.from_spins(_rounded(Q, C, V, rng))


def _relaxed(Q: Host, C: Host, rng: np.random.Generator) -> Host:
    """min s'Qs + 2c's over unit vectors V = [s | 1] (n+1, k, rank), one after another, c the columns of C."""
    n, k = C.shape
    V = _unit(rng.standard_normal((n + 1, k, int(np.sqrt(2 * (n + 1))) + 1)))
    for _ in range(SWEEPS):
        for i in range(n):
            V[i] = _unit(-np.tensordot(Q[i], V[:n], 1) - C[i, :, None] * V[n])
        V[n] = _unit(-np.einsum("nk,nkr->kr", C, V[:n]))
    return V


def _rounded(Q: Host, C: Host, V: Host, rng: np.random.Generator) -> Host:
    """The best spins (k, n) of random hyperplanes, and of the one that the vector of 1 is normal to."""
    hyperplanes = V @ rng.standard_normal((V.shape[2], DRAWS))
    sides = np.sum(V[:-1] * V[-1], axis=2, keepdims=True)
    points = np.where(np.concatenate([hyperplanes[:-1] * hyperplanes[-1], sides], axis=2) >= 0, 1.0, -1.0)
    values = np.sum(points * (np.tensordot(Q, points, 1) + 2 * C[:, :, None]), axis=0)
    best = np.argmin(values, axis=1)
    return np.asarray(points[:, np.arange(best.size), best].T)


def _unit(V: Host) -> Host:
    norms = np.linalg.norm(V, axis=-1, keepdims=True)
    return np.asarray(V / np.where(norms > 0, norms, 1.0))
