"""Bounded integers against all points of small boxes."""

from __future__ import annotations

import doctest
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint
from scipy.sparse.linalg import aslinearoperator

import dcra
from dcra.model import integers


def boxes(low, high):
    ranges = [range(int(a), int(b) + 1) for a, b in zip(low, high, strict=True)]
    return np.array(list(product(*ranges)), float)


@pytest.mark.parametrize("width", [0, 1, 2, 3, 4, 5, 7, 8, 100, 1023, 1 << 20])
def test_bits_reach_all_numbers_and_no_others(width):
    weights = integers.bit_weights(width)
    assert weights.sum() == width
    values = np.arange(width + 1.0) if width < 2000 else np.array([0, 1, 17, 2**19, 2**20 - 1, 2**20])
    bits = integers.bits_of(values, width)
    assert set(np.unique(bits)) <= {0, 1}
    assert np.array_equal(bits @ weights, values)


def random_problem(seed, form=np.asarray, constrained=False):
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    low = rng.integers(-4, 3, n)
    high = low + rng.integers(0, 7, n)
    high[0] += low[0] == high[0]
    x = rng.integers(low, high + 1)
    G = rng.integers(-3, 4, (2, n)).astype(float)
    return dcra.IntegerProblem(
        [dcra.Term("l1", form(rng.standard_normal((r, n))), 3 * rng.standard_normal(r))],
        linear=rng.standard_normal(n),
        quadratic=form(0.3 * rng.standard_normal((n, n))) if rng.random() < 0.5 else None,
        constant=0.5,
        domain=dcra.integers(low, high),
        constraints=LinearConstraint(G, -np.inf, G @ x + 1) if constrained else (),
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, aslinearoperator])
@pytest.mark.parametrize("constrained", [False, True])
def test_agrees_with_all_points(form, constrained):
    for seed in range(12):
        problem = random_problem(seed, form, constrained)
        X = boxes(problem.low, problem.high)
        values = problem.model.relaxed_objective(X)
        assert problem.objective(X) == pytest.approx(values, abs=1e-9)
        assert np.array_equal(problem.decode(problem.encode("x", X)), X)
        fine = problem.violation(X) == 0
        if constrained:
            rows = problem.given["constraints[0]"]
            assert np.array_equal(fine, np.all(rows.ub[:, None] + 1e-9 >= rows.A @ X.T, axis=0))
        result = dcra.solve(problem, seed=0)
        assert result.fun == pytest.approx(values[fine].min(), abs=1e-9)
        assert problem.objective(result.x) == result.fun
        assert result.status == "optimal"
        assert result.lower_bound <= values[fine].min() + 1e-9


def test_starts_fixings_pools_and_callbacks_are_in_numbers():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((4, 3)), 5 * rng.standard_normal(4)
    seen = []
    options = {"domain": dcra.integers(-3, 4), "seed": 0}
    more = {"x0": [np.nan, 4, -3], "fixed": {0: 2}, "callback": lambda p: seen.append(p.x)}
    result = dcra.minimize(A, b, **options, **more, pool=3)
    X = boxes([2, -3, -3], [2, 4, 4])
    values = np.sort(np.abs(X @ A.T - b).sum(axis=1))
    assert result.x[0] == 2
    assert result.fun == pytest.approx(values[0], abs=1e-9)
    assert result.pool.values == pytest.approx(values[:3], abs=1e-9)
    assert all(x is None or (x[0] == 2 and np.all(np.abs(x - 0.5) <= 3.5)) for x in seen)
    every = dcra.minimize(A, b, **options, pool=5)
    X = boxes([-3] * 3, [4] * 3)
    assert every.pool.values == pytest.approx(np.sort(np.abs(X @ A.T - b).sum(axis=1))[:5], abs=1e-9)
    assert every.pool.proven
    assert every.pool.distances[0, 1] >= 1


