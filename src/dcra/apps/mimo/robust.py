"""Detection under losses other than least squares: the template over natural-binary spins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcra.apps.mimo.model import Received
from dcra.apps.mimo.parallel import Threads
from dcra.apps.mimo.search import EXACT_SPINS, Fit
from dcra.losses import Huber, Loss, as_loss
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.result import Status

Host = NDArray[Any]

FEW = 4
"""Up to this many frames are solved one by one, with more work for each."""

EXACT_WORK = 2_000_000_000
"""Rows times points, over all frames, up to which all points of up to EXACT_SPINS spins are tried."""

FIRST_SHARE = 0.5
"""Of a time limit, for the l1 fit that Huber's threshold is taken from."""

EFFICIENT = 1.345
"""Huber's threshold over the scale of the noise, for 95 % efficiency under normal noise."""


def as_problem(model: Received, frame: int = 0, loss: str | Loss = "squared") -> Problem:
    """Detection of one frame as a problem over spins."""
    return Problem([Term(loss, model.spin_channel, model.real_y[frame])])


def fit_robustly(model: Received, loss: str | Loss, seed: int, threads: Threads) -> tuple[Fit, Loss]:
    """Levels with a small loss of the received parts, and that loss."""
    if loss != "huber":
        kind = as_loss(loss)
        return _fit(model, kind, seed, threads), kind
    first = _fit(model, as_loss("l1"), seed, threads, FIRST_SHARE)
    kind = Huber(_threshold(model, first.levels))
    if threads.stop():
        return first._replace(sure=np.zeros(len(first.levels), bool)), kind
    second = _fit(model, kind, seed, threads)
    was, now = (kind.value(residuals(model, fit.levels)) for fit in (first, second))
    levels = np.where((was < now)[:, None], first.levels, second.levels)
    return second._replace(levels=levels, sure=second.sure & (now <= was)), kind


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
    return threshold_of(residuals(model, levels), model.y)


def threshold_of(e: Host, y: Host) -> float:
    """Huber's, from the median absolute residual of a fit to y that does not mind outliers."""
    scale = 1.4826 * float(np.median(np.abs(e)))
    return EFFICIENT * (scale or 1e-3 * float(np.abs(y).max()) or 1.0)


def _fit(model: Received, loss: Loss, seed: int, threads: Threads, share: float = 1.0) -> Fit:
    """By method `auto`, frames together where there are many; all points are tried where there are few.

    The time left, or a share of it, is the limit.
    """
    from dcra import api

    A, Y = model.spin_channel, model.real_y
    kept = 0.0 if threads.left is None else (1 - share) * threads.left
    options: dict[str, Any] = {"seed": seed, "n_jobs": threads.n_jobs, "time_limit": threads.left_but(kept)}
    n = A.shape[1]
    few_points = n <= EXACT_SPINS and len(Y) * 2**n * len(A) <= EXACT_WORK
    method = "enumerate" if few_points else "auto"
    sure = np.zeros(len(Y), bool)
    if len(Y) > FEW and not few_points:
        batch = api.minimize_batch(A, Y.T, loss, **options)
        spins, status = batch.x.T, batch.status
    else:
        spins = np.where(Y @ A < 0, -1.0, 1.0)  # the matched filter, for what is left undone
        status = Status.CONVERGED
        options |= {"method": method} if few_points else {"starts": 8}
        for i, y in enumerate(Y):
            if status is not Status.INTERRUPTED and not threads.stop():
                options["time_limit"] = threads.left_but(kept)
                one = api.minimize(A, y, loss, **options)
                spins[i], status, sure[i] = one.x, one.status, one.status is Status.OPTIMAL
    if status is Status.INTERRUPTED:
        threads.interrupt()
    elif status is Status.TIME_LIMIT and share == 1:
        threads.stop.why = threads.stop.why or status
    return Fit(model.constellation.from_spins(spins), sure, (method,))
