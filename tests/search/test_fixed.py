"""Variables that are fixed, and starts that are given in part, against all points."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint
from scipy.sparse.linalg import aslinearoperator

import dcra
from dcra.model import operators
from dcra.model.fixing import Fixing

VALUES = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}
domains = pytest.mark.parametrize("domain", VALUES)


def all_points(n, domain):
    return np.array(list(product(VALUES[domain], repeat=n)))


def random_problem(seed, domain, form=np.asarray, constrained=False):
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(5, 10)), int(rng.integers(2, 7))
    x = rng.choice(VALUES[domain], n)
    G = rng.integers(-3, 4, (1, n)).astype(float)
    rows = (
        [dcra.exactly(int(np.sum(x > 0))), LinearConstraint(G, G @ x - 1, G @ x + 1)] if constrained else ()
    )
    problem = dcra.Problem(
        [
            dcra.Term("l1", form(rng.standard_normal((r, n))), rng.standard_normal(r)),
            dcra.Term(
                "huber", form(rng.standard_normal((r, n))), rng.standard_normal(r), 0.5 + rng.random(r)
            ),
        ],
        linear=rng.standard_normal(n),
        quadratic=form(rng.standard_normal((n, n))),
        constant=1.5,
        domain=domain,
        constraints=rows,
    )
    chosen = rng.permutation(n)[: int(rng.integers(1, n))]
    return problem, {int(i): float(x[i]) for i in chosen}


def least(problem, fixed):
    X = all_points(problem.n, problem.domain)
    keep = np.all([X[:, i] == value for i, value in fixed.items()], axis=0) & (problem.violation(X) == 0)
    return np.sort(problem.objective(X[keep]))


@domains
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, aslinearoperator])
def test_agrees_with_all_points(domain, constrained, form):
    for seed in range(8):
        problem, fixed = random_problem(seed, domain, form, constrained)
        values = least(problem, fixed)
        result = dcra.solve(problem, fixed=fixed, seed=0, pool=4)
        assert all(result.x[i] == value for i, value in fixed.items())
        assert result.fun == problem.objective(result.x) == pytest.approx(values[0], abs=1e-9)
        assert result.feasible
        assert result.status == "optimal"
        assert values[0] - 1e-6 <= result.lower_bound <= result.fun
        assert result.pool.values == pytest.approx(values[:4], abs=1e-9)
        assert all(np.all(result.pool.points[:, i] == value) for i, value in fixed.items())


@domains
def test_bounds_of_searches_are_those_of_the_rest(domain):
    for seed in range(6):
        problem, fixed = random_problem(seed, domain)
        result = dcra.solve(problem, fixed=fixed, method="anneal", starts=3, seed=0)
        assert result.lower_bound <= least(problem, fixed)[0] + 1e-9
        assert all(result.x[i] == value for i, value in fixed.items())


def test_operators_that_are_not_written_out(monkeypatch):
    monkeypatch.setattr(operators, "MATERIALIZE_ENTRIES", 1)
    for seed in range(5):
        problem, fixed = random_problem(seed, "spin", aslinearoperator)
        rest = Fixing(problem, np.array([fixed.get(i, np.nan) for i in range(problem.n)]))
        X = all_points(rest.free.size, "spin")
        assert rest.problem.objective(X) == pytest.approx(problem.objective(rest.complete(X)), abs=1e-9)


def test_arrays_and_negative_indices():
    A, b = np.eye(3), np.array([3.0, 2.0, 1.0])
    for fixed in ({-1: -1}, [np.nan, np.nan, -1], np.array([np.nan, np.nan, -1])):
        assert dcra.minimize(A, b, fixed=fixed, seed=0).x.tolist() == [1, 1, -1]


def test_nothing_left_and_nothing_fixed():
    A, b = np.eye(2), np.array([3.0, 2.0])
    result = dcra.minimize(A, b, fixed={0: -1, 1: -1}, pool=3, callback=print)
    assert (result.fun, result.lower_bound, result.status) == (7, 7, "optimal")
    assert result.pool.values.tolist() == [7]
    assert str(result)
    off = dcra.minimize(A, b, fixed={0: -1, 1: -1}, constraints=dcra.exactly(1))
    assert not off.feasible
    assert off.status == "infeasible"
    assert off.violation == 2
    assert dcra.minimize(A, b, fixed={}, seed=0).x.tolist() == [1, 1]


def test_clauses_keep_their_kind():
    problem = dcra.apps.maxsat.ClauseProblem(dcra.apps.maxsat.Clauses.of([[1], [2]], hard=[[-1, -2]]))
    result = dcra.solve(problem, fixed={0: 1}, seed=0)
    assert (result.x.tolist(), result.constraint_kind, result.feasible) == ([1, 0], "clause", True)
    broken = dcra.solve(problem, fixed={0: 1, 1: 1}, seed=0)
    assert not broken.feasible


def test_callbacks_see_all_variables():
    rng = np.random.default_rng(0)
    seen = []
    problem = dcra.Problem([dcra.Term("l1", rng.standard_normal((30, 40)), rng.standard_normal(30))])
    dcra.solve(problem, fixed={3: -1, 5: 1}, starts=2, seed=0, callback=lambda p: seen.append((p.fun, p.x)))
    for fun, x in seen:
        assert (x is None) == (fun == np.inf)
        if x is not None:
            assert (x[3], x[5]) == (-1, 1)
            assert problem.objective(x) == pytest.approx(fun, abs=1e-9)
    assert seen


def test_starts_are_those_of_all_variables():
    rng = np.random.default_rng(0)
    problem = dcra.Problem([dcra.Term("l1", rng.standard_normal((30, 40)), rng.standard_normal(30))])
    found = dcra.solve(problem, fixed={3: -1}, starts=4, seed=0)
    again = dcra.solve(problem, fixed={3: -1}, starts=1, seed=0, x0=found, method="flip")
    assert again.fun <= found.fun


@pytest.mark.parametrize(
    ("fixed", "error", "match"),
    [
        ({0: 2}, ValueError, "`fixed` must hold only -1 and 1 for the spin domain; found 2"),
        ({5: 1}, ValueError, r"`fixed` must name variables in \[0, 3\); found 5"),
        ({"a": 1}, TypeError, "`fixed` must name variables by their index, an integer; got 'a'"),
        ({0: "up"}, TypeError, "`fixed` must hold numbers; variable 0 has 'up'"),
        ({0: np.nan}, ValueError, "variable 0 has NaN: leave it out"),
        ({0: 1, -3: -1}, ValueError, "`fixed` gives variable 0 two values"),
        (
            [1, 1],
            ValueError,
            r"`fixed` must have shape \(3,\), with NaN for variables that are free; got \(2,\)",
        ),
        (np.ma.masked_equal([1, 1, -1], -1), ValueError, "`fixed` must not be masked"),
        ("all", TypeError, "`fixed` must be {index: value} or an array; got 'all'"),
    ],
)
def test_bad_fixings(fixed, error, match):
    with pytest.raises(error, match=match):
        dcra.minimize(np.eye(3), np.ones(3), fixed=fixed)


def test_fixing_against_the_constraints_is_refused():
    with pytest.raises(ValueError, match=r"with `fixed`, .*, `constraints\[0\], at_most\(1\)` cannot be "):
        dcra.minimize(np.eye(3), np.ones(3), fixed={0: 1, 1: 1}, constraints=dcra.at_most(1))


@domains
def test_partial_starts_keep_what_is_given(domain):
    """With no more than the start itself judged, x agrees with what was given and is best in the rest."""
    for seed in range(8):
        problem, fixed = random_problem(seed, domain)
        x0 = np.full(problem.n, np.nan)
        x0[list(fixed)] = list(fixed.values())
        given = dcra.solve(problem, x0=x0, method="random", starts=1, seed=0)
        assert given.fun <= least(problem, fixed)[0] + 1e-9
    both = np.full((2, problem.n), np.nan)
    both[0] = VALUES[domain][0]
    assert dcra.solve(problem, x0=both, starts=2, seed=0).feasible


def test_partial_starts_where_constraints_forbid_them():
    x0 = [1, 1, np.nan, np.nan]
    result = dcra.minimize(np.eye(4), np.ones(4), x0=x0, constraints=dcra.at_most(1), seed=0)
    assert result.feasible


def test_partial_starts_take_part_of_the_time(monkeypatch):
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((30, 40)), rng.standard_normal(30)
    x0 = np.where(rng.random(40) < 0.5, 1.0, np.nan)
    result = dcra.minimize(A, b, x0=x0, time_limit=0.1, seed=0)
    assert result.status in ("time_limit", "optimal")


@pytest.mark.parametrize(
    ("x0", "error", "match"),
    [
        ([np.nan, 2], ValueError, "`x0` must hold only -1 and 1 for the spin domain; found 2"),
        ([np.nan], ValueError, r"`x0` must have shape \(2,\)"),
        (["a", "b"], TypeError, "`x0` must hold numbers"),
    ],
)
def test_bad_partial_starts(x0, error, match):
    with pytest.raises(error, match=match):
        dcra.minimize(np.eye(2), np.ones(2), x0=x0)


def test_rows_of_what_is_free_keep_the_slack_of_the_whole_rows():
    """Without it 1 + 5e-10 would be 1 beside free coefficients of 1, and the answer infeasible."""
    rows = LinearConstraint([[1e-3, 1.0, 1.0 + 5e-10]], -np.inf, 1.0)
    problem = dcra.Problem(linear=[0.0, -1.0, -2.0], domain="binary", constraints=rows)
    result = dcra.solve(problem, fixed={0: 0}, seed=0)
    assert (result.status, result.feasible, result.fun) == ("optimal", True, -1.0)
    assert result.x.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(("big", "exact"), [(1e16, -1.25), (1e9, -0.35)])
def test_what_is_fixed_is_rounded_and_tiny_says_so(big, exact):
    linear = [big, -1.0 if big > 1e15 else -0.1, -big, 0.25]
    result = dcra.solve(dcra.Problem(linear=linear), fixed={0: 1, 1: 1, 2: 1}, seed=0)
    assert abs(result.fun - exact) <= result.tiny
    assert result.lower_bound <= exact + result.tiny


def test_the_only_point_may_be_infeasible():
    problem = dcra.Problem(linear=[1.0, 2.0], constraints=dcra.exactly(1))
    assert dcra.solve(problem, fixed={0: 1, 1: 1}, seed=0).status == "infeasible"
    assert dcra.solve(problem, fixed={0: 1, 1: -1}, seed=0).status == "optimal"


@pytest.mark.parametrize("method", ["auto", "milp"])
def test_small_coefficients_beside_a_large_one_that_is_fixed(method):
    row = LinearConstraint([[1e14] + 20 * [0.5]], 1e14 + 2.5, 1e14 + 2.5)
    problem = dcra.Problem(linear=np.ones(21), domain="binary", constraints=row)
    result = dcra.solve(problem, fixed={0: 1}, seed=1, method=method)
    assert (result.status, result.fun, result.feasible) == ("optimal", 6.0, True)


def test_a_far_bound_is_none_that_rounding_closes(rng):
    A, x = rng.standard_normal((60, 40)) * 1e6, np.sign(rng.standard_normal(40))
    b = A @ x + 0.05 * rng.standard_normal(60)
    result = dcra.minimize(A, b, "squared", fixed={0: x[0]}, method="flip", starts=4, seed=1)
    assert result.tiny < 1e-3
    assert result.gap == 1.0


def test_an_answer_that_the_whole_rules_out_is_no_proof_of_another():
    """Rows of what is left are wider by a rounding; the pool has points that the whole problem takes."""
    weights = [-3.0, 3, -2, -2, 1e16, -1, -3, -1, 1, 2, -1]
    linear = [-345.0, -418, -530, -64, -607, -288, -664, 914, 948, 552, -426]
    row = LinearConstraint([weights], 1e16 - 8, 1e16 - 4)
    problem = dcra.Problem(linear=linear, constraints=row)
    result = dcra.solve(problem, fixed={8: 1}, pool=3, method="exact", seed=0)
    X = all_points(11, "spin")
    X = X[(X[:, 8] == 1) & (problem.violation(X) == 0)]
    assert result.feasible
    assert result.lower_bound <= problem.objective(X).min()
    assert (result.status == "optimal") <= (result.gap == 0)
