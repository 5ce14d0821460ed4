"""Where recovery becomes possible: measurements per unknown, for large N and Gaussian A without noise."""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, ndtr

NODES, WIDTH = 801, 10.0


def lp_threshold(rho: float, biased: bool = False) -> float:
    """The alpha above which min e'x over 0 <= x <= 1, Ax = y returns the signal.

    alpha = min_t rho E(t - g)_+^2 + (1 - rho) E(g - t)_+^2 for a standard normal g: the statistical dimension
    of the cone of descent directions. A biased A (mu not 0) tells the number of ones, so that e'x no longer
    has to be small, and t may be negative.

    Examples
    --------
    >>> round(lp_threshold(0.1), 3)
    0.256
    """
    _require_share(rho)

    def dimension(t: float) -> float:
        return rho * _excess(t) + (1 - rho) * _excess(-t)

    found = minimize_scalar(dimension, bounds=(-8.0 if biased else 0.0, 8.0), options={"xatol": 1e-10})
    return float(min(found.fun, dimension(0.0)))


@cache
def amp_threshold(rho: float) -> float:
    """The alpha above which Bayes-optimal message passing, told rho, returns the signal.

    alpha = sup_g g mmse(g), where mmse(g) is the mean squared error of the best guess of a Bernoulli(rho)
    bit seen through Gaussian noise of variance 1/g.

    Examples
    --------
    >>> round(amp_threshold(0.1), 3)
    0.238
    """
    _require_share(rho)
    found = minimize_scalar(
        lambda log_g: -np.exp(log_g) * bernoulli_mmse(rho, np.exp(log_g)),
        bounds=(-3.0, 6.0),
        options={"xatol": 1e-8},
    )
    return -float(found.fun)


def bernoulli_mmse(rho: float, g: float) -> float:
    """E (x - E[x | x + w])^2 for x ~ Bernoulli(rho), w ~ N(0, 1/g)."""
    nodes = np.linspace(-WIDTH, WIDTH, NODES)
    weights = np.exp(-nodes * nodes / 2)
    weights /= weights.sum()  # on an even grid as wide as this the trapezoid rule is exact to rounding
    prior = np.log(rho / (1 - rho))

    def posterior(x: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.asarray(expit(prior + g * (x - 0.5) + sqrt(g) * nodes))

    # E x^2 - E (E[x | y])^2 cancels for large g; the two conditional errors do not
    return float(rho * weights @ (1 - posterior(1.0)) ** 2 + (1 - rho) * weights @ posterior(0.0) ** 2)


def _excess(t: float) -> float:
    """E (t - g)_+^2."""
    return float((1 + t * t) * ndtr(t) + t * np.exp(-t * t / 2) / sqrt(2 * np.pi))


def _require_share(rho: float) -> None:
    if not 0 < rho < 1:
        raise ValueError(f"`rho` must lie strictly between 0 and 1; got {rho!r}")
