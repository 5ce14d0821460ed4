"""Near solutions: exact where they say so, and better than annealing where few equations are left."""

from __future__ import annotations

import numpy as np

import dcra
import dcra.compiled
from dcra.bench.marketsplit import drawn
from dcra.engines.base import Starts
from dcra.equations import equations_of
from dcra.near import Near, NearState, sizes, worthwhile


def test_sizes_grow_with_the_numbers():
    small, large = (equations_of(drawn(9, D, 0)) for D in (20, 2000))
    assert sizes(small)[0] > sizes(large)[0] >= 1
    assert all(free <= 76 for _, free in (sizes(small), sizes(large)))


def test_some_equations_hold_exactly():
    problem = drawn(6, 12, 1)
    equations = equations_of(problem)
    state = NearState(equations, np.random.default_rng(0))
    while not state.done:
        state.advance(1)
    t = (state.candidates()[0] + 1) / 2
    residual = equations.B @ t - equations.d
    np.testing.assert_array_equal(residual[state.exact], 0)
    assert np.abs(residual).sum() == state.least == problem.objective(t)


def test_near_points_are_nearer_than_random_ones():
    problem = drawn(7, 6, 2)
    compiled = dcra.compiled.compile_problem(problem)
    state = Near().start(compiled, Starts(0, 0, 1))
    while not state.done:
        state.advance(1)
    near = problem.objective((state.candidates()[0] + 1) / 2)
    assert near < dcra.solve(problem, method="flip", starts=50, seed=0).fun


def test_what_near_is_for():
    assert worthwhile(equations_of(drawn(6, 100, 0)))
    assert not worthwhile(equations_of(drawn(15, 100, 0)))


def test_a_limit_of_time_holds_beside_near():
    result = dcra.solve(drawn(9, 20, 0), time_limit=2.2, seed=0)
    assert result.status in ("time_limit", "optimal")
