"""Pools of solutions, against all points; what is refused; where they are shown."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import dcra
from dcra.apps import maxsat
from dcra.model.pool import Solutions, as_pool
from dcra.result import Status
from dcra.search import kept
from dcra.search.kept import Kept
from dcra.search.next_best import with_next_best
from dcra.solving import inside

VALUES = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}


def all_points(n, domain):
    return np.array(list(product(VALUES[domain], repeat=n)))


def greedy(problem, size, distance):
    """The values of the pool, by looking at all points: the best, then the best of those far enough, ..."""
    X = all_points(problem.n, problem.domain)
    X = X[problem.violation(X) == 0]
    values = problem.objective(X)
    order = np.argsort(values, kind="stable")
    chosen = []
    for i in order:
        if all(np.count_nonzero(X[i] != X[j]) >= distance for j in chosen):
            chosen.append(i)
        if len(chosen) == size:
            break
    return values[chosen]


def random_problem(seed, kind="losses", domain="spin", constraints=()):
    rng = np.random.default_rng((seed, len(kind)))
    n, r = int(rng.integers(5, 11)), int(rng.integers(2, 8))
    terms = [dcra.Term("l1", rng.standard_normal((r, n)), rng.standard_normal(r))] if "losses" in kind else []
    Q = rng.standard_normal((n, n)) if "quadratic" in kind else None
    return dcra.Problem(
        terms, linear=rng.standard_normal(n), quadratic=Q, domain=domain, constraints=constraints
    )


@pytest.mark.parametrize("domain", VALUES)
@pytest.mark.parametrize("kind", ["losses", "quadratic", "losses and quadratic"])
@pytest.mark.parametrize(("size", "distance"), [(1, 1), (7, 1), (6, 3), (40, 2)])
def test_enumeration_gives_the_true_best(domain, kind, size, distance):
    for seed in range(4):
        problem = random_problem(seed, kind, domain)
        asked = dcra.Pool(size, distance)
        for result in (
            dcra.solve(problem, pool=asked, seed=0),
            dcra.solve(problem, pool=asked, seed=0, method="enumerate"),
        ):
            pool = result.pool
            assert pool.proven
            expected = greedy(problem, size, distance)
            assert len(pool) == len(expected)
            assert pool.values == pytest.approx(expected, abs=1e-9)
            assert problem.objective(pool.points) == pytest.approx(pool.values, abs=1e-12)
            assert np.all(pool.distances[~np.eye(len(pool), dtype=bool)] >= distance)
            assert pool.values[0] == result.fun
            assert np.array_equal(pool.points[0], result.x)


def test_a_larger_enumeration_passes_over_blocks_and_misses_nothing():
    rng = np.random.default_rng(3)
    problem = dcra.Problem([dcra.Term("l1", rng.standard_normal((3, 16)), rng.standard_normal(3))])
    result = dcra.solve(problem, pool=25, seed=0)
    values = np.sort(problem.objective(all_points(16, "spin")))[:25]
    assert result.pool.proven
    assert result.pool.values == pytest.approx(values, abs=1e-9)


def test_a_proof_of_the_best_does_not_end_the_search_for_others():
    rng = np.random.default_rng(0)
    A = rng.integers(-2, 3, (2, 12)).astype(float)
    problem = dcra.Problem([dcra.Term("l1", A, A @ rng.choice([-1, 1], 12))])
    result = dcra.solve(problem, pool=30, seed=0)
    assert result.fun == 0
    assert result.status == "optimal"
    assert result.pool.proven
    assert result.pool.values == pytest.approx(np.sort(problem.objective(all_points(12, "spin")))[:30])


@pytest.mark.parametrize("domain", VALUES)
def test_constraints_hold_in_the_pool(domain):
    for seed in range(4):
        problem = random_problem(
            seed, domain=domain, constraints=[dcra.exactly(3), dcra.at_most(1, [0, 1, 2])]
        )
        result = dcra.solve(problem, pool=5, seed=0)
        assert not np.any(problem.violation(result.pool.points))
        assert result.pool.values == pytest.approx(greedy(problem, 5, 1), abs=1e-9)
        assert result.pool.proven


@pytest.mark.parametrize("domain", VALUES)
@pytest.mark.parametrize("method", ["milp", "exact"])
@pytest.mark.parametrize(("size", "distance"), [(5, 1), (3, 3)])
def test_methods_that_prove_give_the_true_best(domain, method, size, distance):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        A, b = rng.integers(-5, 6, (4, 7)).astype(float), rng.integers(-9, 10, 4).astype(float)
        problem = dcra.Problem([dcra.Term("l1", A, b)], linear=rng.integers(-3, 4, 7), domain=domain)
        result = dcra.solve(problem, method=method, pool=dcra.Pool(size, distance), seed=0)
        assert result.pool.proven
        assert result.pool.values == pytest.approx(greedy_values(problem, result.pool, distance), abs=1e-6)
    few = dcra.minimize(np.eye(2), [3.0, 2.0], method=method, pool=9, seed=0)
    assert (len(few.pool), few.pool.proven) == (4, True)


def greedy_values(problem, pool, distance):
    """What the next point must cost, given the ones before it: ties may be broken in any way."""
    X = all_points(problem.n, problem.domain)
    values, found = problem.objective(X), []
    for i in range(len(pool)):
        far = np.all([(x != X).sum(axis=1) >= distance for x in pool.points[:i]], axis=0)
        found.append(values[far].min() if i else values.min())
    return found


@pytest.mark.parametrize("method", ["auto", "sweep", "flip", "anneal", "tabu", "dcra", "random"])
def test_every_search_keeps_what_it_met(method):
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((30, 40)), rng.standard_normal(30)
    result = dcra.minimize(A, b, method=method, starts=12, seed=0, pool=dcra.Pool(6, 4))
    pool, problem = result.pool, dcra.Problem([dcra.Term("l1", A, b)])
    assert not pool.proven
    assert 2 <= len(pool) <= 6
    assert np.all(np.diff(pool.values) >= 0)
    assert problem.objective(pool.points) == pytest.approx(pool.values, abs=1e-10)
    assert np.array_equal(pool.points[0], result.x)
    assert np.all(pool.distances[~np.eye(len(pool), dtype=bool)] >= 4)


def test_a_pool_changes_nothing_else():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((30, 40)), rng.standard_normal(30)
    plain, kept_too = (dcra.minimize(A, b, starts=6, seed=0, pool=pool) for pool in (None, 5))
    assert np.array_equal(plain.x, kept_too.x)
    assert plain.fun == kept_too.fun
    assert plain.pool is None


def test_points_come_in_the_type_of_x():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 6)).astype(np.float32)
    assert dcra.minimize(A, np.ones(5), pool=3, seed=0).pool.points.dtype == np.float32


def test_what_is_kept_where_room_is_short(monkeypatch):
    """Near points that crowd the room do not drive out what the pool would choose."""
    monkeypatch.setattr(kept, "MOST_POINTS", 8)
    keeper = Kept(dcra.Pool(2, 6), 10)
    assert not keeper.complete
    far = -np.ones(10)
    keeper.add(np.stack([np.ones(10), far]), np.array([0.0, 100.0]))
    for i in range(10):
        for j in range(i):
            near = np.ones(10)
            near[[i, j]] = -1
            keeper.add(near[None], np.array([1.0 + i + j]))
    spins, values = keeper.best()
    assert values.tolist() == [0.0, 100.0]
    assert np.array_equal(spins[1], far)


def test_printed_and_plain():
    result = dcra.minimize(np.eye(3), [3.0, 2.0, 0.5], pool=2, seed=0)
    assert "        pool  2 points, 3.5 to 4.5, proven" in str(result)
    assert "pool, as objective and variables that differ from x:" in result.summary()
    numbers = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert numbers["pool"] == {
        "x": [[1, 1, 1], [1, 1, -1]],
        "fun": [3.5, 4.5],
        "distances": [[0, 1], [1, 0]],
        "proven": True,
    }
    assert dcra.minimize(np.eye(3), [3.0, 2.0, 1.0], seed=0).to_dict()["pool"] is None


@pytest.mark.parametrize(
    ("pool", "error", "match"),
    [
        (0, ValueError, "`pool` must be at least 1; got 0"),
        (True, TypeError, "`pool` must be a number of points or a dcra.Pool; got True"),
        ("many", TypeError, "`pool` must be a number of points"),
        (2.5, TypeError, "`pool` must be a number of points"),
    ],
)
def test_bad_pools(pool, error, match):
    with pytest.raises(error, match=match):
        dcra.minimize(np.eye(2), np.ones(2), pool=pool)


def test_bad_numbers_in_pools():
    with pytest.raises(ValueError, match="`distance` of a pool must be at least 1; got 0"):
        dcra.Pool(3, 0)
    with pytest.raises(TypeError, match=r"`size` of a pool must be an integer; got 2\.5"):
        dcra.Pool(2.5)


def test_no_distance_is_larger_than_the_number_of_variables():
    with pytest.raises(ValueError, match="`distance` must be at most 20, the number of variables; got 21"):
        as_pool(dcra.Pool(5, 21), 20)
    assert as_pool(dcra.Pool(5, 20), 20) == dcra.Pool(5, 20)
    assert as_pool(dcra.Pool(5, 21)) == dcra.Pool(5, 21)
    assert as_pool(7, 1) == dcra.Pool(7)


def test_a_first_answer_that_is_proven_leaves_the_pool_to_be_filled():
    """Its signs alone tell the best point of a linear objective; the next ones are wanted all the same."""
    problem = dcra.Problem(linear=np.array([1.0, -2.0, 0.5]))
    result = dcra.solve(problem, pool=5, seed=0)
    assert result.status == "optimal"
    assert result.pool.values.tolist() == [-3.5, -2.5, -1.5, -0.5, 0.5]
    assert result.pool.proven


PACKAGES = {"milp": "scipy", "exact": "scipy", "cpsat": "ortools", "gurobi": "gurobipy", "scip": "pyscipopt"}


@pytest.mark.parametrize("method", PACKAGES)
def test_solvers_that_run_to_their_end_prove_the_next_best_points(method, rng):
    """Numbers that are not whole, of which a solver's own proof holds up to its tolerances alone."""
    pytest.importorskip(PACKAGES[method])
    A, b = rng.standard_normal((12, 8)), rng.standard_normal(12)
    X = np.array(list(product((-1.0, 1.0), repeat=8)))
    best = np.sort(np.abs(X @ A.T - b).sum(axis=1))[:4]
    result = dcra.minimize(A, b, method=method, pool=4, seed=0, n_jobs=1)
    np.testing.assert_allclose(result.pool.values, best)
    assert result.pool.proven
    assert result.status == "optimal"
    assert result.lower_bound == pytest.approx(result.fun, rel=1e-12)
    assert result.pool.values[0] == result.fun
    assert result.history[-1].lower_bound == result.lower_bound


