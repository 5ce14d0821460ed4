"""What recovery is measured against: the linear program, and message passing that is told the density."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcra._array import Host
from dcra.apps.compressed_sensing.messages import Channel, Messages, Prior
from dcra.foreign import importing

AMP_DAMPING = 0.2
AMP_STEPS = 500


def lp(A: Any, y: Host, lam: float | None = None) -> Host:
    """The box relaxation by HiGHS, rounded.

    min e'x over Ax = y, 0 <= x <= 1 where y is exact; with `lam`, min |Ax - y|_1 + lam e'x over the box.
    """
    with importing():
        from scipy.optimize import linprog

    M, N = A.shape
    if lam is None:
        found = linprog(np.ones(N), A_eq=A, b_eq=y, bounds=(0, 1), method="highs")
    else:
        cost = np.append(np.full(N, lam), np.ones(2 * M))
        split = np.hstack([A, -np.eye(M), np.eye(M)])
        bounds = [(0.0, 1.0)] * N + [(0.0, None)] * (2 * M)
        found = linprog(cost, A_eq=split, b_eq=y, bounds=bounds, method="highs")
    if found.x is None:  # HiGHS gave up: no point, as good as all zero
        return np.zeros(N)
    return np.asarray(np.rint(found.x[:N]), np.float64)


def amp(A: Any, y: Host, rho: float, noise: float = 0.0, damping: float = AMP_DAMPING) -> Host:
    """Bayes-optimal message passing in float64: the rank-one mean removed, `rho` and `noise` known.

    One damped run from the prior, to convergence or AMP_STEPS steps, rounded.
    """
    if not 0 < rho < 1:
        raise ValueError(f"`rho` must lie strictly between 0 and 1; got {rho!r}")
    channel = Channel.of(A, np.float64)
    B = np.atleast_2d(2 * y - channel.row_sums)
    prior = Prior.known(2 * rho - 1, 1, channel.n)
    run = Messages(channel, B, prior, 4 * noise * noise, damping, learn_noise=False)
    for _ in range(AMP_STEPS):
        if run.settled.all():
            break
        run.step()
    return np.asarray((run.means[0] > 0).astype(np.float64))
