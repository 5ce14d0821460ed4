"""Reduction of lattices and search of their points, from their definitions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dcra._kernels import reduction

HALF = 0.502


def some_basis(d, w, seed=0, spread=30):
    return np.random.default_rng((d, w, seed)).integers(-spread, spread + 1, (d, w)).astype(float)


def reduced(B, most=10**9, delta=0.99):
    basis, cursor = reduction.basis(B.copy()), np.zeros(1, np.int64)
    while cursor[0] < len(B):
        assert reduction.reduce(basis, cursor, len(B), delta, most) > 0
    return basis


def orthogonalised(B):
    """mu and r by the book."""
    d = len(B)
    mu, star = np.zeros((d, d)), np.zeros_like(B)
    for i in range(d):
        star[i] = B[i]
        for j in range(i):
            mu[i, j] = B[i] @ star[j] / (star[j] @ star[j])
            star[i] -= mu[i, j] * star[j]
    return mu, np.sum(star**2, axis=1)


@pytest.mark.parametrize("shape", [(2, 2), (7, 7), (12, 15), (30, 34)])
def test_a_reduced_basis(shape):
    B = some_basis(*shape)
    basis = reduced(B)
    mu, r = orthogonalised(basis.B)
    np.testing.assert_allclose(np.tril(basis.mu, -1), mu, atol=1e-9)
    np.testing.assert_allclose(basis.r, r, rtol=1e-9)
    assert np.max(np.abs(mu)) <= HALF
    below = np.diag(mu, -1)
    assert np.all(r[1:] >= (0.99 - below**2) * r[:-1] * (1 - 1e-9))


@pytest.mark.parametrize("shape", [(7, 7), (12, 15)])
def test_it_spans_the_same_lattice(shape):
    B = some_basis(*shape)
    after = reduced(B).B
    for one, other in ((B, after), (after, B)):
        x = np.linalg.lstsq(other.T, one.T, rcond=None)[0]
        np.testing.assert_allclose(x, np.rint(x), atol=1e-6)


def test_reduction_resumes_where_it_stopped():
    B = some_basis(12, 15)
    np.testing.assert_array_equal(reduced(B).B, reduced(B, most=1).B)


def values(basis, t, x):
    """What a point takes, from each level on."""
    mu = np.tril(basis.mu, -1) + np.eye(len(t))
    parts = ((np.asarray(x) @ mu) - t) ** 2 * basis.r
    return np.cumsum(parts[::-1])[::-1]


def explored(basis, t, bounds, lo, hi, symmetric, most):
    cursor, tree, points = np.array([lo, 0, 0, 0]), reduction.tree(len(t)), []
    U = np.ascontiguousarray(basis.mu.T)
    while cursor[0] < hi:
        nodes = reduction.explore(U, basis.r, t, bounds, lo, hi, symmetric, most, cursor, tree)
        assert nodes <= most
        if cursor[2]:
            points.append(tuple(tree.x[lo:hi].astype(int)))
    return points


@pytest.mark.parametrize("most", [1, 10**9])
def test_all_points_within_the_bounds_are_met_once(most):
    d = 4
    basis = reduced(some_basis(d, d, spread=5))
    t = np.array([0.3, -1.2, 0.5, 0.1])
    bounds = np.array([60.0, 50.0, 45.0, 20.0])
    points = explored(basis, t, bounds, 0, d, False, most)
    expected = {x for x in product(range(-9, 10), repeat=d) if np.all(values(basis, t, x) <= bounds)}
    assert len(expected) > 10
    assert len(points) == len(set(points))
    assert set(points) == expected


@pytest.mark.parametrize("most", [1, 10**9])
def test_of_a_point_and_its_opposite_one_is_met(most):
    basis = reduced(some_basis(6, 6, spread=5))
    lo, hi = 1, 5
    bounds = np.full(6, 80.0)
    points = explored(basis, np.zeros(6), bounds, lo, hi, True, most)
    inner = reduction.Basis(
        basis.B[lo:hi], np.ascontiguousarray(basis.mu[lo:hi, lo:hi]), basis.r[lo:hi], np.zeros(hi - lo)
    )
    expected = {
        x
        for x in product(range(-9, 10), repeat=hi - lo)
        if any(x) and values(inner, np.zeros(hi - lo), x)[0] <= 80
    }
    assert len(points) > 5
    assert {*points, *(tuple(-v for v in x) for x in points)} == expected
    assert 2 * len(points) == len(expected)


def test_places_outside_are_refused():
    basis, tree = reduced(some_basis(4, 4)), reduction.tree(4)
    with pytest.raises(ValueError, match="`cursor` and `last` must hold places"):
        reduction.reduce(basis, np.array([0]), 5, 0.99, 10)
    with pytest.raises(ValueError, match="`cursor` and `last` must hold places"):
        reduction.reduce(basis, np.array([3]), 2, 0.99, 10)
    U, ones = np.eye(4), np.ones(4)
    for lo, hi, level in ((0, 5, 0), (2, 2, 2), (-1, 3, 0), (1, 3, 0), (1, 3, 4)):
        with pytest.raises(ValueError, match="`lo`, `hi` and `cursor` must hold places"):
            reduction.explore(U, ones, ones, ones, lo, hi, False, 9, np.array([level, 0, 0, 0]), tree)
