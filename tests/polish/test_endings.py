"""Descents end, also where rounding is larger than what they take for a gain."""

from __future__ import annotations

import numpy as np
import pytest

import dcra
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.methods import engine_of
from dcra.model.problem import Problem
from dcra.model.term import Term

CALLS = 2000
"""Calls of `advance` that are far more than a descent needs here."""


def three():
    """Flipping two variables takes the residual to 1e10 and back: the square forgets what it was before."""
    A = [[0.0, 1e10 - 0.001, 1e10 - 0.002]]
    term = Term("squared", A, [1e10 - 0.002])
    return Problem([term], linear=[1e8] * 3, quadratic=np.zeros((3, 3)), domain="binary")


def thirty():
    rng = np.random.default_rng(0)
    A = 1e8 + rng.integers(-2, 3, (20, 30)) * 0.001
    b = A @ rng.integers(0, 2, 30)
    return Problem([Term("squared", A, b)], quadratic=rng.standard_normal((30, 30)), domain="binary")


def losses_alone():
    rng = np.random.default_rng(1)
    A = 1e8 + rng.integers(-2, 3, (20, 30)) * 0.001
    linear = 1e6 * rng.standard_normal(30)
    return Problem([Term("squared", A, A @ rng.integers(0, 2, 30))], linear=linear, domain="binary")


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("make", [three, thirty, losses_alone])
@pytest.mark.parametrize("method", ["flip", "pair-flip", "anneal", "tabu"])
def test_every_descent_ends(method, make, loops):
    problem = make()
    compiled = compile_problem(problem, loops)
    if not loops and method != "flip":
        pytest.skip("array code has one-flip descent alone")
    for seed in range(3):
        state = engine_of(method).start(compiled, Starts(seed, 0, 1))
        for _ in range(CALLS):
            state.advance(100_000)
        assert state.done


@pytest.mark.parametrize("make", [three, thirty, losses_alone])
def test_auto_ends(make):
    result = dcra.solve(make(), seed=0, starts=4)
    assert result.status in ("converged", "optimal")


@pytest.mark.usefixtures("compiled_loops")
def test_a_look_that_finds_no_progress_is_the_end():
    compiled = compile_problem(losses_alone())
    state = engine_of("flip").start(compiled, Starts(0, 0, 1))
    assert state.trials_until_look(10**9) == 64 * 30
    assert not state.stalled()  # the first look
    assert not state.stalled()  # it is not yet time
    state.trials_until_look(10**9)
    assert state.stalled()
