"""Constraints with a quadratic objective: swaps, charged flips and repair see Q."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint

import dcra
from dcra.auto import decision
from dcra.auto.decision import Traits
from dcra.compiled.form import compile_problem
from dcra.constrained.counted import CountedAnnealing
from dcra.constrained.penalties import Penalties
from dcra.constrained.quadratic_swap import ChargedFlips, rates, within_counts
from dcra.constrained.repair import rises
from dcra.constrained.swap import Swap
from dcra.engines.base import Starts
from dcra.model.constraints import Group
from dcra.polish.quadratic import temperature_unit

domains = pytest.mark.parametrize("domain", ["spin", "binary"])
forms = pytest.mark.parametrize("form", ["dense", "sparse"])
VALUES = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}
COUNTS = ("exactly", "at most", "two groups")
ROWS = ("exactly and row", "rows")


def random_constraints(kind, rng, n, x):
    """Constraints of a kind that x satisfies."""
    half = n // 2
    ups, first, second = (int(np.count_nonzero(part > 0)) for part in (x, x[:half], x[half:]))
    G = rng.integers(-3, 4, (2, n)).astype(float)
    return {
        "exactly": dcra.exactly(ups),
        "at most": dcra.at_most(ups),
        "two groups": [dcra.exactly(first, range(half)), dcra.at_most(second, range(half, n))],
        "exactly and row": [dcra.exactly(ups), LinearConstraint(G[:1], G[:1] @ x - 1, inf)],
        "rows": LinearConstraint(G, G @ x - 2, G @ x + 2),
    }[kind]


def random_problem(seed, domain, form, kind, loss=None, n=None):
    rng = np.random.default_rng((seed, len(kind)))
    n = n or int(rng.integers(8, 15))
    Q = rng.standard_normal((n, n)) * (rng.random((n, n)) < (1.0 if form == "dense" else 0.2))
    terms = [] if loss is None else [dcra.Term(loss, rng.standard_normal((5, n)), rng.standard_normal(5))]
    return dcra.Problem(
        terms,
        linear=rng.standard_normal(n),
        quadratic=sparse.csc_array(Q) if form == "sparse" else Q,
        domain=domain,
        constraints=random_constraints(kind, rng, n, rng.choice(VALUES[domain], n)),
    )


def brute_force(problem):
    X = np.array(list(product(VALUES[problem.domain], repeat=problem.n)))
    return problem.objective(X)[problem.violation(X) == 0].min()


@pytest.fixture
def searched(monkeypatch):
    """Few variables are not enumerated, so that the compiled searches must find the optimum."""
    monkeypatch.setattr(decision, "COUNTABLE_VARIABLES", 0)


@pytest.mark.usefixtures("compiled_loops")
@domains
@forms
@pytest.mark.parametrize("loss", [None, "l1", "squared"])
@pytest.mark.parametrize("kind", COUNTS + ROWS)
def test_searches_agree_with_enumeration(searched, domain, form, loss, kind):
    for seed in range(4):
        problem = random_problem(seed, domain, form, kind, loss)
        result = dcra.solve(problem, starts=16, seed=seed)
        assert result.feasible
        assert result.fun == pytest.approx(brute_force(problem), abs=1e-9)
        assert result.fun == problem.objective(result.x)


@domains
@pytest.mark.parametrize("kind", COUNTS + ROWS)
def test_few_variables_are_enumerated(domain, kind):
    problem = random_problem(9, domain, "dense", kind)
    result = dcra.solve(problem, seed=0)
    assert result.status == "optimal"
    assert result.fun == pytest.approx(brute_force(problem), abs=1e-9)


@pytest.mark.usefixtures("compiled_loops")
@domains
@pytest.mark.parametrize("method", ["anneal", "flip", "tabu", "sweep"])
def test_swaps_after_every_method_see_the_couplings(domain, method):
    for kind in ("exactly", "two groups", "exactly and row"):
        problem = random_problem(5, domain, "sparse", kind)
        result = dcra.solve(problem, method=method, starts=16, seed=0)
        assert result.feasible
        assert result.fun == pytest.approx(brute_force(problem), abs=1e-9)


def is_counted(compiled):
    traits = Traits(None, compiled, None)
    return traits.counted and traits.quadratic and traits.tabulated


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("kind", COUNTS + ROWS)
def test_the_plan_is_chosen_by_the_rows(kind):
    compiled = compile_problem(random_problem(0, "spin", "dense", kind))
    assert is_counted(compiled) == (kind in COUNTS)
    without_loops = compile_problem(compiled.problem, loops=False)
    assert not is_counted(without_loops)


def test_without_couplings_counts_alone_do_not_choose_it(rng):
    A = rng.standard_normal((5, 30))
    problem = dcra.Problem([dcra.Term("l1", A, 0.0)], constraints=dcra.exactly(4))
    assert not is_counted(compile_problem(problem))


def bisection(n, p, seed=0):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) < p, 1).astype(float)
    return dcra.Problem(quadratic=sparse.csc_array(-(W + W.T) / 4), constraints=dcra.exactly(n // 2))


@pytest.mark.parametrize(("n", "p"), [(30, 0.2), (60, 0.1), (80, 0.8)])
def test_what_large_groups_choose(n, p):
    engine = CountedAnnealing(compile_problem(bisection(n, p))).engine
    assert engine is (ChargedFlips if n >= 40 else Swap)


@pytest.mark.parametrize("p", [0.1, 0.8])
@pytest.mark.parametrize("kind", [ChargedFlips, Swap])
def test_states_keep_value_and_counts(kind, p):
    compiled = compile_problem(bisection(60, p))
    engine = kind(50, 0.65, temperature_unit(compiled))
    state = engine.start(compiled, Starts(3, 0, 3))
    while not state.done:
        state.advance(3000)
        points = state.candidates()
        assert np.all(compiled.problem.violation(points) == 0)
    values = compiled.problem.objective(points)
    assert state.estimate() == pytest.approx(values.min())
    for s in points:
        assert no_swap_improves(compiled.problem, s)


def no_swap_improves(problem, s):
    base, pairs = problem.objective(s), []
    for i in np.flatnonzero(s > 0):
        for j in np.flatnonzero(s < 0):
            pairs.append(s.copy())
            pairs[-1][[i, j]] *= -1
    return bool(np.all(problem.objective(np.array(pairs)) >= base - 1e-9))


def test_planted_halves_are_found():
    rng = np.random.default_rng(0)
    n, side = 60, np.arange(60) % 2
    W = np.triu(rng.random((n, n)) < np.where(side[:, None] == side, 0.5, 0.1), 1).astype(float)
    problem = dcra.Problem(quadratic=-(W + W.T) / 4, constraints=dcra.exactly(n // 2))
    result = dcra.solve(problem, starts=4, seed=0)
    assert abs(result.x @ (2 * side - 1)) == n


def test_the_same_seed_gives_the_same_answer_at_any_number_of_jobs():
    problem = bisection(100, 0.05)
    one, two = (dcra.solve(problem, starts=6, seed=1, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.x, two.x)


def test_a_given_point_is_a_start_even_outside_the_counts():
    problem = bisection(50, 0.2)
    best = dcra.solve(problem, starts=8, seed=0)
    again = dcra.solve(problem, x0=best.x, starts=1, seed=1)
    assert again.fun <= best.fun
    outside = dcra.solve(problem, x0=np.ones(50), starts=1, seed=1)
    assert outside.feasible


@domains
@forms
def test_the_price_of_a_flip_is_what_it_adds(domain, form, rng):
    compiled = compile_problem(random_problem(3, domain, form, "exactly"))
    spins = rng.choice([-1.0, 1.0], compiled.n)
    flipped = spins * (1 - 2 * np.eye(compiled.n))
    rise = compiled.judged(flipped) - compiled.judged(spins[None])
    np.testing.assert_allclose(compiled.value_scale * rises(compiled, spins), rise, atol=1e-9)


def test_penalties_leave_the_couplings_in_the_price(rng):
    problem = random_problem(4, "spin", "dense", "rows")
    spins = rng.choice([-1.0, 1.0], problem.n)
    relaxed = Penalties(compile_problem(problem)).compiled
    couplings = compile_problem(dcra.Problem(quadratic=problem.quadratic.operator.A))
    rest = replace(relaxed, quadratic=None)
    np.testing.assert_allclose(rises(relaxed, spins), rises(rest, spins) + rises(couplings, spins))


def test_points_are_brought_within_counts_by_the_cheapest_flips():
    linear = np.array([3.0, 1.0, 2.0, -1.0, 5.0, 4.0])
    problem = dcra.Problem(linear=linear, quadratic=np.zeros((6, 6)), constraints=dcra.exactly(3))
    groups = [Group(np.arange(4), 1, 2), Group(np.array([4, 5]), 1, 2)]
    points = np.array([np.ones(6), -np.ones(6), [1, -1, -1, -1, 1, -1]])
    fixed = within_counts(compile_problem(problem), points, groups)
    assert fixed.tolist() == [[-1, 1, -1, 1, 1, 1], [-1, -1, -1, 1, -1, 1], [1, -1, -1, -1, 1, -1]]


def test_charges_outweigh_what_a_group_gains_together():
    n = 60
    compiled = compile_problem(dcra.Problem(quadratic=-np.ones((n, n)), constraints=dcra.exactly(n // 2)))
    (rate,) = rates(compiled.quadratic_tables, compiled.problem.constraints.groups, 0.0)
    halves, more = (np.where(np.arange(n) < ups, 1.0, -1.0) for ups in (n // 2, n // 2 + 9))
    gain = -np.diff(compiled.judged(np.stack([halves, more])))
    assert rate * 9**2 == pytest.approx(gain)
