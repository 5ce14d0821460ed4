"""Random instances: A_ij ~ N(mu/N, 1/N), x0 ~ Bernoulli(rho), y = A x0 + noise."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from dcra._array import Host


class Instance(NamedTuple):
    """Measurements y (M,) of a signal x (N,) by a matrix A (M, N)."""

    A: Host
    y: Host
    x: Host


def instance(
    N: int, alpha: float, rho: float, mu: float = 0.0, noise: float = 0.0, seed: int = 0
) -> Instance:
    """A random instance of the paper's family.

    Parameters
    ----------
    N : int
        Unknowns.
    alpha : float
        Measurements per unknown; M = round(alpha N), at least 1.
    rho : float
        Probability of a one.
    mu : float
        The entries of A have mean mu/N and variance 1/N.
    noise : float
        Standard deviation of the Gaussian error of each measurement.
    seed : int

    Examples
    --------
    >>> A, y, x = instance(100, alpha=0.6, rho=0.1, seed=1)
    >>> A.shape, bool((A @ x == y).all())
    ((60, 100), True)
    """
    if isinstance(N, bool) or not isinstance(N, int | np.integer) or N < 2:
        raise ValueError(f"`N` must be an integer of at least 2; got {N!r}")
    for name, value in (("alpha", alpha), ("rho", rho)):
        if not 0 < value <= 1:
            raise ValueError(f"`{name}` must lie in (0, 1]; got {value!r}")
    if not -inf < mu < inf:
        raise ValueError(f"`mu` must be finite; got {mu!r}")
    if not 0 <= noise < inf:
        raise ValueError(f"`noise` must be finite and not negative; got {noise!r}")
    rng = np.random.default_rng(seed)
    M = max(1, round(alpha * N))
    A = mu / N + rng.standard_normal((M, N)) / np.sqrt(N)
    x = (rng.random(N) < rho).astype(np.float64)
    y = A @ x
    return Instance(A, y + noise * rng.standard_normal(M) if noise > 0 else y, x)
