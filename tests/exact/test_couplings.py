"""Method "exact" where there are couplings alone, against all points: no wrong proof."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import sparse

import dcra
from dcra.compiled.form import compile_problem
from dcra.exact import couplings_branch, triangle_bound
from dcra.exact.couplings_branch import PairBranchState
from dcra.exact.couplings_form import MOST_VARIABLES, couplings_alone, couplings_form
from dcra.exact.couplings_tree import CouplingsProof
from dcra.exact.merging import Merge, fixed_pairs, merge_of, unmerged
from dcra.exact.triangle_bound import TriangleRelaxation, Warm, certified, cold
from dcra.model.exact_value import exact_value
from tests.campaign.cases import PROFILES

pytestmark = pytest.mark.usefixtures("compiled_loops")

DOMAINS = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}


@pytest.fixture
def no_points_at_once(monkeypatch):
    """Let relaxations do what looking at all points would."""
    monkeypatch.setattr(couplings_branch, "SMALL", 3)


def points_of(problem):
    return np.array(list(product(DOMAINS[problem.domain], repeat=problem.n)))


def drawn(profile, seed, domain, short=False):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    draw = PROFILES[profile]
    Q, c = draw(rng, (n, n)), draw(rng, (n,))
    if seed % 3 == 0:
        Q = np.where(rng.random((n, n)) < 0.6, 0.0, Q)
    if short:
        Q, c = Q.astype(np.float32), c.astype(np.float32)
    linear = None if seed % 2 else c
    return dcra.Problem(quadratic=sparse.csr_array(Q) if seed % 4 == 1 else Q, linear=linear, domain=domain)


def least_of(problem):
    """The least value, without rounding."""
    points = points_of(problem)
    near = np.argsort(problem.objective(points), kind="stable")[:8]
    return min(exact_value(problem, points[i]) for i in near)


def fine(problem, result):
    """Whether a result says nothing that all points do not bear out."""
    least = least_of(problem)
    if Fraction(result.lower_bound) > least and float(Fraction(result.lower_bound) - least) > result.tiny:
        return False
    best = exact_value(problem, np.asarray(result.x, float))
    return result.status is not dcra.Status.OPTIMAL or float(best - least) <= result.tiny


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.usefixtures("no_points_at_once")
@pytest.mark.parametrize("domain", list(DOMAINS))
@pytest.mark.parametrize("profile", list(PROFILES))
def test_no_wrong_proof(profile, domain):
    for seed in range(14):
        problem = drawn(profile, seed, domain)
        result = dcra.solve(problem, method="exact", starts=1, seed=0, n_jobs=1)
        assert fine(problem, result), seed


@pytest.mark.usefixtures("no_points_at_once")
@pytest.mark.parametrize("domain", list(DOMAINS))
@pytest.mark.parametrize("profile", ["normal", "small integers"])
def test_ordinary_numbers_are_proved(profile, domain):
    for seed in range(12):
        for short in (False, True):
            problem = drawn(profile, seed, domain, short)
            result = dcra.solve(problem, method="exact", starts=1, seed=0, n_jobs=1)
            assert fine(problem, result)
            assert result.status is dcra.Status.OPTIMAL
            assert result.fun - result.lower_bound <= result.tiny


def graph(n=40, seed=0, weights=(0, 1)):
    W = np.triu(np.random.default_rng(seed).choice(np.array(weights, float), (n, n)), 1)
    return dcra.Problem(quadratic=0.25 * (W + W.T), constant=-0.5 * float(W.sum()))


def glass(n=60, seed=0):
    """Couplings of size one and sign at random, which take some nodes."""
    rng = np.random.default_rng(seed)
    return dcra.Problem(quadratic=np.triu(rng.choice([-1.0, 1.0], (n, n)), 1))


def test_what_is_not_whole_is_proved():
    rng = np.random.default_rng(1)
    problem = dcra.Problem(quadratic=rng.standard_normal((40, 40)), linear=rng.standard_normal(40))
    result = dcra.solve(problem, method="exact", starts=2, seed=0)
    assert result.status is dcra.Status.OPTIMAL
    assert result.fixed is not None
    assert result.fun <= dcra.solve(problem, starts=40, seed=1).fun + result.tiny


def test_threads_and_pauses_change_nothing():
    problem = glass()
    one, two = (dcra.solve(problem, method="exact", starts=2, seed=0, n_jobs=k) for k in (1, 2))
    assert one.status is dcra.Status.OPTIMAL
    assert one.nodes == two.nodes > 1
    assert np.array_equal(one.x, two.x)
    assert one.lower_bound == two.lower_bound == one.fun
    points = np.where(np.asarray(one.x) > 0, 1.0, -1.0)[None]
    nodes = []
    for work in (1, 10**9):
        state = CouplingsProof(compile_problem(problem), points)
        while not state.done:
            state.advance(work)
        nodes.append((state.nodes, state.least))
    assert nodes[0] == nodes[1]


def test_bounds_rise_and_a_callback_ends_it():
    problem, seen = glass(120, 1), []

    def look(progress):
        seen.append(progress.lower_bound)
        return len(seen) == 3

    result = dcra.solve(problem, method="exact", starts=1, seed=0, callback=look)
    assert result.status is dcra.Status.CALLBACK
    assert seen == sorted(seen)
    bounds = [row.lower_bound for row in result.history]
    assert bounds == sorted(bounds)


def test_an_answer_is_found_by_the_tree_itself():
    """From the worst of points the leaves, and what relaxations are about, lead to the best."""
    problem = glass(20, 2)
    worst = dcra.solve(dcra.Problem(quadratic=-problem.quadratic.operator.A), seed=0, starts=8).x
    state = CouplingsProof(compile_problem(problem), np.asarray(worst, float)[None])
    while not state.done:
        state.advance(10**8)
    assert state.fun == dcra.solve(problem, method="enumerate").fun == state.least + 0.99 * 2


@pytest.mark.usefixtures("no_points_at_once")
def test_what_is_fixed_at_the_root_cannot_be_otherwise():
    seen = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        problem = dcra.Problem(quadratic=rng.standard_normal((8, 8)), linear=3 * rng.standard_normal(8))
        result = dcra.solve(problem, method="exact", starts=4, seed=0)
        points = points_of(problem)
        best = points[np.argmin(problem.objective(points))]
        assert np.array_equal(best[result.fixed], np.asarray(result.x)[result.fixed])
        seen += int(result.fixed.sum())
    assert seen


def test_nothing_is_fixed_where_up_is_as_good_as_down():
    result = dcra.solve(graph(20), method="exact", starts=1, seed=0)
    assert result.status is dcra.Status.OPTIMAL
    assert not result.fixed.any()


def test_variables_that_nothing_is_coupled_to():
    Q = np.zeros((30, 30))
    Q[3, 7] = 2.0
    result = dcra.solve(dcra.Problem(quadratic=Q), method="exact", starts=1, seed=0)
    assert (result.status, result.fun) == (dcra.Status.OPTIMAL, -2.0)
    assert dcra.solve(dcra.Problem(quadratic=np.zeros((30, 30))), method="exact", seed=0).fun == 0.0


def test_what_it_does_not_take_is_refused_in_words():
    large = dcra.Problem(quadratic=sparse.eye_array(MOST_VARIABLES + 1, k=1).tocsr())
    assert not couplings_alone(large)
    with pytest.raises(ValueError, match="couplings by columns and not too large"):
        dcra.solve(large, method="exact")


@pytest.mark.usefixtures("no_points_at_once")
@pytest.mark.parametrize("domain", list(DOMAINS))
@pytest.mark.parametrize("profile", ["normal", "small integers", "zeros", "one big entry"])
def test_a_pool_has_the_best_of_all_points(profile, domain):
    """Also where x and -x are as good, and where nothing is coupled to some variables."""
    for seed in range(10):
        problem = drawn(profile, seed, domain)
        result = dcra.solve(problem, method="exact", starts=1, seed=0, n_jobs=1, pool=5)
        values = np.sort([float(exact_value(problem, x)) for x in points_of(problem)])[:5]
        assert result.pool.proven
        assert result.pool.values == pytest.approx(values, rel=1e-12, abs=max(1e-12, result.tiny))
        assert len(np.unique(result.pool.points, axis=0)) == len(values)


def test_a_pool_of_a_larger_problem():
    problem = glass(40, 3)
    one, two = (dcra.solve(problem, method="exact", starts=2, seed=0, n_jobs=k, pool=6) for k in (1, 2))
    assert one.pool.proven
    assert one.status is dcra.Status.OPTIMAL
    assert one.pool.values.tolist() == two.pool.values.tolist()
    assert one.pool.values[0] == one.fun == one.lower_bound
    assert np.all(problem.objective(one.pool.points) == one.pool.values)
    others = dcra.solve(problem, starts=40, seed=1, pool=6).pool.values
    assert np.all(one.pool.values[: others.size] <= others)


def test_a_pool_that_is_cut_short_is_not_called_proven():
    seen = []

    def look(moment):
        seen.append(moment)
        return len(seen) > 2

    result = dcra.solve(glass(60, 1), method="exact", starts=1, seed=0, pool=9, callback=look)
    assert result.status is dcra.Status.CALLBACK
    assert not result.pool.proven


def test_points_far_apart_are_those_that_were_met():
    result = dcra.solve(glass(12), method="exact", starts=2, seed=0, pool=dcra.Pool(4, 3))
    assert result.status is dcra.Status.OPTIMAL
    assert not result.pool.proven


@pytest.mark.parametrize("domain", list(DOMAINS))
def test_the_form_has_the_same_values(domain):
    for profile, draw in PROFILES.items():
        rng = np.random.default_rng(3)
        problem = dcra.Problem(quadratic=draw(rng, (5, 5)), linear=draw(rng, (5,)), domain=domain)
        form = couplings_form(problem)
        Z = np.array(list(product((-1.0, 1.0), repeat=form.p)))
        x = form.spins(Z) if domain == "spin" else (form.spins(Z) + 1) / 2
        for point, z in zip(x, Z, strict=True):
            value = Fraction(float(z @ form.M @ z)) * Fraction(form.unit) + Fraction(form.constant)
            assert abs(float(value - exact_value(problem, point))) <= form.slack, profile


def triangle_value(row, z):
    signs = [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)][row[3]]
    i, j, k = row[:3]
    return signs[0] * z[i] * z[j] + signs[1] * z[i] * z[k] + signs[2] * z[j] * z[k]


def ended(steps):
    """What a generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def test_pauses_are_short():
    """No step does much more than is between two pauses, however large the problem is."""
    own = dcra.Problem(quadratic=np.random.default_rng(0).standard_normal((300, 300)))
    relaxation = TriangleRelaxation(couplings_form(own).M)
    work = [*relaxation.begin(), *relaxation.round()]
    assert max(work) <= max(2 * triangle_bound.PAUSE, relaxation.step_work)
    assert len(work) > 80


