"""CVXPY problems against its own solvers, and against its own values at all points."""

from __future__ import annotations

import doctest
from itertools import product

import numpy as np
import pytest

import dcra

cp = pytest.importorskip("cvxpy")

from dcra.interop import cvxpy as ours  # noqa: E402
from dcra.model.infeasibility import Contradiction  # noqa: E402


def affine(rng, x, rows):
    return rng.standard_normal((rows, x.size)) @ x - rng.standard_normal(rows)


def linear_atoms(rng, x):
    """Atoms that a MILP solver can take."""
    w = rng.random(3)
    return [
        cp.norm1(affine(rng, x, 3)),
        cp.sum(cp.pos(affine(rng, x, 2))),
        cp.norm_inf(affine(rng, x, 3)),
        cp.max(affine(rng, x, 3)),
        cp.sum(cp.multiply(w, cp.abs(affine(rng, x, 3)))),
        -cp.sum(cp.minimum(affine(rng, x, 2), affine(rng, x, 2))),
        rng.random(2) @ cp.maximum(affine(rng, x, 2), 0.3),
        cp.mean(cp.abs(affine(rng, x, 4))),
        cp.tv(x),
        rng.standard_normal(x.size) @ x + 1.5,
    ]


def all_atoms(rng, x):
    P = rng.standard_normal((x.size, x.size))
    return [
        *linear_atoms(rng, x),
        cp.sum_squares(affine(rng, x, 3)),
        cp.sum(cp.huber(affine(rng, x, 3), 0.7)),
        cp.norm2(affine(rng, x, 3)),
        cp.quad_form(affine(rng, x, 2), np.diag(rng.random(2))),
        cp.quad_form(x, P @ P.T),
        cp.sum(cp.square(affine(rng, x, 2))) / 3,
        cp.sum(cp.logistic(affine(rng, x, 2))),
        cp.quad_over_lin(affine(rng, x, 2), 2.0),
    ]


def random_model(seed, atoms):
    rng = np.random.default_rng(seed)
    whole = rng.random() < 0.4
    size = int(rng.integers(2, 4 if whole else 6))
    x = cp.Variable(size, integer=True, bounds=[-1, 2]) if whole else cp.Variable(size, boolean=True)
    chosen = rng.permutation(len(atoms(rng, x)))[:3]
    expr = sum(float(rng.random() + 0.1) * atoms(rng, x)[i] for i in chosen)
    rows = []
    if rng.random() < 0.5:
        G = rng.integers(-2, 3, (2, size))
        inside = rng.integers(0, 2, size)
        rows = [G[0] @ x <= int(G[0] @ inside), G[1] @ x >= int(G[1] @ inside) - 1]
    maximise = rng.random() < 0.3
    return x, cp.Problem(cp.Maximize(-expr) if maximise else cp.Minimize(expr), rows)


def values_at_all_points(x, problem):
    low, high = (0, 1) if x.attributes["boolean"] else (-1, 2)
    found = []
    for point in product(range(low, high + 1), repeat=x.size):
        x.save_value(np.array(point, float))
        fine = all(np.all(c.violation() <= 1e-9) for c in problem.constraints)
        if fine:
            found.append(float(problem.objective.value))
    return found


@pytest.mark.parametrize("part", range(4))
def test_all_atoms_against_all_points(part):
    for seed in range(25):
        x, problem = random_model((part, seed), all_atoms)
        values = values_at_all_points(x, problem)
        best = max(values) if isinstance(problem.objective, cp.Maximize) else min(values)
        answer = ours.solve(problem, seed=0)
        assert answer.result.feasible
        assert answer.value == pytest.approx(best, abs=1e-7)
        assert float(problem.objective.value) == pytest.approx(best, abs=1e-7)
        assert answer.bound == pytest.approx(best, abs=1e-5)
        assert answer.status == "optimal"


@pytest.mark.parametrize("part", range(4))
def test_against_its_own_milp_solver(part):
    for seed in range(50):
        _, problem = random_model((part, 1000 + seed), linear_atoms)
        theirs = problem.solve(solver=cp.SCIPY)
        assert ours.solve(problem, seed=0).value == pytest.approx(theirs, abs=1e-5)


def test_the_matrix_stays_the_matrix():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((30, 40)), rng.standard_normal(30)
    x = cp.Variable(40, boolean=True)
    problem = ours.problem_of(cp.Problem(cp.Minimize(2 * cp.norm1(A @ x - b))))
    (term,) = problem.terms
    assert np.array_equal(term.operator.A, A)
    assert np.array_equal(term.b, b)
    assert (problem.n, term.weight) == (40, 2.0)
    assert x.value is None


