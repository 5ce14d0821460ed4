"""Lipschitz constants and slopes: they hold, and none of their factors can be left out."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest

from dcra import theory
from dcra.compiled.form import compile_problem
from dcra.losses import CappedL1, L2Norm
from dcra.model.problem import Problem
from dcra.model.term import Term

from .runs import CASES, DELTA, ROUNDING, factors, mm_step, near, one_term


def test_step_minimises_the_surrogate_over_unit_columns(case):
    rng, rho, L = np.random.default_rng(6), 0.9, 2.0
    for at in factors(case, 3):
        best = theory.surrogate(case, mm_step(case, at, rho, DELTA, L), at, rho, DELTA, L)
        for size in (1e-3, 0.1, 1.0, 10.0):
            V = near(mm_step(case, at, rho, DELTA, L), size, rng)
            assert best <= theory.surrogate(case, V, at, rho, DELTA, L) + ROUNDING


def test_constants_of_l1_by_hand():
    """A = diag(3, 4): ||A|| = 4, G = sqrt 2, p = 3."""
    compiled = compile_problem(
        Problem([Term("l1", np.diag([3.0, 4.0]), np.zeros(2))], linear=np.array([5.0, 12.0]))
    )
    assert theory.slope_bound(compiled, 0.5) == pytest.approx(sqrt(2))
    assert theory.gradient_bound(compiled, 0.5) == pytest.approx(4 * sqrt(2) + 13)
    assert theory.lifted_modulus(compiled, 0.5) == pytest.approx((4 * sqrt(2) + 13) / sqrt(2))
    assert theory.curvature_bound(compiled, 0.5) == pytest.approx(16 * 3 / 0.5 + 4 * sqrt(2) + 13)
    assert theory.lower_bound(compiled) == -17
    assert theory.exact_penalty(compiled) == pytest.approx(7 * (4 * sqrt(2) + 13) / sqrt(2))
    assert theory.largest_drop(compiled, 2, 10.0, 0.5) == pytest.approx(
        2 * sqrt(2) * (4 * sqrt(2) + 13) + 10 * 1.5
    )
    assert theory.largest_drop(compiled, 9, 10.0, 0.5) == pytest.approx(
        2 * sqrt(2) * (4 * sqrt(2) + 13) + 10 * 2
    )


def test_curvature_of_a_smooth_loss_counts():
    """Squared: second derivative 1/(delta + 1/2) after smoothing, 2 without; slopes up to 2 (|b| + 1)."""
    compiled = compile_problem(Problem([Term("squared", np.eye(2), np.array([0.0, 3.0]))]))
    slopes = np.array([2.0, 8.0])
    assert theory.slope_bound(compiled, 0.0) == pytest.approx(np.linalg.norm(slopes))
    assert theory.curvature_bound(compiled, 0.0) == pytest.approx(3 * 2 + np.linalg.norm(slopes))
    assert theory.curvature_bound(compiled, 0.5) == pytest.approx(3 * 1 + np.linalg.norm(slopes / 2))


def test_constants_of_several_pieces_add_up():
    """Rows of weight 2 and 3, smoothed differently: curvatures 2/.5 and 3/.25 on orthogonal columns."""
    terms = [Term("l1", np.array([[1.0, 0.0]]), 0.0, 2.0), Term("hinge", np.array([[0.0, 1.0]]), 0.0, 3.0)]
    compiled = compile_problem(Problem(terms))
    assert theory.slope_bound(compiled, (0.5, 0.25)) == pytest.approx(sqrt(13))
    assert theory.curvature_bound(compiled, (0.5, 0.25)) == pytest.approx(3 * 12 + sqrt(13))


def test_slope_bound_of_a_loss_that_is_not_separable():
    """Its Lipschitz constant times the weight, and times 1/2 for the binary domain, where z is doubled."""
    assert theory.slope_bound(one_term(L2Norm(), weight=3.0), DELTA) == pytest.approx(3.0)
    assert theory.slope_bound(one_term(L2Norm(), weight=3.0, domain="binary"), DELTA) == pytest.approx(1.5)


def test_no_constant_without_smoothing_of_a_kink():
    assert theory.curvature_bound(CASES["l1"](), 0.0) == inf


def test_slopes_stay_below_their_bound(case):
    x = np.random.default_rng(0).uniform(-1, 1, (500, case.n))
    x[:250] = np.sign(x[:250])
    for delta in (0.01, DELTA, 20.0):
        y = case.slopes(case.residual(x), delta)
        assert np.all(np.linalg.norm(y, axis=-1) <= theory.slope_bound(case, delta) + ROUNDING)
        assert np.all(np.linalg.norm(case.pull(y), axis=-1) <= theory.gradient_bound(case, delta) + ROUNDING)


def test_gradient_of_f_is_lipschitz(case):
    rng, Lf = np.random.default_rng(7), theory.curvature_bound(case, DELTA)
    V = factors(case, 300)
    for W in (factors(case, 300, seed=1), near(V, 0.01, rng), near(V, 0.3, rng)):
        change = theory.smoothed_gradient(case, W, DELTA) - theory.smoothed_gradient(case, V, DELTA)
        sizes = np.linalg.norm(change, axis=(-2, -1)), np.linalg.norm(W - V, axis=(-2, -1))
        assert np.all(sizes[0] <= Lf * sizes[1] * (1 + ROUNDING))


def excess(compiled, V, W, delta, L):
    """f~(W) - f~(V) - <grad f~(V), W - V> - L/2 |W - V|^2, which the descent lemma says is not positive."""
    step = W - V
    linear = np.sum(theory.smoothed_gradient(compiled, V, delta) * step)
    rise = theory.smoothed_value(compiled, W, delta) - theory.smoothed_value(compiled, V, delta)
    return rise - linear - L / 2 * np.sum(step * step)


def test_the_factor_p_in_the_constant_is_needed():
    """A = e', all w_j alike and orthogonal to v0, where y = 0: the curvature is (n+1) ||A||^2/delta."""
    n, delta, angle = 6, 5.0, 1e-3
    compiled = compile_problem(Problem([Term("l1", np.ones((1, n)), np.zeros(1))]))
    V = np.zeros((2, n + 1))
    V[0, 0] = V[1, 1:] = 1.0
    share = sqrt(n)  # v0 turns by sqrt(n) as much as each w_j, towards one another
    W = V.copy()
    turn = angle * n / share
    W[:, 0] = np.cos(turn), np.sin(turn)
    W[:, 1:] = np.array([np.sin(angle / share), np.cos(angle / share)])[:, None]
    second = (n + 1) * n / delta
    G = theory.gradient_bound(compiled, delta)
    assert theory.curvature_bound(compiled, delta) == pytest.approx(second + G)
    assert excess(compiled, V, W, delta, theory.curvature_bound(compiled, delta)) <= 0
    assert excess(compiled, V, W, delta, 0.98 * second) > 0


