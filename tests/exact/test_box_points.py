"""Solutions of equations between integers by lattices."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import dcra
from dcra.auto.decision import decide
from dcra.bench.marketsplit import drawn
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.exact.box_points import BoxState, seconds_for
from dcra.exact.integer_equations import equations_of
from dcra.exact.lattices import solutions_of
from dcra.search.state import Limits, Search


def required(A, b, **parts):
    parts.setdefault("linear", np.zeros(A.shape[1]))
    return dcra.Problem(domain="binary", constraints=LinearConstraint(A, b, b), **parts)


def finished(problem, first=0, work=1 << 30):
    equations = equations_of(problem)
    state = BoxState(equations, solutions_of(equations.B, equations.d), Starts(5, first, 1))
    while not state.done:
        state.advance(work)
    return state


@pytest.mark.parametrize("n", [6, 12])
def test_starts_together_find_all_solutions(n):
    rng = np.random.default_rng(n)
    A = rng.integers(-3, 4, (2, n)).astype(float)
    b = A @ rng.integers(0, 2, n)
    points = np.array(list(product((0, 1), repeat=n)))
    expected = {tuple(x) for x in points[np.all(points @ A.T == b, axis=1)]}
    found = {
        tuple(((spins + 1) // 2).astype(int))
        for first in range(40)
        for spins in finished(required(A, b), first).found
    }
    assert found == expected


@pytest.mark.parametrize("m", [4, 5, 6])
@pytest.mark.parametrize("D", [50, 200])
def test_market_splits_are_solved(m, D):
    result = dcra.solve(drawn(m, D, 3), method="lattice", starts=30, seed=1)
    assert result.fun == 0
    assert result.status == "optimal"


@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("loss", ["l1", "squared", "linf"])
def test_losses_and_domains(domain, loss):
    rng = np.random.default_rng(4)
    A = rng.integers(-20, 21, (3, 30)).astype(float)
    x = rng.choice((-1.0, 1.0) if domain == "spin" else (0.0, 1.0), 30)
    assert dcra.minimize(A, A @ x, loss, domain=domain, method="lattice", starts=30, seed=0).fun == 0


def test_the_same_seed_finds_the_same():
    problem = drawn(5, 50, 1)
    one, two = (dcra.solve(problem, method="lattice", starts=20, seed=2) for _ in range(2))
    np.testing.assert_array_equal(one.x, two.x)


def test_steps_do_not_decide():
    problem = drawn(5, 100, 1)
    short, long = finished(problem, work=1), finished(problem)
    np.testing.assert_array_equal(short.candidates(), long.candidates())
    assert short.work == long.work


def test_feasible_points_where_equations_are_required():
    rng = np.random.default_rng(3)
    A = rng.integers(0, 30, (3, 40)).astype(float)
    problem = required(A, A @ rng.integers(0, 2, 40), linear=rng.standard_normal(40))
    result = dcra.solve(problem, method="lattice", starts=3, seed=0)
    assert result.feasible
    assert result.fun == pytest.approx(problem.objective(result.x))


def test_no_solution_is_claimed_where_there_is_none():
    A = np.array([[10.0, 11, 12, 13, 14, 15]])
    assert not finished(required(A, np.array([31.0]))).found
    for rows, right in ((2 * A, 31.0), (A, 1000.0)):
        assert not finished(dcra.Problem([dcra.Term("l1", rows, right)], domain="binary")).found
    result = dcra.minimize(A, 31, domain="binary", method="lattice", starts=2, seed=0)
    assert result.fun > 0
    assert result.status != "optimal"


def test_as_many_equations_as_variables():
    A = np.array([[1.0, 2, 0], [0, 1, 5], [3, 0, 1]])
    x = np.array([1.0, 0, 1])
    assert dcra.minimize(A, A @ x, domain="binary", method="lattice", starts=1, seed=0).fun == 0


def test_what_it_is_not_for():
    with pytest.raises(ValueError, match="'lattice' needs equations between integers in at most 200"):
        dcra.minimize(np.full((2, 9), 0.5), 1.0, domain="binary", method="lattice")


def test_the_time_to_expect_grows_with_the_equations():
    seconds = [seconds_for(equations_of(drawn(m, 100, 0))) for m in (5, 8, 10, 12, 14)]
    assert seconds == sorted(seconds)
    assert seconds[-1] > 1000 * seconds[0]
    far = dcra.Term("l1", np.array([[10.0, 11, 12, 13, 14, 15]]), 1000.0)
    assert seconds_for(equations_of(dcra.Problem([far], domain="binary"))) == np.inf


@pytest.mark.usefixtures("compiled_loops")
def test_auto_takes_lattices_where_lists_would_take_too_long():
    def names(problem, seconds):
        limits = Limits(time_limit=seconds, clock=lambda: 0.0)
        search = Search(compile_problem(problem), limits, seed=0, begun=0.0)
        return decide(search).names

    assert "lattice" in names(drawn(8, 100, 0), 60.0)
    assert "lattice" not in names(drawn(15, 200, 0), 1.0)


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("m", [6, 7])
def test_auto_solves_market_splits_within_its_starts(m):
    result = dcra.solve(drawn(m, 50, 4), starts=4, seed=0)
    assert result.fun == 0
    assert result.status == "optimal"
