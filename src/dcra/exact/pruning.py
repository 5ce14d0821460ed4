"""How far a search of a tree for lattice points may stray at each level: bounds that leave most of it out.

A point at distance R from the centre has R^2 spread over d orthogonal directions about evenly. A search that
gives up where the first j of them take more than f_j R^2 misses a share of all points, but visits a far
smaller share of the tree (Schnorr and Euchner; Gama, Nguyen and Regev): it is cheaper to search many bases of
the lattice in this way than one in full. Nodes are counted by volumes: a body holds as many points as its
volume is times that of a cell.
"""

from __future__ import annotations

from functools import lru_cache
from math import log, pi
from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra.foreign import importing

SAMPLES = 1000
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99)
"""Of the points, those that each level by itself lets pass."""

FREE = 0.03
"""A level that costs this share of the dearest one is cut no further."""

LEAST_CHANCE = 0.01
"""Of meeting a point: below, too few of the samples are left to tell."""

CLIMBS = 200
"""Changes of the bounds that are tried."""


class Pruning(NamedTuple):
    """f (d,), the share of R^2 that the last 1, ..., d coordinates may take; the chance that a given point is
    met; and the nodes to expect."""

    f: Host
    chance: float
    nodes: float

    def cost(self, points: float, before: float) -> float:
        """Nodes for a point that is met, where there are this many, and `before` had to come first."""
        missed = max(1.0, points) * np.log1p(-min(self.chance, 1 - 1e-9))
        return float((self.nodes + before) / -np.expm1(missed))


def prune(r: Host, radius: float, points: float, before: float) -> Pruning:
    """What meets one of `points` points at the squared distance `radius` with the fewest nodes.

    r (d,) are the squared lengths of the orthogonal vectors of a basis, in its order; `before` is what comes
    before every such search, in nodes.
    """
    tries = [_expect(_bounds(r, radius, share), r, radius) for share in SHARES]
    tries.append(_expect(np.ones(len(r)), r, radius))
    return min((t for t in tries if t.chance >= LEAST_CHANCE), key=lambda t: t.cost(points, before))


def climb(best: Pruning, r: Host, radius: float, points: float, before: float) -> Pruning:
    """Bend the bounds here and there, and keep what is cheaper."""
    rng, d = np.random.default_rng(len(r)), len(r)
    for _ in range(CLIMBS):
        middle, width = rng.integers(d), rng.integers(1, max(2, d // 5))
        bump = np.maximum(0, 1 - np.abs(np.arange(d) - middle) / width) * rng.normal(0, 0.2)
        f = best.f * np.exp(bump)
        f[-1] = 1.0
        other = _expect(_rising(f), r, radius)
        if other.chance >= LEAST_CHANCE and other.cost(points, before) < best.cost(points, before):
            best = other
    return best


@lru_cache(maxsize=64)
def quantiles(d: int, share: float) -> Host:
    """What the first 1, ..., d coordinates of a random unit vector take at most, in this share of them."""
    with importing():
        from scipy.special import betaincinv

    j = np.arange(1, d)
    return np.append(betaincinv(j / 2, (d - j) / 2, share), 1.0)


@lru_cache(maxsize=16)
def _samples(d: int) -> tuple[Host, Host]:
    """Squared lengths of the first 1, ..., d coordinates of normal vectors, and of points of balls."""
    rng = np.random.default_rng(d)
    sums = np.cumsum(rng.standard_normal((d, SAMPLES)) ** 2, axis=0)
    return sums, rng.random((d, SAMPLES)) ** (2 / np.arange(1, d + 1)[:, None])


def _log_cells(r: Host, radius: float) -> Host:
    """log of the cells of the last 1, ..., d orthogonal vectors in a ball."""
    with importing():
        from scipy.special import gammaln

    j = np.arange(1, len(r) + 1)
    return np.asarray(j / 2 * log(pi * radius) - gammaln(j / 2 + 1) - np.cumsum(np.log(r[::-1])) / 2)


def _bounds(r: Host, radius: float, share: float) -> Host:
    f = quantiles(len(r), share)
    j, cells = np.arange(1, len(r) + 1), _log_cells(r, radius)
    dearest = np.max(cells + j / 2 * np.log(f))
    f = np.maximum(f, np.exp(np.minimum((log(FREE) + dearest - cells) * 2 / j, 0)))
    return _rising(f)


def _rising(f: Host) -> Host:
    """What a level lets pass and a later one does not need not pass."""
    return np.minimum.accumulate(np.minimum(f, 1.0)[::-1])[::-1]


def _expect(f: Host, r: Host, radius: float) -> Pruning:
    sums, balls = _samples(len(f))
    needed = np.maximum.accumulate(sums / f[:, None], axis=0)  # vectors that are no shorter pass so far
    chance = float(np.mean(needed[-2] <= sums[-1])) if len(f) > 1 else 1.0
    inside = np.mean(needed[:-1] * (balls[1:] * f[1:, None]) <= sums[1:], axis=1)
    cells = _log_cells(r, radius) + np.arange(1, len(f) + 1) / 2 * np.log(f)
    share = np.maximum(np.append(1.0, inside), 1 / SAMPLES)
    return Pruning(f, chance, float(np.sum(np.exp(np.minimum(cells, 600)) * share)))
