"""The array code behind MIMO detection, against brute force: it is there with and without the loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dcra.apps.mimo import arrays


def going():
    return False


def stopped():
    return True


def triangular(n, frames, seed=0):
    rng = np.random.default_rng(seed)
    R = np.triu(rng.standard_normal((n, n)))
    R[np.diag_indices(n)] = 0.3 + np.abs(np.diag(R))
    return R, 3 * rng.standard_normal((frames, n))


def all_points(n, q):
    return np.array(list(itertools.product(np.arange(1.0 - q, q, 2.0), repeat=n)))


def distances(R, Z, points):
    return np.sum((Z[:, None] - points @ R.T) ** 2, axis=2)


@pytest.mark.parametrize(("n", "q"), [(1, 2), (7, 2), (4, 4), (3, 8)])
def test_keeping_all_partial_frames_finds_the_nearest(n, q):
    R, Z = triangular(n, 6)
    points = all_points(n, q)
    out = np.zeros((6, n))
    arrays.breadth_first(R, Z, 1, 5, q, q**n, out)
    np.testing.assert_array_equal(out[1:5], points[np.argmin(distances(R, Z, points), axis=1)][1:5])
    assert not out[[0, 5]].any()


def test_keeping_one_is_successive_cancellation():
    R, Z = triangular(5, 4)
    out, want = np.zeros((4, 5)), np.zeros((4, 5))
    arrays.breadth_first(R, Z, 0, 4, 4, 1, out)
    for f, i in itertools.product(range(4), reversed(range(5))):
        real = (Z[f, i] - R[i, i + 1 :] @ want[f, i + 1 :]) / R[i, i]
        want[f, i] = np.clip(2 * np.floor(real / 2) + 1, -3, 3)
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("block", [1, 3, 1024])
@pytest.mark.parametrize(("n", "q"), [(1, 2), (8, 2), (4, 4), (3, 8)])
def test_the_sphere_search_finds_the_nearest(monkeypatch, n, q, block):
    monkeypatch.setattr(arrays, "BLOCK", block)
    R, Z = triangular(n, 6)
    points = all_points(n, q)
    every = distances(R, Z, points)
    best = np.ones((6, n))
    radius = np.sum((Z - best @ R.T) ** 2, axis=1) * (1 + 1e-12)
    nodes = arrays.sphere(R, Z, 1, 5, q, best, radius, 10**9)
    np.testing.assert_array_equal(best[1:5], points[np.argmin(every, axis=1)][1:5])
    np.testing.assert_allclose(radius[1:5], every.min(axis=1)[1:5])
    assert nodes.shape == (4,)
    np.testing.assert_array_equal(best[[0, 5]], 1)


def test_the_sphere_search_ends_at_its_limit():
    """Each frame has its own: none goes on by more than one block, and what it had at first is kept."""
    R, Z = triangular(12, 3, seed=1)
    whole, cut = np.ones((2, 3, 12))
    first = np.sum((Z - whole @ R.T) ** 2, axis=1)
    nodes = arrays.sphere(R, Z, 0, 3, 4, whole, first.copy(), 10**9)
    assert nodes.min() > 200
    radius = first.copy()
    few = arrays.sphere(R, Z, 0, 3, 4, cut, radius, 100)
    assert np.all((few > 100) & (few < nodes))
    assert np.all(few <= 100 + 4 * arrays.BLOCK)
    assert np.all(radius <= first)
    np.testing.assert_allclose(np.sum((Z - cut @ R.T) ** 2, axis=1), radius)


def gram(n, frames, dtype=np.float64):
    rng = np.random.default_rng(3)
    A = rng.standard_normal((n + 1, n))
    return (A.T @ A).astype(dtype), (2 * rng.standard_normal((frames, n)) @ A.T @ A).astype(dtype)


def values_of(G, h, points):
    return np.sum((points @ G) * points, axis=1) - 2 * h @ points.T


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("q", [2, 4])
def test_annealing_finds_the_least_value(q, dtype):
    G, h = gram(5, 4, dtype)
    every = values_of(G.astype(float), h.astype(float), all_points(5, q))
    U, F = np.ones((4 * 6, 5), dtype), np.full(4 * 6, np.inf)
    arrays.search_levels(G, h, 0, len(U), q, 6, 0, np.geomspace(30, 0.01, 60), U, F, going)
    np.testing.assert_allclose(F.reshape(4, 6).min(axis=1), every.min(axis=1), rtol=1e-4)
    own = [values_of(G, h[k // 6 : k // 6 + 1], U[k : k + 1])[0, 0] for k in range(len(U))]
    np.testing.assert_allclose(F, own, rtol=1e-4, atol=1e-3)


def test_jobs_do_not_depend_on_each_other():
    G, h = gram(6, 4)
    whole, parts = np.ones((2, 8, 6))
    F = np.full(8, np.inf)
    arrays.search_levels(G, h, 0, 8, 4, 2, 0, np.geomspace(30, 0.1, 5), whole, F, going)
    for lo, hi in ((0, 3), (3, 8)):
        arrays.search_levels(G, h, lo, hi, 4, 2, 0, np.geomspace(30, 0.1, 5), parts, F, going)
    np.testing.assert_array_equal(whole, parts)


@pytest.mark.parametrize("q", [2, 4])
def test_samples_are_those_of_the_posterior(q):
    G, h = gram(3, 3)
    noise, points = 4.0, all_points(3, q)
    every = values_of(G, h, points)
    weights = np.exp((every.min(axis=1, keepdims=True) - every) / noise)
    weights /= weights.sum(axis=1, keepdims=True)
    exact = np.stack([weights @ (points == level) for level in np.arange(1.0 - q, q, 2.0)], axis=2)
    P, E = np.zeros((3, 3, q)), np.zeros((3, 2))
    samples = arrays.Samples(np.ones((3, 3)), P, E)
    arrays.sample_levels(G, h, 0, 3, 0, np.array([4.0, 10.0, 30.0]), 1000, 8000, 0.003, samples, going)
    np.testing.assert_allclose(P, exact, atol=0.04)
    np.testing.assert_allclose(P.sum(axis=2), 1)
    mean = np.sum(weights * every, axis=1)
    spread = np.sqrt(np.sum(weights * every**2, axis=1) - mean**2)
    assert np.all(np.abs(E[:, 0] - mean) < 0.15 * spread)


def test_what_is_stopped_keeps_what_it_came_with():
    G, h = gram(3, 2)
    P, E = np.full((2, 3, 2), 0.5), np.full((2, 2), np.nan)
    samples = arrays.Samples(np.ones((2, 3)), P, E)
    arrays.sample_levels(G, h, 0, 2, 0, np.array([1.0]), 100, 100, 0.01, samples, stopped)
    assert np.all(P == 0.5)
    assert np.isnan(E).all()
    U, F = np.ones((2, 3)), np.full(2, np.inf)
    arrays.search_levels(G, h, 0, 2, 2, 1, 0, np.ones(1000), U, F, stopped)
    assert np.isfinite(F).all()
