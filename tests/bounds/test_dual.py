"""Lower bounds: never above the optimum, never below what costs nothing, close to the relaxation's value."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import dcra
from dcra._array import from_numpy
from dcra.bounds.dual import DualStage, dual_bound, rounded_up, trivial_bound
from dcra.compiled.form import compile_problem
from dcra.losses import NAMES, EpsilonInsensitive, Huber, Loss, Quantile
from dcra.model import operators
from dcra.model.problem import Problem
from dcra.model.term import Term

CONVEX = [name for name in NAMES if NAMES[name].convex]
SHAPED = {
    "quantile": lambda rng: Quantile(float(rng.uniform(0.05, 0.95))),
    "huber": lambda rng: Huber(float(rng.uniform(0.1, 3))),
    "epsilon_insensitive": lambda rng: EpsilonInsensitive(float(rng.uniform(0, 1))),
}
domains = pytest.mark.parametrize("domain", ["spin", "binary"])


def all_points(n, domain):
    bits = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    return bits if domain == "binary" else 2 * bits - 1


def optimum(problem):
    return problem.objective(all_points(problem.n, problem.domain)).min()


def draw_problem(seed, names, domain):
    """Terms of mixed storage, row weights, a linear term, a constant; exact fits now and then."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    target = all_points(n, domain)[rng.integers(2**n)]
    terms = []
    for name in names:
        r = int(rng.integers(1, 8))
        A = rng.standard_normal((r, n)) if rng.random() < 0.6 else rng.integers(-3, 4, (r, n)).astype(float)
        b = A @ target if rng.random() < 0.3 else rng.normal(0, 2, r)
        loss = SHAPED[name](rng) if name in SHAPED else name
        weight = (
            rng.uniform(0, 3, r) if NAMES[name].separable and rng.random() < 0.5 else float(rng.uniform(0, 3))
        )
        weight = -weight if name == "linear" and rng.random() < 0.5 else weight
        terms.append(Term(loss, sparse.csr_array(A) if rng.random() < 0.2 else A, b, weight))
    linear = rng.normal(0, 1, n) if rng.random() < 0.5 else None
    return Problem(terms, linear=linear, constant=float(rng.normal()), domain=domain)


def run_stage(problem, loops=None, work=10**9):
    stage = DualStage(compile_problem(problem, loops))
    while not stage.done:
        stage.advance(work)
    return stage


@pytest.mark.parametrize("name", CONVEX)
@given(st.integers(0, 10**6), st.sampled_from(["spin", "binary"]), st.integers(-12, 12))
@settings(max_examples=40)
def test_dual_bound_is_below_the_optimum(name, seed, domain, magnitude):
    problem = draw_problem(seed, [name], domain)
    rng = np.random.default_rng(seed + 1)
    low = -1 if domain == "spin" else 0
    x = rng.uniform(low, 1, problem.n)
    step = [float(2.0**magnitude * rng.uniform(0.5, 2))]
    assert dual_bound(problem, x, step) <= optimum(problem)
    if problem.terms[0].loss.curvature < inf:
        assert dual_bound(problem, x, [0.0]) <= optimum(problem)


