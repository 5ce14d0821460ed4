"""Meeting in the middle finds every solution of a system of equations, and only those."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import dcra
from dcra.bench.marketsplit import drawn
from dcra.exact.integer_equations import equations_of
from dcra.exact.meet_in_the_middle import SEGMENTS, MeetState, Quarters

POINTS = {n: np.array(list(product((0, 1), repeat=n))) for n in (4, 9, 14)}


def system(n, m, seed, spread=6):
    rng = np.random.default_rng((n, m, seed))
    A = rng.integers(-spread, spread + 1, (m, n)).astype(float)
    return A, A @ rng.integers(0, 2, n)


def required(A, b, domain="binary"):
    return dcra.Problem(linear=np.zeros(A.shape[1]), domain=domain, constraints=LinearConstraint(A, b, b))


@pytest.mark.parametrize("loops", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("n", POINTS)
def test_all_solutions_are_found(n, loops):
    A, b = system(n, 2, 0)
    quarters = Quarters(equations_of(required(A, b)))
    found = []
    for i in range(SEGMENTS):
        lo, hi = (quarters.modulus * k // SEGMENTS for k in (i, i + 1))
        state = MeetState(quarters, lo, hi, loops)
        while not state.done:
            state.advance(1000)
        found += [tuple((spins + 1) // 2) for part in state.found for spins in part]
    expected = {tuple(x) for x in POINTS[n] if np.array_equal(A @ x, b)}
    assert len(found) == len(expected)
    assert set(found) == expected


def test_a_full_buffer_loses_nothing():
    """Very many sums with one key: residues are then looked at in full."""
    problem = required(np.ones((1, 14)), np.array([7.0]))
    result = dcra.solve(problem, method="meet", seed=0)
    assert result.feasible
    assert result.x.sum() == 7


@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("loss", ["l1", "squared", "huber", "linf"])
def test_a_residual_of_zero_is_found(domain, loss):
    A, _ = system(30, 3, 1, spread=20)
    x = np.random.default_rng(5).choice((-1.0, 1.0) if domain == "spin" else (0.0, 1.0), 30)
    result = dcra.minimize(A, A @ x, loss, domain=domain, method="meet", seed=0)
    assert result.fun == 0
    assert result.status == "optimal"


def test_what_has_no_solution_gets_a_bound():
    A, b = system(14, 3, 2, spread=50)
    values = np.abs(POINTS[14] @ A.T - (b + 1)).sum(axis=1)
    assert values.min() > 0
    result = dcra.minimize(A, b + 1, domain="binary", method="meet", seed=0)
    assert result.lower_bound == 1


def test_the_objective_decides_between_solutions():
    A, b = system(14, 2, 3)
    c = np.random.default_rng(1).standard_normal(14)
    problem = dcra.Problem(linear=c, domain="binary", constraints=LinearConstraint(A, b, b))
    solutions = POINTS[14][np.all(POINTS[14] @ A.T == b, axis=1)]
    result = dcra.solve(problem, method="meet", seed=0)
    assert result.fun == pytest.approx((solutions @ c).min())
    assert result.status == "optimal"


def test_equations_without_a_solution_are_infeasible():
    rows = np.array([[10.0, 11, 12, 13, 14, 15]])
    result = dcra.solve(required(rows, np.array([31.0])), method="meet", seed=0)
    assert result.status == "infeasible"


@pytest.mark.parametrize("method", ["meet", "lattice"])
def test_sums_of_short_floats_are_not_rounded(method):
    A, b = np.array([[1e9, -1, -3, 1]], np.float32), np.array([-999999995.0])
    assert dcra.minimize(A, b, method=method, seed=0).fun == 0


def test_offsets_that_a_sum_would_swallow_are_no_whole_numbers():
    A = np.array([[5e11, 1, 2, 3]])
    assert equations_of(dcra.Problem([dcra.Term("l1", A, [1.0])])) is not None
    assert equations_of(dcra.Problem([dcra.Term("l1", A, [1.000001])])) is None


@pytest.mark.parametrize("m", [3, 4])
def test_auto_solves_small_market_splits(m):
    result = dcra.solve(drawn(m, 100, 0), starts=4, seed=0)
    assert result.fun == 0
    assert result.status == "optimal"


def test_what_is_no_system_of_equations():
    A, b = system(9, 2, 0)
    eye = dcra.Term("l1", A, b)
    assert equations_of(dcra.Problem([eye], domain="binary")) is not None
    assert equations_of(dcra.Problem([eye], linear=np.ones(9), domain="binary")) is None
    assert equations_of(dcra.Problem([dcra.Term("hinge", A, b)], domain="binary")) is None
    assert equations_of(dcra.Problem([dcra.Term("l1", A + 0.5, b)], domain="binary")) is None
    assert equations_of(dcra.Problem([dcra.Term("l1", A * 1e13, b)], domain="binary")) is None
    at_most = dcra.Problem(linear=np.ones(9), domain="binary", constraints=dcra.at_most(3))
    assert equations_of(at_most) is None
    with pytest.raises(ValueError, match="'meet' needs equations between integers"):
        dcra.minimize(A + 0.5, b, method="meet")
