"""Linear detectors, and successive cancellation with one of them."""

from __future__ import annotations

import numpy as np

from dcra._array import Host
from dcra.apps.mimo.model import Received


def zero_forcing(model: Received) -> Host:
    """Round the least-squares solution."""
    u, *_ = np.linalg.lstsq(model.G, model.h.T, rcond=None)
    return model.constellation.nearest(u.T)


def mmse(model: Received) -> Host:
    """Round the linear estimate of least mean square error."""
    return model.constellation.nearest(np.linalg.solve(_loaded(model), model.h.T).T)


def mmse_sic(model: Received) -> Host:
    """Decide the level with the least error variance by MMSE, subtract it, go on with the others.

    Removing an unknown from the inverse of the loaded Gram matrix is a rank-one update.
    """
    n = model.n
    inverse = np.linalg.inv(_loaded(model))
    target, out = model.h.copy(), np.empty_like(model.h)
    left = np.ones(n, bool)
    for _ in range(n):
        i = int(np.argmin(np.where(left, np.diag(inverse), np.inf)))
        out[:, i] = model.constellation.nearest(target @ inverse[:, i])
        target -= out[:, i, None] * model.G[i]
        inverse -= np.outer(inverse[:, i], inverse[i]) / inverse[i, i]
        left[i] = False
    return out


def _loaded(model: Received) -> Host:
    """G + noise / E u^2: half of the complex noise and half of the energy belong to each part."""
    energy = (model.constellation.q**2 - 1) / 3
    return np.asarray(model.G + 0.5 * model.noise_or_guess / energy * np.eye(model.n))
