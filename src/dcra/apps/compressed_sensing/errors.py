"""What residuals say about errors: their size, the loss that suits them, the weight of a one."""

from __future__ import annotations

from math import log

import numpy as np

from dcra._array import Host
from dcra.losses import L1, Huber, Loss, SquaredL2
from dcra.model.operators import Operator

FAR = 5.0
"""A residual of more standard deviations is an outlier: one in two million otherwise."""

MANY = 0.15
"""Share of outliers beyond which the l1 loss is chosen."""

KURTOSIS = 5.0
"""Of Gaussian errors it is 3."""

SHRUNK = 3.0
"""An l1 answer overfits Gaussian errors, but not to a third of their size."""

KNEE = 1.345
"""Huber's threshold in standard deviations: 95 % efficiency for Gaussian errors."""


def gross_errors(robust: Host, gaussian: Host) -> bool:
    """Whether some measurements are plainly wrong, from the residuals of an l1 and of a Gaussian answer.

    The second then has a few that are far larger than the rest, or most of the first are far smaller.
    """
    squares = np.asarray(gaussian, np.float64) ** 2
    heavy = bool(np.mean(squares**2) > KURTOSIS * np.mean(squares) ** 2)
    return heavy or SHRUNK * spread_of(robust) < spread_of(gaussian)


def spread_of(residual: Host) -> float:
    """Standard deviation of the errors, from the median of their sizes: outliers do not move it."""
    return 1.4826 * float(np.median(np.abs(residual)))


def choose_loss(residual: Host) -> Loss:
    """Squared for Gaussian errors, Huber's where a few are far out, l1 where many are."""
    sigma = spread_of(residual)
    if sigma == 0:
        return L1()
    outliers = float(np.mean(np.abs(residual) > FAR * sigma))
    if outliers == 0:
        return SquaredL2()
    return L1() if outliers > MANY else Huber(KNEE * sigma)


def choose_lam(loss: Loss, sigma: float, density: float) -> float:
    """The weight at which f(Ax - y) + lam e'x is the posterior: log((1 - rho)/rho) in units of the loss.

    |u|^2 / (2 sigma^2) has the weight 2 sigma^2 in the squared loss, sigma^2 in Huber's; errors of density
    exp(-|u|/b) have b = sigma / 2^(1/2) in l1.
    """
    odds = log((1 - density) / density)
    if isinstance(loss, SquaredL2):
        return 2 * sigma**2 * odds
    if isinstance(loss, Huber):
        return sigma**2 * odds
    return sigma / 2**0.5 * odds


def least_at_zero(loss: Loss, count: int) -> bool:
    """Whether no residuals have a smaller loss than `count` zeros."""
    return loss.positive and float(loss.value(np.zeros(count))) == 0


def rounding_of(y: Host, A: Operator) -> float:
    """The largest |Ax - y| that rounding of A, y and the product explains; of A alone where y is zero."""
    wide = y.dtype.kind != "f" or y.dtype.itemsize < 4
    eps = float(np.finfo(np.float64 if wide else y.dtype).eps)
    size = float(np.max(np.abs(y), initial=0.0)) or float(A.magnitude)
    return 32 * eps * float(np.sqrt(A.shape[1])) * size
