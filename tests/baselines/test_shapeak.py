"""ShaPeak: what its authors state of the penalty, of the threshold and of the points where it ends."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dcra
from dcra.baselines.mpec_epm import lipschitz_on_box
from dcra.baselines.shapeak import SLOPE, ShaPeak, is_binary, peaks, peaks_prox, smoothed_gradient
from dcra.bench.qubo import random_qubo
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.model.problem import Problem
from dcra.model.term import Term


def regression(loss, seed=0, size=(12, 8)):
    rng = np.random.default_rng(seed)
    return Problem([Term(loss, rng.standard_normal(size), rng.standard_normal(size[0]))])


def test_peaks_vanish_at_binary_points_alone():
    grid = np.linspace(-1, 1, 2001)[:, None]
    values = peaks(grid)
    assert values[0] == values[-1] == 0
    assert (values[1:-1] > 0).all()
    slopes = np.abs(np.diff(values)) / np.diff(grid[:, 0])
    assert (slopes >= SLOPE * (1 - 1e-9)).all()


@pytest.mark.parametrize("eta", [0.0, 0.01, 0.05, 0.15, 0.25, 3.0])
def test_the_proximal_map_beats_a_grid(eta):
    grid = np.linspace(-1, 1, 4001)[:, None]
    for z in np.linspace(-2, 2, 41):
        w = float(peaks_prox(np.array([z]), eta)[0])
        costs = (grid[:, 0] - z) ** 2 / 2 + eta * peaks(grid)
        assert (w - z) ** 2 / 2 + eta * float(peaks(np.array([w]))) <= costs.min() + 1e-12


@pytest.mark.parametrize("loss", ["l1", "huber", "squared", "linf"])
def test_above_the_threshold_the_minimisers_are_those_over_binary_points(loss, rng):
    """Beyond L/SLOPE, L the Lipschitz constant of f on the box, others have a better one beside them."""
    problem = regression(loss)
    penalty = 1.001 * lipschitz_on_box(compile_problem(problem)) / SLOPE

    def penalised(X):
        return problem.relaxed_objective(X) + penalty * peaks(X)

    X = rng.uniform(-1, 1, (400, problem.n))
    X[:, 1:] = np.where(rng.random((400, problem.n - 1)) < 0.5, 1.0, X[:, 1:])
    beside = X.copy()
    index = np.argmin(np.abs(X), axis=1)
    rows = np.arange(len(X))
    at = X[rows, index]
    beside[rows, index] = at + np.where(at >= 0, 1, -1) * np.minimum(1e-4, 1 - np.abs(at))
    assert (penalised(beside) < penalised(X)).all()
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=problem.n)))
    assert penalised(X).min() >= problem.objective(corners).min()


@pytest.mark.parametrize("loss", ["huber", "squared", "l1"])
@pytest.mark.parametrize("seed", range(3))
def test_it_ends_at_a_p_stationary_point(loss, seed):
    """w = prox(w - grad f(w) / sigma), for the smoothed f."""
    compiled = compile_problem(regression(loss, seed, (30, 20)))
    state = ShaPeak(tol=1e-14).start(compiled, Starts(0, 0, 1))
    while not state.done:
        state.advance(10**9)
    assert state.taken < state.engine.max_iterations
    assert is_binary(state.W)
    gradient = smoothed_gradient(compiled, state.W, state.units.delta)
    np.testing.assert_allclose(state.Y, -gradient, atol=1e-4 * state.units.rho)
    moved = peaks_prox(state.W - gradient / state.sigma, state.penalty / state.sigma)
    np.testing.assert_array_equal(moved, state.W)


def test_couplings_and_losses_together(rng):
    Q = rng.standard_normal((10, 10))
    term = Term("l1", rng.standard_normal((6, 10)), rng.standard_normal(6))
    problem = Problem([term], quadratic=Q + Q.T, linear=rng.standard_normal(10))
    values = problem.objective(np.array(list(itertools.product((-1.0, 1.0), repeat=10))))
    result = dcra.solve(problem, method="shapeak", starts=16, seed=0)
    assert result.fun == pytest.approx(problem.objective(result.x))
    assert result.fun <= np.quantile(values, 0.01)


def test_random_quadratics_end_near_the_best():
    problem = random_qubo(100, 1.0, seed=11)
    best = dcra.solve(problem, starts=64, seed=0).fun
    assert dcra.solve(problem, method="shapeak", starts=8, seed=0).fun <= 0.97 * best < 0
