"""The floor of random l1 instances."""

from __future__ import annotations

import itertools
from math import log

import numpy as np
import pytest
from scipy.special import erfcx

from dcra.bench.floor import l1_floor, l1_random


@pytest.mark.parametrize(
    ("n", "d", "floor"),
    [
        (100, 50, 59),
        (100, 100, 246),
        (300, 500, 2947),
        (1000, 1000, 7731),
        (300, 2000, 18906),
        (3000, 2000, 18362),
    ],
)
def test_known_values(n, d, floor):
    assert round(l1_floor(n, d)) == floor


@pytest.mark.parametrize(("n", "d"), [(10, 400), (100, 100), (400, 20)])
def test_it_is_the_root_of_the_first_moment(n, d):
    """At the floor the smallest exponent over l, here on a grid, is zero."""
    l = np.geomspace(1e-4, 1e8, 200_001)
    exponent = n * log(2) + l * l1_floor(n, d) / np.sqrt(n + 1) + d * np.log(erfcx(l / np.sqrt(2)))
    assert abs(np.min(exponent)) < 1e-5 * n


def test_fewer_than_one_point_is_below_on_average():
    n, d = 10, 40
    rng = np.random.default_rng(0)
    points = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))
    below = []
    for _ in range(100):
        A, b = rng.standard_normal((d, n)), rng.standard_normal(d)
        below.append(np.count_nonzero(np.abs(points @ A.T - b).sum(axis=1) <= l1_floor(n, d)))
    assert 0 < np.mean(below) <= 1


def test_random_signs_are_what_is_said():
    n, d = 50, 80
    rng = np.random.default_rng(0)
    values = [
        np.abs(rng.standard_normal((d, n)) @ rng.choice([-1, 1], n) - rng.standard_normal(d)).sum()
        for _ in range(400)
    ]
    assert np.mean(values) == pytest.approx(l1_random(n, d), rel=0.01)