@pytest.mark.parametrize("method", ["milp", "cpsat", "scip"])
@pytest.mark.parametrize("domain", VALUES)
def test_solvers_prove_pools_among_ties_and_under_constraints(method, domain):
    """Points far apart, pairs that are worth the same, more points asked for than there are."""
    pytest.importorskip(PACKAGES[method])
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, distance = int(rng.integers(4, 7)), int(rng.integers(1, 4))
        A, b = rng.standard_normal((5, n)), rng.standard_normal(5)
        A[:, 0] = A[:, 1]
        rows = [dcra.exactly(2)] if seed % 2 else []
        problem = dcra.Problem([dcra.Term("l1", A, b)], domain=domain, constraints=rows)
        pool = dcra.solve(problem, method=method, pool=dcra.Pool(7, distance), seed=0, n_jobs=1).pool
        X = all_points(n, domain)
        X = X[problem.violation(X) == 0]
        values, open_ = problem.objective(X), np.ones(len(X), bool)
        for point, value in zip(pool.points, pool.values, strict=True):
            assert value == pytest.approx(values[open_].min(), abs=1e-12)
            open_ &= (point != X).sum(axis=1) >= distance
        assert pool.proven
        assert len(pool) == 7 or not open_.any()


def test_where_too_many_points_are_alike_a_solver_proves_none_of_them():
    """Ten equal columns: a hundred points within its tolerances."""
    A = np.repeat(np.array([[np.pi / 10]]), 10, axis=1)
    result = dcra.minimize(A, [0.1], domain="binary", method="milp", pool=3, seed=0)
    assert result.pool.values == pytest.approx([0.1, np.pi / 10 - 0.1, np.pi / 10 - 0.1])
    assert not result.pool.proven
    assert result.status == "optimal"  # the point of no ones is alone


