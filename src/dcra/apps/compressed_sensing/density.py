"""How many spins are up: the mean of s, from A s = b alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dcra._array import Host

GRID = np.tanh(np.linspace(-3.6, 3.6, 361))
"""Means that are tried: densities from .0007 to .9993."""


class Density(NamedTuple):
    """Estimated means (k,), and how many observed spins (k,) would tell them as well."""

    mean: Host
    strength: Host


def estimate(B: Host, row_sums: Host, spread: float, noise: float) -> Density:
    """The likeliest mean m for each row of B (k, M).

    A spin of mean m makes b = m A e + w with w ~ N(0, (1 - m^2) spread + noise), `spread` being the
    squared length of a row of A about its mean. Both the part along A e and the size of what remains tell m;
    with a biased A the first tells it almost exactly.
    """
    M = B.shape[1]
    variance = np.maximum((1 - GRID**2) * spread, 1e-12 * spread) + noise
    products = np.asarray(B, np.float64) @ row_sums
    squares = np.einsum("ki,ki->k", B, B, dtype=np.float64)
    misfit = squares[:, None] - 2 * GRID * products[:, None] + GRID**2 * float(row_sums @ row_sums)
    likelihood = -0.5 * (M * np.log(variance) + misfit / variance)
    weights = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    weights *= 1 - GRID**2  # the grid is even in atanh(m), the prior is even in m
    weights /= weights.sum(axis=1, keepdims=True)
    mean = weights @ GRID
    doubt = np.maximum(weights @ GRID**2 - mean**2, 1e-10)
    return Density(mean, (1 - mean**2) / doubt)