@given(
    st.integers(0, 10**6),
    st.lists(st.sampled_from(CONVEX), min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=70)
def test_dual_stage_is_between_trivial_and_optimum(seed, names, binary, loops):
    problem = draw_problem(seed, names, "binary" if binary else "spin")
    bound = run_stage(problem, loops).bound
    best = optimum(problem)
    assert trivial_bound(problem) <= bound <= best
    assert rounded_up(problem, bound) <= best


@domains
@pytest.mark.parametrize("name", CONVEX)
def test_exact_fits_are_not_overshot(name, domain):
    """F = 0 at the optimum, and the relaxation is as tight as it gets."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((12, 5))
        x = all_points(5, domain)[rng.integers(32)]
        problem = Problem([Term(name, A, A @ x)], domain=domain)
        assert run_stage(problem).bound <= optimum(problem)


@domains
@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e150])
@pytest.mark.parametrize("name", ["l1", "squared"])
def test_any_scale(name, scale, domain, rng):
    A, b = rng.standard_normal((8, 4)), rng.standard_normal(8)
    plain = Problem([Term(name, A, b)], domain=domain)
    problem = Problem([Term(name, scale * A, scale * b)], domain=domain)
    unit = scale**2 if name == "squared" else scale
    bound = run_stage(problem).bound
    assert bound <= optimum(problem)
    assert bound == pytest.approx(unit * run_stage(plain).bound, rel=0.02)


def test_nonconvex_losses_have_none(rng):
    problem = Problem([Term("capped_l1", rng.standard_normal((4, 3)), np.zeros(4))])
    assert trivial_bound(problem) == -inf
    assert dual_bound(problem, np.zeros(3), [1.0]) == -inf
    stage = DualStage(compile_problem(problem))
    assert stage.done
    assert stage.bound == -inf
    mixed = Problem([*problem.terms, Term("l1", np.ones((1, 3)), [0.0])])
    assert run_stage(mixed).bound == -inf
    result = dcra.solve(mixed, method="flip", starts=1)
    assert result.lower_bound == -inf
    assert result.gap == inf


@domains
def test_trivial_bound_is_the_linear_minimum(domain):
    c, linear = np.array([1.0, -2.0, 4.0]), np.array([[0.5, 0.5, -1.0]])
    problem = Problem(
        [Term("l1", np.eye(3), np.zeros(3)), Term("linear", linear, [1.0], -2.0)],
        linear=c,
        constant=10.0,
        domain=domain,
    )
    q = c - 2 * linear[0]
    least = -np.abs(q).sum() if domain == "spin" else np.minimum(q, 0).sum()
    want = 10 + 2 + least
    assert want - 1e-12 < trivial_bound(problem) <= want


@domains
def test_within_a_percent_of_the_linear_program(domain):
    """100 variables, 200 rows: the value of the box relaxation, by HiGHS."""
    rng = np.random.default_rng(0)
    r, n = 200, 100
    A, b = rng.standard_normal((r, n)), 10 * rng.standard_normal(r)
    low = -1.0 if domain == "spin" else 0.0
    eye = np.eye(r)
    program = linprog(
        np.r_[np.zeros(n), np.ones(r)],
        np.block([[A, -eye], [-A, -eye]]),
        np.r_[b, -b],
        bounds=[(low, 1.0)] * n + [(0, None)] * r,
    )
    problem = Problem([Term("l1", A, b)], domain=domain)
    bound = run_stage(problem).bound
    assert 0.99 * program.fun <= bound <= program.fun * (1 + 1e-9)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("name", ["squared", "huber", "logistic", "l2"])
def test_smooth_losses_close_the_gap(name, loops, rng):
    """Quadratics do not make the sweeps go to and fro."""
    problem = Problem([Term(name, rng.standard_normal((60, 20)), 3 * rng.standard_normal(60))])
    stage = run_stage(problem, loops)
    relaxed = float(problem.relaxed_objective(np.clip(stage.point, -1, 1)))
    assert relaxed - stage.bound <= 0.01 * relaxed


@pytest.mark.parametrize("loops", [True, False])
def test_underdetermined_problems_end_soon(loops, rng):
    """The relaxation's value is 0, and so is the bound: there is nothing to wait for."""
    for name in ("l1", "squared", "quantile"):
        stage = run_stage(Problem([Term(name, rng.standard_normal((3, 12)), rng.standard_normal(3))]), loops)
        assert stage.bound == 0
        assert stage.rounds < 200


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("names", [["l1"], ["squared", "hinge"]])
def test_pauses_do_not_change_the_bound(names, loops, rng):
    terms = [Term(name, rng.standard_normal((9, 7)), rng.standard_normal(9)) for name in names]
    problem = Problem(terms, linear=rng.standard_normal(7))
    once = run_stage(problem, loops)
    for work in (1, 7 * 9 * 5, 7 * 9 * 40):
        paused = run_stage(problem, loops, work)
        assert paused.bound == once.bound
        assert paused.rounds == once.rounds


def test_every_library_and_storage(xp, rng):
    A, b = rng.standard_normal((8, 5)), rng.standard_normal(8)
    want = run_stage(Problem([Term("l1", A, b)]), False).bound
    problem = Problem([Term("l1", xp.asarray(A), xp.asarray(b))])
    assert run_stage(problem, False).bound == pytest.approx(want, rel=1e-9)
    x = from_numpy(rng.uniform(-1, 1, 5), problem.like)
    assert dual_bound(problem, x, [0.5]) <= optimum(problem)


def test_products_only(monkeypatch, rng):
    A, b = rng.standard_normal((8, 5)), rng.standard_normal(8)
    want = run_stage(Problem([Term("l1", A, b)])).bound
    monkeypatch.setattr(operators, "MATERIALIZE_ENTRIES", 0)
    products = Problem([Term("l1", sparse.linalg.aslinearoperator(A), b)])
    assert run_stage(products).bound == pytest.approx(want, rel=0.05)


def test_rounding_up_needs_whole_numbers():
    whole = Problem([Term("l1", np.ones((2, 3)), [1.0, 2.0], 2.0)], linear=[1, 2, 3], constant=4)
    assert rounded_up(whole, 3.2) == 4.0
    assert rounded_up(whole, 4.0) == 4.0
    assert rounded_up(whole, 4.0 + 1e-9) == 4.0
    assert rounded_up(whole, -inf) == -inf
    for broken in (
        Problem([Term("l1", np.ones((2, 3)), [1.0, 2.5])]),
        Problem([Term("l1", 0.5 * np.ones((2, 3)), 1.0)]),
        Problem([Term("l1", np.ones((2, 3)), 1.0, 0.5)]),
        Problem([Term("l1", np.ones((2, 3)), 1.0)], constant=0.5),
        Problem([Term("l1", np.ones((2, 3)), 1.0)], linear=[0.5, 0, 0]),
        Problem([Term("huber", np.ones((2, 3)), 1.0)]),
        Problem([Term("l2", np.ones((2, 3)), 1.0)]),
    ):
        assert rounded_up(broken, 3.2) == 3.2


@given(st.integers(0, 10**6), st.sampled_from(["l1", "squared", "hinge", "squared_hinge", "linear", "linf"]))
def test_rounded_bounds_of_whole_problems(seed, name):
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    domain = ("spin", "binary")[seed % 2]
    problem = Problem([Term(name, rng.integers(-4, 5, (r, n)), rng.integers(-4, 5, r))], domain=domain)
    bound = rounded_up(problem, run_stage(problem).bound)
    assert bound == round(bound)
    assert bound <= optimum(problem)


class Elastic:
    """|u| + u^2/2 of one vector."""

    convex = True

    def value(self, z):
        return float(np.sum(np.abs(z) + z**2 / 2))

    def prox(self, z, step):
        return np.sign(z) * np.maximum(np.abs(z) - step, 0) / (1 + step)


class ElasticLoss(Loss):
    """The same as a subclass."""

    convex = separable = True

    def value(self, z):
        return np.sum(np.abs(z) + z**2 / 2, axis=-1)

    def prox(self, z, step):
        return np.sign(z) * np.maximum(np.abs(z) - step, 0) / (1 + step)


@domains
@pytest.mark.parametrize("loss", [Elastic(), ElasticLoss()])
def test_convex_user_losses_get_a_bound(loss, domain):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((8, 4))
        b = A @ all_points(4, domain)[seed] if seed % 2 else 2 * rng.standard_normal(8)
        problem = Problem([Term(loss, A, b)], domain=domain)
        assert trivial_bound(problem) == -inf
        bound, best = run_stage(problem).bound, optimum(problem)
        assert -1e-3 * (1 + best) <= bound <= best
        result = dcra.solve(problem, method="flip", starts=2, seed=0)
        assert result.lower_bound <= best
        assert result.lower_bound > -inf