def test_several_variables_of_all_shapes():
    rng = np.random.default_rng(0)
    X, y = cp.Variable((2, 2), boolean=True), cp.Variable(integer=True)
    z = cp.Variable(2, integer=True, nonneg=True)
    M = rng.standard_normal((2, 2))
    expr = cp.norm1(X - M) + cp.abs(y - 2.2) + cp.sum(cp.huber(z - 1.4)) + cp.sum(X, axis=0)[0]
    problem = cp.Problem(cp.Minimize(expr), [y >= -3, y <= 5, z <= 4, cp.sum(X) == 2])
    answer = ours.solve(problem, seed=0)
    assert (float(y.value), z.value.tolist()) == (2, [1, 1])
    best = min(
        np.abs(np.reshape(p, (2, 2)) - M).sum() + np.reshape(p, (2, 2))[:, 0].sum()
        for p in product((0, 1), repeat=4)
        if sum(p) == 2
    )
    assert answer.value == pytest.approx(best + 0.2 + 2 * 0.16, abs=1e-9)
    assert X.value.shape == (2, 2)


def test_options_reach_the_solver():
    x = cp.Variable(3, boolean=True)
    answer = ours.solve(cp.Problem(cp.Minimize(cp.norm1(x - 0.4))), seed=3, pool=2, method="enumerate")
    assert answer.result.seed == 3
    assert len(answer.result.pool) == 2


def test_examples_in_docstrings():
    tried = doctest.testmod(ours)
    assert tried.attempted > 0
    assert tried.failed == 0


X = cp.Variable(3, boolean=True, name="x")
FREE = cp.Variable(2, name="free")
WIDE = cp.Variable(2, integer=True, name="wide")


@pytest.mark.parametrize(
    ("problem", "match"),
    [
        (lambda: cp.Problem(cp.Minimize(cp.sum(cp.exp(X)))), "the atom exp is not known here; known are"),
        (lambda: cp.Problem(cp.Minimize(cp.sum_largest(X, 2))), "the atom sum_largest is not known here"),
        (lambda: cp.Problem(cp.Minimize(cp.norm1(cp.abs(X)))), "norm1 must be of something affine; .* abs"),
        (lambda: cp.Problem(cp.Minimize(cp.sum(FREE) + cp.sum(X))), "be boolean or integer; free is not"),
        (lambda: cp.Problem(cp.Minimize(cp.sum(WIDE))), "integer variables must be bounded; wide is not"),
        (
            lambda: cp.Problem(cp.Minimize(cp.sum(X)), [cp.norm1(X) <= 2]),
            "must be of something affine",
        ),
        (lambda: cp.Problem(cp.Minimize(cp.sum(X)), [cp.SOC(X[0], X)]), "must be affine equal.*; got SOC"),
        (lambda: cp.Problem(cp.Minimize(-cp.norm1(X))), "must be convex; norm1 counts with a neg"),
        (lambda: cp.Problem(cp.Minimize(cp.norm(X, 3))), "of the p-norms, p = 1, 2 and inf .*; got 3"),
        (
            lambda: cp.Problem(cp.Minimize(cp.sum(cp.power(X, 3)))),
            "of the powers, squares .*; got 3",
        ),
        (
            lambda: cp.Problem(cp.Minimize(cp.norm1(cp.Parameter((4, X.size), name="P") @ X))),
            r"parameters must have values; P has none. Give it one by its `\.value`",
        ),
        (lambda: cp.Problem(cp.Minimize(1.0)), "`problem` must have variables; it is a constant"),
    ],
)
def test_what_is_refused(problem, match):
    with pytest.raises(ValueError, match=match):
        ours.solve(problem())


def test_a_maximum_of_zero_has_no_sign():
    answer = ours.solve(cp.Problem(cp.Maximize(-cp.sum(X))), seed=0)
    assert not np.signbit([answer.value, answer.bound]).any()


def test_parameters_have_the_values_of_the_moment():
    P, b = cp.Parameter((2, X.size)), cp.Parameter(2)
    problem = cp.Problem(cp.Minimize(cp.norm1(P @ X - b)))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        P.value, b.value = rng.standard_normal((2, X.size)), rng.standard_normal(2)
        points = np.array(list(product((0.0, 1.0), repeat=X.size)))
        best = np.abs(points @ P.value.T - b.value).sum(axis=1).min()
        assert ours.solve(problem, seed=0).value == pytest.approx(best)


def test_other_things_are_refused():
    with pytest.raises(TypeError, match=r"`problem` must be a cvxpy\.Problem; got Variable"):
        ours.solve(X)
    assert dcra.interop.__name__ == "dcra.interop"


