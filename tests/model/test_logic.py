"""Constraints in words, against what they say at all points."""

from __future__ import annotations

import doctest
from itertools import product

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import dcra
from dcra.model import logic, soft

VALUES = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}
domains = pytest.mark.parametrize("domain", VALUES)


def all_points(n, domain):
    return np.array(list(product(VALUES[domain], repeat=n)))


def holds(one, up, x):
    """What a constraint says of a point: `up` of its variables, and x, its values."""
    if isinstance(one, logic.Clause):
        return any(up[abs(v) - 1] == (v > 0) for v in one.literals)
    if isinstance(one, logic.OneOf):
        return all(up[group].sum() == 1 for group in one.groups)
    if isinstance(one, logic.Implies):
        return up[one.variable] != one.up or holds(one.constraint, up, x)
    if isinstance(one, LinearConstraint):
        value = np.atleast_2d(one.A) @ x
        return bool(np.all((value >= one.lb) & (value <= one.ub)))
    count = up.sum() if one.index is None else up[list(one.index)].sum()
    return {"exactly": count == one.k, "at_most": count <= one.k, "at_least": count >= one.k}[one.kind]


def random_constraint(rng, n, deep=True):
    kind = rng.integers(0, 7 if deep else 6)
    index = rng.permutation(n)[: int(rng.integers(2, n))]
    k = int(rng.integers(0, index.size))
    if kind < 3:
        return (dcra.exactly, dcra.at_most, dcra.at_least)[kind](k, index)
    if kind == 3:
        return dcra.clause([int(v + 1) * int(rng.choice([-1, 1])) for v in index])
    if kind == 4:
        return dcra.one_of(np.array_split(rng.permutation(n), 2))
    if kind == 5:
        G = rng.integers(-3, 4, (2, n))
        return LinearConstraint(G, [-np.inf, -2], [1, 5])
    return dcra.implies(
        int(rng.integers(n)), random_constraint(rng, n, deep=False), up=bool(rng.random() < 0.5)
    )


@domains
def test_every_constraint_means_what_it_says(domain):
    met = set()
    for seed in range(120):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 8))
        one = random_constraint(rng, n)
        X = all_points(n, domain)
        said = np.array([holds(one, x > 0, x) for x in X])
        if not said.any():
            continue
        problem = dcra.Problem(linear=np.zeros(n), domain=domain, constraints=one)
        assert np.array_equal(problem.violation(X) == 0, said), one
        met.add(type(one).__name__)
    assert met == {"Cardinality", "Clause", "OneOf", "Implies", "LinearConstraint"}


@domains
def test_answers_keep_them_beside_any_objective(domain):
    for seed in range(40):
        rng = np.random.default_rng(1000 + seed)
        n = int(rng.integers(5, 9))
        both = [random_constraint(rng, n), random_constraint(rng, n)]
        X = all_points(n, domain)
        fine = np.array([all(holds(one, x > 0, x) for one in both) for x in X])
        if not fine.any():
            continue
        term = dcra.Term("l1", rng.standard_normal((3, n)), rng.standard_normal(3))
        problem = dcra.Problem([term], quadratic=rng.standard_normal((n, n)), domain=domain, constraints=both)
        result = dcra.solve(problem, seed=0)
        assert result.feasible
        assert result.fun == pytest.approx(problem.objective(X[fine]).min(), abs=1e-9)
        searched = dcra.solve(problem, seed=0, starts=4, method="anneal")
        assert searched.feasible
        assert fine[np.all(searched.x == X, axis=1)].all()


def excess(one, up, x):
    """By how much a constraint is violated, and in how many rows."""
    if isinstance(one, logic.Clause):
        return float(not holds(one, up, x))
    if isinstance(one, logic.OneOf):
        return float(sum(abs(up[group].sum() - 1) for group in one.groups))
    if isinstance(one, LinearConstraint):
        value = np.atleast_2d(one.A) @ x
        return float(np.sum(np.maximum(0, np.maximum(one.lb - value, value - one.ub))))
    count = int(up.sum() if one.index is None else up[list(one.index)].sum())
    off = {"exactly": abs(count - one.k), "at_most": count - one.k, "at_least": one.k - count}[one.kind]
    return float(max(0, off))


