"""Where features meet: clocks, devices, kinds of problem, and whose points a method is judged by."""

from __future__ import annotations

import time
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import dcra
from dcra.apps.maxsat import ClauseProblem, random_clauses
from dcra.compiled.form import compile_problem
from dcra.engines import DCRA, Starts, Sweep
from dcra.exact.meet_in_the_middle import Meet
from dcra.methods import METHODS
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.result import Status
from dcra.solving import inside, options


class Clock:
    """A clock that work of the test's own moves on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def slow_matrix(A, clock, seconds):
    """A LinearOperator whose products take `seconds` each."""

    def product(M):
        def multiply(x):
            clock.now += seconds
            return M @ x

        return multiply

    return LinearOperator(A.shape, matvec=product(A), rmatvec=product(A.T), matmat=product(A), dtype=float)


def test_the_time_limit_counts_from_the_call(monkeypatch, rng):
    """Terms that take ten seconds to build leave nothing of a limit of five."""
    clock = Clock()
    for module in (options, inside):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=clock))
    A = rng.standard_normal((20, 30))
    result = dcra.minimize(slow_matrix(A, clock, 10.0), np.ones(20), time_limit=5.0, seed=0, n_jobs=1)
    assert result.seconds >= 10.0
    assert result.status is Status.TIME_LIMIT
    assert result.n_starts == 0


@pytest.mark.parametrize("method", ["dcra-paper", "dcra", "sweep", "flip", "subgradient", "mpec-epm-table"])
def test_methods_are_judged_by_their_own_points(method, monkeypatch, rng):
    """The driver's first answer is the optimum here, and must not be taken for the method's."""
    A = np.eye(12)
    b = rng.choice([-1.0, 1.0], 12)
    problem = Problem([Term("l1", A, b)])
    monkeypatch.setattr("dcra.search.driver.carry_out", lambda search, plan, on_tick: search.offer(-b))
    assert dcra.solve(problem, method=method, seed=0).fun == pytest.approx(24.0)
    assert dcra.solve(problem, method="auto", seed=0).fun == 0.0


def test_the_papers_method_reports_what_its_engine_found(rng):
    A, b = rng.standard_normal((30, 40)), rng.standard_normal(30)
    state = DCRA.paper().start(compile_problem(Problem([Term("l1", A, b)])), Starts(7, 0, 2))
    while not state.done:
        state.advance(10**9)
    own = np.abs(state.candidates() @ A.T - b).sum(axis=1).min()
    assert dcra.minimize(A, b, method="dcra-paper", starts=2, seed=7).fun == pytest.approx(own)


def test_two_terms_on_another_device_stay_there(rng):
    """Array code makes no array on a device of its own choice."""
    device = array_api_strict.Device("device1")
    A, b = rng.standard_normal((2, 6, 9)), rng.standard_normal((2, 6))
    terms = [
        Term(loss, array_api_strict.asarray(M, device=device), array_api_strict.asarray(v, device=device))
        for loss, M, v in zip(("l1", "linf"), A, b, strict=True)
    ]
    result = dcra.solve(Problem(terms), method="sweep", starts=2, seed=0)
    assert result.x.device == device
    spins = np.asarray(array_api_strict.asarray(result.x, device=array_api_strict.Device("CPU_DEVICE")))
    want = np.abs(A[0] @ spins - b[0]).sum() + np.abs(A[1] @ spins - b[1]).max()
    assert result.fun == pytest.approx(want)


def test_a_quadratic_alone_on_another_device_stays_there(rng):
    device = array_api_strict.Device("device1")
    Q = array_api_strict.asarray(rng.standard_normal((9, 9)), device=device)
    assert dcra.solve(Problem(quadratic=Q), method="sweep", starts=2, seed=0).x.device == device


def test_whole_numbers_serve_as_options(rng):
    A, b = rng.standard_normal((20, 30)), rng.standard_normal(20)
    whole = dcra.minimize(A, b, method=Sweep(kappa=1), starts=2, seed=0)
    assert np.array_equal(whole.x, dcra.minimize(A, b, method=Sweep(kappa=1.0), starts=2, seed=0).x)


def test_an_engine_remembers_no_problem():
    """One engine for two problems: what it learned of the first is nothing to the second."""
    engine = Meet()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        A = rng.integers(0, 50, (3, 16)).astype(float)
        b = A @ rng.integers(0, 2, 16)
        result = dcra.minimize(A, b, domain="binary", method=engine, seed=0)
        assert result.fun == 0.0


def test_other_parts_are_the_same_kind_of_problem():
    problem = ClauseProblem(random_clauses(12, 60, 2, seed=0))
    other = problem.replace(constraints=dcra.exactly(4))
    assert isinstance(other, ClauseProblem)
    assert other.clauses is problem.clauses
    result = dcra.solve(other, seed=0)
    assert result.feasible
    points = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    points = points[points.sum(axis=1) == 4].astype(float)
    assert result.fun == problem.objective(points).min()


def test_a_limit_is_kept_by_every_method_without_starts_left(monkeypatch, rng):
    """Where the time is over before anything began, the first answer is all there is."""
    clock = Clock()
    for module in (options, inside):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=clock))
    A = rng.standard_normal((8, 10))
    slow = slow_matrix(A, clock, 1.0)
    for method in sorted(METHODS.keys() - {"gurobi", "cpsat", "scip", "milp", "lp-rounding", "meet"}):
        if method in ("sdp-rounding",):
            continue
        begun = clock.now
        result = dcra.minimize(slow, np.ones(8), method=method, time_limit=0.5, seed=0, n_jobs=1)
        assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL), method
        assert result.seconds == pytest.approx(clock.now - begun)


def test_seconds_are_those_of_the_call(rng):
    begun = time.perf_counter()
    result = dcra.minimize(rng.standard_normal((8, 10)), np.ones(8), seed=0)
    assert result.seconds <= time.perf_counter() - begun