def test_the_slope_in_the_constant_is_needed():
    """Far from the kink f~ is bilinear: its curvature is |g| = ||A|| G, whatever delta."""
    n, angle = 4, 1e-2
    A, b = np.ones((1, n)), np.array([-50.0])
    compiled = compile_problem(Problem([Term("l1", A, b)]))
    V = np.zeros((2, n + 1))
    V[0] = 1.0
    turn = np.array([[np.cos(angle)], [np.sin(angle)]])
    small = np.array([[np.cos(angle / sqrt(n))], [np.sin(angle / sqrt(n))]])
    W = np.hstack([turn, np.repeat(small, n, axis=1)])
    slope = np.linalg.norm(A)
    assert theory.gradient_bound(compiled, DELTA) == pytest.approx(slope)
    assert excess(compiled, V, W, DELTA, slope) <= 1e-12
    assert excess(compiled, V, W, DELTA, 0.97 * slope) > 0


def test_surrogate_majorises_for_a_loss_that_is_not_convex():
    compiled, rho = one_term(CappedL1(0.8), weight=2.0), 1.0
    assert theory.slope_bound(compiled, DELTA) == pytest.approx(2 * sqrt(5))
    Lf = theory.curvature_bound(compiled, DELTA)
    rng = np.random.default_rng(8)
    for at in factors(compiled, 20):
        for V in (*factors(compiled, 10, seed=1), near(at, 0.1, rng)):
            above = theory.surrogate(compiled, V, at, rho, DELTA, Lf)
            assert theory.penalized(compiled, V, rho, DELTA) <= above + ROUNDING