@domains
def test_soft_constraints_are_charged_and_reported_apart(domain):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 8))
        wishes = [random_constraint(rng, n, deep=False) for _ in range(2)]
        weights = rng.random(2)
        given = [dcra.soft(one, weight) for one, weight in zip(wishes, weights, strict=True)]
        c, X = rng.standard_normal(n), all_points(n, domain)
        problem = dcra.Problem(linear=c, domain=domain, constraints=given)
        costs = np.array([[excess(one, x > 0, x) for one in wishes] for x in X]) * weights
        assert problem.objective(X) == pytest.approx(X @ c + costs.sum(axis=1), abs=1e-9)
        result = dcra.solve(problem, seed=0)
        at = int(np.flatnonzero(np.all(result.x == X, axis=1))[0])
        assert result.fun == pytest.approx((X @ c + costs.sum(axis=1)).min(), abs=1e-9)
        assert result.soft_cost == pytest.approx(costs[at].sum(), abs=1e-9)
        assert result.feasible
        assert result.n_constraints == 0
        assert sum(result.soft_violations.values()) == pytest.approx(
            sum(excess(one, result.x > 0, result.x) for one in wishes), abs=1e-9
        )


def test_soft_beside_hard_and_fixed():
    wishes = {"pair": dcra.soft(dcra.exactly(1, [0, 1]), 5.0), "few": dcra.at_most(1)}
    problem = dcra.Problem(linear=[1.0, 1.0, -3.0], domain="binary", constraints=wishes)
    result = dcra.solve(problem, seed=0)
    assert (result.fun, result.x.tolist()) == (1, [1, 0, 0])
    fixed = dcra.solve(problem, seed=0, fixed={2: 1})
    assert (fixed.fun, fixed.soft_cost, fixed.soft_violations) == (2, 5, {"pair, exactly(1, index=...)": 1.0})
    assert "        soft  1 of 1 rows violated, 5 of the objective" in str(fixed)
    assert fixed.to_dict()["soft_violations"] == fixed.soft_violations
    assert dcra.minimize(np.eye(2), np.ones(2), seed=0).soft_violations is None


def test_soft_in_other_libraries_and_types(xp):
    A = xp.asarray(np.eye(4), "float32")
    wish = dcra.soft(dcra.at_most(1), weight=10.0)
    result = dcra.minimize(A, xp.asarray(np.ones(4)), constraints=wish, seed=0, domain="binary")
    assert result.soft_cost == 0
    assert float(np.sum(xp.host(result.x))) == 1


def test_names_of_the_user():
    rows = {"budget": LinearConstraint(np.ones((1, 3)), -np.inf, 1), "two": LinearConstraint(np.eye(3), 0, 1)}
    problem = dcra.Problem(linear=np.ones(3), domain="binary", constraints=rows)
    assert problem.constraints.names == ["budget", "two, row 0", "two, row 1", "two, row 2"]
    assert problem.to_spin().constraints.names == problem.constraints.names
    wrong = {"budget": LinearConstraint(np.ones((1, 3)), 4, 5)}
    with pytest.raises(ValueError, match=r"`budget` cannot be satisfied"):
        dcra.Problem(linear=np.ones(3), domain="binary", constraints=wrong)


@domains
def test_feasibility_alone(domain):
    low, high = VALUES[domain]
    result = dcra.solve(dcra.Problem(domain=domain, constraints=[dcra.clause([1, -2]), dcra.clause([2])]))
    assert (result.x.tolist(), result.fun, result.status) == ([high, high], 0, "optimal")
    G = np.array([[1.0, 1.0, 1.0]])
    result = dcra.solve(
        dcra.Problem(domain=domain, constraints=LinearConstraint(G, G @ [low, high, high], np.inf))
    )
    assert result.feasible
    assert result.status == "optimal"
    squares = dcra.one_of(np.arange(9).reshape(3, 3))
    across = dcra.one_of(np.arange(9).reshape(3, 3).T)
    assert dcra.solve(dcra.Problem(domain=domain, constraints=[squares, across])).feasible
    with pytest.raises(ValueError, match="`constraints` that say how many variables there are"):
        dcra.Problem(constraints=dcra.exactly(2))
    with pytest.raises(ValueError, match="a problem needs `terms`, `linear` or `quadratic`"):
        dcra.Problem()


