"""One A, many right-hand sides."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse

import dcra
from dcra.auto import decision
from dcra.batch import lockstep
from dcra.compiled.form import compile_problem
from dcra.losses import NAMES
from dcra.result import Status

POINTS = {
    "spin": np.array(list(product([-1.0, 1.0], repeat=8))),
    "binary": np.array(list(product([0.0, 1.0], repeat=8))),
}


def best(A, B, loss, domain, weights=1.0, linear=0.0):
    term = dcra.Term(loss, A, 0.0, weights)
    X = POINTS[domain]
    residual = X @ np.asarray(A.todense() if sparse.issparse(A) else A).T
    return np.array([np.min(term.value_at(residual - b) + X @ (linear + np.zeros(8))) for b in B.T])


@pytest.fixture(params=["exact", "search"])
def way(request, monkeypatch):
    """All points tried, or the searches that larger problems get."""
    if request.param == "search":
        monkeypatch.setattr(decision, "BATCH_POINTS", 0)
    return request.param


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("loss", sorted(NAMES))
def test_small_problems_are_solved(loss, domain, way):
    rng = np.random.default_rng(3)
    A, B, c = rng.standard_normal((6, 8)), 2 * rng.standard_normal((6, 12)), rng.standard_normal(8)
    result = dcra.minimize_batch(A, B, loss, domain=domain, linear=c, seed=0, starts=8)
    assert result.x.shape == (8, 12)
    optimum = best(A, B, loss, domain, linear=c)
    assert np.all(result.fun >= optimum - 1e-9)
    if way == "exact" or NAMES[loss].separable:
        assert result.fun == pytest.approx(optimum, rel=1e-6, abs=1e-6)
    else:  # array code: sweeps and flips without annealing
        assert np.mean(np.isclose(result.fun, optimum)) > 0.5
    for k in range(12):
        problem = dcra.Problem([dcra.Term(loss, A, B[:, k])], linear=c, domain=domain)
        assert problem.objective(result.x[:, k]) == pytest.approx(result.fun[k])


def test_weights_sparse_and_zero_rows():
    rng = np.random.default_rng(4)
    A = sparse.random(9, 8, 0.4, random_state=5, format="csr")
    A = sparse.vstack([A, sparse.csr_matrix((2, 8))]).tocsr()
    B, w = rng.standard_normal((11, 7)), rng.uniform(0.5, 2, 11)
    result = dcra.minimize_batch(A, B, weights=w, seed=0, starts=8)
    assert result.fun == pytest.approx(best(A, B, "l1", "spin", w))


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("loss", ["l1", "squared", "huber"])
def test_sixteen_bits_come_within_half_a_per_cent(loss, rng, monkeypatch):
    A = rng.standard_normal((10, 16))
    B = A @ np.where(rng.random((16, 120)) < 0.5, -1, 1) + 0.5 * rng.standard_normal((10, 120))
    monkeypatch.setattr(decision, "BATCH_POINTS", 10**9)
    exact = dcra.minimize_batch(A, B, loss).fun
    monkeypatch.setattr(decision, "BATCH_POINTS", 0)
    monkeypatch.setattr(
        lockstep, "BUDGET", lockstep.BUDGET * 120 // 60_000
    )  # as if there were 60,000 columns
    assert np.sum(dcra.minimize_batch(A, B, loss, seed=0).fun) <= 1.005 * np.sum(exact)


def test_the_answer_depends_on_the_seed_alone():
    rng = np.random.default_rng(5)
    A, B = rng.standard_normal((20, 30)), rng.standard_normal((20, 300))
    one, two = (dcra.minimize_batch(A, B, seed=1, starts=1, n_jobs=jobs) for jobs in (1, 3))
    assert np.array_equal(one.x, two.x)
    assert not np.array_equal(one.x, dcra.minimize_batch(A, B, seed=2, starts=1).x)


@pytest.mark.parametrize("k", [3, 300])
def test_rounds_do_not_depend_on_the_number_of_threads(k, monkeypatch):
    monkeypatch.setattr(lockstep, "BUDGET", 20_000_000)
    rng = np.random.default_rng(14)
    A, B = rng.standard_normal((20, 30)), rng.standard_normal((20, k))
    one, two = (dcra.minimize_batch(A, B, seed=1, n_jobs=jobs) for jobs in (1, 3))
    assert np.array_equal(one.x, two.x)


def test_few_columns_get_more_work():
    rng = np.random.default_rng(11)
    A, B = rng.standard_normal((8, 28)) / np.sqrt(28), np.eye(8)[:, :3]
    together = dcra.minimize_batch(A, B, seed=0, n_jobs=1)
    alone = dcra.minimize_batch(A, B, method="anneal", seed=0, n_jobs=1)
    assert np.sum(together.fun) <= np.sum(alone.fun)


def test_what_is_found_again_and_again_rests():
    rng = np.random.default_rng(12)
    A = rng.standard_normal((40, 20))
    B = A @ np.where(rng.random((20, 50)) < 0.5, -1, 1) + 0.1 * rng.standard_normal((40, 50))
    search = _lockstep(A, B)
    search.run(32)
    assert search.open.size == 0
    assert search.rounds <= lockstep.ENOUGH + 1


def test_more_starts_than_lanes_are_several_rounds():
    search = _lockstep(np.eye(20), np.eye(20)[:, :3])
    search.take(70, 32)
    assert search.rounds == 3


def test_without_time_there_are_signs_of_the_adjoint():
    rng = np.random.default_rng(13)
    A, B = rng.standard_normal((30, 20)), rng.standard_normal((30, 5))
    search = _lockstep(A, B, time_limit=1e-9)
    search.run(32)
    assert search.rounds == 0
    assert np.array_equal(search.X, np.where(B.T @ A < 0, -1, 1))


def _lockstep(A, B, time_limit=None):
    compiled = compile_problem(dcra.Problem([dcra.Term("l1", A, np.zeros(len(A)))]), keep_rows=True)
    return lockstep.Lockstep(lockstep.Many.of(compiled, B.T), 0, 1, lockstep.Stop(time_limit))


@pytest.mark.parametrize(("passes", "rank"), [(1, 4), (50, 10), (500, 200), (1e6, 30), (1e4, 5000)])
def test_effort_is_what_was_granted(passes, rank):
    effort = lockstep.Effort.of(passes, rank, 32)
    least = min(max(rank, lockstep.FEWEST), lockstep.MIN_PASSES)
    assert 1 <= effort.starts <= 32
    assert effort.passes >= least
    assert effort.total <= max(passes, least)


def test_equal_columns_get_equal_answers():
    rng = np.random.default_rng(6)
    B = rng.standard_normal((10, 3))[:, [0, 1, 0, 2, 1]]
    x = dcra.minimize_batch(rng.standard_normal((10, 25)), B, seed=0).x
    assert np.array_equal(x[:, 0], x[:, 2])
    assert np.array_equal(x[:, 1], x[:, 4])


def test_other_methods_go_one_by_one():
    rng = np.random.default_rng(7)
    A, B = rng.standard_normal((6, 8)), rng.standard_normal((6, 3))
    result = dcra.minimize_batch(A, B, method="enumerate", seed=0)
    assert result.fun == pytest.approx(best(A, B, "l1", "spin"))
    assert result.method == "enumerate"


def test_a_time_limit_leaves_valid_points():
    rng = np.random.default_rng(8)
    A, B = rng.standard_normal((50, 60)), rng.standard_normal((50, 4000))
    result = dcra.minimize_batch(A, B, time_limit=1e-3, seed=0)
    assert result.status is Status.TIME_LIMIT
    assert set(np.unique(result.x)) <= {-1.0, 1.0}


@pytest.mark.parametrize(
    ("B", "error", "message"),
    [
        (np.ones((3, 5)), ValueError, r"`B` must have shape \(5, k\).*Did you mean `B.T`"),
        (np.ones(5), ValueError, "one right-hand side per column"),
        (np.ones((5, 0)), ValueError, "at least one column"),
        (np.full((5, 2), np.nan), ValueError, "`B` must be finite"),
        (np.ones((5, 2), complex), TypeError, "`B` must hold real numbers"),
    ],
)
def test_bad_right_hand_sides(B, error, message):
    with pytest.raises(error, match=message):
        dcra.minimize_batch(np.eye(5), B)


def test_columns_with_parts_of_their_own():
    rng = np.random.default_rng(0)
    A, B, C = rng.standard_normal((5, 7)), rng.standard_normal((5, 4)), rng.standard_normal((7, 4))
    rule = dcra.exactly(3)
    batch = dcra.minimize_batch(A, B, linear=C, constraints=rule, seed=0)
    assert batch.feasible.all()
    for j in range(4):
        alone = dcra.minimize(A, B[:, j], linear=C[:, j], constraints=rule, seed=0)
        assert batch.fun[j] == pytest.approx(alone.fun)
        assert (batch.x[:, j] > 0).sum() == 3
    assert dcra.minimize_batch(A, B, constraints=rule, seed=0).feasible.shape == (4,)
    assert dcra.minimize_batch(A, B, seed=0).feasible is None


@pytest.mark.parametrize("method", ["auto", "flip"])
def test_soft_constraints_of_a_batch(method):
    """Against all points: what they cost is part of every column's objective."""
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((5, 7)), rng.standard_normal((5, 4))
    X = np.array(list(product((0.0, 1.0), repeat=7)))
    cost = 0.7 * np.maximum(4 - X.sum(axis=1), 0)
    soft = dcra.soft(dcra.at_least(4), weight=0.7)
    batch = dcra.minimize_batch(A, B, domain="binary", constraints=soft, seed=0, method=method)
    best = (np.abs(X @ A.T - B.T[:, None]).sum(axis=2) + cost).min(axis=1)
    assert batch.fun == pytest.approx(best)