@pytest.mark.parametrize("method", ["exact", "enumerate", "milp"])
@pytest.mark.parametrize("constrained", [False, True])
def test_pools_of_exact_methods_are_the_best(method, constrained):
    """Several codes may stand for one number: none takes the place of another point."""
    rng = np.random.default_rng(2)
    A, b = rng.standard_normal((4, 3)), 3 * rng.standard_normal(4)
    low, high = [-2, 0, -1], [2, 2, 4]
    X = boxes(low, high)
    rules = LinearConstraint(np.array([[1.0, 1.0, 1.0]]), -np.inf, 2.0) if constrained else ()
    fine = X.sum(axis=1) <= 2 if constrained else np.ones(len(X), bool)
    best = np.sort(np.abs(X[fine] @ A.T - b).sum(axis=1))
    options = {"domain": dcra.integers(low, high), "constraints": rules, "method": method, "seed": 0}
    result = dcra.minimize(A, b, **options, pool=7)
    assert result.pool.values == pytest.approx(best[:7], abs=1e-9)
    assert len(np.unique(result.pool.points, axis=0)) == 7
    assert result.pool.proven or method == "milp"
    assert result.n_constraints == (1 if constrained else 0)
    fixed = dcra.minimize(A, b, **options, pool=3, fixed={2: 4})
    left = np.sort(np.abs(X[fine & (X[:, 2] == 4)] @ A.T - b).sum(axis=1))
    assert fixed.pool.values == pytest.approx(left[:3], abs=1e-9)


@pytest.mark.parametrize("options", [{}, {"method": "exact"}, {"pool": 3}, {"x0": [2, 2]}, {"fixed": {0: 2}}])
def test_single_points(options):
    row = LinearConstraint(np.array([[1.0, 1.0]]), -np.inf, 4)
    options = {"domain": dcra.integers(2, 2), "constraints": row, "seed": 0} | options
    result = dcra.minimize(np.eye(2), [1.0, 4.0], **options)
    assert (result.x.tolist(), result.fun, result.status) == ([2, 2], 3, "optimal")
    assert result.pool is None or len(result.pool.points) == 1
    with pytest.raises(ValueError, match="cannot be satisfied"):
        dcra.minimize(np.eye(2), [1.0, 4.0], **options | {"domain": dcra.integers(3, 3), "x0": None})


def test_wide_boxes():
    """Within ranges of 2^20, a regular system is met exactly but for single steps."""
    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 1 << 20, 6)
    A = np.eye(6) + 0.1 * rng.standard_normal((6, 6))
    result = dcra.minimize(A, A @ hidden, "squared", domain=dcra.integers(0, 1 << 20), seed=0, starts=8)
    assert np.array_equal(result.x, hidden)


def test_types_and_libraries(xp):
    A = xp.asarray(np.array([[1.0, 2.0], [3.0, -1.0]]), "float32")
    result = dcra.minimize(A, xp.asarray(np.array([7.0, 0.0])), domain=dcra.integers(0, 5), seed=0)
    assert xp.is_ours(result.x)
    assert result.x.dtype == A.dtype
    assert xp.host(result.x).tolist() == [1, 3]


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_short_floats_are_not_rounded_by_the_weights_of_bits(store):
    rng = np.random.default_rng(5)
    A, Q = rng.standard_normal((3, 2)).astype(np.float32), rng.standard_normal((2, 2)).astype(np.float32)
    terms = [dcra.Term("l1", store(A), np.array([13.0, -7.0, 5.0]))]
    problem = dcra.IntegerProblem(terms, quadratic=store(Q @ Q.T), domain=dcra.integers(0, 10))
    X = boxes([0, 0], [10, 10])
    z = X @ A.astype(float).T - [13.0, -7.0, 5.0]
    true = np.abs(z).sum(axis=1) + np.einsum("ki,ij,kj->k", X, (Q @ Q.T).astype(float), X)
    np.testing.assert_allclose(problem.objective(X), true, rtol=1e-13)
    assert dcra.solve(problem, seed=0).fun == pytest.approx(true.min(), rel=1e-13)


