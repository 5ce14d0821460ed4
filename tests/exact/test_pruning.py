"""Bounds that leave out most of a tree: what they promise holds."""

from __future__ import annotations

import numpy as np
import pytest

from dcra.exact.lattices import Lattice
from dcra.exact.pruning import LEAST_CHANCE, climb, prune, quantiles


def fallen(d, slope=0.05, seed=0):
    """Squared lengths of a basis that is reduced about well, of volume 1."""
    r = np.exp(slope * (d - 1 - 2 * np.arange(d)))
    return r * np.exp(0.02 * np.random.default_rng(seed).standard_normal(d))


def enough(d):
    """The squared radius of a ball of volume 1, about."""
    return d / (2 * np.pi * np.e) * (np.pi * d) ** (1 / d)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_quantiles(share):
    d = 12
    unit = np.random.default_rng(0).standard_normal((20000, d)) ** 2
    taken = np.cumsum(unit, axis=1) / unit.sum(axis=1)[:, None]
    np.testing.assert_allclose(np.mean(taken[:, :-1] <= quantiles(d, share)[:-1], axis=0), share, atol=0.02)
    assert quantiles(d, share)[-1] == 1


@pytest.mark.parametrize("d", [30, 60])
def test_the_chance_of_a_random_point(d):
    cut = prune(fallen(d), enough(d), 1.0, 0.0)
    unit = np.random.default_rng(7).standard_normal((20000, d)) ** 2
    taken = np.cumsum(unit, axis=1) / unit.sum(axis=1)[:, None]
    met = np.mean(np.all(taken <= cut.f + 1e-12, axis=1))
    assert met == pytest.approx(cut.chance, abs=0.03)
    assert cut.chance >= LEAST_CHANCE
    assert np.all(np.diff(cut.f) >= 0)
    assert cut.f[-1] == 1


def test_nodes_are_about_those_visited():
    rng = np.random.default_rng(1)
    lattice = Lattice(rng.integers(-50, 51, (36, 36)).astype(float))
    for _ in lattice.reduce():
        pass
    r = lattice.basis.r
    radius = enough(36) * np.exp(np.mean(np.log(r)))
    cut = prune(r, radius, 1.0, 10.0)
    visited = []
    for _ in range(200):
        t = rng.random(36)
        bounds = np.ascontiguousarray(radius * cut.f[::-1])
        visited.append(sum(nodes for _, nodes in lattice.search(t, bounds)))
    assert cut.chance < 0.9
    assert cut.nodes / 2 < np.mean(visited) < 2 * cut.nodes


def test_what_comes_before_calls_for_better_chances():
    r, radius = fallen(60), enough(60)
    cuts = [prune(r, radius, 1.0, before) for before in (0.0, 1e4, 1e16)]
    chances = [cut.chance for cut in cuts]
    assert chances == sorted(chances)
    assert chances[0] < chances[-1]
    many = prune(r, radius, 1000.0, 1e4)
    assert many.nodes <= cuts[1].nodes


def test_climbing_is_cheaper():
    r, radius = fallen(70), enough(70)
    first = prune(r, radius, 1.0, 1e4)
    better = climb(first, r, radius, 1.0, 1e4)
    assert better.cost(1.0, 1e4) < first.cost(1.0, 1e4)
    assert better.chance >= LEAST_CHANCE
    assert better.f[-1] == 1


def test_one_dimension():
    cut = prune(np.array([1.0]), 0.25, 1.0, 0.0)
    np.testing.assert_array_equal(cut.f, [1.0])
    assert cut.chance == 1
