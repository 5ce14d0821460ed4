"""Branch and bound: the constrained minimum, or a valid bound on it; limits hold while it runs."""

from __future__ import annotations

import threading
from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint

import dcra
from dcra.compiled.form import compile_problem
from dcra.constrained.branch_and_bound import (
    MAX_NODES,
    Branch,
    Branching,
    is_linear,
    nearest_feasible,
)
from dcra.engines.base import Starts
from dcra.model.constraints import Constraints

VALUES = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}
domains = pytest.mark.parametrize("domain", VALUES)


def all_points(n, domain):
    return np.array(list(product(VALUES[domain], repeat=n)))


def drawn(seed, domain, n=8, m=2):
    """Constraints that some point satisfies, and all points that do."""
    rng = np.random.default_rng(seed)
    G = rng.integers(-3, 4, (m, n)).astype(float)
    middle = G @ rng.choice(VALUES[domain], n)
    width = rng.choice([0.0, 1.0, inf], m)
    constraints = Constraints(
        LinearConstraint(G, middle - rng.choice([0, 2], m), middle + width), n, VALUES[domain]
    )
    points = all_points(n, domain)
    return constraints, points[constraints.violation(points) == 0], rng


def finished(branching):
    branching.over.wait()
    return branching


@given(seed=st.integers(0, 9999), domain=st.sampled_from(list(VALUES)), whole=st.booleans())
def test_the_least_cost_of_a_feasible_point(seed, domain, whole):
    constraints, feasible, rng = drawn(seed, domain)
    cost = rng.integers(-9, 10, 8) * (1.0 if whole else 0.37)
    bottom, top = VALUES[domain]
    best = (((feasible - bottom) / (top - bottom)) @ cost).min()
    branching = finished(Branching(constraints, cost, inf))
    point = branching.point
    assert constraints.violation(point) == 0
    assert (point - bottom) / (top - bottom) @ cost == pytest.approx(best, abs=1e-9)
    assert branching.bound <= best
    assert branching.bound == pytest.approx(best, abs=1e-4)


@domains
def test_constraints_that_no_point_satisfies(domain):
    """No bound and no divisor shows it; the search does."""
    bottom, top = VALUES[domain]
    coefficients = np.array([[10.0, 11, 12, 13, 14, 15]])
    right = bottom * coefficients.sum() + (top - bottom) * 31
    constraints = Constraints(LinearConstraint(coefficients, right, right), 6, VALUES[domain])
    branching = finished(Branching(constraints, np.ones(6), inf))
    assert branching.point is None
    assert branching.bound == inf
    assert finished(nearest_feasible(constraints, np.full(6, top), inf)).point is None


@pytest.mark.parametrize(
    ("seconds", "name", "value"),
    [(inf, "node_limit", MAX_NODES), (5.0, "time_limit", 5.0), (-1.0, "time_limit", 1e-3)],
)
def test_limits_of_the_solver(seconds, name, value, monkeypatch):
    monkeypatch.setattr(Branching, "_solve", lambda self: None)
    constraints, _, _ = drawn(0, "binary")
    branching = finished(Branching(constraints, np.ones(8), seconds, gap=0.25))
    assert branching.options == {"mip_rel_gap": 0.25, name: value}


class Held(Branching):
    """Begins when the test says so."""

    def __init__(self, *parts):
        self.go = threading.Event()
        super().__init__(*parts)

    def _solve(self):
        self.go.wait()
        super()._solve()


def test_whoever_waits_gets_away():
    constraints, _, _ = drawn(0, "binary")
    branching = Held(constraints, np.ones(8), inf)
    assert not branching.wait()
    assert branching.point is None
    branching.go.set()
    assert finished(branching).point is not None


