"""The penalised model over factors, its gradient, and the surrogate of its steps."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dcra import lift, theory

from .runs import DELTA, ROUNDING, factors, near, spins


@pytest.mark.parametrize("rank", [1, 2, 4, 6])
def test_factor_is_the_way_back_from_gram(rank):
    V = lift.random_factor(rank, 5, 0, 0)
    X = theory.gram(V)
    np.testing.assert_allclose(np.diag(X), 1.0)
    W = theory.factor(X, rank)
    assert W.shape == (rank, 6)
    np.testing.assert_allclose(theory.gram(W), X, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1.0)
    np.testing.assert_allclose(W @ W.T, np.diag(np.linalg.eigvalsh(X)[::-1][:rank]), atol=1e-12)


def test_factor_of_a_batch():
    V = np.stack([lift.random_factor(3, 5, 1, i) for i in range(4)])
    W = theory.factor(theory.gram(V), 3)
    for i in range(4):
        np.testing.assert_allclose(W[i], theory.factor(theory.gram(V[i]), 3))


@pytest.mark.parametrize("rank", [0, 7])
def test_factor_refuses_an_impossible_rank(rank):
    with pytest.raises(ValueError, match="`rank` must lie between 1 and 6, the size of `X`; got"):
        theory.factor(np.eye(6), rank)


def test_lifted_product_of_a_rank_one_matrix_is_the_product_with_x():
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((3, 4)), rng.standard_normal(4)
    lifted = np.outer([1, *x], [1, *x])
    np.testing.assert_allclose(theory.lifted_product(A, lifted), A @ x)


def test_lifted_product_takes_the_mean_of_row_and_column():
    Z = np.array([[9.0, 1.0, 2.0], [5.0, 8.0, 8.0], [6.0, 8.0, 8.0]])
    np.testing.assert_allclose(theory.lifted_product(np.eye(2), Z), [3.0, 4.0])


def test_lifted_product_and_adjoint_are_adjoint():
    rng = np.random.default_rng(1)
    A, Z, y = rng.standard_normal((3, 4)), rng.standard_normal((5, 5)), rng.standard_normal(3)
    adjoint = theory.lifted_adjoint(A, y)
    np.testing.assert_allclose(adjoint, adjoint.T)
    np.testing.assert_allclose(theory.lifted_product(A, Z) @ y, np.sum(Z * adjoint))


def test_lifted_maps_of_a_batch():
    rng = np.random.default_rng(2)
    A, Z, Y = rng.standard_normal((3, 4)), rng.standard_normal((6, 5, 5)), rng.standard_normal((6, 3))
    np.testing.assert_allclose(theory.lifted_product(A, Z)[2], theory.lifted_product(A, Z[2]))
    np.testing.assert_allclose(theory.lifted_adjoint(A, Y)[2], theory.lifted_adjoint(A, Y[2]))


def test_matrix_stacks_what_residual_applies(case):
    x = np.random.default_rng(0).standard_normal(case.n)
    A = theory.matrix(case)
    assert A.shape == (case.n_rows, case.n)
    np.testing.assert_allclose(A @ x, case.residual(x) - case.residual(0 * x), atol=1e-12)


def explicit_penalized(compiled, V, rho, delta):
    """Phi written with the p x p matrix X = V'V."""
    X = V.T @ V
    z = theory.lifted_product(theory.matrix(compiled), X) + compiled.residual(np.zeros(compiled.n))
    eigenvalues = np.linalg.eigvalsh(X)
    linear = 0.0 if compiled.c is None else theory.lifted_product(compiled.c[None], X)[0]
    return compiled.smoothed(z, delta) + linear + rho * (np.sum(np.abs(eigenvalues)) - eigenvalues[-1])


def test_penalized_equals_the_explicit_formula(case):
    for V in factors(case, 5):
        np.testing.assert_allclose(
            theory.penalized(case, V, 0.8, DELTA), explicit_penalized(case, V, 0.8, DELTA)
        )


