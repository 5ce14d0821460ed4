"""Where a search pauses is the clock's affair, and must not show in its answer."""

from __future__ import annotations

import numpy as np
import pytest

from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.methods import engine_of
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.polish.anneal import Anneal
from dcra.polish.quadratic import REFRESH
from dcra.polish.tabu import Tabu

PASSES = 3 * REFRESH + 7

ENGINES = {"anneal": Anneal(passes=PASSES), "tabu": Tabu(moves=20 * PASSES)}


def couplings(rng):
    return Problem(quadratic=rng.standard_normal((20, 20)), linear=rng.standard_normal(20))


def couplings_in_single_precision(rng):
    return Problem(quadratic=rng.standard_normal((20, 20)).astype(np.float32))


def with_losses(rng):
    term = Term("l1", rng.standard_normal((8, 20)), rng.standard_normal(8))
    return Problem([term], quadratic=rng.standard_normal((20, 20)))


def whole_numbers(rng):
    """Many points of equal value: which of them is kept must not depend on pauses either."""
    return Problem(quadratic=rng.integers(-1, 2, (20, 20)))


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("make", [couplings, couplings_in_single_precision, with_losses])
@pytest.mark.parametrize("method", ENGINES)
def test_pauses_change_nothing(method, make, monkeypatch):
    compiled = compile_problem(make(np.random.default_rng(5)))
    ends = []
    for work in (300, 7_001, 10**9):
        state = ENGINES[method].start(compiled, Starts(3, 0, 1))
        computed, place = [], state.place
        monkeypatch.setattr(state, "place", lambda s, c=computed, p=place: (c.append(s.copy()), p(s)))
        while not state.done:
            state.advance(work)
        ends.append((computed[:3], state.candidates()))  # where fields were computed anew before descents
    for computed, spins in ends[1:]:
        assert len(computed) == 3
        np.testing.assert_array_equal(np.array(computed), np.array(ends[0][0]))
        np.testing.assert_array_equal(spins, ends[0][1])


def losses(rng):
    return Problem([Term("l1", rng.integers(-2, 3, (12, 20)), rng.integers(-5, 6, 12))])


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("make", [whole_numbers, losses])
@pytest.mark.parametrize("method", ENGINES)
def test_pauses_do_not_choose_among_equals(method, make):
    for seed in range(5):
        compiled = compile_problem(make(np.random.default_rng(seed)))
        ends = []
        for work in (50, 999, 10**9):
            state = ENGINES[method].start(compiled, Starts(seed, 0, 1))
            while not state.done:
                state.advance(work)
            ends.append(state.candidates())
        np.testing.assert_array_equal(ends[1], ends[0])
        np.testing.assert_array_equal(ends[2], ends[0])


def larger_couplings(rng):
    Q = rng.standard_normal((150, 150))
    return Problem(quadratic=Q + Q.T)


def larger_signs(rng):
    return Problem(quadratic=np.triu(rng.choice([-1.0, 1.0], (150, 150)), 1))


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("make", [couplings, with_losses, whole_numbers, larger_couplings, larger_signs])
@pytest.mark.parametrize("method", ["flip", "pair-flip"])
@pytest.mark.parametrize("seed", range(3))
def test_descents_end_at_one_point_wherever_they_pause(seed, method, make):
    compiled = compile_problem(make(np.random.default_rng(seed)))
    ends = []
    for work in (1, 300, 7_001, 100_003, 10**9):
        state = engine_of(method).start(compiled, Starts(seed, 0, 1))
        while not state.done:
            state.advance(work)
        ends.append(state.candidates())
    for spins in ends[1:]:
        np.testing.assert_array_equal(spins, ends[0])


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("seed", range(5))
def test_no_coupled_pair_is_left_that_improves(seed):
    problem = larger_couplings(np.random.default_rng(seed))
    compiled = compile_problem(problem)
    state = engine_of("pair-flip").start(compiled, Starts(seed, 0, 1))
    while not state.done:
        state.advance(50_000)
    s = state.candidates()[0]
    J = problem.quadratic.operator.dense() * (1 - np.eye(problem.n))
    one = -4 * s * (J @ s)  # what a flip adds
    two = one[:, None] + one[None, :] + 8 * np.outer(s, s) * J
    assert one.min() >= -1e-9
    assert (two + np.diag(np.full(problem.n, np.inf))).min() >= -1e-9