def test_an_error_in_the_thread_ends_the_waiting(monkeypatch):
    seen, told = [], threading.Event()

    def hook(args):
        seen.append(args.exc_value)
        told.set()

    def fail(self):
        raise MemoryError("of the solver")

    monkeypatch.setattr(threading, "excepthook", hook)
    monkeypatch.setattr(Branching, "_solve", fail)
    constraints, _, _ = drawn(0, "binary")
    branching = Branching(constraints, np.ones(8), inf)
    assert finished(branching).point is None
    assert branching.bound == -inf
    told.wait()
    assert str(seen[0]) == "of the solver"


@domains
def test_a_feasible_point_near_another(domain):
    """Half of the cost may be left on the table: few differences, if not the fewest."""
    for seed in range(10):
        constraints, feasible, rng = drawn(seed, domain)
        x = rng.choice(VALUES[domain], 8)
        point = finished(nearest_feasible(constraints, x, inf)).point
        assert constraints.violation(point) == 0
        ups = np.count_nonzero(x > 0)
        cost = np.count_nonzero(point != x) - ups
        best = np.count_nonzero(feasible != x, axis=1).min() - ups
        assert cost - best <= 0.5 * abs(cost)


def linear_problem(seed, domain, scale=1.0):
    rng = np.random.default_rng(seed)
    constraints, _, _ = drawn(seed, domain)
    return dcra.Problem(
        linear=scale * rng.standard_normal(8), constant=2.5, domain=domain, constraints=constraints.stated()
    )


@domains
@pytest.mark.parametrize("scale", [1.0, 1e30, 1e-30])
def test_the_engine_finds_the_optimum_and_its_bound(domain, scale):
    for seed in range(5):
        problem = linear_problem(seed, domain, scale)
        compiled = compile_problem(problem)
        points = all_points(8, domain)
        best = problem.objective(points)[problem.violation(points) == 0].min()
        state = Branch().start(compiled, Starts(0, 0, 1))
        while not state.done:
            state.advance(1)
        x = compiled.decode(state.candidates())
        assert np.all(problem.violation(x) == 0)
        assert problem.objective(x)[0] == pytest.approx(best, rel=1e-9)
        assert state.bound <= best + 1e-12 * abs(best)
        assert state.bound == pytest.approx(best, abs=1e-4 * max(1.0, scale))


def test_an_engine_without_a_point_gives_one_all_the_same(monkeypatch):
    monkeypatch.setattr(Branching, "_solve", lambda self: None)
    compiled = compile_problem(linear_problem(0, "binary"))
    state = Branch().start(compiled, Starts(0, 0, 1))
    state.branching.over.wait()
    assert state.done
    assert state.bound == -inf
    np.testing.assert_array_equal(state.candidates(), np.ones((1, 8)))


@pytest.mark.parametrize(
    ("parts", "linear"),
    [
        ({"linear": [1.0, 2.0]}, True),
        ({"terms": [dcra.Term("linear", np.eye(2), 1.0)]}, True),
        ({"terms": [dcra.Term("l1", np.zeros((1, 2)), 1.0)]}, True),  # a constant
        ({"terms": [dcra.Term("l1", np.eye(2), 0.0)], "linear": [1.0, 2.0]}, False),
        ({"quadratic": np.eye(2)}, False),
        ({"quadratic": np.ones((2, 2)), "linear": [1.0, 2.0]}, False),
    ],
)
def test_which_objectives_are_linear(parts, linear):
    assert is_linear(compile_problem(dcra.Problem(**parts))) is linear


@domains
def test_linear_objectives_are_proven_optimal_by_it(domain, rng):
    """Too many points to look at all of them: the bound that proves the answer comes from the tree."""
    G = rng.integers(1, 9, (2, 30)).astype(float)
    middle = np.rint(G @ np.full(30, sum(VALUES[domain]) / 2))
    problem = dcra.Problem(
        linear=-rng.integers(1, 9, 30).astype(float),
        domain=domain,
        constraints=LinearConstraint(G, -inf, middle),
    )
    result = dcra.solve(problem, starts=2, seed=0)
    assert result.status == "optimal"
    assert result.feasible
    assert result.lower_bound == result.fun
