"""A in partitions of rows: sums of partitions are what the whole would give, wherever they lie."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from scipy import sparse

import dcra
from dcra.machines import partition, row_sweeps, worker
from dcra.machines.partition import Partition, Span
from dcra.machines.rows import Here, Rows
from dcra.result import Status

array = pytest.importorskip("dask.array", reason="dask is not installed")

R, N = 60, 40


def data(seed=0, noise=0.5, r=R, n=N, dtype=float):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((r, n)).astype(dtype)
    return A, A @ rng.choice([-1.0, 1.0], n) + noise * rng.standard_normal(r)


def in_parts(A, b, loss="l1", domain="spin", weights=None):
    """The rows of A in three partitions, here."""
    w = np.ones(len(b)) if weights is None else weights
    cuts = [(0, 20), (20, 25), (25, len(b))]
    return Rows(Here(), [Partition(A[lo:hi], b[lo:hi], w[lo:hi], loss, domain) for lo, hi in cuts])


@pytest.fixture
def few_sweeps(monkeypatch):
    monkeypatch.setattr(row_sweeps, "SWEEPS", 6)


@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("loss", ["l1", "huber", "squared", "hinge", "logistic"])
def test_gradients_and_gains_are_those_of_the_whole(loss, domain):
    A, b = data()
    w = np.random.default_rng(1).uniform(0.5, 2.0, R)
    rows, whole = in_parts(A, b, loss, domain, w), Rows(Here(), [Partition(A, b, w, loss, domain)])
    X = np.random.default_rng(2).uniform(-1, 1, (3, N))
    first, second = Span(5, 17), Span(30, 40)
    pairs = rows.everywhere(partition.begin, X, first, 0.3)
    assert np.allclose(rows.sums(pairs), whole.sums(whole.everywhere(partition.begin, X, first, 0.3)))
    by = np.random.default_rng(3).uniform(-0.1, 0.1, (3, 12))
    X[:, 5:17] += by
    moved = rows.onwards(partition.move, pairs, first, by, second, 0.3)
    assert np.allclose(rows.sums(moved), whole.sums(whole.everywhere(partition.begin, X, second, 0.3)))

    problem = dcra.Problem([dcra.Term(loss, A, b, w)], domain=domain)
    x = np.random.default_rng(4).choice([-1.0, 1.0], N)
    points = x * np.where(np.eye(N)[5:17] > 0, -1.0, 1.0)
    if domain == "binary":
        points, here = (points + 1) / 2, (x + 1) / 2
    else:
        here = x
    changes = rows.sums(rows.everywhere(partition.begin_flips, x, first))
    assert np.allclose(changes, problem.objective(points) - problem.objective(here))
    turned, flips, pairs = x.copy(), np.array([7, 31, 6]), rows.everywhere(partition.begin_flips, x, first)
    steps = []
    for j in flips:
        turned[j] = -x[j]
        steps.append(problem.objective(turned if domain == "spin" else (turned + 1) / 2))
    together = rows.added(rows.onwards(partition.prefixes, pairs, flips, x))
    assert np.allclose(together, np.array(steps) - problem.objective(here))
    after = rows.onwards(partition.flip, pairs, flips, turned, second)
    fresh = rows.everywhere(partition.begin_flips, turned, second)
    assert np.allclose(rows.sums(after), rows.sums(fresh))


@pytest.mark.parametrize("domain", ["spin", "binary"])
def test_what_was_hidden_is_found(domain):
    rng = np.random.default_rng(5)
    A = rng.standard_normal((120, N))
    hidden = rng.choice([-1.0, 1.0] if domain == "spin" else [0.0, 1.0], N)
    result = dcra.minimize(array.from_array(A, chunks=(50, -1)), A @ hidden, domain=domain, seed=0)
    assert np.array_equal(result.x, hidden)
    assert result.fun == pytest.approx(0.0, abs=1e-9)


def test_flips_end_below_the_signs_of_the_relaxation(few_sweeps):
    """Under noise of many times the size of A x a block has many signs to be flipped."""
    A, b = data(noise=40.0, r=1500, n=100)
    result = dcra.minimize(array.from_array(A, chunks=(500, -1)), b, seed=0, starts=1)
    signs = np.sign(np.linalg.lstsq(A, b, rcond=None)[0])
    assert result.fun < np.abs(A @ signs - b).sum()
    flipped = np.abs((result.x - 2 * np.diag(result.x)) @ A.T - b).sum(axis=1)
    assert flipped.min() >= result.fun * (1 - 1e-12)


def test_the_objective_is_that_of_the_whole():
    A, b = data(dtype=np.float32)
    c, w = np.random.default_rng(6).standard_normal((2, N)), np.linspace(1, 2, R)
    result = dcra.minimize(
        array.from_array(A, chunks=(17, 9)),
        b,
        "huber",
        weights=w,
        linear=c[0],
        domain="binary",
        seed=0,
        starts=2,
    )
    problem = dcra.Problem([dcra.Term("huber", A, b, w)], linear=c[0], domain="binary")
    assert result.fun == pytest.approx(problem.objective(result.x))
    assert result.lower_bound <= result.fun
    assert (result.n_starts, result.status, result.method) == (2, Status.CONVERGED, "row sweeps")
    no_flip_gains = problem.objective(np.abs(result.x - np.eye(N))) - result.fun
    assert no_flip_gains.min() >= -1e-4


def test_a_cluster_has_the_answer_of_this_process(client, few_sweeps):
    A, b = data(n=600)
    lazy = array.from_array(A, chunks=(25, -1))
    here = dcra.minimize(lazy, b, seed=3, starts=2)
    there = dcra.minimize(lazy, b, seed=3, starts=2, executor=client)
    assert np.array_equal(here.x, there.x)
    assert (here.fun, here.nit) == (there.fun, there.nit)


def test_a_killed_worker_changes_nothing(client, few_sweeps):
    A, b = data(n=600)
    lazy = array.from_array(A, chunks=(25, -1))
    killed = []

    def kill_one(row):
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    there = dcra.minimize(lazy, b, seed=3, starts=2, executor=client, callback=kill_one)
    assert killed
    assert np.array_equal(there.x, dcra.minimize(lazy, b, seed=3, starts=2).x)


def test_files_hold_rows(tmp_path):
    A, b = data()
    A[np.abs(A) < 1] = 0
    dense, thin = [tmp_path / "0.npy", tmp_path / "1.npy"], [str(tmp_path / "0.npz"), str(tmp_path / "1.npz")]
    for k, (lo, hi) in enumerate([(0, 35), (35, R)]):
        np.save(dense[k], A[lo:hi])
        sparse.save_npz(thin[k], sparse.csr_array(A[lo:hi]))
    known = dcra.minimize(array.from_array(A, chunks=((35, R - 35), -1)), b, seed=0)
    assert np.array_equal(dcra.minimize(dense, b, seed=0).x, known.x)
    assert dcra.minimize(thin, b, seed=0).fun == pytest.approx(known.fun)


def test_limits_end_it():
    A, b = data()
    lazy = array.from_array(A, chunks=(20, -1))
    assert dcra.minimize(lazy, b, seed=0, target=1e9).status is Status.TARGET
    assert dcra.minimize(lazy, b, seed=0, callback=lambda row: True).status is Status.CALLBACK
    cut = dcra.minimize(lazy, b, seed=0, time_limit=1e-3)
    assert cut.status is Status.TIME_LIMIT
    assert cut.fun == pytest.approx(np.abs(A @ cut.x - b).sum())

    def interrupt(row):
        os.kill(os.getpid(), signal.SIGINT)

    assert dcra.minimize(lazy, b, seed=0, callback=interrupt).status is Status.INTERRUPTED


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (
            {"loss": "linf"},
            ValueError,
            "`loss` must be a sum over rows where `A` is in partitions; LInf is none",
        ),
        ({"b": np.ones(3)}, ValueError, r"`b` must have shape \(60,\) to match the rows of `A`; got \(3,\)"),
        ({"linear": np.ones(3)}, ValueError, r"`linear` must have shape \(40,\) to match the columns"),
        ({"constraints": dcra.exactly(3)}, ValueError, "`constraints` is not for an `A` in parts"),
        ({"method": "tabu"}, ValueError, "`method` is not for an `A` in parts"),
        ({"domain": "trit"}, ValueError, "`domain` must be 'spin' or 'binary'; got 'trit'"),
        (
            {"executor": object()},
            TypeError,
            r"`executor` must be a dask\.distributed\.Client, or None, where `A`",
        ),
    ],
)
def test_what_it_does_not_take_is_said(change, error, words):
    A, b = data()
    with pytest.raises(error, match=words):
        dcra.minimize(array.from_array(A, chunks=(20, -1)), **({"b": b} | change))


def test_files_that_do_not_fit_together_are_said(tmp_path):
    names = [tmp_path / "a.npy", tmp_path / "b.npy"]
    np.save(names[0], np.ones((2, 3)))
    np.save(names[1], np.ones((2, 4)))
    with pytest.raises(
        ValueError, match=r"all files of `A` must have the same number of columns; got \[3, 4\]"
    ):
        dcra.minimize(names, np.ones(4))


def test_callbacks_have_the_point_and_may_stop_as_elsewhere():
    A, b = data()
    values = []

    def look(moment):
        values.append((moment.fun, np.abs(A @ moment.x - b).sum()))
        raise StopIteration

    result = dcra.minimize(array.from_array(A, chunks=(20, -1)), b, seed=0, callback=look)
    assert result.status == "callback"
    assert values[0][0] == pytest.approx(values[0][1])


def test_weights_have_the_shape_of_b():
    A, b = data()
    with pytest.raises(ValueError, match=r"`weights` must be a number or have shape \(60,\) like `b`; got"):
        dcra.minimize(array.from_array(A, chunks=(20, -1)), b, weights=np.ones(99), seed=0)


def test_workers_do_not_remember_all_that_has_ended(monkeypatch):
    monkeypatch.setattr(worker, "REMEMBERED", 3)
    monkeypatch.setattr(worker, "_halted", type(worker._halted)())
    for key in "abcde":
        worker.halt(key)
    assert list(worker._halted) == ["c", "d", "e"]
