"""Whole searches on a device: answers against the CPU's judge, seeds, limits, libraries, memory."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import dcra
from dcra._array import to_numpy
from dcra.accelerator import replicas
from dcra.accelerator.sweeper import Sweeper
from dcra.losses import EpsilonInsensitive, Huber, Quantile

LOSSES = ["l1", "hinge", "squared_hinge", "squared", Huber(0.7), Quantile(0.3), EpsilonInsensitive(0.4)]


def random_problem(seed):
    """Of one to three terms, with or without weights, a linear part and {0,1}."""
    rng = np.random.default_rng(seed)
    n, terms = int(rng.integers(30, 80)), []
    for _ in range(rng.integers(1, 4)):
        r = int(rng.integers(1, 90))
        A = rng.standard_normal((r, n)) * 10.0 ** rng.uniform(-2, 2)
        A[rng.random((r, n)) < rng.choice([0.0, 0.5])] = 0
        weight = 1.0 if rng.random() < 0.5 else rng.uniform(0, 2, r)
        loss = LOSSES[rng.integers(len(LOSSES))]
        terms.append(dcra.Term(loss, A, np.abs(A).mean() * rng.standard_normal(r), weight))
    linear = rng.standard_normal(n) if rng.random() < 0.5 else None
    return dcra.Problem(terms, linear=linear, domain=str(rng.choice(["spin", "binary"])))


def gaussian(seed=0, r=100, n=150, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((r, n)).astype(dtype), rng.standard_normal(r).astype(dtype)


@pytest.mark.parametrize("block", range(20))
def test_two_hundred_random_problems_against_the_judge(there, block):
    worse = []
    for seed in range(10 * block, 10 * block + 10):
        problem = random_problem(seed)
        ours = dcra.solve(problem, starts=64, seed=seed, device="cuda")
        theirs = dcra.solve(problem, starts=16, seed=seed)
        assert ours.fun == pytest.approx(float(problem.objective(ours.x)), rel=1e-12)
        spread = abs(float(problem.value_at_ones)) + abs(theirs.fun) + 1e-9
        worse.append((ours.fun - theirs.fun) / spread)
    assert max(worse) < 0.02
    assert np.mean(worse) < 0.003


@pytest.mark.parametrize("loss", ["l1", "huber"])
def test_the_same_seed_gives_the_same_x(there, loss):
    A, b = gaussian()
    one, again, other = (dcra.minimize(A, b, loss, starts=64, seed=s, device="cuda") for s in (5, 5, 6))
    np.testing.assert_array_equal(one.x, again.x)
    assert one.fun == again.fun
    assert np.any(one.x != other.x)
    assert one.n_starts == 64


def test_starts_are_counted_and_rounds_follow_each_other(there, monkeypatch):
    monkeypatch.setattr(replicas.Shapes, "replicas", lambda self, wanted: 64)
    A, b = gaussian()
    assert dcra.minimize(A, b, starts=150, seed=0, device="cuda").n_starts == 150


def test_a_timed_search_ends_and_beats_a_short_one(there):
    A, b = gaussian()
    few = dcra.minimize(A, b, starts=16, seed=0, device="cuda", method="auto")
    long = dcra.minimize(A, b, time_limit=1.0, seed=0, device="cuda")
    assert long.status == "time_limit"
    assert long.fun <= few.fun
    assert long.fun == pytest.approx(float(np.abs(A.astype(np.float64) @ long.x - b).sum()), rel=1e-12)


def test_callbacks_stop_it_and_targets_too(there):
    A, b = gaussian()
    rows = []

    def second(row):
        rows.append(row)
        return len(rows) > 1

    assert dcra.minimize(A, b, time_limit=60, device="cuda", callback=second).status == "callback"
    assert rows[0].fun >= rows[-1].fun
    best = dcra.minimize(A, b, starts=64, seed=0, device="cuda").fun
    assert dcra.minimize(A, b, time_limit=60, target=best, seed=0, device="cuda").status == "target"


def test_ctrl_c_returns_the_best_so_far(there):
    import signal
    import threading

    A, b = gaussian(r=1000, n=1000)
    threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT)).start()
    result = dcra.minimize(A, b, time_limit=60, device="cuda")
    assert result.status == "interrupted"
    assert result.fun < 9000


def test_points_of_the_user_are_never_lost(there):
    A, b = gaussian()
    best = dcra.minimize(A, b, time_limit=0.5, seed=0, device="cuda")
    again = dcra.minimize(A, b, starts=16, seed=1, x0=best, device="cuda")
    assert again.fun <= best.fun


@pytest.mark.parametrize("library", ["torch", "cupy", "jax"])
def test_arrays_come_in_without_a_copy_and_x_goes_back(there, library):
    A, b = gaussian()
    if library == "torch":
        move = partial(pytest.importorskip("torch").asarray, device="cuda")
    elif library == "cupy":
        move = there.asarray
    else:
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        move = jax.numpy.asarray
    result = dcra.minimize(move(A), move(b), starts=64, seed=0)
    assert type(result.x) is type(move(b))
    assert result.x.dtype == move(b).dtype
    host = dcra.minimize(A, b, starts=64, seed=0, device="cuda")
    np.testing.assert_array_equal(to_numpy(result.x), host.x)


@pytest.mark.parametrize("method", ["auto", "exact", "milp"])
def test_weights_on_the_device_are_read_by_whoever_proves(there, method):
    torch = pytest.importorskip("torch")
    A, b = gaussian(r=6, n=5, dtype=np.float64)
    term = dcra.Term("l1", torch.asarray(A, device="cuda"), b, np.linspace(0.5, 1.0, 6))
    result = dcra.solve(dcra.Problem([term]), method=method)
    assert result.gap < 1e-4  # the tolerance of HiGHS


def test_short_memory_means_fewer_replicas(there, monkeypatch):
    make = Sweeper.__init__

    def refuse(self, form, shape, number, count):
        if count > 64:
            raise there.cuda.memory.OutOfMemoryError(1, 1, 0)
        make(self, form, shape, number, count)

    monkeypatch.setattr(Sweeper, "__init__", refuse)
    monkeypatch.setattr(replicas.Shapes, "replicas", lambda self, wanted: 512)
    A, b = gaussian()
    with pytest.warns(RuntimeWarning, match="the device has memory for 64 of 512 replicas"):
        result = dcra.minimize(A, b, starts=512, seed=0, device="cuda")
    assert result.n_starts == 512


@pytest.mark.parametrize(
    "words", ["", "cudaErrorMemoryAllocation: out of memory", "CUBLAS_STATUS_ALLOC_FAILED"]
)
def test_no_memory_at_all_means_the_rows_below(there, monkeypatch, words):
    def refuse(self, form, shape, number, count):
        raise RuntimeError(words) if words else there.cuda.memory.OutOfMemoryError(1, 1, 0)

    monkeypatch.setattr(Sweeper, "__init__", refuse)
    A, b = gaussian()
    with pytest.warns(RuntimeWarning, match="the device has no memory for this problem"):
        ours = dcra.minimize(A, b, starts=8, seed=0, device="cuda")
    assert ours.fun == dcra.minimize(A, b, starts=8, seed=0).fun


def test_a_search_on_a_device_that_is_not_ready_yet_is_the_cpus(there, monkeypatch):
    asked = []
    monkeypatch.setattr("dcra.auto.replicas.ready_in_time", lambda way, left, rehearse: asked.append(way))
    A, b = gaussian()
    ours = dcra.minimize(A, b, starts=16, seed=0, device="cuda")
    assert len(asked[0].kernels) == 6
    assert ours.fun == dcra.minimize(A, b, starts=16, seed=0).fun