def test_short_floats_stay_short_where_the_bits_allow():
    A = np.array([[1.0, 2.5], [3.0, -1.0]], np.float32)
    problem = dcra.IntegerProblem([dcra.Term("l1", A, np.ones(2))], domain=dcra.integers(0, 10))
    assert problem.bits.terms[0].operator.A.dtype == np.float32


def test_the_answer_has_the_type_of_the_data(xp):
    A = xp.asarray(np.array([[1.1, 2.2], [3.3, -1.7]]), "float32")
    result = dcra.minimize(A, xp.asarray(np.array([7.0, 0.0])), domain=dcra.integers(0, 10), seed=0)
    assert result.x.dtype == A.dtype


def test_soft_rows_and_feasibility():
    row = LinearConstraint(np.array([[1.0, 1.0]]), 7, np.inf)
    wish = dcra.soft(row, 1.5)
    problem = dcra.IntegerProblem(linear=[1.0, 2.0], domain=dcra.integers(0, 5), constraints=wish)
    result = dcra.solve(problem, seed=0)
    assert (result.x.tolist(), result.soft_cost) == ([5, 0], 3.0)
    alone = dcra.solve(dcra.IntegerProblem(domain=dcra.integers(0, 5), constraints=row), seed=0)
    assert alone.feasible
    assert alone.x.sum() >= 7


