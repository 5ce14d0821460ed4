"""Triangle inequalities: loops against their definitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dcra._kernels.triangles import mix, press, priced, separate

pytestmark = pytest.mark.usefixtures("compiled_loops")

SIGNS = [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]


def factor(p, k, seed=0):
    V = np.random.default_rng(seed).standard_normal((p, k))
    return V / np.linalg.norm(V, axis=1, keepdims=True)


def couplings(p, seed=0):
    M = np.random.default_rng(seed).standard_normal((p, p))
    M = M + M.T
    np.fill_diagonal(M, 0.0)
    return M


def violations(X):
    """All triangles, and what they are violated by."""
    found = {}
    for i, j, k in combinations(range(len(X)), 3):
        for kind, (a, b, c) in enumerate(SIGNS):
            found[i, j, k, kind] = -1 - (a * X[i, j] + b * X[i, k] + c * X[j, k])
    return found


def matrix_of(row, p):
    T = np.zeros((p, p))
    i, j, k, kind = row
    for (u, v), sign in zip([(i, j), (i, k), (j, k)], SIGNS[kind], strict=True):
        T[u, v] = T[v, u] = sign / 2
    return T


@pytest.mark.parametrize("room", [3, 20, 5000])
def test_the_most_violated_are_found(room):
    X = (V := factor(13, 3)) @ V.T
    known = {row: by for row, by in violations(X).items() if by > 0.1}
    rows, by = np.zeros((room, 4), np.int32), np.zeros(room)
    count = 0
    for first in range(0, 13, 4):
        count = separate(X, first, min(13, first + 4), 0.1, rows, by, count)
    assert count == min(room, len(known))
    assert np.allclose(sorted(by[:count]), sorted(known.values())[-count:])
    assert all(
        known[tuple(map(int, row))] == pytest.approx(v) for row, v in zip(rows[:count], by, strict=False)
    )


def test_prices_are_taken_off():
    p = 7
    M, rows = couplings(p), np.array([[0, 1, 2, 0], [0, 1, 2, 3], [1, 4, 6, 1], [2, 3, 5, 2]], np.int32)
    price = np.array([0.5, 1.0, 2.0, 0.25])
    expected = M - sum(g * matrix_of(row, p) for g, row in zip(price, rows, strict=True))
    assert np.allclose(priced(M, rows, price), expected)
    assert np.array_equal(priced(M, rows[:0], price[:0]), M)


def test_rows_settle_where_they_are_best():
    B, V, y = couplings(12), factor(12, 8), np.zeros(12)
    mix(B, V, y, 500)
    assert np.allclose(np.linalg.norm(V, axis=1), 1)
    assert np.allclose(B @ V, -y[:, None] * V, atol=1e-6)
    assert np.linalg.eigvalsh(B + np.diag(y))[0] > -1e-6


def test_a_step_is_what_it_says():
    p, k = 6, 4
    M, V = couplings(p), factor(p, k)
    rows = np.array([[0, 1, 2, 0], [1, 3, 5, 2], [2, 3, 4, 3]], np.int32)
    base, price, usual = np.array([0.1, 0.0, 2.0]), np.zeros(3), np.zeros(3)
    y, X, B, mean, start = np.zeros(p), np.zeros((p, p)), np.zeros((p, p)), np.zeros((p, p)), V.copy()
    press(M, V, y, X, B, mean, rows, base, price, usual, 0.5, 0.25, 0.1, 1)
    found = violations(start @ start.T)
    by = np.array([found[tuple(map(int, row))] for row in rows])
    raised = np.maximum(0, np.array([0.1, 0.0, 2.0]) + 0.5 * by)
    assert np.allclose(base, raised)
    assert np.allclose(price, np.maximum(0, raised + 0.25 * by))
    assert np.allclose(usual, 0.1 * price)
    assert np.allclose(mean, 0.1 * start @ start.T)
    assert np.allclose(B, priced(M, rows, price))
    mix(B, start, lengths := np.zeros(p), 1)
    assert np.allclose(V, start)
    assert np.allclose(y, lengths)


@pytest.mark.parametrize("row", [[0, 1, 7, 0], [1, 1, 2, 0], [0, 1, 2, 4], [-1, 1, 2, 0]])
def test_triangles_that_are_none_are_refused(row):
    M, rows = couplings(5), np.array([row], np.int32)
    with pytest.raises(ValueError, match="`corners` must be rows"):
        priced(M, rows, np.ones(1))
    X, B, mean = (np.zeros((5, 5)) for _ in range(3))
    with pytest.raises(ValueError, match="`corners` must be rows"):
        press(M, factor(5, 4), np.zeros(5), X, B, mean, rows, *np.zeros((3, 1)), 0.1, 0.1, 0.1, 1)


def test_places_outside_are_refused():
    with pytest.raises(ValueError, match=r"must be in 0\.\.5"):
        separate(np.eye(5), 0, 6, 0.1, np.zeros((4, 4), np.int32), np.zeros(4), 0)
