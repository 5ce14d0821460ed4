"""The pure functions of V against explicit formulas, in every array library."""

from __future__ import annotations

import numpy as np
import pytest

from dcra import lift
from dcra._array import to_numpy


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


def rounding(dtype):
    return {"float32": 1e-5, "float64": 1e-12}[dtype]


def batch(shape=(2, 3), rank=3, n=5, seed=0):
    count = int(np.prod(shape, dtype=int))
    starts = [lift.random_factor(rank, n, seed, i) for i in range(count)]
    return np.stack(starts).reshape(*shape, rank, n + 1)


def moved(xp, dtype, *arrays):
    """Host arrays in the library and float type under test."""
    return [xp.asarray(a, dtype) for a in arrays]


def agrees(result, expected, dtype):
    assert str(result.dtype).endswith(dtype)
    np.testing.assert_allclose(to_numpy(result), expected, atol=rounding(dtype), rtol=10 * rounding(dtype))


def test_random_factor_has_unit_columns_and_full_rank():
    V = lift.random_factor(4, 7, 0, 0)
    assert V.shape == (4, 8)
    assert V.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(V, axis=0), 1.0)
    assert np.linalg.matrix_rank(V) == 4


def test_random_factor_is_keyed_by_seed_and_index():
    V = lift.random_factor(3, 5, 1, 2)
    assert np.array_equal(V, lift.random_factor(3, 5, 1, 2))
    assert not np.array_equal(V, lift.random_factor(3, 5, 2, 1))
    assert not np.array_equal(V, lift.random_factor(3, 5, 1, 3))


def test_random_factor_favours_no_direction():
    columns = np.concatenate([lift.random_factor(3, 200, 0, i).T for i in range(20)])
    np.testing.assert_allclose(columns.T @ columns / len(columns), np.eye(3) / 3, atol=0.02)
    np.testing.assert_allclose(columns.mean(axis=0), 0, atol=0.03)


def test_relaxed_is_the_first_row_of_the_gram_matrix(xp, dtype):
    V = batch()
    gram = np.swapaxes(V, -1, -2) @ V
    agrees(lift.relaxed(*moved(xp, dtype, V)), gram[..., 0, 1:], dtype)


def test_gradient_equals_two_v_times_the_lifted_adjoint(xp, dtype):
    V = batch()
    g = np.random.default_rng(0).standard_normal((2, 3, 5))
    N = np.zeros((2, 3, 6, 6))
    N[..., 0, 1:] = N[..., 1:, 0] = g
    agrees(lift.gradient(*moved(xp, dtype, V, g)), V @ N, dtype)


def test_gradient_equals_finite_differences():
    """Of V -> h(W'v0) for h(x) = sum cos(j x_j), whose gradient is -j sin(j x_j)."""
    V, j, step = lift.random_factor(3, 5, 0, 0), np.arange(1, 6), 1e-6
    gradient = lift.gradient(V, -j * np.sin(j * lift.relaxed(V)))
    for index in np.ndindex(V.shape):
        E = np.zeros_like(V)
        E[index] = step
        up, down = (np.sum(np.cos(j * lift.relaxed(V + s * E))) for s in (1, -1))
        assert abs((up - down) / (2 * step) - gradient[index]) < 1e-8


@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_leading_direction_of_a_large_rank_is_that_of_a_full_decomposition(batch):
    V = np.random.default_rng(0).standard_normal((*batch, lift.LARGE_RANK, 130))
    value, u = lift.leading_direction(V)
    values, vectors = np.linalg.eigh(V @ np.swapaxes(V, -1, -2))
    np.testing.assert_allclose(value, values[..., -1])
    np.testing.assert_allclose(np.abs(np.sum(u * vectors[..., -1], axis=-1)), 1.0)


def test_leading_direction_is_the_top_left_singular_pair(xp, dtype):
    V = batch()
    U, size, _ = np.linalg.svd(V)
    value, u = lift.leading_direction(*moved(xp, dtype, V))
    agrees(value, size[..., 0] ** 2, dtype)
    align = np.sign(np.sum(to_numpy(u) * U[..., 0], axis=-1, keepdims=True))
    np.testing.assert_allclose(align * to_numpy(u), U[..., 0], atol=100 * rounding(dtype))


def test_spectral_part_is_the_best_rank_one_approximation(xp, dtype):
    V = batch()
    U, size, Wt = np.linalg.svd(V, full_matrices=False)
    expected = size[..., :1, None] * U[..., :, :1] * Wt[..., :1, :]
    agrees(lift.spectral_part(*moved(xp, dtype, V, U[..., 0])), expected, dtype)


def test_spectral_part_does_not_depend_on_the_sign_of_u():
    V = batch()
    _, u = lift.leading_direction(V)
    assert np.array_equal(lift.spectral_part(V, u), lift.spectral_part(V, -u))


def test_spectral_part_is_half_the_gradient_of_the_squared_norm():
    V, step = lift.random_factor(3, 5, 0, 0), 1e-6
    half = lift.spectral_part(V, lift.leading_direction(V)[1])
    for index in np.ndindex(V.shape):
        E = np.zeros_like(V)
        E[index] = step
        up, down = (np.linalg.norm(V + s * E, 2) ** 2 for s in (1, -1))
        assert abs((up - down) / (2 * step) - 2 * half[index]) < 1e-8


