"""Linear constraints: what is accepted, what is refused, and that answers keep them."""

from __future__ import annotations

import time
from itertools import product
from math import inf

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment

import dcra
from dcra.constrained.penalties import penalised
from dcra.constrained.repair import Repair, Violation, repair_tables
from dcra.constrained.state import ConstrainedSearch
from dcra.losses import NAMES
from dcra.model.constraints import Constraints
from dcra.solving.options import SolveOptions
from dcra.solving.since import prepare

domains = pytest.mark.parametrize("domain", ["spin", "binary"])
VALUES = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}


def all_points(n, domain):
    return np.array(list(product(VALUES[domain], repeat=n)))


def random_constraints(rng, n, domain, form):
    """Constraints of every kind that some point satisfies."""
    x = rng.choice(VALUES[domain], n)
    ups = int(np.count_nonzero(x > 0))
    G = rng.integers(-3, 4, (2, n)).astype(float)
    value = G @ x
    matrix = sparse.csr_array(G) if form == "sparse" else G
    return [
        dcra.exactly(ups),
        [dcra.at_most(ups), LinearConstraint(matrix, value - 1, inf)],
        LinearConstraint(matrix, value, value),
        [
            LinearConstraint(matrix, -inf, value + 1),
            LinearConstraint(matrix[:1], value[:1] - 2, value[:1] + 2),
        ],
        dcra.exactly(int(np.count_nonzero(x[: n // 2] > 0)), np.arange(n // 2)),
    ]


def random_problem(seed, domain, form, loss, which):
    rng = np.random.default_rng((seed, which, len(loss)))
    n, r = int(rng.integers(4, 12)), int(rng.integers(2, 8))
    A = rng.standard_normal((r, n)) * (rng.random((r, n)) < 0.6)
    constraints = random_constraints(rng, n, domain, form)[which]
    term = dcra.Term(loss, sparse.csc_array(A) if form == "sparse" else A, rng.standard_normal(r))
    return dcra.Problem([term], linear=rng.standard_normal(n), domain=domain, constraints=constraints)


def brute_force(problem):
    X = all_points(problem.n, problem.domain)
    return problem.objective(X)[problem.violation(X) == 0].min()


@domains
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("loss", NAMES)
def test_agrees_with_brute_force(domain, form, loss):
    for which in range(5):
        problem = random_problem(1, domain, form, loss, which)
        result = dcra.solve(problem, seed=0)
        assert result.feasible
        assert problem.violation(result.x) == result.violation == 0
        assert result.fun == pytest.approx(brute_force(problem), abs=1e-9)
        assert result.status == "optimal"


@domains
@pytest.mark.parametrize("method", ["anneal", "sweep", "flip", "tabu", "dcra"])
def test_every_search_gives_feasible_points_and_valid_bounds(domain, method):
    for which in range(5):
        problem = random_problem(2, domain, "dense", "l1", which)
        result = dcra.solve(problem, method=method, starts=8, seed=0)
        best = brute_force(problem)
        assert result.feasible
        assert problem.violation(result.x) == 0
        assert result.fun >= best - 1e-9
        assert result.lower_bound <= best + 1e-9
        assert result.fun == problem.objective(result.x)


def test_annealing_finds_constrained_optima():
    for which in (0, 1, 3, 4):  # two equations leave few points, and no way between them
        problem = random_problem(3, "binary", "dense", "l1", which)
        result = dcra.solve(problem, method="anneal", starts=16, seed=0)
        assert result.fun == pytest.approx(brute_force(problem), abs=1e-9)


def test_the_same_seed_gives_the_same_answer_at_any_number_of_jobs(rng):
    A, b = rng.standard_normal((30, 40)), rng.standard_normal(30)
    options = {"constraints": [dcra.exactly(20), dcra.at_most(4, range(10))], "starts": 4, "seed": 5}
    one, two = (dcra.minimize(A, b, n_jobs=jobs, **options) for jobs in (1, 2))
    assert one.feasible
    np.testing.assert_array_equal(one.x, two.x)
    assert np.count_nonzero(one.x > 0) == 20
    assert np.count_nonzero(one.x[:10] > 0) <= 4


def test_a_given_point_is_a_start(rng):
    A = rng.standard_normal((60, 30))
    x = np.where(np.arange(30) < 10, 1.0, -1.0)
    result = dcra.minimize(A, A @ x, constraints=dcra.exactly(10), x0=x, starts=1, seed=0)
    assert result.fun == pytest.approx(0.0, abs=1e-9)


def test_what_cannot_be_satisfied_is_reported():
    """No bound shows that no sum of these numbers is 31; only all points together do."""
    rows = LinearConstraint([[10, 11, 12, 13, 14, 15]], 31, 31)
    result = dcra.solve(dcra.Problem(linear=np.ones(6), domain="binary", constraints=rows), seed=0)
    assert result.status == "infeasible"
    assert not result.success
    assert result.violation == 2.0
    assert result.gap == inf
    assert "VIOLATED by 2" in str(result)
    assert result.to_dict()["feasible"] is False


def test_a_search_that_finds_no_feasible_point_says_so(rng):
    A = 2.0 * rng.integers(1, 9, (1, 40)) * 3
    rows = [LinearConstraint(A, 601, 605), dcra.exactly(20)]  # multiples of 6 only
    problem = dcra.Problem([dcra.Term("l1", np.eye(40), 0.0)], domain="binary", constraints=rows)
    result = dcra.solve(problem, method="flip", starts=2, seed=0)
    assert not result.feasible
    assert result.violation == problem.violation(result.x) > 0
    assert "satisfies the constraints" in result.message


def test_the_result_has_one_weight_for_each_row(rng):
    A, b = rng.standard_normal((20, 30)), rng.standard_normal(20)
    result = dcra.minimize(A, b, constraints=[dcra.exactly(3), dcra.at_most(2, [0, 1, 2])], starts=2, seed=0)
    assert result.penalty_weights.shape == (2,)
    assert np.all(result.penalty_weights > 0)
    assert dcra.minimize(A, b, starts=1, seed=0).penalty_weights is None


@domains
def test_penalties_are_the_weighted_violation(domain, rng):
    for which in range(5):
        problem = random_problem(4, domain, "sparse", "huber", which)
        weights = rng.random(len(problem.constraints))
        X = all_points(problem.n, domain)
        excess = problem.constraints.excess(X)
        values = penalised(problem, weights).objective(X)
        np.testing.assert_allclose(values, problem.objective(X) + excess @ weights, atol=1e-9)


@domains
def test_groups_are_the_rows_that_count(domain):
    lo, hi = VALUES[domain]
    n = 6
    G = np.array([[2.0] * n, [0, 0, 0, 1, 2, 0]])
    four_up = 2.0 * (4 * hi + 2 * lo)
    constraints = Constraints([LinearConstraint(G, [four_up, -inf], [four_up, 9])], n, (lo, hi))
    (group,) = constraints.groups
    assert (group.least, group.most, group.members.size) == (4, 4, 6)
    assert not Constraints(LinearConstraint(G, 0, inf), n, (lo, hi)).groups


def test_overlapping_groups_are_kept_apart():
    constraints = Constraints([dcra.at_most(2, [0, 1, 2, 3]), dcra.exactly(1, [2, 3])], 5, (0.0, 1.0))
    assert [group.members.tolist() for group in constraints.groups] == [[2, 3]]


@domains
def test_to_spin_keeps_the_constraints(domain):
    problem = random_problem(5, domain, "dense", "l1", 3)
    X = all_points(problem.n, domain)
    spins = X if domain == "spin" else 2 * X - 1
    np.testing.assert_array_equal(problem.to_spin().violation(spins) == 0, problem.violation(X) == 0)


def test_repair_reaches_a_feasible_point(rng):
    G = (rng.random((40, 120)) < 0.1).astype(float)
    G[np.arange(40), np.arange(40)] = 1
    cover = Constraints(LinearConstraint(G, 1, inf), 120, (0.0, 1.0))
    whole, stepwise = (Repair(repair_tables(cover), np.zeros(120), np.ones(120), seed=0) for _ in range(2))
    whole.advance(1000)
    while not stepwise.done:
        stepwise.advance(3)
    assert cover.violation(whole.best) == 0
    assert whole.best.sum() < 40
    np.testing.assert_array_equal(whole.best, stepwise.best)


@pytest.mark.parametrize(("begun", "flips"), [(100.0, 0), (-100.0, 5)])
def test_the_last_repair_keeps_the_limit(monkeypatch, begun, flips):
    """Five flips lead to a feasible point; where the time is long over, none of them is made."""
    problem = dcra.Problem([dcra.Term("l1", np.eye(5), np.full(5, -1.0))], constraints=dcra.at_least(5))
    made, advance = [], Repair.advance

    def counted(self, count):
        made.append(count)
        advance(self, count)

    monkeypatch.setattr(Repair, "advance", counted)
    monkeypatch.setattr(ConstrainedSearch, "_violate_least", lambda self: None)
    options = SolveOptions(time_limit=1.0, n_jobs=1)
    search, _ = prepare(problem, options, time.perf_counter() - begun)
    search.offer(-np.ones(5))
    search.settle()
    assert sum(made) == flips


def test_a_cover_within_five_per_cent(rng):
    """Without branch and bound: by penalties, annealing, repair and swaps alone it is close."""
    G = (rng.random((30, 60)) < 0.15).astype(float)
    G[np.arange(30), np.arange(30)] = 1
    problem = dcra.Problem(
        linear=rng.integers(1, 20, 60).astype(float), domain="binary", constraints=LinearConstraint(G, 1, inf)
    )
    exact = dcra.solve(problem, seed=0)
    assert exact.status == "optimal"
    annealed = dcra.solve(problem, method="anneal", starts=16, seed=0)
    assert annealed.feasible
    assert annealed.fun <= 1.05 * exact.fun


def test_an_assignment_is_solved(rng):
    k = 8
    cost = rng.integers(1, 50, (k, k)).astype(float)
    rows = [dcra.exactly(1, range(k * i, k * i + k)) for i in range(k)]
    columns = [dcra.exactly(1, range(i, k * k, k)) for i in range(k)]
    result = dcra.solve(
        dcra.Problem(linear=cost.ravel(), domain="binary", constraints=rows + columns), seed=0
    )

    assert result.feasible
    assert result.status == "optimal"
    assert result.fun == cost[linear_sum_assignment(cost)].sum()


def test_arrays_of_another_library(xp, rng):
    A, b = rng.standard_normal((6, 8)), rng.standard_normal(6)
    result = dcra.minimize(
        xp.asarray(A), xp.asarray(b), constraints=dcra.exactly(3), method="sweep", starts=2
    )
    assert result.feasible
    assert np.count_nonzero(xp.host(result.x) > 0) == 3


BAD = {
    "kind": (TypeError, lambda: Bounds(0, 1), "`constraints` must be a scipy.optimize.LinearConstraint"),
    "element": (TypeError, lambda: [3], r"`constraints\[0\]` must be .* got int"),
    "columns": (ValueError, lambda: LinearConstraint(np.ones((1, 3)), 0, 1), "must have 4 columns.*got 3"),
    "finite": (
        ValueError,
        lambda: LinearConstraint([[1, np.nan, 0, 0]], 0, 1),
        r"`A` of `constraints\[0\]` must be finite",
    ),
    "nan": (ValueError, lambda: LinearConstraint(np.ones((1, 4)), np.nan, 1), "`lb` .* must not hold NaN"),
    "order": (ValueError, lambda: LinearConstraint(np.ones((1, 4)), 2, 1), r"row 0 asks for \[2, 1\]"),
    "shape": (
        ValueError,
        lambda: type("Rows", (), {"A": np.ones((1, 4)), "lb": [0, 0], "ub": 1}),
        r"`lb` of .* must be a number or have shape \(1,\); got \(2,\)",
    ),
    "reach": (ValueError, lambda: LinearConstraint(np.ones((1, 4)), 5, 9), r"row 0` cannot be satisfied"),
    "too many": (ValueError, lambda: dcra.exactly(5), "asks for 5 variables .* counts only 4"),
    "range": (ValueError, lambda: dcra.exactly(1, [0, 7]), r"must lie in \[0, 4\); found 7"),
    "twice": (ValueError, lambda: dcra.exactly(1, [0, 0]), "each variable once"),
    "empty": (ValueError, lambda: dcra.at_most(1, []), "at least one variable"),
    "mask": (ValueError, lambda: dcra.at_most(1, [True, False]), r"mask of shape \(4,\)"),
    "index": (TypeError, lambda: dcra.at_most(1, [0.5]), "sequence of integers"),
    "both": (ValueError, lambda: [dcra.exactly(1), dcra.exactly(2)], "contradict each other"),
    "fixed": (
        ValueError,
        lambda: [dcra.exactly(2, [0, 1]), dcra.at_most(0, [1, 2])],
        "cannot be satisfied|contradict each other",
    ),
    "divisor": (
        ValueError,
        lambda: LinearConstraint([[2, 4, 6, 2]], 7, 7),
        "by multiples of 2; it asks for 7",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_constraints_are_refused(name):
    kind, make, message = BAD[name]
    with pytest.raises(kind, match=message):
        dcra.Problem(linear=np.ones(4), domain="binary", constraints=make())


@pytest.mark.parametrize(("k", "kind"), [(-1, ValueError), (1.5, TypeError), (True, TypeError)])
def test_bad_counts_are_refused(k, kind):
    with pytest.raises(kind, match="`k` must"):
        dcra.exactly(k)


def test_no_constraints_are_no_constraints():
    assert dcra.Problem(linear=np.ones(2)).constraints is None
    assert dcra.Problem(linear=np.ones(2), constraints=[]).constraints is None
    assert dcra.Problem(linear=np.ones(2)).violation([1, -1]) == 0.0
    np.testing.assert_array_equal(dcra.Problem(linear=np.ones(1)).violation([[1], [-1]]), [0, 0])
    assert "1 constraints" in repr(dcra.Problem(linear=np.ones(2), constraints=dcra.exactly(1)))


@domains
def test_repair_keeps_its_books(domain, rng):
    problem = random_problem(6, domain, "dense", "l1", 3)
    tables = repair_tables(problem.constraints)
    violation = Violation(tables, rng.choice(VALUES[domain], problem.n))
    for j in rng.integers(0, problem.n, 20):
        violation.flip(j)
        fresh = Violation(tables, violation.x.copy())
        for name in ("activity", "excess", "part", "change", "touching"):
            np.testing.assert_allclose(getattr(violation, name), getattr(fresh, name), atol=1e-12)
        flipped = violation.x.copy()
        flipped[0] = sum(VALUES[domain]) - flipped[0]
        now, then = (problem.constraints.excess(x) @ tables.scale for x in (violation.x, flipped))
        assert violation.change[0] == pytest.approx(then - now, abs=1e-12)


@domains
@pytest.mark.parametrize("big", [1e10, 1e15])
def test_rows_of_whole_numbers_are_checked_exactly(domain, big):
    """A large coefficient does not forgive the others: nine ones need the switch that allows them."""
    G = np.append(np.ones(9), -big)[None]
    constraints = Constraints(LinearConstraint(G, -inf, 0), 10, VALUES[domain])
    X = all_points(10, domain)
    true = [sum(int(g) * int(v) for g, v in zip(G[0], x, strict=True)) for x in X]
    np.testing.assert_array_equal(constraints.violation(X) == 0, np.array(true) <= 0)
    problem = dcra.Problem(
        linear=np.append(-np.ones(9), 50.0), domain=domain, constraints=LinearConstraint(G, -inf, 0)
    )
    result = dcra.solve(problem, seed=0)
    assert result.feasible
    assert float((G @ result.x)[0]) <= 0


@pytest.mark.parametrize("scale", [1e-12, 0.1, 1e6 / 3])
@pytest.mark.parametrize("big", [1.0, 1e8, 1e14])
def test_other_rows_have_a_slack_in_their_own_units(scale, big):
    """Never as much as the smallest coefficient; what is off is reported all the same."""
    G = scale * np.array([[1.1, 1.3, 1.7, big]])
    x = np.array([1.0, 0.0, 1.0, 1.0])
    value = float((G @ x)[0])
    constraints = Constraints(LinearConstraint(G, value, value), 4, VALUES["binary"])
    assert constraints.violation(x) == 0
    assert constraints.violation(np.array([0.0, 0.0, 1.0, 1.0])) > 0
    off = 1e-10 * scale
    loose = Constraints(LinearConstraint(G, -inf, value - off), 4, VALUES["binary"])
    assert loose.violation(x) == 0
    assert big > 1 or loose.furthest(x) == pytest.approx(off, rel=1e-3)


def test_what_is_within_the_slack_is_reported():
    row = LinearConstraint([[0.1, 0.1, 0.1]], 0.3 + 1e-11, inf)
    result = dcra.solve(dcra.Problem(linear=np.ones(3), domain="binary", constraints=row), seed=0)
    assert result.feasible
    assert result.violation == pytest.approx(1e-11, rel=1e-3)


def test_a_narrow_interval_of_whole_numbers_is_no_equation():
    rng = np.random.default_rng(100)
    G = rng.integers(1, 10**9, (1, 24)).astype(float)
    x = rng.integers(0, 2, 24).astype(float)
    rows = LinearConstraint(G, G @ x - 2, G @ x)
    problem = dcra.Problem(linear=rng.standard_normal(24), domain="binary", constraints=rows)
    assert problem.violation(x) == 0
    assert not problem.constraints.equalities.any()
    assert dcra.solve(problem, seed=0, starts=2).status != "infeasible"


def test_penalties_keep_the_numbers_of_their_rows():
    """2^24 + 1 is no float32; the bound of the penalised problem must hold for the rows as they are."""
    G = np.array([[2.0**24 + 1, 2.0**24 + 1]])
    rows = LinearConstraint(G, 2.0**24 + 1, 2.0**24 + 1)
    A = np.eye(2, dtype=np.float32)
    problem = dcra.Problem([dcra.Term("l1", A, np.zeros(2))], domain="binary", constraints=rows)
    assert penalised(problem, np.ones(1)).objective([1, 0]) == problem.objective([1, 0]) == 1


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int64])
def test_counts_are_whole_numbers_of_any_type(kind):
    """In their own type 3 - uint8(5) is 254."""
    few = dcra.at_most(kind(5), [0, 1, 2])
    for rules in (few, dcra.implies(3, few), dcra.soft(few, 10.0)):
        result = dcra.solve(dcra.Problem(linear=[-1.0, -1, -1, -0.5], constraints=rules), seed=0)
        assert (result.status, result.fun) == ("optimal", -3.5)
    assert dcra.exactly(kind(5)).k.bit_length() == 3
    last = dcra.at_most(1, np.array([1, 2, 120], kind))
    assert dcra.Problem(linear=np.ones(300), constraints=last).violation(-np.ones(300)) == 0


def test_entries_of_rows_that_stand_twice_are_added_in_float64():
    G = sparse.coo_array((np.array([100, 100, 1], np.int8), ([0, 0, 0], [0, 0, 1])), shape=(1, 2))
    problem = dcra.Problem(linear=[1.0, 1.0], domain="binary", constraints=LinearConstraint(G, -np.inf, 150))
    assert problem.violation(np.array([1.0, 0.0])) == 50.0