def test_examples_in_docstrings():
    tried = doctest.testmod(integers)
    assert tried.attempted > 0
    assert tried.failed == 0


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: dcra.integers(0.5, 3), ValueError, "`low` must be whole numbers"),
        (lambda: dcra.integers("a", 3), TypeError, "`low` must be whole numbers, one or one for each"),
        (lambda: dcra.integers(4, 3), ValueError, "`low` must not be above `high`"),
        (lambda: dcra.integers(0, 2**20 + 1), ValueError, r"`high` must be at most 2\^20 above `low`"),
        (
            lambda: dcra.minimize(np.eye(3), np.ones(3), domain=dcra.integers(0, [1, 2])),
            ValueError,
            r"`high` of the integers must be a number or have shape \(3,\); got \(2,\)",
        ),
        (
            lambda: dcra.minimize(
                np.eye(3), np.ones(3), domain=dcra.integers(0, 2), constraints=dcra.exactly(1)
            ),
            TypeError,
            "counts variables that are up; integers take a LinearConstraint",
        ),
        (
            lambda: dcra.minimize(np.eye(3), np.ones(3), domain=dcra.integers(0, 2), x0=[0, 3, 1]),
            ValueError,
            "`x0` must hold whole numbers from 0 to 2 for variable 1; found 3",
        ),
        (
            lambda: dcra.minimize(np.eye(3), np.ones(3), domain=dcra.integers(0, 2), fixed={5: 1}),
            ValueError,
            r"`fixed` must name variables in \[0, 3\); found 5",
        ),
        (
            lambda: dcra.IntegerProblem(linear=[1.0], domain="spin"),
            TypeError,
            "must be made by dcra.integers",
        ),
    ],
)
def test_bad_integers(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_what_the_low_ends_take_is_rounded_and_tiny_says_so():
    A = [[1e9 + 0.4, -1e9]]
    result = dcra.minimize(A, [0.0], domain=dcra.integers(10**7, 10**7 + 3), seed=0, method="exact")
    exact = min(
        abs(Fraction(A[0][0]) * i + Fraction(A[0][1]) * j)
        for i in range(10**7, 10**7 + 4)
        for j in range(10**7, 10**7 + 4)
    )
    assert abs(Fraction(result.fun) - exact) <= result.tiny
    assert Fraction(result.lower_bound) <= exact + Fraction(result.tiny)
    assert dcra.minimize([[1.0, 2.0]], [3.0], domain=dcra.integers(0, 9), seed=0).tiny == 0.0


def test_numbers_that_the_float_type_rounds_are_in_float64(xp):
    A, b = xp.asarray(np.array([[1.0]]), "float32"), xp.asarray(np.array([20000001.0]), "float64")
    seen = []
    result = dcra.minimize(
        A,
        b,
        domain=dcra.integers(20000000, 20000010),
        seed=0,
        pool=3,
        callback=lambda moment: seen.append(moment.x),
    )
    points = xp.host(result.pool.points)
    assert xp.is_ours(result.x)
    assert (xp.host(result.x).tolist(), result.fun) == ([20000001], 0)
    assert np.abs(points[:, 0] - 20000001).tolist() == result.pool.values.tolist() == [0, 1, 1]
    assert all("64" in str(x.dtype) for x in seen if x is not None)
    edge = dcra.minimize(A, b, domain=dcra.integers(2**24 - 3, 2**24), seed=0)
    assert edge.x.dtype == A.dtype


@pytest.mark.parametrize("end", [2**53 + 1, 2**60, 2**63, 2**70, -(2**63), [2**53 + 1, 1.0], -(2.0**54)])
def test_ends_that_float64_does_not_hold(end):
    with pytest.raises(ValueError, match=r"`(low|high)` must lie from -2\^53 to 2\^53, .*; found -?\d"):
        dcra.integers(end, end)


def test_ends_that_float64_just_holds():
    result = dcra.minimize([[1.0]], [2.0**53 - 2], domain=dcra.integers(2**53 - 5, 2**53), seed=0)
    assert result.x.tolist() == [2**53 - 2]


def test_large_ends_keep_rows_points_and_proofs():
    k = 2**24 + 1
    short = np.eye(1, dtype=np.float32)
    result = dcra.minimize(short, [float(k)], domain=dcra.integers(k - 1, k), pool=2, method="exact", seed=0)
    assert (int(result.x[0]), result.fun, result.x.dtype) == (k, 0.0, np.float64)
    assert result.pool.points.ravel().tolist() == [k, k - 1]
    xs, G = np.array([k + 1.0, k + 3.0]), np.array([[0.3, 0.3]])
    value = float((G @ xs)[0])
    rows = LinearConstraint(G, value, value)
    found = dcra.minimize(np.eye(2), xs, domain=dcra.integers(k + 1, k + 3), constraints=rows, seed=0)
    assert (found.status, found.fun, found.feasible) == ("optimal", 0.0, True)


@pytest.mark.parametrize("whole", [True, False])
def test_squares_of_rivals_may_round_by_more_than_those_of_the_answer(whole):
    """Where a row cancels at x, its error counts for nothing there, and for much at points as good."""
    A = np.array([[541e6, 0.059, -676250e3, 135250e3, 1e4], [0, 0, 0, 0, 10000.000000007]])
    b = [10000.059, -10000.000000007]
    options = {"fixed": dict.fromkeys(range(4), 1)} if whole else {}
    domain = "spin" if whole else dcra.integers([1, 1, 1, 1, -1], [1, 1, 1, 1, 1])
    result = dcra.minimize(A, b, "squared", domain=domain, seed=0, **options)
    rivals = [
        sum(
            (sum(Fraction(a) * Fraction(float(v)) for a, v in zip(row, x, strict=True)) - Fraction(e)) ** 2
            for row, e in zip(A.tolist(), b, strict=True)
        )
        for x in ([1, 1, 1, 1, 1], [1, 1, 1, 1, -1])
    ]
    assert Fraction(result.lower_bound) <= min(rivals) + Fraction(result.tiny)
    assert Fraction(result.fun) <= min(rivals) + Fraction(result.tiny)
    assert result.tiny < 10


def test_starts_by_index_and_constraints_that_are_none():
    result = dcra.minimize(np.eye(3), np.ones(3), domain=dcra.integers(0, 2), x0={0: 1}, seed=0)
    assert result.x.tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match=r"must be a scipy\.optimize\.LinearConstraint.*; got int"):
        dcra.IntegerProblem(domain=dcra.integers(0, 3), constraints=[3])
    with pytest.raises(ValueError, match=r"`x0` must name variables in \[0, 3\); found 3"):
        dcra.minimize(np.eye(3), np.ones(3), domain=dcra.integers(0, 2), x0={3: 1}, seed=0)