@pytest.mark.parametrize(
    ("attributes", "low", "high"),
    [
        ({"boolean": True, "bounds": [0, np.array([0, 1])]}, [0, 0], [0, 1]),
        ({"boolean": True, "bounds": [np.array([1, -3]), 5]}, [1, 0], [1, 1]),
        ({"boolean": True, "nonpos": True}, [0, 0], [0, 0]),
        ({"boolean": True, "neg": True}, [0, 0], [0, 0]),
        ({"boolean": True, "nonneg": True}, [0, 0], [1, 1]),
        ({"integer": True, "bounds": [-3, 3], "nonneg": True}, [0, 0], [3, 3]),
        ({"integer": True, "bounds": [-3, 3], "pos": True}, [0, 0], [3, 3]),
        ({"integer": True, "bounds": [-3, 3], "nonpos": True}, [-3, -3], [0, 0]),
        ({"integer": True, "bounds": [-3, 3], "neg": True}, [-3, -3], [0, 0]),
        ({"integer": True, "boolean": True, "bounds": [-3, np.array([3, 0])]}, [0, 0], [1, 0]),
        ({"integer": True, "bounds": [cp.Parameter(value=-1), 2]}, [-1, -1], [2, 2]),
    ],
)
def test_attributes_bound_variables(attributes, low, high):
    x, y = cp.Variable(2, **attributes), cp.Variable(integer=True, bounds=[0, 2])
    for others in (0, y):  # over bits where they can be, and over whole numbers
        for sense, ends in ((1, low), (-1, high)):
            answer = ours.solve(cp.Problem(cp.Minimize(sense * cp.sum(x) + others)), seed=0)
            assert x.value.tolist() == ends
            assert (answer.status, answer.bound) == ("optimal", sense * sum(ends))


@pytest.mark.parametrize("kind", ["boolean", "integer"])
@pytest.mark.parametrize("attribute", ["symmetric", "diag", "PSD", "NSD", "hermitian", "sparsity"])
def test_other_attributes_are_refused_by_name(kind, attribute):
    value = [(0,), (0,)] if attribute == "sparsity" else True
    x = cp.Variable((2, 2), name="x", **{kind: True, attribute: value})
    problem = cp.Problem(cp.Minimize(cp.sum(cp.real(x))), [cp.real(x) >= 0, cp.real(x) <= 2])
    with pytest.raises(ValueError, match=f"variable x has `{attribute}`: state it by constraints"):
        ours.solve(problem)


def test_boolean_entries_of_integers_are_refused():
    x = cp.Variable(2, name="x", integer=True, boolean=[(0,)], bounds=[-3, 3])
    with pytest.raises(ValueError, match="variable x has `boolean` for some entries: state it by"):
        ours.solve(cp.Problem(cp.Minimize(cp.sum(x))))


def test_a_variable_without_values_is_named():
    b = cp.Variable(2, boolean=True, bounds=[2, 3], name="b")
    between = cp.Variable(2, boolean=True, bounds=[0.2, 0.8], name="between")
    x = cp.Variable(2, integer=True, bounds=[0, 3], name="x")
    for others in (0, cp.sum(x)):
        with pytest.raises(Contradiction, match=r"variable b has no value left: .* from 2 to 1"):
            ours.solve(cp.Problem(cp.Minimize(cp.sum(b) + others)))
        with pytest.raises(Contradiction, match=r"variable between has no value left: .* from 1 to 0"):
            ours.solve(cp.Problem(cp.Minimize(cp.sum(between) + others)))
    with pytest.raises(Contradiction, match=r"variable x has no value left: .* from 4 to 3\. Widen one"):
        ours.solve(cp.Problem(cp.Minimize(cp.sum(X) + cp.sum(x)), [x[1] >= 3.5]))


def test_the_target_is_meant_as_the_problem_states_it():
    W = np.random.default_rng(0).standard_normal((12, 16))
    x = cp.Variable(16, boolean=True)
    distance = cp.norm1(W @ x - 3)
    for objective, sign in ((cp.Maximize(200 - distance), -1), (cp.Minimize(distance - 200), 1)):
        problem = cp.Problem(objective)
        best = ours.solve(problem, seed=0).value
        reached = ours.solve(problem, seed=0, target=best)
        assert reached.value == pytest.approx(best)
        out_of_reach = ours.solve(problem, seed=0, target=best - 5 * sign)
        assert out_of_reach.status == "optimal"
    with pytest.raises(TypeError, match="`target` must be a number; got 'low'"):
        ours.solve(problem, target="low")


@pytest.mark.parametrize(
    "make",
    [
        lambda x, y: -3 * x[0] * x[1],
        lambda x, y: (x - 0.3) @ np.eye(2) @ (x - 0.7),
        lambda x, y: x @ y,
        lambda x, y: 1 / (1 + x[0]),
        lambda x, y: cp.sum(cp.multiply(x, y)),
    ],
)
def test_products_of_variables_are_refused(make):
    x, y = cp.Variable(2, boolean=True), cp.Variable(2, boolean=True)
    with pytest.raises(ValueError, match="all have variables are not known here; write x'Px as quad_form"):
        ours.solve(cp.Problem(cp.Minimize(make(x, y) + cp.sum(x))))


def test_callbacks_of_a_maximum_are_told_of_maxima():
    x, told = cp.Variable(3, boolean=True), []
    cost = np.array([1.0, 2.0, -1.0])
    answer = ours.solve(
        cp.Problem(cp.Maximize(cost @ x)), seed=0, callback=lambda moment: told.append((moment, moment.x))
    )
    last, point = told[-1]
    assert answer.value == last.fun == cost @ point == 3
    assert last.lower_bound >= 3
