"""Couplings beside losses and constraints: squares that stand for them, and proofs by these."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint

import dcra
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.exact.coupled_kinks import has_coupled_kinks
from dcra.exact.kinks import has_kinks
from dcra.exact.multipliers import least_multipliers
from dcra.exact.prove import ProofState
from dcra.exact.squares import squares_of
from dcra.exact.squaring import Squaring
from dcra.model.exact_value import exact_value
from tests.campaign.cases import PROFILES

LOSSES = ["l1", "hinge", "squared", "huber", "quantile", "epsilon_insensitive", "logistic"]
DOMAINS = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}


def drawn(seed, loss="l1", domain="spin", scale=1.0, thin=False):
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(2, 9)), int(rng.integers(1, 9))
    A, Q = rng.standard_normal((r, n)), scale * rng.standard_normal((n, n))
    b = A @ rng.choice(DOMAINS[domain], n) + 0.3 * rng.standard_normal(r)
    if thin:
        Q = sparse.csr_array(np.rint(Q) * (rng.random((n, n)) < 0.4))
    linear = rng.standard_normal(n) if seed % 2 else None
    rows = [LinearConstraint(rng.integers(-2, 3, (1, n)), -2, 3)] if seed % 3 == 0 else []
    return dcra.Problem(
        [dcra.Term(loss, A, b)], quadratic=Q, linear=linear, domain=domain, constraints=rows, constant=0.5
    )


def points_of(problem):
    X = np.array(list(product(DOMAINS[problem.domain], repeat=problem.n)))
    return X[problem.violation(X) == 0]


def ended(generator):
    while True:
        try:
            next(generator)
        except StopIteration as end:
            return end.value


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("profile", ["normal", "small integers", "offset", "mixed scales", "huge", "tiny"])
def test_squares_are_never_further_above_than_their_slack(profile, domain):
    """Judged without any rounding."""
    rng = np.random.default_rng(3)
    n = 5
    Q, c = PROFILES[profile](rng, (n, n)), PROFILES[profile](rng, (n,))
    problem = dcra.Problem(quadratic=Q, linear=c, domain=domain)
    for d in (least_multipliers(problem), rng.standard_normal(n) * float(np.abs(Q).max())):
        squares = ended(squares_of(problem, d, np.zeros(n)))
        twin = squares.stand_in(problem)
        for x in points_of(problem):
            above = exact_value(twin, x) - exact_value(problem, x)
            assert above <= Fraction(squares.slack)
        size = float(np.abs(Q).sum() + np.abs(c).sum() + np.abs(d).sum())
        assert squares.slack <= 1e-10 * size


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_before_the_tree_holds(seed, loops):
    problem = drawn(seed, domain="binary" if seed % 2 else "spin")
    state = Squaring(np.ones(problem.n)).start(compile_problem(problem, loops), Starts(0, 0, 1))
    while not state.done:
        state.advance(1000)
    X = points_of(problem)
    news = state.take_news()
    assert news[0].lower_bound <= problem.objective(X).min() + 1e-9
    assert news[0].lower_bound > -np.inf


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(6))
def test_against_all_points(seed, loss):
    domain, scale = ("binary", "spin")[seed % 2], (1e-6, 1.0, 1e8)[seed % 3]
    problem = drawn(seed, loss, domain, scale, thin=seed == 4)
    assert not has_kinks(problem)
    assert has_coupled_kinks(problem)
    result = dcra.solve(problem, method="exact", seed=0, n_jobs=1)
    X = points_of(problem)
    assert result.status == "optimal"
    assert result.fun <= problem.objective(X).min() + result.tiny
    assert result.lower_bound <= problem.objective(X).min() + result.tiny


@pytest.mark.parametrize("seed", range(4))
def test_whole_numbers(seed):
    rng = np.random.default_rng(seed)
    n = 3
    A, Q = rng.integers(-3, 4, (4, n)).astype(float), rng.integers(-2, 3, (n, n)).astype(float)
    b = rng.integers(-9, 10, 4).astype(float)
    model = dcra.IntegerProblem([dcra.Term("l1", A, b)], quadratic=Q, domain=dcra.integers(-2, 3))
    result = dcra.solve(model, method="exact", seed=0, n_jobs=1)
    X = np.array(list(product(range(-2, 4), repeat=n)), float)
    assert result.status == "optimal"
    assert result.fun == min(model.objective(x) for x in X)


def test_constraints_alone_beside_couplings():
    rng = np.random.default_rng(5)
    n = 10
    Q = rng.integers(-4, 5, (n, n)).astype(float)
    problem = dcra.Problem(quadratic=Q, domain="binary", constraints=[dcra.exactly(4)])
    result = dcra.solve(problem, method="exact", seed=0, n_jobs=1)
    assert result.status == "optimal"
    assert result.fun == problem.objective(points_of(problem)).min()


def test_nothing_satisfies_the_rows():
    n = 6
    rows = [LinearConstraint([[6.0, 10.0, 15.0, 6.0, 10.0, 15.0]], 29, 29)]
    rng = np.random.default_rng(0)
    problem = dcra.Problem(quadratic=rng.standard_normal((n, n)), domain="binary", constraints=rows)
    assert dcra.solve(problem, method="exact", seed=0).status == "infeasible"


def large(n=30):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((n, n))
    b = A @ rng.choice([-1.0, 1.0], n) + 0.3 * rng.standard_normal(n)
    return dcra.Problem([dcra.Term("l1", A, b)], quadratic=rng.standard_normal((n, n)))


@pytest.mark.usefixtures("compiled_loops")
def test_the_same_tree_whoever_takes_on_its_nodes():
    one, two = (dcra.solve(large(), method="exact", seed=0, n_jobs=jobs) for jobs in (1, 2))
    assert one.status == two.status == "optimal"
    assert (one.nodes, one.fun, one.lower_bound) == (two.nodes, two.fun, two.lower_bound)


def test_pauses_change_nothing():
    problem = drawn(1)
    states = [ProofState(compile_problem(problem), None) for _ in range(2)]
    for state, work in zip(states, (100, 10**9), strict=True):
        while not state.done:
            state.advance(work)
    assert states[0].nodes == states[1].nodes
    assert states[0].least == states[1].least <= problem.objective(points_of(problem)).min() + 1e-9


def test_a_limit_leaves_a_bound():
    result = dcra.solve(large(120), method="exact", seed=0, time_limit=0.5, n_jobs=1)
    assert result.status == "time_limit"
    assert -np.inf < result.lower_bound < result.fun


def test_no_file_is_written():
    result = dcra.solve(drawn(1), method="exact", seed=0)
    assert result.certificate is None
    with pytest.raises(ValueError, match="beside losses or constraints, and of l2"):
        result.proof("nothing.npz")


def test_numbers_that_are_too_large_are_left_without_a_proof():
    problem = dcra.Problem([dcra.Term("l1", np.eye(3), np.ones(3))], quadratic=1e300 * (1 - np.eye(3)))
    result = dcra.solve(problem, method="exact", seed=0)
    assert result.fun == min(problem.objective(points_of(problem)))


def test_more_variables_than_there_is_room_for_are_refused():
    n = 501
    problem = dcra.Problem([dcra.Term("l1", np.ones((1, n)), [0.0])], quadratic=sparse.eye_array(n))
    assert not has_coupled_kinks(problem)
    with pytest.raises(ValueError, match="method 'exact' needs"):
        dcra.solve(problem, method="exact", time_limit=1)


@pytest.mark.parametrize("Q", [np.zeros((4, 4)), np.diag([1.0, -2.0, 0.0, 3.0])])
@pytest.mark.parametrize("domain", DOMAINS)
def test_nothing_is_coupled(Q, domain):
    rng = np.random.default_rng(0)
    term = dcra.Term("l1", rng.standard_normal((5, 4)), rng.standard_normal(5))
    problem = dcra.Problem([term], quadratic=Q, domain=domain)
    result = dcra.solve(problem, method="exact", seed=0)
    assert result.status == "optimal"
    assert result.fun == pytest.approx(problem.objective(points_of(problem)).min(), abs=1e-12)