def test_the_root_tells_a_bound_before_it_is_done():
    problem = glass(60)
    compiled = compile_problem(problem)
    state = PairBranchState(CouplingsProof(compiled, None).hand_out(), compiled)
    while not (news := state.take_news()):
        state.advance(1)
    assert not state.done
    best = dcra.solve(problem, method="exact", starts=2, seed=0).fun
    assert 1.5 * best < news[0].lower_bound <= best


def test_a_node_pauses_whatever_work_is_asked_for():
    compiled = compile_problem(glass(60))
    state = PairBranchState(CouplingsProof(compiled, None).hand_out(), compiled)
    pauses = 0
    while not state.done:
        before = state.work
        state.advance(10**12)
        assert state.work - before <= 4 * triangle_bound.PAUSE
        pauses += 1
    assert pauses > 20


def test_merged_spins_have_the_same_values():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((7, 7))
    M += M.T
    np.fill_diagonal(M, 0.0)
    merge = merge_of(7, [(5, 0, -1.0), (6, 2, 1.0), (2, 5, -1.0)])
    assert merge.left == 4
    assert merge.label[0] == merge.label[5] == merge.label[6] == 0
    reduced, constant = merge.matrix(M)
    corners = np.array([[1, 2, 3, 2], [0, 1, 3, 0], [1, 3, 4, 3], [3, 4, 6, 1], [0, 5, 3, 0]], np.int32)
    corners = np.column_stack([np.sort(corners[:, :3], axis=1), corners[:, 3]]).astype(np.int32)
    prices = rng.random(5)
    warm = merge.warm(Warm(cold(7).V, corners, prices))
    for small in product((-1.0, 1.0), repeat=4):
        z = merge.spread(np.array([small]))[0]
        assert z[5] == -z[0]
        assert z[6] == z[2] == -z[5]
        assert np.array(small) @ reduced @ np.array(small) + constant == pytest.approx(z @ M @ z)
        whole = [g * triangle_value(r, z) for r, g in zip(corners, prices, strict=True)][:4]
        left = [g * triangle_value(r, small) for r, g in zip(warm.corners, warm.prices, strict=True)]
        assert sum(left) == pytest.approx(sum(whole))
    both = unmerged(7).then(merge).then(Merge(np.array([0, 1, 1, 2]), np.array([1.0, 1, -1, 1])))
    assert both.left == 3