def test_rank_gap_is_the_rest_of_the_spectrum(xp, dtype):
    V = batch()
    eigenvalues = np.linalg.eigvalsh(np.swapaxes(V, -1, -2) @ V)
    agrees(lift.rank_gap(*moved(xp, dtype, V)), np.sum(eigenvalues[..., :-1], axis=-1), dtype)


def test_rank_gap_vanishes_exactly_at_rank_one():
    v = np.array([[0.6], [0.0], [0.8]])
    signs = np.array([[1.0, -1.0, -1.0, 1.0]])
    assert abs(lift.rank_gap(v * signs)) < 1e-14
    V = v * signs
    V[:, 2] = [0.8, 0.0, 0.6]
    assert lift.rank_gap(V) > 0.05


def test_normalize_columns(xp, dtype):
    U, old = 5 * np.random.default_rng(0).standard_normal((2, 3, 3, 6)), batch(seed=1)
    result = lift.normalize_columns(*moved(xp, dtype, U, old))
    agrees(result, U / np.linalg.norm(U, axis=-2, keepdims=True), dtype)


def test_normalize_columns_keeps_the_old_one_for_a_zero_column(xp, dtype):
    U, old = np.random.default_rng(0).standard_normal((2, 3, 3, 6)), batch(seed=1)
    U[0, 1, :, 4] = 0.0
    result = to_numpy(lift.normalize_columns(*moved(xp, dtype, U, old)))
    assert np.all(np.isfinite(result))
    np.testing.assert_allclose(result[0, 1, :, 4], old[0, 1, :, 4], atol=rounding(dtype))
    np.testing.assert_allclose(np.linalg.norm(result, axis=-2), 1.0, rtol=10 * rounding(dtype))


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_normalize_columns_of_any_moderate_size(size):
    U = size * np.random.default_rng(0).standard_normal((3, 6))
    np.testing.assert_allclose(np.linalg.norm(lift.normalize_columns(U, U), axis=0), 1.0)


def test_round_factor_takes_signs_of_the_leading_right_singular_vector(xp, dtype):
    V = batch((20,))
    q = np.linalg.svd(V)[2][..., 0, :]
    agrees(lift.round_factor(*moved(xp, dtype, V)), np.sign(q[..., :1] * q[..., 1:]), dtype)


def test_round_factor_recovers_a_binary_point(xp, dtype):
    s = np.array([1.0, -1.0, -1.0, 1.0, -1.0])
    for v in (np.array([0.6, 0.8]), np.array([-0.6, 0.8]), np.array([0.0, -1.0])):
        V = v[:, None] * np.concatenate([[1.0], s])
        agrees(lift.round_factor(*moved(xp, dtype, V)), s, dtype)


def test_round_factor_gives_plus_one_for_zero(xp, dtype):
    """q = (1, 1, 0, -1)/sqrt 3: the column orthogonal to the leading direction."""
    V = np.array([[1.0, 1.0, 0.0, -1.0], [0.0, 0.0, 1.0, 0.0]])
    agrees(lift.round_factor(*moved(xp, dtype, V)), [1.0, 1.0, -1.0], dtype)


def test_everything_is_invariant_under_rotations_of_the_columns():
    V = lift.random_factor(3, 5, 0, 0)
    Q, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))
    np.testing.assert_allclose(lift.relaxed(Q @ V), lift.relaxed(V))
    np.testing.assert_allclose(lift.rank_gap(Q @ V), lift.rank_gap(V))
    assert np.array_equal(lift.round_factor(Q @ V), lift.round_factor(V))


def every_function(V, g):
    _, u = lift.leading_direction(V)
    return {
        "relaxed": lift.relaxed(V),
        "gradient": lift.gradient(V, g),
        "leading_direction": lift.leading_direction(V)[0],
        "spectral_part": lift.spectral_part(V, u),
        "rank_gap": lift.rank_gap(V),
        "normalize_columns": lift.normalize_columns(3 * V, V),
        "round_factor": lift.round_factor(V),
    }


def test_batched_equals_looped(xp, dtype):
    V, g = batch(), np.random.default_rng(2).standard_normal((2, 3, 5))
    whole = every_function(*moved(xp, dtype, V, g))
    for index in np.ndindex(2, 3):
        for name, single in every_function(*moved(xp, dtype, V[index], g[index])).items():
            agrees(single, to_numpy(whole[name])[index], dtype)


def test_inputs_are_left_alone():
    V, g = batch(), np.random.default_rng(2).standard_normal((2, 3, 5))
    before = V.copy(), g.copy()
    V.flags.writeable = g.flags.writeable = False
    every_function(V, g)
    assert np.array_equal(V, before[0])
    assert np.array_equal(g, before[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normalize_columns_of_numbers_that_have_no_square(dtype):
    large, small = np.finfo(dtype).max / 4, np.finfo(dtype).tiny
    U = np.array([[large, small, np.nan, np.inf], [large, 0.0, 1.0, 1.0]], dtype)
    old = np.array([[0.6] * 4, [0.8] * 4], dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        V = lift.normalize_columns(U, old)
    half = 0.5**0.5
    np.testing.assert_allclose(V, [[half, 1, 0.6, 0.6], [half, 0, 0.8, 0.8]], rtol=1e-6)