def stub(x, fun, lower_bound, status="converged", feasible=True):
    return dcra.Result(
        np.array(x), fun, lower_bound, Status(status), (), 1, 1, 0.0, 0, "milp", feasible=feasible
    )


@pytest.mark.parametrize("ending", [None, "time_limit", "interrupted", "without a point"])
def test_a_pool_that_is_cut_short_holds_what_was_met(ending):
    """The time is over, or a solve for another point did not run to its end."""
    problem = dcra.Problem(linear=np.array([4.0, 2.0, 1.0]))
    met = Solutions(np.array([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]]), np.array([-7.0, 7.0]))
    first = replace(stub([-1.0, -1.0, -1.0], -7.0, -7.1), pool=met)
    answers = [stub([-1.0, -1.0, 1.0], -5.0, -5.1)]
    if ending == "without a point":
        answers.append(stub([1.0, 1.0, 1.0], 7.0, -np.inf, feasible=False))
    else:
        answers.append(ending and stub([1.0, -1.0, 1.0], 3.0, -3.0, ending))
    waiting = iter(answers)
    found = with_next_best(problem, first, dcra.Pool(4), lambda twin: next(waiting))
    assert next(waiting, "none") == "none"
    more = [] if ending in (None, "without a point") else [3.0]
    assert found.pool.values.tolist() == [-7.0, -5.0, *more, 7.0]
    assert problem.objective(found.pool.points).tolist() == found.pool.values.tolist()
    assert not found.pool.proven
    assert found.status == "converged"


