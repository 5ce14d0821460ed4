"""Trees by dual bounds: l2, maximum and all other convex losses against all points."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint

import dcra
from dcra.compiled.form import compile_problem
from dcra.exact import dual_branch, dual_tree
from dcra.exact.dual_ascent import DualAscent, strides_at
from dcra.exact.dual_branch import DualBranch, DualBranchState
from dcra.exact.dual_rows import MOST_ENTRIES, dual_rows, has_dual_rows
from dcra.exact.dual_tree import DualProof
from dcra.exact.lone_norm import is_lone_norm, norm_form, squared
from dcra.exact.trees import TreeKind, tree_kind
from dcra.model.exact_value import exact_value
from tests.campaign.cases import PROFILES

DOMAINS = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}
NORMS = ["l2", "linf"]
ALL = [*NORMS, "l1", "hinge", "squared", "squared_hinge", "huber", "quantile"]
ALL += ["epsilon_insensitive", "logistic"]
"""Losses that are mixed with norms."""


@pytest.fixture
def few_points_at_once(monkeypatch):
    """All points are looked at where there is one variable left: there are trees of small problems then."""
    monkeypatch.setattr(dual_branch, "SMALL", 1)


def points_of(problem):
    X = np.array(list(product(DOMAINS[problem.domain], repeat=problem.n)))
    return X[problem.violation(X) == 0]


def drawn(seed, first="l2", second=None, domain="spin", profile="normal"):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    draw = PROFILES[profile]
    terms = []
    for loss in (first, second):
        if loss is not None:
            r = int(rng.integers(1, 9))
            A = draw(rng, (r, n))
            b = A @ rng.choice(DOMAINS[domain], n) + 0.3 * draw(rng, (r,))
            weight = (
                float(rng.choice([1.0, 0.3, 1e3])) if loss in NORMS or seed % 2 else np.abs(draw(rng, (r,)))
            )
            terms.append(dcra.Term(loss, A, b, weight))
    linear = 0.1 * draw(rng, (n,)) if seed % 2 else None
    quadratic = 0.2 * draw(rng, (n, n)) if seed % 4 == 1 else None
    rows = [LinearConstraint(rng.integers(-2, 3, (1, n)), -2, 3)] if seed % 3 == 0 else []
    return dcra.Problem(
        terms, linear=linear, quadratic=quadratic, domain=domain, constraints=rows, constant=0.5
    )


def judge(problem, result):
    best = problem.objective(points_of(problem)).min()
    assert result.lower_bound <= best + result.tiny
    if result.status == "optimal":
        assert result.fun <= best + result.tiny


@pytest.mark.parametrize("profile", ["normal", "small integers", "offset", "huge", "tiny", "zeros"])
@pytest.mark.parametrize("loss", ALL)
def test_no_slopes_give_a_bound_above_a_point(loss, profile):
    """Whatever the slopes are, near and far from their domains; judged without rounding where that can be."""
    for seed in range(4):
        problem = drawn(2 * seed, loss, domain=("spin", "binary")[seed % 2], profile=profile)
        rows, rng = dual_rows(problem), np.random.default_rng(seed)
        if not rows.r:
            continue
        Y = rng.standard_normal((200, rows.r)) * 10.0 ** rng.integers(-3, 4, (200, 1))
        bounds, _ = rows.bounds(Y, np.zeros((200, rows.n), np.int8))
        X = points_of(problem)
        values = [exact_value(problem, x) for x in X]
        if any(value is None for value in values):
            best = float(problem.objective(X).min())
            assert bounds.max() <= best + 1e-12 * abs(best)
        else:
            assert Fraction(float(bounds.max())) <= min(values)


@pytest.mark.usefixtures("few_points_at_once")
@pytest.mark.parametrize("second", [None, *ALL])
@pytest.mark.parametrize("first", NORMS)
def test_against_all_points(first, second):
    for seed in range(4):
        problem = drawn(seed + 10 * ALL.index(second or "l2"), first, second, ("spin", "binary")[seed // 2])
        assert tree_kind(problem) in (TreeKind.DUALS, TreeKind.KINKS)
        result = dcra.solve(problem, method="exact", seed=0, n_jobs=1)
        judge(problem, result)
        assert result.status == "optimal"


@pytest.mark.usefixtures("few_points_at_once")
@pytest.mark.parametrize("profile", list(PROFILES))
@pytest.mark.parametrize("first", NORMS)
def test_numbers_of_all_kinds(first, profile):
    for seed in range(6):
        problem = drawn(seed, first, "l1" if seed % 2 else None, ("spin", "binary")[seed % 2], profile)
        judge(problem, dcra.solve(problem, method="exact", seed=0, n_jobs=1))


@pytest.mark.usefixtures("few_points_at_once")
@pytest.mark.parametrize("domain", list(DOMAINS))
def test_nodes_keep_all_that_may_be_better(domain):
    """Every point below the cutoff is in a box that is left, or is a leaf."""
    problem = drawn(4, "linf", domain=domain)
    compiled = compile_problem(problem)
    proof = DualProof(compiled, None)
    branch = proof.hand_out()
    assert isinstance(branch, DualBranch)
    X, values = points_of(problem), problem.objective(points_of(problem))
    cutoff = float(np.median(values))
    state = DualBranchState(DualBranch(branch.nodes, cutoff, 1, branch.strides), compiled)
    while not state.done:
        state.advance(1)
    spins = X if domain == "spin" else 2 * X - 1
    for s, value in zip(spins, values, strict=True):
        if value < cutoff:
            kept = any(np.all((node.box == 0) | (node.box == s)) for node in state.taken.left)
            assert kept or any(np.array_equal(leaf, s) for leaf in state.taken.leaves)
    assert all(node.bound <= values.min() + 1e-9 for node in state.taken.left)


def planted(loss, n, seed=0, linear=0.0):
    rng = np.random.default_rng(seed)
    A, h = rng.standard_normal((2 * n, n)), rng.choice([-1.0, 1.0], n)
    b = A @ h + 0.1 * rng.standard_normal(2 * n)
    return dcra.Problem([dcra.Term(loss, A, b)], linear=linear * rng.standard_normal(n) if linear else None)


def noise(loss, n, linear=0.01):
    rng = np.random.default_rng(2)
    A, b, c = rng.standard_normal((2 * n, n)), rng.standard_normal(2 * n), rng.standard_normal(n)
    return dcra.Problem([dcra.Term(loss, A, b)], linear=linear * c)


@pytest.mark.parametrize("linear", [0.0, 0.01])
@pytest.mark.parametrize("loss", NORMS)
def test_planted_points_are_proved(loss, linear):
    result = dcra.solve(planted(loss, 50, linear=linear), method="exact", seed=0, n_jobs=1)
    assert result.status == "optimal"
    assert result.nodes < 200
    assert result.fixed.sum() > 20


@pytest.mark.parametrize("loss", NORMS)
def test_the_same_tree_whoever_takes_on_its_nodes(loss):
    problem = noise(loss, 16)
    one, two = (dcra.solve(problem, method="exact", seed=0, n_jobs=jobs) for jobs in (1, 2))
    assert one.status == two.status == "optimal"
    assert (one.nodes, one.fun, one.lower_bound) == (two.nodes, two.fun, two.lower_bound)
    assert one.fun == dcra.solve(problem, method="enumerate").fun


@pytest.mark.usefixtures("few_points_at_once")
def test_pauses_change_nothing():
    problem = drawn(5, "linf", "huber")  # with couplings
    states = [DualProof(compile_problem(problem), None) for _ in range(2)]
    for state, work in zip(states, (1, 10**9), strict=True):
        while not state.done:
            state.advance(work)
    assert states[0].nodes == states[1].nodes > 0
    assert states[0].least == states[1].least


@pytest.mark.usefixtures("few_points_at_once")
def test_a_crowd_of_nodes_is_taken_from_its_depths(monkeypatch):
    monkeypatch.setattr(dual_tree, "CROWD", 3)
    monkeypatch.setattr(dual_tree, "BATCH", 2)
    problem = noise("linf", 9)
    judge(problem, dcra.solve(problem, method="exact", seed=0, n_jobs=1))


def test_a_limit_leaves_a_point_and_a_bound():
    result = dcra.solve(noise("linf", 60), method="exact", seed=0, time_limit=0.3, n_jobs=1)
    assert result.status == "time_limit"
    assert 0 < result.lower_bound < result.fun


def test_nothing_satisfies_the_rows():
    rows = [LinearConstraint([[6.0, 10.0, 15.0, 6.0, 10.0, 15.0]], 29, 29)]
    term = dcra.Term("linf", np.eye(6), np.ones(6))
    problem = dcra.Problem([term], domain="binary", constraints=rows)
    assert dcra.solve(problem, method="exact", seed=0).status == "infeasible"


@pytest.mark.parametrize("loss", NORMS)
def test_whole_numbers(loss):
    rng = np.random.default_rng(1)
    A, b = rng.integers(-3, 4, (5, 3)).astype(float), rng.integers(-9, 10, 5).astype(float)
    model = dcra.IntegerProblem([dcra.Term(loss, A, b)], linear=[0.5, 0.0, -0.5], domain=dcra.integers(-2, 4))
    result = dcra.solve(model, method="exact", seed=0)
    assert result.status == "optimal"
    best = min(model.objective(np.array(x, float)) for x in product(range(-2, 5), repeat=3))
    assert result.fun == pytest.approx(best, abs=1e-12)


def test_pools_are_proved_point_by_point():
    problem = noise("linf", 8)
    pool = dcra.solve(problem, method="exact", seed=0, pool=4).pool
    assert pool.proven
    np.testing.assert_allclose(pool.values, np.sort(problem.objective(points_of(problem)))[:4])


def test_no_file_is_written():
    for problem in (noise("linf", 8), planted("l2", 8)):
        result = dcra.solve(problem, method="exact", seed=0)
        with pytest.raises(ValueError, match="of l2 and maximum losses, are not written"):
            result.proof("nothing.npz")


def test_which_tree_takes_what():
    assert tree_kind(planted("l2", 5)) is TreeKind.KINKS
    assert tree_kind(noise("l2", 5)) is TreeKind.DUALS
    assert tree_kind(planted("linf", 5)) is TreeKind.DUALS
    assert tree_kind(planted("capped_l1", 5)) is TreeKind.NONE
    wide = sparse.csr_array((2, MOST_ENTRIES))
    assert not has_dual_rows(dcra.Problem([dcra.Term("linf", wide, np.ones(2))]))


def test_curved_losses_with_too_many_tangents_have_dual_bounds():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((500, 400))
    problem = dcra.Problem([dcra.Term("squared", A, A @ rng.choice([-1.0, 1.0], 400))])
    assert tree_kind(problem) is TreeKind.DUALS


@pytest.mark.parametrize("weight", [1e-8, 1.0, 3e7])
@pytest.mark.parametrize("constant", [0.0, -5.0, 1e6])
def test_a_lone_norm_is_its_square(weight, constant):
    """Values go to squares and come back a little lower; a square is rounded up on its way."""
    rng = np.random.default_rng(0)
    term = dcra.Term("l2", rng.standard_normal((6, 4)), rng.standard_normal(6), weight)
    problem = dcra.Problem([term], constant=constant)
    assert is_lone_norm(problem)
    form, twin = norm_form(problem, (1.0,)), squared(problem)
    for x in points_of(problem):
        fun, square = problem.objective(x), twin.objective(x)
        room = 1e-14 * (abs(constant) + weight)
        assert form.objective(square / form.unit) <= fun + 4 * room
        assert fun - room * 9 <= form.objective(form.in_units(fun)) <= fun + room * 9
        assert form.in_units(fun) * form.unit >= square * (1 - 1e-15) or constant
    assert not is_lone_norm(dcra.Problem([term], linear=np.ones(4)))
    assert not is_lone_norm(dcra.Problem([term, term]))
    assert is_lone_norm(dcra.Problem([term], linear=np.zeros(4)))


def test_ascent_comes_near_to_the_relaxation():
    problem = planted("l2", 30)
    rows = dual_rows(problem)
    ascent = DualAscent(rows, strides_at(rows, np.zeros(30)))
    X, Y, free = np.zeros((1, 30)), np.zeros((1, rows.r)), np.zeros((1, 30), np.int8)
    for _ in range(60):
        X, Y, bound, _ = ascent.round(X, Y, free)
    relaxed = float(problem.relaxed_objective(X[0]))
    assert relaxed * (1 - 1e-2) <= bound[0] <= relaxed


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("seed", range(6))
def test_linear_losses_of_negative_weight_are_part_of_every_bound(seed, domain, norm):
    rng = np.random.default_rng(seed)
    terms = [
        dcra.Term(norm, rng.standard_normal((4, 7)), rng.standard_normal(4), 2.0),
        dcra.Term("linear", rng.standard_normal((5, 7)), rng.standard_normal(5), rng.standard_normal(5)),
    ]
    problem = dcra.Problem(terms, domain=domain, constraints=dcra.at_most(7))
    least = problem.objective(np.array(list(product(DOMAINS[domain], repeat=7)))).min()
    result = dcra.solve(problem, method="exact", seed=0)
    assert result.status == "optimal"
    assert result.fun == pytest.approx(least, abs=1e-9)
    assert max(row.lower_bound for row in result.history) <= least + 1e-9


def test_linear_losses_beside_couplings():
    Q = 0.1 * (np.ones((12, 12)) - np.eye(12))
    problem = dcra.Problem([dcra.Term("linear", np.eye(12), 0.0, -10.0)], quadratic=Q)
    result = dcra.solve(problem, method="exact", seed=0)
    assert result.fun == pytest.approx(-106.8)
    assert max(row.lower_bound for row in result.history) <= result.fun + 1e-6