def test_starts_of_a_batch():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((30, 40)), rng.standard_normal((30, 3))
    first = dcra.minimize_batch(A, B, starts=2, seed=0)
    for x0 in (first, first.x, np.where(rng.random((40, 3)) < 0.5, np.nan, first.x)):
        again = dcra.minimize_batch(A, B, starts=1, seed=0, x0=x0, method="flip")
        assert again.fun.shape == (3,)
        if x0 is first:
            assert np.all(again.fun <= first.fun + 1e-9)


def test_callbacks_of_a_batch():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((5, 7)), rng.standard_normal((5, 4))
    seen = []
    batch = dcra.minimize_batch(A, B, seed=0, callback=seen.append, progress=True)
    assert [(row.done, row.total, row.fun) for row in seen] == [(i + 1, 4, batch.fun[i]) for i in range(4)]
    assert batch.status == "converged"

    def stop(row):
        if row.done == 2:
            raise StopIteration

    ended = dcra.minimize_batch(A, B, seed=0, callback=stop)
    assert ended.status == "callback"
    assert np.array_equal(ended.fun[:2], batch.fun[:2])
    judged = np.abs(A @ ended.x - B).sum(axis=0)
    assert ended.fun == pytest.approx(judged)


@pytest.mark.parametrize("own", [False, True])
def test_columns_that_are_left_are_judged_at_once(own, monkeypatch):
    """No problem is made for them: a thousand would take longer than the time limit that ended the batch."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((5, 7)), rng.standard_normal((5, 6))
    c = rng.standard_normal((7, 6) if own else 7)
    rules = {"few": dcra.at_most(5), "fewer": dcra.soft(dcra.at_most(2), weight=3.0)}
    made, by_then, replace = [], [], dcra.Problem.replace

    def counted(self, **changes):
        made.append(changes)
        return replace(self, **changes)

    def two(row):
        by_then[:] = made
        return row.done == 2

    monkeypatch.setattr(dcra.Problem, "replace", counted)
    options = {"linear": c, "constraints": rules, "weights": 2.0, "domain": "binary", "seed": 0}
    ended = dcra.minimize_batch(A, B, "huber", **options, callback=two)
    assert len(by_then) == len(made) > 0
    assert (ended.feasible.tolist(), ended.status) == ([True] * 2 + [False] * 4, "callback")
    for j in range(6):
        term = dcra.Term("huber", A, B[:, j], 2.0)
        one = dcra.Problem([term], linear=c[:, j] if own else c, constraints=rules, domain="binary")
        assert ended.fun[j] == pytest.approx(one.objective(ended.x[:, j]))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"linear": np.ones((7, 3))},
            r"`linear` must have shape \(7,\), or \(7, 4\) for .*",
        ),
        ({"x0": np.ones((4, 7))}, r"`x0` must have shape \(7,\), or \(7, 4\)"),
        ({"x0": np.zeros(7)}, "`x0` must hold only -1 and 1"),
    ],
)
def test_bad_parts_of_a_batch(options, match):
    with pytest.raises(ValueError, match=match):
        dcra.minimize_batch(np.ones((5, 7)), np.ones((5, 4)), **options)


@pytest.mark.parametrize("size", [1e-6, 1e-30, 1e20])
@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("n", [6, 60])
def test_sizes_of_single_precision_do_not_matter(n, domain, size):
    rng = np.random.default_rng(n)
    A = (size * rng.standard_normal((3 * n, n))).astype(np.float32)
    X = rng.choice([-1.0, 1.0] if domain == "spin" else [0.0, 1.0], (n, 5))
    found = dcra.minimize_batch(A, A.astype(float) @ X, domain=domain, seed=0)
    np.testing.assert_array_equal(found.x, X)
