"""Semidefinite relaxation over natural-binary spins, solved in low rank, rounded by random hyperplanes."""

from __future__ import annotations

import numpy as np

from dcra.apps.mimo.model import Host, Received

SWEEPS, DRAWS = 60, 100


def semidefinite(model: Received, seed: int = 0) -> Host:
    """The best of DRAWS roundings of the relaxation of each frame."""
    A = model.spin_channel
    Q = A.T @ A
    np.fill_diagonal(Q, 0.0)
    rng = np.random.default_rng(seed)
    spins = np.stack([_one(Q, -(A.T @ y), rng) for y in model.real_y])
    return model.constellation.from_spins(spins)


def _one(Q: Host, c: Host, rng: np.random.Generator) -> Host:
    """min s'Qs + 2c's as min <M, V'V> over unit columns V = [s | 1], one column at a time."""
    n = c.size
    M = np.block([[Q, c[:, None]], [c[None], np.zeros((1, 1))]])
    V = rng.standard_normal((n + 1, int(np.sqrt(2 * (n + 1))) + 1))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    for _ in range(SWEEPS):
        for i in range(n + 1):
            g = M[i] @ V
            V[i] = -g / (np.linalg.norm(g) or 1.0)
    signs = np.where(V @ rng.standard_normal((V.shape[1], DRAWS)) >= 0, 1.0, -1.0)
    points = np.vstack([(signs[:-1] * signs[-1]).T, np.where(V[:-1] @ V[-1] >= 0, 1.0, -1.0)])
    values = np.einsum("ki,ij,kj->k", points, Q, points, optimize=True) + 2 * points @ c
    return np.asarray(points[int(np.argmin(values))])
