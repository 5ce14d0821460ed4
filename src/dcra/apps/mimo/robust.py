"""Detection under losses other than least squares: the template over natural-binary spins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcra.apps.mimo.model import Received
from dcra.losses import Huber, Loss, as_loss
from dcra.problem import Problem
from dcra.term import Term

Host = NDArray[Any]

FEW = 4
"""Up to this many frames are solved one by one, with more work for each."""

EFFICIENT = 1.345
"""Huber's threshold over the scale of the noise, for 95 % efficiency under normal noise."""


def as_problem(model: Received, frame: int = 0, loss: str | Loss = "squared") -> Problem:
    """Detection of one frame as a problem over spins."""
    return Problem([Term(loss, model.spin_channel, model.real_y[frame])])


def robust(model: Received, loss: str | Loss, seed: int, n_jobs: int) -> Host:
    """Levels (k, n) with a small loss of the received parts."""
    if loss == "huber":
        first = _detect(model, as_loss("l1"), seed, n_jobs)
        loss = Huber(_threshold(model, first))
    return _detect(model, as_loss(loss), seed, n_jobs)


def loss_of(model: Received, levels: Host, loss: str | Loss) -> Host:
    """The loss of each frame, in float64."""
    kind = Huber(_threshold(model, levels)) if loss == "huber" else as_loss(loss)
    values: Host = kind.value(residuals(model, levels))
    return values


def residuals(model: Received, levels: Host) -> Host:
    """Real and imaginary parts (k, 2 n_receive) of Hs - y."""
    e = model.constellation.symbols(levels) @ model.H.T - model.y
    return np.concatenate([e.real, e.imag], axis=-1)


def down_weighted(model: Received, levels: Host) -> list[Received]:
    """Each frame as a least-squares model of its own: antennas that lie far from a good fit count less.

    The weight of an antenna is min(1, (t / |e|)^2), e its residual and t three scales of all: what is as
    strong as expected counts fully, an impulse as much as its strength allows.
    """
    e = model.constellation.symbols(levels) @ model.H.T - model.y
    variance = 2 * (_threshold(model, levels) / EFFICIENT) ** 2  # of a complex number
    weight = np.minimum(1.0, 9 * variance / np.maximum(np.abs(e) ** 2, np.finfo(float).tiny))
    roots = np.where(weight < 1, weight / 3, 1.0)
    return [
        Received(root[:, None] * model.H, (root * y)[None], model.constellation, variance)
        for root, y in zip(roots, model.y, strict=True)
    ]


def _threshold(model: Received, levels: Host) -> float:
    """From the median absolute residual of a fit that does not mind outliers."""
    scale = 1.4826 * float(np.median(np.abs(residuals(model, levels))))
    return EFFICIENT * (scale or 1e-3 * float(np.abs(model.y).max()) or 1.0)


def _detect(model: Received, loss: Loss, seed: int, n_jobs: int) -> Host:
    from dcra import api

    A, Y = model.spin_channel, model.real_y
    options: dict[str, Any] = {"seed": seed, "n_jobs": n_jobs}
    if len(Y) <= FEW:
        spins = np.stack([api.minimize(A, y, loss, starts=8, **options).x for y in Y])
    else:
        spins = api.minimize_batch(A, Y.T, loss, **options).x.T
    return model.constellation.from_spins(spins)
