"""All permutations of an assignment: the optimum, and its proof."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import dcra
from dcra import costs
from dcra._kernels import permutations as loops
from dcra.apps.qap import AssignmentProblem, assignment_cost, qap
from dcra.apps.qap_exact import BranchState, enumerable, rest_of, rounding
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.search.specialists import specialist_of

KINDS = ("integers", "signs", "normal", "zeros", "symmetric")


def matrices(kind, n, seed=0):
    rng = np.random.default_rng((n, seed))
    F, D = {
        "integers": lambda: rng.integers(0, 9, (2, n, n)).astype(float),
        "signs": lambda: rng.integers(-9, 9, (2, n, n)).astype(float),
        "normal": lambda: rng.standard_normal((2, n, n)),
        "zeros": lambda: rng.integers(0, 9, (2, n, n)) * (rng.random((2, n, n)) < 0.3) * 1.0,
        "symmetric": lambda: np.add(M := rng.integers(0, 9, (2, n, n)), M.transpose(0, 2, 1)) * 1.0,
    }[kind]()
    return np.ascontiguousarray(F), np.ascontiguousarray(D)


def finished(F, D, first, work):
    state = BranchState(F, D, Starts(0, first, 1))
    state.branches.best[:] = np.arange(len(F))  # nothing to go by
    state.cost[0] = np.inf
    while not state.done:
        state.advance(work)
    return state


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("n", [1, 2, 5, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_found_and_proven(kind, n):
    F, D = matrices(kind, n)
    least = min(assignment_cost(F, D, np.array(p)) for p in permutations(range(n)))
    found = qap(F, D, seed=0)
    assert found.cost == pytest.approx(least, abs=1e-9)
    assert found.result.status == "optimal"
    assert found.result.lower_bound <= found.cost + 1e-9


@pytest.mark.parametrize("work", [1, 10**9])
@pytest.mark.parametrize("kind", KINDS)
def test_the_best_with_the_first_facility_in_its_place(kind, work):
    n = 5
    F, D = matrices(kind, n)
    for first in range(n):
        state = finished(F, D, first, work)
        facility = state.order[0]
        costs = [assignment_cost(F, D, np.array(p)) for p in permutations(range(n)) if p[facility] == first]
        assert state.cost[0] == pytest.approx(min(costs), abs=1e-9)
        p = np.argmax(state.candidates().reshape(n, n), axis=1)
        assert p[facility] == first
        assert assignment_cost(F, D, p) == pytest.approx(state.cost[0], abs=1e-9)
        assert state.least <= min(costs)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_costs_no_less(kind):
    n = 5
    F, D = matrices(kind, n)
    np.fill_diagonal(F, 0)
    rest = rest_of(F, D)
    for k in range(n):
        least = min(np.sum(F[k:, k:] * D[np.ix_(p, p)]) for p in map(list, permutations(range(n), n - k)))
        assert rest[k] <= least + 1e-9


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("kind", ["integers", "symmetric"])
def test_nine_facilities(kind):
    F, D = matrices(kind, 9)
    found = qap(F, D, seed=0)
    assert found.result.status == "optimal"
    assert found.result.lower_bound == found.cost


def test_rounding_is_allowed_for_where_there_is_any():
    F, D = matrices("integers", 6)
    assert rounding(F, D) == 0
    assert rounding(F, 0.1 * D) > 0
    assert rounding(F, 2.0**48 * D) > 0


def test_larger_ones_are_left_to_swaps(monkeypatch):
    monkeypatch.setattr(costs, "slowdown", lambda: 1.0)
    assert enumerable(np.ones((9, 9)), None)
    assert enumerable(np.ones((9, 9)), 5.0)
    assert not enumerable(np.ones((9, 9)), 1e-4)
    assert not enumerable(np.ones((14, 14)), None)
    assert not enumerable(np.ones((200, 200)), 1e9)
    problem = AssignmentProblem(*matrices("integers", 14))
    plan = specialist_of(problem).plan(compile_problem(problem), None)
    assert not plan.exact


def test_without_loops_swaps_do_it():
    problem = AssignmentProblem(*matrices("integers", 6))
    assert not specialist_of(problem).plan(compile_problem(problem, loops=False), None).exact


def test_places_outside_are_refused():
    F, D = matrices("integers", 4)
    own, cost = loops.branches(F, D), np.array([np.inf])
    for first, depth in ((4, 0), (-1, 0), (0, 4), (0, -2), (0, 2)):  # at depth 2 two places are -1
        with pytest.raises(ValueError, match="`first` and `cursor` must hold places"):
            loops.branch(F, D, np.zeros(4), first, cost, 10, np.array([depth, 0]), own)
    big = np.zeros((64, 64))
    with pytest.raises(ValueError, match="at most 63 facilities; got 64"):
        loops.branch(big, big, np.zeros(64), 0, cost, 10, np.zeros(2, np.int64), loops.branches(big, big))


def test_options_that_are_none_are_named():
    for method in ("auto", "anneal"):
        with pytest.raises(
            TypeError, match=r"`\*\*options` must be one of method, .*got 'sede'; did you mean 'seed'"
        ):
            qap([[0, 1], [1, 0]], [[0, 1], [1, 0]], method=method, sede=1)


@pytest.mark.parametrize("method", ["auto", "anneal", "exact"])
@pytest.mark.parametrize("kind", ["integers", "signs"])
def test_facilities_may_be_fixed(method, kind):
    F, D = matrices(kind, 5)
    found = qap(F, D, method=method, fixed={3: 1, 5: 1}, seed=0, starts=8)
    costs_of = [assignment_cost(F, D, np.array(p)) for p in permutations(range(5)) if p[:2] == (3, 0)]
    assert found.permutation[:2].tolist() == [3, 0]
    assert found.result.feasible
    assert found.cost == found.result.fun
    assert found.cost >= min(costs_of)
    if found.result.status == "optimal":
        assert found.cost == min(costs_of)


def test_fixed_places_beyond_the_penalty():
    """The identity, which the penalty is made for, is none of the points that are left."""
    cliques = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    near = 1 - np.kron(np.eye(2), np.ones((3, 3)))
    found = qap(cliques, near, fixed={3: 1, 6: 1}, seed=0)
    assert (found.cost, found.result.fun, found.result.feasible) == (8.0, 8.0, True)
    with pytest.raises(ValueError, match=r"with `fixed`.* cannot be satisfied"):
        qap(np.ones((3, 3)), np.ones((3, 3)), fixed={0: 1, 3: 1}, seed=0)


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("n", [1, 5, 8])
@pytest.mark.parametrize("jobs", [1, 3])
def test_method_exact_proves(n, jobs):
    F, D = matrices("integers", n)
    found = qap(F, D, method="exact", seed=0, n_jobs=jobs)
    assert found.result.status == "optimal"
    assert found.cost == qap(F, D, seed=0).cost == found.result.lower_bound
    whole = dcra.solve(AssignmentProblem(F, D), method="exact", starts=1, seed=0, n_jobs=jobs)
    assert whole.status == "optimal"
    assert whole.fun == found.cost


@pytest.mark.usefixtures("compiled_loops")
def test_method_exact_has_an_answer_where_time_is_short():
    F, D = matrices("integers", 25)
    found = qap(F, D, method="exact", time_limit=0.3, seed=0)
    assert sorted(found.permutation) == list(range(25))
    assert found.result.status == "time_limit"


def test_penalties_give_a_pool_where_one_is_asked_for():
    F, D = matrices("integers", 6)
    assert len(qap(F, D, method="anneal", pool=3, seed=0).result.pool)
