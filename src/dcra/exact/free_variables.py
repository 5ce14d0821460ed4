"""Some variables of a system of equations set free: which of them, and how the others are fixed."""

from __future__ import annotations

import numpy as np

from dcra._array import Host
from dcra.exact.integer_equations import Equations

REPAIRS = 60
"""Moves, at most, that make a point central."""


def narrowest(B: Host, kept: Host, count: int) -> Host:
    """Of the variables `kept`, so many whose sums lie close together: the others span most, one by one."""
    columns = B[:, kept].astype(np.float64)
    inverse = np.linalg.pinv(columns @ columns.T)
    inside = np.ones(kept.size, bool)
    for _ in range(kept.size - count):
        pulled = inverse @ columns
        leverage = np.where(inside, np.sum(columns * pulled, axis=0), -1.0)
        worst = int(np.argmax(leverage))
        inside[worst] = False
        rest = max(1.0 - leverage[worst], 1e-9)
        inverse = inverse + np.outer(pulled[:, worst], pulled[:, worst]) / rest  # of the sum without it
    return np.asarray(kept[inside])


def central_point(equations: Equations, free: Host, fixed: Host, rng: np.random.Generator) -> Host:
    """Fixed values that leave the free variables half of their sums to reach: flips of one or two at a time.

    What is lacking is measured by how far the sums of the free variables reach in its direction.
    """
    B = equations.B.astype(np.float64)
    spread = B[:, free] @ B[:, free].T
    whiten = np.linalg.inv(
        np.linalg.cholesky(spread + np.eye(len(spread)) * (1e-9 * np.trace(spread) + 1e-9))
    )
    t = np.zeros(equations.n, np.int64)
    t[fixed] = rng.integers(0, 2, fixed.size)
    columns = whiten @ B[:, fixed]
    products = columns.T @ columns
    wanted = whiten @ (equations.d - 0.5 * B[:, free].sum(axis=1))
    for _ in range(REPAIRS if fixed.size else 0):
        sign = 1.0 - 2.0 * t[fixed]
        lack = wanted - columns @ t[fixed]
        one = np.diag(products) - 2.0 * sign * (columns.T @ lack)
        two = one[:, None] + one + 2.0 * np.outer(sign, sign) * products
        np.fill_diagonal(two, one)
        i, j = np.unravel_index(np.argmin(two), two.shape)
        if two[i, j] >= 0:
            break
        t[fixed[list({int(i), int(j)})]] ^= 1
    return t