def test_a_point_that_is_met_later_and_better_becomes_the_answer():
    """Within its tolerances a solver may find the second best first."""
    problem = dcra.Problem(linear=np.array([4.0, 2.0, 1e-9]))
    met = Solutions(np.array([[-1.0, -1.0, 1.0]]), np.array([-6 + 1e-9]))
    first = replace(stub([-1.0, -1.0, 1.0], -6 + 1e-9, -6.1), pool=met)
    better = replace(
        stub([-1.0, -1.0, -1.0], -6 - 1e-9, -6.1), violation=1e-3
    )  # within the slack of its rows
    waiting = iter([better, stub([-1.0, 1.0, -1.0], -2 - 1e-9, -2.1)])
    found = with_next_best(problem, first, dcra.Pool(2), lambda twin: next(waiting))
    assert found.violation == better.violation
    assert found.x.tolist() == [-1.0, -1.0, -1.0]
    assert (found.fun, found.lower_bound, found.status) == (-6 - 1e-9, -6 - 1e-9, "optimal")
    assert found.pool.values.tolist() == [-6 - 1e-9, -6 + 1e-9]
    assert found.pool.proven


def test_no_solve_for_another_point_begins_when_the_time_is_over(monkeypatch):
    monkeypatch.setattr(inside, "LEAST_SECONDS", np.inf)
    A, b = np.random.default_rng(0).standard_normal((2, 6, 6))
    result = dcra.minimize(A, b[0], method="milp", pool=3, time_limit=100, seed=0)
    assert len(result.pool) == 1
    assert not result.pool.proven


def test_a_distance_is_one_of_the_variables_there_are():
    problem = dcra.Problem(linear=np.ones(4))
    for options in ({}, {"fixed": {0: 1}}):
        with pytest.raises(ValueError, match="`distance` must be at most 4, the number of variables; got 5"):
            dcra.solve(problem, pool=dcra.Pool(2, 5), seed=0, **options)
    found = dcra.solve(problem, pool=dcra.Pool(5, 4), seed=0)
    assert str(found.pool).startswith("2 of the 5 points asked for")


def test_the_answer_is_the_first_of_those_that_are_as_good():
    problem = maxsat.ClauseProblem(maxsat.Clauses.of([[1, 2, 3, 4], [-1, -2], [-3, -4], [1], [2], [3], [4]]))
    for seed in range(5):
        result = dcra.solve(problem, pool=3, starts=2, seed=seed)
        assert result.pool.points[0].tolist() == result.x.tolist()


@pytest.mark.parametrize("method", ["auto", "enumerate", "exact"])
def test_ties_at_a_distance_do_not_push_each_other_out(method):
    A, b = [[1.0, 0, 0], [-1, -1, -1]], [-1.0, -1]
    found = dcra.minimize(A, b, domain="binary", method=method, pool=dcra.Pool(2, 3), seed=0)
    assert found.pool.proven
    assert len(found.pool) == 2
    assert np.count_nonzero(found.pool.points[0] != found.pool.points[1]) == 3


@pytest.mark.parametrize("method", ["auto", "exact", "milp"])
def test_rows_that_were_narrowed_keep_their_slack_for_the_next_best(method):
    rows = LinearConstraint([[1e9, 0.1, 0.1, 0.1]], 1e9 + 0.2, 1e9 + 0.2)
    problem = dcra.Problem(linear=[1.0, 2, 3, 4], domain="binary", constraints=rows)
    found = dcra.solve(problem, fixed={0: 1}, pool=3, method=method, seed=1)
    assert found.pool.values.tolist() == [6.0, 7.0, 8.0]
    assert found.pool.proven


def test_pools_of_what_is_left_have_what_the_whole_allows():
    clauses = maxsat.Clauses.of([[-1], [-2]], hard=[[1, 2]], n=2)
    found = dcra.solve(maxsat.ClauseProblem(clauses), pool=3, seed=1, fixed={0: 0})
    assert found.pool.points.tolist() == [[0.0, 1.0]]
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 4))
    A[:, 3] = A[:, 2]  # ties, which round apart
    pool = dcra.minimize(A, rng.standard_normal(4), fixed={0: 1}, pool=4, seed=0)
    assert pool.fun == pool.pool.values[0] == min(pool.pool.values)
    far = dcra.minimize(A, A.sum(1), fixed={0: 1, 1: 1}, pool=dcra.Pool(3, 4), seed=0)
    assert str(far.pool).startswith("1 of the 3 points asked for")
    only = dcra.solve(dcra.Problem(linear=np.ones(3)), fixed=np.ones(3), pool=3)
    assert (only.pool.asked, len(only.pool)) == (3, 1)
