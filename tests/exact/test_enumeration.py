"""Enumeration proves what it says: against fractions, on data that float64 cannot add up."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import sparse

import dcra
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.exact.enumeration import SEGMENTS, Enumerate, spins_of
from dcra.exact.judging import Judge
from dcra.losses import NAMES
from dcra.model.exact_value import exact_value
from dcra.model.problem import Problem
from dcra.model.rounding import errors_at, largest_error
from dcra.model.term import Term

RATIONAL = sorted(set(NAMES) - {"logistic", "l2"})


def points_of(problem):
    low = -1.0 if problem.domain == "spin" else 0.0
    return np.array(list(product((low, 1.0), repeat=problem.n)))


def optimum(problem):
    return min(exact_value(problem, x) for x in points_of(problem))


def least_of(problem, loops=True):
    """What enumeration proves."""
    compiled = compile_problem(problem, loops)
    states = [Enumerate().start(compiled, Starts(0, i, 1)) for i in range(SEGMENTS)]
    for state in states:
        while not state.done:
            state.advance(1000)
    return min(state.least for state in states)


def drifting(seed=0, n=11, big=1e8):
    rng = np.random.default_rng(seed)
    A, Q = rng.integers(-3, 4, (4, n)).astype(float), rng.integers(-3, 4, (n, n)).astype(float)
    A[0, 0] = big
    return Problem([Term("squared", A, A.sum(axis=1))], quadratic=Q)


def parts_of(problem):
    return problem.terms[0].operator.A, problem.quadratic.operator.A


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_large_entry_does_not_move_the_others(seed, loops):
    """Running values lose the small numbers as soon as the residual of the large one was large."""
    problem = drifting(seed)
    X, A, Q = (M.astype(np.longdouble) for M in (points_of(problem), *parts_of(problem)))
    best = (((X @ A.T - A.sum(axis=1)) ** 2).sum(axis=1) + ((X @ Q) * X).sum(axis=1)).min()  # below 2^64
    assert least_of(problem, loops) == best
    result = dcra.solve(problem, seed=0)
    assert result.status == "optimal"
    assert result.fun == result.lower_bound == best


@pytest.mark.parametrize("loss", ["l1", "squared", "huber"])
def test_weights_beyond_what_tables_hold(loss):
    rng = np.random.default_rng(1)
    A, b = rng.integers(-3, 4, (5, 11)).astype(float), rng.integers(-4, 5, 5).astype(float)
    problem = Problem([Term(loss, A, b, np.array([1e40, 1.0, 1e-40, 3.0, 1e20]))])
    best = optimum(problem)
    result = dcra.solve(problem, method="enumerate", seed=0)
    assert result.lower_bound <= best
    assert result.status != "optimal" or Fraction(result.fun) <= best * (1 + Fraction(1, 10**12))


def test_a_right_hand_side_finer_than_the_matrix():
    """A float32 A keeps its float64 b: two points differ by less than a float32 can tell."""
    A = np.array([[1, 1, 0], [0, 1, 1]], np.float32)
    problem = Problem([Term("squared", A, [1e-9, -1e-9])], linear=[1e-10, 0.0, -1e-10])
    result = dcra.solve(problem, method="enumerate", seed=0)
    assert result.fun == problem.objective(points_of(problem)).min()
    assert Fraction(result.lower_bound) <= optimum(problem) + Fraction(1, 10**25)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("loss", RATIONAL)
def test_no_point_lies_below_what_is_proven(loss, domain, store):
    for seed in range(3):
        rng = np.random.default_rng((seed, 5))
        scale = 10.0 ** rng.integers(-9, 10, (3, 1))
        A, b = scale * rng.standard_normal((3, 7)), scale[:, 0] * rng.standard_normal(3)
        problem = Problem([Term(loss, store(A), b)], linear=1e5 * rng.standard_normal(7), domain=domain)
        best = optimum(problem)
        assert Fraction(least_of(problem)) <= best
        result = dcra.solve(problem, method="enumerate", seed=0)
        assert result.fun - float(best) <= result.tiny
        assert result.status == "optimal"


def test_fractions_decide_what_float64_cannot():
    """Four points share the value 0 as computed; one of them is 2^-60 below the others."""
    problem = Problem(linear=[1.0, -1.0, 2.0**-60, 0.0], constant=0.0)
    judge = Judge(compile_problem(problem))
    judge.best, judge.tolerance = 0.0, 0.0
    judge.look_at(np.array([[1.0, 1, -1, 1], [1, 1, 1, 1]]))
    assert judge.least == -(2.0**-60)


def test_without_fractions_there_is_no_claim(monkeypatch):
    monkeypatch.setattr("dcra.model.exact_value.exact_value", lambda problem, x: None)
    problem = Problem(linear=[1e16, 1.0, -1e16, 3.0])
    judge = Judge(compile_problem(problem))
    judge.best, judge.tolerance = -4.0, 0.0
    judge.look_at(np.array([[1.0, -1, 1, -1]]))
    assert judge.least < -4


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("sparse_store", [False, True])
@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("domain", ["spin", "binary"])
def test_running_values_stay_within_their_error(domain, coupled, sparse_store):
    rng = np.random.default_rng(3)
    A = rng.standard_normal((30, 12)) * (rng.random((30, 12)) < (0.05 if sparse_store else 1.0))
    A[:, 3] *= 1e6
    store = sparse.csr_array(A) if sparse_store else A
    Q = rng.standard_normal((12, 12)) if coupled else None
    problem = Problem([Term("squared", store, rng.standard_normal(30))], quadratic=Q, domain=domain)
    compiled = compile_problem(problem)
    state = Enumerate().start(compiled, Starts(0, 0, 1))
    form = state.ordered.compiled
    least = np.empty(1)
    for base in range(0, 2**12, 1024):
        state._run(form.tables(np.float64), base, base + 1024, least)
        true = compiled.judged(state.spins(np.arange(base, base + 1024))).min()
        error = state.ordered.error(spins_of(np.array([base]), 12))[0]
        assert abs(form.value_scale * least[0] + form.offset - true) <= error
        assert error <= 1e-6 * abs(true)


@pytest.mark.parametrize("loss", RATIONAL)
def test_errors_cover_what_float64_loses(loss):
    for seed in range(5):
        rng = np.random.default_rng((seed, 6))
        scale = 10.0 ** rng.integers(-6, 7, (4, 5))
        problem = Problem([Term(loss, scale * rng.standard_normal((4, 5)), scale[:, 0])], constant=1e3)
        X = points_of(problem)
        errors = errors_at(problem, X)
        for x, value, error in zip(X, problem.objective(X), errors, strict=True):
            assert abs(Fraction(value) - exact_value(problem, x)) <= Fraction(error)
        assert errors.max() <= largest_error(problem)


def test_whole_numbers_too_large_to_add_up_have_an_error():
    A = np.array([[1e17, -1e17, 1.0]])
    problem = Problem([Term("l1", A, [0.0])])
    assert problem.integer_valued
    assert errors_at(problem, np.array([[1.0, 1.0, 1.0]]))[0] >= 1


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "capped_l1"])
def test_a_right_hand_side_far_from_what_the_matrix_reaches(loss):
    """Divided by the size of A, the residual is beyond what stands for infinity in tables."""
    A, b = np.array([[-8e-31, 3e-31]]), np.array([1.0])
    problem = Problem([Term(loss, A, b)], linear=[1e5, -1.0], domain="binary")
    result = dcra.solve(problem, method="enumerate", seed=0)
    assert result.status == "optimal"
    assert result.fun == problem.objective(points_of(problem)).min()
