"""Lattices of whole solutions: all of them, and short vectors."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dcra.exact.lattices import Lattice, expected_shortest, insert, solutions_of


def run(steps):
    return sum(steps)


def system(m, n, seed=0, spread=40):
    rng = np.random.default_rng((m, n, seed))
    A = rng.integers(-spread, spread + 1, (m, n))
    return A, A @ rng.integers(0, 2, n)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_all_whole_solutions(m, seed):
    """Every whole solution in a box is p plus a whole combination of K, and K solves A x = 0."""
    A, b = system(m, 5, seed, spread=6)
    K, p = solutions_of(A, b)
    assert len(K) == 5 - np.linalg.matrix_rank(A)
    assert not np.any(A @ K.T)
    np.testing.assert_array_equal(A @ p, b)
    points = np.array(list(product(range(-4, 5), repeat=5)))
    points = points[np.all(points @ A.T == b, axis=1)]
    assert len(points) > 0
    x = np.linalg.lstsq(K.T, (points - p).T, rcond=None)[0]
    np.testing.assert_allclose(x, np.rint(x), atol=1e-9)
    np.testing.assert_allclose(K.T @ np.rint(x), (points - p).T, atol=1e-9)


def test_rows_that_depend_on_each_other():
    A, _ = system(2, 6)
    A = np.concatenate([A, A[:1] - 2 * A[1:], np.zeros((1, 6), int)])
    x = np.array([0, 1, 1, 0, 1, 0])
    K, p = solutions_of(A, A @ x)
    assert len(K) == 4
    np.testing.assert_array_equal(A @ p, A @ x)
    assert solutions_of(A, A @ x + np.array([0, 0, 1, 0])) is None


def test_equations_without_whole_solutions():
    assert solutions_of(np.array([[6, 10, 14]]), np.array([31])) is None
    assert solutions_of(np.array([[6, 10, 14]]), np.array([32])) is not None


@pytest.mark.parametrize("bits", [8, 24, 40])
def test_large_coefficients(bits):
    rng = np.random.default_rng(bits)
    A = rng.integers(0, 2**bits, (2, 40))
    b = A @ rng.integers(0, 2, 40)
    K, p = solutions_of(A, b)
    assert K.shape == (38, 40)
    assert not np.any(A @ K.T.astype(np.int64))
    np.testing.assert_array_equal(A @ p.astype(np.int64), b)
    assert np.abs(K).max() < 2 ** (2 * bits / 38 + 6)


@pytest.mark.parametrize("x", [(0, 3, -2, 0, 1), (0, 0, 1, 0, 0), (0, 6, 10, 15, 0), (0, -4, 0, 0, 7)])
def test_an_inserted_vector(x):
    x, B = np.array(x), np.random.default_rng(0).integers(-5, 6, (5, 5)).astype(float)
    wanted, volume = x @ B, np.linalg.det(B)
    first = B[0].copy()
    insert(B, x, 1)
    np.testing.assert_array_equal(B[0], first)
    assert np.array_equal(B[1], wanted) or np.array_equal(B[1], -wanted)
    assert abs(np.linalg.det(B)) == pytest.approx(abs(volume))


def test_tours_find_the_shortest_vector():
    B = np.random.default_rng(2).integers(-50, 51, (8, 8)).astype(float)
    lattice = Lattice(B.copy())
    for _ in range(3):
        run(lattice.tour(8))
    coefficients = np.array(list(product(range(-2, 3), repeat=8)))
    lengths = np.sum((coefficients @ lattice.basis.B) ** 2, axis=1)
    assert np.sum(lattice.basis.B[0] ** 2) == np.min(lengths[lengths > 0])


def test_tours_keep_the_lattice_and_shorten_it():
    A, b = system(3, 40)
    K, _ = solutions_of(A, b)
    lattice = Lattice(K.copy())
    lattice.shuffle(np.random.default_rng(0))
    run(lattice.reduce())
    volume, first = np.sum(np.log(lattice.basis.r)), lattice.basis.r[0]
    for block in (10, 20):
        run(lattice.tour(block))
    assert np.sum(np.log(lattice.basis.r)) == pytest.approx(volume)
    assert lattice.basis.r[0] <= first
    assert lattice.basis.r[0] < 1.5 * expected_shortest(lattice.basis.r)
    assert not np.any(A @ lattice.basis.B.T)


def test_projections():
    rng = np.random.default_rng(0)
    lattice = Lattice(rng.integers(-9, 10, (4, 6)).astype(float))
    run(lattice.reduce())
    x = np.array([1.0, -2.0, 0.0, 3.0])
    t, outside = lattice.projection(x @ lattice.basis.B)
    mu = np.tril(lattice.basis.mu, -1) + np.eye(4)
    np.testing.assert_allclose(t, x @ mu, atol=1e-9)
    assert outside == pytest.approx(0, abs=1e-6)
    normal = np.linalg.svd(lattice.basis.B)[2][-1]
    assert lattice.projection(normal)[1] == pytest.approx(1)
