"""Descent, distance to stationarity, and how many steps are enough."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, inf, sqrt

import numpy as np
import pytest

from dcra import theory
from dcra.losses import L1

from .runs import CASES, DELTA, ROUNDING, binary_factors, change, factors, mm_run, one_term


@pytest.mark.parametrize("factor", [1.0, 2.0])
@pytest.mark.parametrize("rho", [0.0, 1.0, 30.0])
def test_proposition_1(case, rho, factor):
    """Descent by (L - Lf)/2 |V+ - V|^2, and residual <= C |V+ - V|."""
    Lf = theory.curvature_bound(case, DELTA)
    L, C = factor * Lf, theory.residual_constant(factor * Lf, Lf)
    for start in factors(case, 2):
        run = mm_run(case, start, rho, DELTA, L, 25)
        for V, W in pairwise(run):
            step = change(V, W)
            drop = theory.penalized(case, V, rho, DELTA) - theory.penalized(case, W, rho, DELTA)
            assert drop >= (L - Lf) / 2 * step**2 - ROUNDING * max(1, rho)
            residual = theory.stationarity_residual(case, W, rho, DELTA, theory.subgradient(V))
            assert residual <= C * step + ROUNDING * max(1, rho)


def test_residual_is_the_distance_to_the_normal_cone(case):
    """No multiplier per column brings M closer to V Diag(lambda); rho shows in it."""
    rng, rho = np.random.default_rng(9), 0.7
    V, gamma = factors(case, 2)
    M = theory.smoothed_gradient(case, V, DELTA) + 2 * rho * V + rho * gamma
    residual = theory.stationarity_residual(case, V, rho, DELTA, gamma)
    normals = np.stack([np.outer(v, e).ravel() for v, e in zip(V.T, np.eye(V.shape[1]), strict=True)])
    best = np.linalg.lstsq(normals.T, M.ravel())
    assert residual == pytest.approx(sqrt(best[1][0]))
    assert all(residual <= np.linalg.norm(M - V * rng.normal(0, 5, V.shape[1])) for _ in range(100))


def test_residual_by_default_takes_gamma_of_the_same_point(case):
    V = factors(case, 1)[0]
    own = theory.stationarity_residual(case, V, 0.7, DELTA, theory.subgradient(V))
    assert theory.stationarity_residual(case, V, 0.7, DELTA) == own


def test_residual_vanishes_where_the_steps_end():
    compiled = CASES["l1"]()
    run = mm_run(compiled, factors(compiled, 1)[0], 5.0, DELTA, 20.0, 3000)
    assert theory.stationarity_residual(compiled, run[0], 5.0, DELTA) > 1
    assert theory.stationarity_residual(compiled, run[-1], 5.0, DELTA) < 1e-6


@pytest.mark.parametrize("rho", [0.5, 10.0])
def test_theorem_1(case, rho):
    Lf = theory.curvature_bound(case, DELTA)
    L = 1.5 * Lf
    start = factors(case, 1)[0]
    run = mm_run(case, start, rho, DELTA, L, 60)
    drop = theory.penalized(case, start, rho, DELTA) - theory.lower_bound(case)
    residuals = [
        theory.stationarity_residual(case, W, rho, DELTA, theory.subgradient(V)) for V, W in pairwise(run)
    ]
    changes = [change(V, W) for V, W in pairwise(run)]
    for T in (1, 5, 60):
        assert min(residuals[:T]) <= theory.residual_bound(drop, T, L, Lf)
        tol = sqrt(2 * drop / ((L - Lf) * T))
        assert theory.steps_to_change(drop, tol * (1 + ROUNDING), L, Lf) <= T
        assert min(changes[:T]) <= tol


def test_theorem_1_by_hand():
    """drop = 6, L = 5, Lf = 2, so C = 7 and 2 drop/(L - Lf) = 4."""
    assert theory.residual_bound(6.0, 4, 5.0, 2.0) == pytest.approx(7.0)
    assert theory.steps_to_residual(6.0, 0.5, 5.0, 2.0) == ceil(49 * 4 / 0.25)
    assert theory.steps_to_change(6.0, 0.5, 5.0, 2.0) == 16
    assert theory.residual_bound(6.0, theory.steps_to_residual(6.0, 0.5, 5.0, 2.0), 5.0, 2.0) <= 0.5
    # C < 1 bounds the residual but not the distance of the two points of Definition 2
    assert theory.steps_to_residual(6.0, 0.5, 0.2, 0.1) == theory.steps_to_change(6.0, 0.5, 0.2, 0.1)


@pytest.mark.parametrize("L", [1.0, 2.0])
def test_theorem_1_needs_more_than_the_least_curvature(L):
    with pytest.raises(ValueError, match="`L` must exceed `Lf` = 2 for a bound to exist; got"):
        theory.steps_to_change(1.0, 0.1, L, 2.0)


def test_lower_bound_is_below_phi(case):
    V = np.concatenate([factors(case, 200), binary_factors(case.n, 3)])
    for delta in (0.0, DELTA, 50.0):
        assert np.min(theory.penalized(case, V, 0.1, delta)) >= theory.lower_bound(case)


def test_no_lower_bound_for_a_loss_that_may_be_negative():
    class Unsigned(L1):
        positive = False

    assert theory.lower_bound(one_term(Unsigned())) == -inf
