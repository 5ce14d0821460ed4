"""Method "exact" against all points: no wrong proof, whatever the numbers are."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import dcra
from dcra._kernels.branching import Event
from dcra.bounds.dual import rounded_up
from dcra.compiled.form import compile_problem
from dcra.exact import dual_rows, kinks
from dcra.exact.branch import BranchState
from dcra.exact.incumbent import Incumbent
from dcra.exact.kinks import Unfit, has_kinks, kink_form, mesh_at
from dcra.exact.proof_tree import ProofTree
from dcra.exact.prove import ProofState, Prove
from dcra.losses import Loss
from dcra.model.exact_value import exact_value
from tests.campaign.cases import PROFILES

LOSSES = ["l1", "hinge", "quantile", "epsilon_insensitive", "linear"]
CURVED = ["squared", "huber", "squared_hinge"]
DOMAINS = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}


def points_of(problem):
    return np.array(list(product(DOMAINS[problem.domain], repeat=problem.n)))


def drawn(profile, loss, seed, domain="spin"):
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(2, 9)), int(rng.integers(1, 9))
    A = PROFILES[profile](rng, (r, n))
    b = A @ rng.choice(DOMAINS[domain], n) + PROFILES[profile](rng, (r,)) * (seed % 2)
    weight = 1.0 if seed % 3 else np.abs(PROFILES[profile](rng, (r,)))
    linear = PROFILES[profile](rng, (n,)) if seed % 2 else None
    return dcra.Problem([dcra.Term(loss, A, b, weight)], linear=linear, domain=domain)


def planted(n=30, r=60, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    A, h = rng.standard_normal((r, n)), rng.choice([-1.0, 1.0], n)
    b = A @ h + noise * rng.standard_normal(r)
    b[: r // 3] = np.sqrt(n) * rng.standard_normal(r // 3)
    return dcra.Problem([dcra.Term("l1", A, b)])


def hard(n=90):
    """Nothing to be found: the tree is large."""
    rng = np.random.default_rng(0)
    return dcra.Problem([dcra.Term("l1", rng.standard_normal((n, n)), rng.standard_normal(n))])


def proved(problem, loops=True, points=None, work=5000):
    """The state of a tree that was taken to its end."""
    state = ProofState(compile_problem(problem, loops), points, 1 << 24)
    while not state.done:
        state.advance(work)
    return state


@pytest.mark.filterwarnings(
    "ignore:overflow encountered in cast"
)  # of tables in float32, by weights of 1e-30
@pytest.mark.parametrize("domain", list(DOMAINS))
@pytest.mark.parametrize("loss", LOSSES + CURVED)
@pytest.mark.parametrize("profile", list(PROFILES))
def test_no_wrong_proof(profile, loss, domain):
    for seed in range(4):
        problem = drawn(profile, loss, seed, domain)
        least = min(exact_value(problem, x) for x in points_of(problem))
        result = dcra.solve(problem, method="exact", starts=1, seed=0, n_jobs=1)
        assert result.lower_bound <= least or result.lower_bound - float(least) <= result.tiny
        if result.status is dcra.Status.OPTIMAL:
            best = exact_value(problem, np.asarray(result.x, float))
            assert float(best - least) <= result.tiny


def logistic_values(problem):
    """F at all points, in long double."""
    term, X = problem.terms[0], points_of(problem).astype(np.longdouble)
    z = X @ term.operator.A.T.astype(np.longdouble) - term.b
    losses = np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))
    return losses @ (term.weight + np.zeros(z.shape[1], np.longdouble)) + (
        0 if problem.linear is None else X @ problem.linear
    )


@pytest.mark.parametrize("domain", list(DOMAINS))
@pytest.mark.parametrize("profile", list(PROFILES))
def test_no_wrong_proof_of_logistic_losses(profile, domain):
    for seed in range(6):
        problem = drawn(profile, "logistic", seed, domain)
        least = logistic_values(problem).min()
        result = dcra.solve(problem, method="exact", starts=1, seed=0, n_jobs=1)
        assert result.lower_bound - least <= result.tiny
        if result.status is dcra.Status.OPTIMAL:
            assert result.fun - least <= result.tiny


@pytest.mark.parametrize("seed", range(3))
def test_classifiers_are_proved(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((60, 25))
    labels = np.sign(A @ rng.choice([-1.0, 1.0], 25) + 2 * rng.standard_normal(60))
    problem = dcra.Problem([dcra.Term("logistic", -0.5 * labels[:, None] * A, np.zeros(60))])
    result = dcra.solve(problem, method="exact", starts=2, seed=0)
    assert result.status is dcra.Status.OPTIMAL
    assert result.fun <= dcra.solve(problem, starts=50, seed=1).fun + result.tiny


@pytest.mark.parametrize("weight", [1.0, 0.3, 7.0])
def test_tangents_lie_below_the_logistic_loss(weight):
    z = np.concatenate([np.linspace(-40, 40, 4001), [-700.0, 700.0]])
    term = dcra.Term("logistic", np.ones((1, 1)), np.zeros(1), weight)
    below = np.zeros_like(z)
    for block in kinks._rows_of(term, 0.0):
        below += block.hi[0] * np.maximum(z - block.b[0], 0)
    value = weight * (np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z))))
    assert np.all(below <= value + 4e-16 * value)
    assert np.max(value - below) < 0.01 * weight


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_ordinary_numbers_are_proved(seed, loops):
    problem = drawn("normal", (LOSSES + CURVED)[seed % 8], seed)
    state = proved(problem, loops)
    values = problem.objective(points_of(problem))
    assert state.fun == pytest.approx(values.min(), rel=1e-12)
    assert rounded_up(problem, state.least) == pytest.approx(values.min(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("seed", range(16))
def test_constraints(seed, loops):
    rng = np.random.default_rng(seed)
    problem = drawn("small integers" if seed % 2 else "normal", LOSSES[seed % 4], seed, "binary")
    G = rng.integers(-2, 3, (2, problem.n)).astype(float)
    middle = G @ rng.integers(0, 2, problem.n)
    ends = (middle, middle) if seed % 3 == 0 else (middle - 1, middle) if seed % 3 == 1 else (-np.inf, middle)
    problem = problem.replace(constraints=[LinearConstraint(G, *ends)])
    points = points_of(problem)
    feasible = points[problem.violation(points) == 0]
    state = proved(problem, loops)
    assert state.fun == pytest.approx(problem.objective(feasible).min(), rel=1e-12)
    assert rounded_up(problem, state.least) == pytest.approx(state.fun, rel=1e-9, abs=1e-9)
    if loops:
        result = dcra.solve(problem, method="exact", starts=1, seed=0)
        assert result.status is dcra.Status.OPTIMAL
        assert result.fun == state.fun


def test_no_point_is_feasible():
    A = np.array([[2.0, 2.0, 2.0, 4.0]])
    problem = dcra.Problem(
        [dcra.Term("l1", np.eye(4), 0.3)], domain="binary", constraints=[LinearConstraint(A, 3.0, 3.5)]
    )
    result = dcra.solve(problem, method="exact", seed=0)
    assert result.status is dcra.Status.INFEASIBLE
    assert not result.feasible


def test_a_planted_point_is_proved_with_few_nodes():
    problem = planted()
    result = dcra.solve(problem, method="exact", starts=4, seed=0)
    assert result.status is dcra.Status.OPTIMAL
    assert result.gap == 0.0
    assert 1 <= result.nodes < 2000
    assert "nodes" in str(result)
    assert result.to_dict()["nodes"] == result.nodes


def test_the_answer_does_not_depend_on_threads_or_pauses():
    problem = hard(24)
    one, two, three = (dcra.solve(problem, method="exact", starts=2, seed=0, n_jobs=k) for k in (1, 2, 3))
    assert one.nodes == two.nodes == three.nodes > 1000
    assert one.lower_bound == two.lower_bound == three.lower_bound
    assert np.array_equal(one.x, two.x)
    assert np.array_equal(one.x, three.x)
    states = [proved(problem, work=work) for work in (100, 10_000_000)]
    assert states[0].nodes == states[1].nodes


@pytest.mark.usefixtures("compiled_loops")
def test_the_proof_does_not_depend_on_pauses():
    """With a leaf that is a point, which rests on no slopes."""
    rng = np.random.default_rng(0)
    problem = dcra.Problem([dcra.Term("l1", rng.standard_normal((22, 22)), rng.standard_normal(22))])
    logs = [proved(problem, work=work).log.arrays() for work in (500, 10_000_000)]
    assert np.any(logs[0].events[:, 0] == Event.POINT)
    assert all(np.array_equal(one, two) for one, two in zip(*logs, strict=True))


@pytest.mark.usefixtures("compiled_loops")
def test_threads_share_the_tree(monkeypatch):
    """Several nodes are taken on at a time; the second waits for the third, which another thread has."""
    met, together = set(), threading.Barrier(2, timeout=60)
    begin, lock = BranchState.__init__, threading.Lock()

    def noted(self, own, compiled):
        begin(self, own, compiled)
        with lock:
            met.add(threading.get_ident())
            number = noted.count = noted.count + 1
        if number in (3, 4):  # after the root, and the first nodes below it
            together.wait()

    noted.count = 0
    monkeypatch.setattr(BranchState, "__init__", noted)
    result = dcra.solve(hard(24), method="exact", starts=2, seed=0, n_jobs=2)
    assert result.status is dcra.Status.OPTIMAL
    assert len(met) == 2


def test_what_is_fixed_at_the_root_cannot_be_otherwise():
    problem = planted(10, 30, seed=1, noise=0.5)
    state = proved(problem, points=proved(problem).spins)
    points = points_of(problem)
    values = problem.objective(points)
    sides = state.tree.fixed
    assert np.array_equal(state.fixed, sides != 0)
    assert np.any(sides)
    for j in np.flatnonzero(sides):
        assert values[points[:, j] == -sides[j]].min() >= state.fun - 1e-9


def test_bounds_rise_and_hold_on_the_way():
    problem = planted(24, 24, seed=2, noise=5.0)
    state = ProofState(compile_problem(problem), None)
    bounds = []
    while not state.done:
        state.advance(20_000)
        bounds += [news.lower_bound for news in state.take_news() if not len(news.spins)]
    assert len(bounds) > 3
    assert bounds == sorted(bounds)
    assert bounds[-1] <= state.fun + 1e-9
    assert bounds[0] < state.fun - 1.0


def test_every_conclusion_is_written_down():
    """A node is closed by a leaf, a point, or by two children."""
    state = proved(planted(16, 16, seed=3, noise=5.0))
    events, ends, values = state.log.arrays()
    closed, parents = set(), {}
    for kind, node, _, at in events:
        assert kind in (Event.BRANCH, Event.POINT) or at < len(ends)
        if kind == Event.BRANCH:
            parents[int(node)] = (int(at), int(at) + 1)
        elif kind in (Event.LEAF, Event.POINT):
            closed.add(int(node))
    for node in sorted(parents, reverse=True):
        if set(parents[node]) <= closed:
            closed.add(node)
    assert 0 in closed
    assert values.size == np.count_nonzero(ends == 0)


@pytest.mark.usefixtures("compiled_loops")
def test_a_log_that_is_too_long_is_given_up():
    state = ProofState(compile_problem(planted(16, 16, seed=3, noise=5.0)), None, record=1000)
    while not state.done:
        state.advance(10_000)
    assert not state.log.complete
    assert state.log.arrays()[0].size == 0


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 0.001
        return self.now


def test_a_time_limit_ends_it_with_what_is_known(monkeypatch):
    monkeypatch.setattr("time.perf_counter", Clock())
    result = dcra.solve(hard(), method="exact", time_limit=2.0, seed=0, n_jobs=1)
    assert result.status is dcra.Status.TIME_LIMIT
    assert -np.inf < result.lower_bound < result.fun
    assert result.nodes > 0


def test_a_callback_ends_it():
    seen = []

    def stop(progress):
        seen.append(progress)
        return progress.lower_bound > 0

    result = dcra.solve(hard(), method="exact", starts=1, seed=0, callback=stop)
    assert result.status is dcra.Status.CALLBACK
    assert result.lower_bound > 0


def test_what_it_does_not_take_is_refused_in_words():
    words = r"known convex losses \(not CappedL1\); methods that fit: auto, .*flip"
    with pytest.raises(ValueError, match=words):
        dcra.minimize(np.eye(60), np.ones(60), "capped_l1", method="exact")
    assert not has_kinks(dcra.Problem(quadratic=np.eye(3)))


def test_scales_that_do_not_go_together_are_left_alone():
    with pytest.raises(Unfit):
        kink_form(dcra.Problem(linear=np.array([1e300, 1e-300])))
    result = dcra.solve(dcra.Problem(linear=np.array([1e300, 1e-300])), method="exact", seed=0)
    assert result.fun == -1e300  # the first answer
    assert result.nodes == 0
    assert result.certificate is None


def test_slopes_are_rounded_inwards():
    """The sum of kinks is never above the problem, in fractions."""
    rng = np.random.default_rng(0)
    for loss in ("quantile", dcra.losses.Quantile(0.3), "epsilon_insensitive"):
        A, b, weight = rng.standard_normal((6, 5)), rng.random(6), 3 * rng.random(6)
        problem = dcra.Problem([dcra.Term(loss, A, b, weight)])
        form = kink_form(problem)
        for x in points_of(problem)[::5]:
            total = Fraction(0)
            for row, b, lo, hi in zip(form.A.tolist(), form.b.tolist(), form.lo, form.hi, strict=True):
                z = sum(Fraction(a) * int(v) for a, v in zip(row, x, strict=True)) - Fraction(b)
                total += max(Fraction(hi) * z, Fraction(lo) * z)
            assert total * Fraction(form.unit) <= exact_value(problem, x)


@pytest.mark.parametrize("loss", CURVED)
def test_tangents_are_below_the_loss(loss):
    """In fractions, and close to it where residuals are as they were expected."""
    rng = np.random.default_rng(0)
    A, b, weight = rng.standard_normal((6, 5)), rng.standard_normal(6), 3 * rng.random(6)
    problem = dcra.Problem([dcra.Term(loss, A, b, weight)])
    points = points_of(problem)
    best = points[np.argmin(problem.objective(points))]
    form = kink_form(problem, mesh_at(problem, best))
    for x in [best, *points[::5]]:
        total = Fraction(0)
        for row, b, lo, hi in zip(form.A.tolist(), form.b.tolist(), form.lo, form.hi, strict=True):
            z = sum(Fraction(a) * int(v) for a, v in zip(row, x, strict=True)) - Fraction(b)
            total += max(Fraction(hi) * z, Fraction(lo) * z)
        assert total * Fraction(form.unit) <= exact_value(problem, x)
        if x is best:
            assert total * Fraction(form.unit) >= Fraction(9, 10) * exact_value(problem, x)


def test_least_squares_are_proved_with_few_nodes():
    rng = np.random.default_rng(0)
    A, h = rng.standard_normal((30, 30)), rng.choice([-1.0, 1.0], 30)
    b = A @ h + np.sqrt(30 / 10**1.2) * rng.standard_normal(30)  # 12 dB
    result = dcra.minimize(A, b, "squared", method="exact", starts=2, seed=0)
    assert result.status is dcra.Status.OPTIMAL
    assert result.nodes < 500


def test_engines_have_options():
    result = dcra.solve(planted(12, 24), method=Prove(record=0), starts=1, seed=0)
    assert result.status is dcra.Status.OPTIMAL
    assert result.method == "exact"


def test_a_tree_begins_with_any_slopes():
    compiled = compile_problem(planted(8, 12))
    form = kink_form(compiled.problem)
    tree = ProofTree(form, np.full(form.r, 7.0), Incumbent(compiled, form))
    state = ProofState(compiled, None)
    state.tree = tree
    while not state.done:
        state.advance(1000)
    assert tree.bound <= tree.incumbent.cutoff


def test_a_pool_whose_next_trees_have_no_room_is_not_called_proven(monkeypatch):
    """Their rows are one more each: a refusal is not the news that no point is left."""
    rng = np.random.default_rng(0)
    problem = dcra.Problem([dcra.Term("l1", rng.standard_normal((6, 6)), rng.standard_normal(6))])
    monkeypatch.setattr(kinks, "MOST_ENTRIES", 6 * 13)
    monkeypatch.setattr(dual_rows, "MOST_ENTRIES", 6 * 7)
    result = dcra.solve(problem, method="exact", starts=1, seed=0, pool=3)
    assert result.status is dcra.Status.OPTIMAL
    assert not result.pool.proven


@dataclass(frozen=True)
class Root(Loss):
    """A loss of the user, of which nothing is known but its value."""

    separable = True

    def value(self, z):
        return self.values(z).sum(axis=-1)

    def values(self, z):
        return np.sqrt(np.abs(z))

    def prox(self, z, step):
        return z


@pytest.mark.parametrize("loss", ["capped_l1", Root()])
@pytest.mark.parametrize("constraints", [(), dcra.exactly(3)])
def test_losses_that_no_tree_takes_are_proved_by_all_points(loss, constraints):
    rng = np.random.default_rng(3)
    term = dcra.Term(loss, rng.standard_normal((9, 7)), rng.standard_normal(9))
    problem = dcra.Problem([term], quadratic=rng.standard_normal((7, 7)), constraints=constraints)
    result = dcra.solve(problem, method="exact", seed=0)
    X = points_of(problem)
    assert result.status is dcra.Status.OPTIMAL
    assert result.method == "exact"
    assert result.fun == pytest.approx(problem.objective(X[problem.violation(X) == 0]).min(), abs=1e-12)
    with pytest.raises(ValueError, match="where all points were tried"):
        result.proof("nothing.npz")


def test_of_all_points_the_best_ones_are_known():
    rng = np.random.default_rng(3)
    problem = dcra.Problem([dcra.Term("capped_l1", rng.standard_normal((9, 7)), rng.standard_normal(9))])
    pool = dcra.solve(problem, method="exact", seed=0, pool=4).pool
    assert pool.proven
    np.testing.assert_allclose(pool.values, np.sort(problem.objective(points_of(problem)))[:4])