def test_penalized_of_a_binary_point_is_its_objective(case):
    """At delta = 0 and X = [1; s][1; s]', Phi is F for every rho, up to the compiled scale and offset."""
    for s in spins(case.n)[:6]:
        V = theory.factor(np.outer([1, *s], [1, *s]), 2)
        F = case.problem.objective(case.decode(s))
        np.testing.assert_allclose(
            case.value_scale * theory.penalized(case, V, 7.0, 0.0) + case.offset, F, atol=1e-9
        )


def test_penalized_is_below_the_unsmoothed_one(case):
    V = factors(case, 20)
    assert np.all(theory.penalized(case, V, 1.0, DELTA) <= theory.penalized(case, V, 1.0, 0.0) + ROUNDING)


def test_gradient_and_gamma_equal_finite_differences(case):
    """grad f~ + 2 rho V + rho Gamma is the gradient of the explicit Phi in all of R^{m x p}."""
    rho, step = 0.8, 1e-6
    for V in factors(case, 3):
        M = theory.smoothed_gradient(case, V, DELTA) + 2 * rho * V + rho * theory.subgradient(V)
        for i, j in product(*map(range, V.shape)):
            E = np.zeros_like(V)
            E[i, j] = step
            up, down = (explicit_penalized(case, V + s * E, rho, DELTA) for s in (1, -1))
            assert abs((up - down) / (2 * step) - M[i, j]) < 1e-6 * max(1, np.max(np.abs(M)))


def test_gradient_is_twice_v_times_the_adjoint(case):
    for V in factors(case, 3):
        z = case.residual(lift.relaxed(V))
        expected = 2 * V @ theory.lifted_adjoint(theory.matrix(case), case.slopes(z, DELTA))
        if case.c is not None:
            expected += 2 * V @ theory.lifted_adjoint(case.c[None], np.ones(1))
        np.testing.assert_allclose(theory.smoothed_gradient(case, V, DELTA), expected, atol=1e-12)


def test_gamma_uses_the_leading_eigenvector_of_the_gram_matrix():
    V = lift.random_factor(3, 5, 0, 0)
    P1 = np.linalg.eigh(V.T @ V)[1][:, -1]
    np.testing.assert_allclose(theory.subgradient(V), -2 * V @ np.outer(P1, P1), atol=1e-12)


def test_gamma_satisfies_the_concavity_inequality():
    """psi~(W) <= psi~(V) + <Gamma(V), W - V> with psi~ = -||.||_2^2, in all of R^{m x p}."""
    rng = np.random.default_rng(3)
    V, W = rng.standard_normal((2, 200, 3, 6))
    W[::2] = V[::2] + 1e-3 * W[::2]  # close by, where a wrong factor cannot hide
    psi = -(np.linalg.norm(np.stack([V, W]), 2, axis=(-2, -1)) ** 2)
    linear = np.sum(theory.subgradient(V) * (W - V), axis=(-2, -1))
    assert np.all(psi[1] <= psi[0] + linear + ROUNDING)
    np.testing.assert_allclose(psi[1, ::2], psi[0, ::2] + linear[::2], atol=1e-3)


def test_surrogate_touches_phi_and_lies_above_it(case):
    rng, rho = np.random.default_rng(4), 1.3
    Lf = theory.curvature_bound(case, DELTA)
    for at in factors(case, 5):
        value = theory.penalized(case, at, rho, DELTA)
        np.testing.assert_allclose(theory.surrogate(case, at, at, rho, DELTA, Lf), value)
        for V in (*factors(case, 20, seed=1), *(near(at, s, rng) for s in (1e-3, 0.03, 0.3))):
            above = theory.surrogate(case, V, at, rho, DELTA, Lf) - theory.penalized(case, V, rho, DELTA)
            assert above >= -ROUNDING * max(1, abs(value))


def test_surrogate_and_phi_have_one_slope_where_they_touch(case):
    rng, rho, step = np.random.default_rng(5), 1.3, 1e-6
    at = factors(case, 1)[0]
    direction = rng.standard_normal(at.shape)

    def slope(f):
        return (f(at + step * direction) - f(at - step * direction)) / (2 * step)

    surrogate = slope(lambda V: theory.surrogate(case, V, at, rho, DELTA, 10.0))
    np.testing.assert_allclose(surrogate, slope(lambda V: theory.penalized(case, V, rho, DELTA)), rtol=1e-5)