def colouring(n, p, colours, seed):
    """Edges of a random graph, and the problem of colouring it with few edges of one colour."""
    rng = np.random.default_rng(seed)
    edges = [(i, j) for i in range(n) for j in range(i) if rng.random() < p]
    Q = np.zeros((n * colours, n * colours))
    for i, j in edges:
        for c in range(colours):
            Q[i * colours + c, j * colours + c] = 1.0
    groups = dcra.one_of(np.arange(n * colours).reshape(n, colours))
    return edges, dcra.Problem(quadratic=Q, domain="binary", constraints=groups)


def test_colourings_are_searched_by_moves_that_keep_one_colour(compiled_loops):
    edges, problem = colouring(30, 0.2, 4, 0)
    result = dcra.solve(problem, seed=0, starts=4)
    colour = result.x.reshape(30, 4).argmax(axis=1)
    assert result.feasible
    assert result.fun == sum(colour[i] == colour[j] for i, j in edges) == 0


@pytest.mark.parametrize("module", [logic, soft])
def test_examples_in_docstrings(module):
    tried = doctest.testmod(module)
    assert tried.attempted > 0
    assert tried.failed == 0


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: dcra.clause([0, 1]), ValueError, r"must not be 0: x\[0\] is variable number 1"),
        (lambda: dcra.clause([]), ValueError, "a clause of none is false"),
        (lambda: dcra.clause(3), TypeError, r"must be a sequence of integers, as in clause\(\[1, -3\]\)"),
        (lambda: dcra.implies(0, 1), TypeError, "`constraint` must be a scipy.optimize.Linear.*; got int"),
        (lambda: dcra.one_of([0, 1]), TypeError, r"group 0 is 0: for one group write one_of\(\[\["),
        (lambda: dcra.one_of(np.arange(5)), TypeError, "group 0 is 0: for one group"),
        (lambda: dcra.clause([1.5]), TypeError, r"`literals` must be integers; got 1\.5"),
        (lambda: dcra.at_least(-1), ValueError, "`k` must not be negative"),
        (lambda: dcra.implies("a", dcra.exactly(1)), TypeError, "`variable` must be the index of a variable"),
        (lambda: dcra.implies(-1, dcra.exactly(1)), ValueError, "`variable` must not be negative; got -1"),
        (lambda: dcra.one_of([]), ValueError, "`groups` must name at least one group"),
        (lambda: dcra.one_of("ab"), TypeError, "`groups` must be a sequence of sequences of indices"),
        (lambda: dcra.one_of([[0.5, 1]]), TypeError, "`groups` must hold sequences of indices; group 0"),
        (
            lambda: dcra.soft(dcra.exactly(1), -1),
            ValueError,
            "`weight` must be finite and not negative",
        ),
        (lambda: dcra.soft(dcra.exactly(1), "much"), TypeError, "`weight` must be a number; got 'much'"),
        (lambda: dcra.soft(dcra.soft(dcra.exactly(1))), TypeError, "not soft already"),
    ],
)
def test_bad_words(make, error, match):
    with pytest.raises(error, match=match):
        make()


@pytest.mark.parametrize(
    ("one", "error", "match"),
    [
        (lambda: dcra.clause([1, -9]), ValueError, r"must have literals of variables 1 to 3; found 9"),
        (
            lambda: dcra.implies(7, dcra.exactly(1)),
            ValueError,
            r"`variable` of .* must lie in \[0, 3\)",
        ),
        (lambda: dcra.implies(0, 3), TypeError, "must be a scipy.optimize.LinearConstraint, .* got int"),
        (lambda: dcra.one_of([[0, 5]]), ValueError, r"group 0` must lie in \[0, 3\); found 5"),
        (lambda: dcra.at_least(4), ValueError, "asks for 4 variables that are up; it counts only 3"),
        (lambda: dcra.soft(3), TypeError, "must be a scipy.optimize.LinearConstraint, .* got int"),
        (lambda: 3, TypeError, "`constraints` must be a scipy.optimize.LinearConstraint"),
    ],
)
def test_words_that_do_not_fit(one, error, match):
    with pytest.raises(error, match=match):
        dcra.Problem(linear=np.ones(3), constraints=one())
