"""Loops over levels, against plain enumeration."""

import itertools

import numpy as np
import pytest

from dcra._kernels import tree
from dcra._kernels.lattice import (
    Samples,
    sample_levels,
    sample_scratch,
    search_levels,
    search_scratch,
    sphere,
    sphere_scratch,
)
from dcra._kernels.tree import breadth_first


def system(q, n=4, seed=0):
    """A (r, n), y, all levels and their squared distances."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n + 2, n))
    points = np.array(list(itertools.product(np.arange(1.0 - q, q, 2.0), repeat=n)))
    y = A @ points[rng.integers(len(points))] + rng.standard_normal(n + 2)
    return A, y, points, np.sum((points @ A.T - y) ** 2, axis=1)


@pytest.mark.parametrize("q", [2, 4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_annealing_finds_the_best_levels(q, dtype):
    A, y, _, values = system(q)
    G, h = (A.T @ A).astype(dtype), (A.T @ y)[None].astype(dtype)
    U, F = np.ones((3, A.shape[1]), dtype), np.empty(3)
    scratch = search_scratch(A.shape[1], dtype)
    search_levels(G, h, 0, 3, q, 3, np.uint64(1), np.geomspace(20, 0.1, 60), U, F, scratch)
    np.testing.assert_allclose(F + y @ y, np.sum((U @ A.T - y) ** 2, axis=1), rtol=1e-4)
    assert F.min() + y @ y == pytest.approx(values.min(), rel=1e-4)


@pytest.mark.parametrize("q", [2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_the_sphere_search_is_exact(q, seed):
    A, y, points, values = system(q, seed=seed)
    n = A.shape[1]
    Q, R = np.linalg.qr(A)
    best, u = np.ones(n), np.empty(n)
    scratch = sphere_scratch(n)
    found, nodes = sphere(R, Q.T @ y, q, u, best, np.inf, 10**6, scratch)
    np.testing.assert_array_equal(best, points[np.argmin(values)])
    assert found == pytest.approx(values.min() - np.sum((y - Q @ Q.T @ y) ** 2))
    assert nodes < 2 * len(points)
    assert sphere(R, Q.T @ y, q, u, best, np.inf, 3, scratch)[1] == 4


@pytest.mark.parametrize("q", [2, 4])
def test_breadth_first_with_all_branches_is_exact(q):
    A, y, points, values = system(q, seed=3)
    n, keep = A.shape[1], len(points)
    Q, R = np.linalg.qr(A)
    out = np.empty((1, n))
    scratch = tree.scratch(keep, n, q)
    breadth_first(R, (Q.T @ y)[None], 0, 1, q, keep, out, scratch)
    np.testing.assert_array_equal(out[0], points[np.argmin(values)])


@pytest.mark.parametrize("heats", [np.array([8.0]), np.array([8.0, 16.0, 32.0])], ids=["one", "three"])
@pytest.mark.parametrize("q", [2, 4])
def test_sampling_gives_the_posterior(q, heats):
    A, y, points, values = system(q, n=3, seed=2)
    heat = heats[0]
    weights = np.exp((values.min() - values) / heat)
    weights /= weights.sum()
    levels = np.arange(1.0 - q, q, 2.0)
    exact = np.array([[weights[points[:, i] == l].sum() for l in levels] for i in range(3)])
    P, E = np.empty((1, 3, q)), np.empty((1, 2))
    scratch = sample_scratch(heats.size, 3, q, np.float64)
    G, h, U = A.T @ A, (A.T @ y)[None], np.ones((1, 3))
    sample_levels(G, h, 0, 1, np.uint64(0), heats, 250, 4000, 0.0, Samples(U, P, E), scratch)
    np.testing.assert_allclose(P[0], exact, atol=0.03)
    np.testing.assert_allclose(P.sum(axis=-1), 1)
    mean = float(weights @ values)
    assert E[0, 0] + y @ y == pytest.approx(mean, rel=0.1)