def test_bounds_are_below_all_points_and_triangles_help():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        M = np.triu(rng.integers(-2, 3, (10, 10)), 1).astype(float)
        M += M.T
        values = [np.array(z) @ M @ np.array(z) for z in product((-1.0, 1.0), repeat=10)]
        relaxation = TriangleRelaxation(M)
        ended(relaxation.begin())
        without = ended(relaxation.prove()).bound
        for _ in range(12):
            ended(relaxation.round())
        proved = ended(relaxation.prove())
        assert without <= min(values)
        assert without - 1e-6 <= proved.bound <= min(values)
        assert np.linalg.eigvalsh(proved.S)[0] > 0


def test_pairs_that_are_fixed_hold_at_all_points_below():
    seen = 0
    for seed in range(20):
        M = np.triu(np.random.default_rng(seed).standard_normal((8, 8)), 1)
        M += M.T
        points = np.array(list(product((-1.0, 1.0), repeat=8)))
        values = np.einsum("ki,ij,kj->k", points, M, points)
        relaxation = TriangleRelaxation(M)
        ended(relaxation.begin())
        for _ in range(12):
            ended(relaxation.round())
        proved = ended(relaxation.prove())
        for gap in (0.01, 1.0, 4.0):
            below = points[values < proved.bound + gap]
            for i, j, sign, _ in ended(fixed_pairs(proved, gap)):
                assert np.all(below[:, i] == sign * below[:, j])
                seen += len(below)
    assert seen


def test_nothing_is_proved_by_what_is_no_number():
    assert certified(np.full((3, 3), np.nan), np.ones(3), 0.0, 1.0).bound == -np.inf
