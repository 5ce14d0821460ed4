"""Many right-hand sides on a device: against the CPU's judge and its answers, seeds, limits, memory.

The device is emulated, or where `there` is asked for, one that is there.
"""

from __future__ import annotations

import numpy as np
import pytest

import dcra
from dcra.accelerator import columns, device
from dcra.accelerator.annealer import Annealer
from dcra.batch import far
from dcra.compiled.form import compile_problem
from dcra.losses import EpsilonInsensitive, Huber, Quantile

LOSSES = ["l1", "hinge", "squared_hinge", "squared", Huber(0.7), Quantile(0.3), EpsilonInsensitive(0.4)]


def batch_of(seed=0, r=12, n=20, k=40, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((r, n)).astype(dtype), rng.standard_normal((r, k)).astype(dtype)


@pytest.fixture
def short(emulated, monkeypatch):
    """Few passes: what is tested is not how good answers are."""
    monkeypatch.setattr(far, "PASSES", 12)
    return emulated


def test_answers_are_as_good_as_those_of_the_cpu(emulated):
    A, B = batch_of(k=16)
    ours = dcra.minimize_batch(A, B, seed=0, device="cuda", starts=8)
    assert emulated.state.launches > 0
    theirs = dcra.minimize_batch(A, B, seed=0, starts=32)
    assert ours.x.shape == (20, 16)
    assert ours.x.dtype == theirs.x.dtype
    assert ours.status == "converged"
    assert ours.fun.mean() <= 1.02 * theirs.fun.mean()


SETTINGS = [*((loss, "spin") for loss in LOSSES), ("l1", "binary"), (Huber(0.7), "binary")]


@pytest.mark.parametrize(("loss", "domain"), SETTINGS, ids=str)
def test_objectives_are_the_judges(short, rng, loss, domain):
    A, B = batch_of(k=6)
    more = {"weights": rng.uniform(0.2, 3, 12), "linear": rng.standard_normal(20), "domain": domain}
    found = dcra.minimize_batch(A, B, loss, seed=0, device="cuda", starts=2, **more)
    assert short.state.launches > 0
    for b, x, fun in zip(B.T, found.x.T, found.fun, strict=True):
        term = dcra.Term(loss, A, b, more["weights"])
        problem = dcra.Problem([term], linear=more["linear"], domain=domain)
        assert fun == pytest.approx(float(problem.objective(x)), rel=1e-12)
        flipped = [problem.objective(np.where(np.arange(20) == j, _other(x, domain), x)) for j in range(20)]
        assert np.median(flipped) > fun


def _other(x, domain):
    return -x if domain == "spin" else 1 - x


def test_the_best_point_of_a_search_is_remembered(emulated):
    A, B = batch_of(k=64)
    compiled = compile_problem(dcra.Problem([dcra.Term("l1", A, 0.0)]), keep_rows=True)
    c = columns.Columns(compiled, emulated.asarray(B.T), 0)
    places = emulated.arange(64)
    c.annealer.load(c.random(places, 1, 3), c.targets(places))
    hot = np.full(30, 2.0 / c.form.scale)
    c.annealer.anneal(hot, 0, 1)
    S, E = c.form.in_order(c.annealer.best_signs()).get(), c.annealer.best_E.get()
    judged = np.abs(S @ A.T - B.T).sum(axis=1)
    np.testing.assert_allclose(E * c.form.scale, judged, rtol=1e-5)
    assert np.all(c.annealer.best_E.get() <= c.annealer.E.get())
    assert np.mean(c.annealer.best_E.get() < c.annealer.E.get()) > 0.5  # hot: it goes on from there


def test_starts_depend_on_seed_and_place_alone(emulated):
    A, B = batch_of(k=64)
    compiled = compile_problem(dcra.Problem([dcra.Term("l1", A, 0.0)]), keep_rows=True)
    c = columns.Columns(compiled, emulated.asarray(B.T), 0)
    every = c.random(emulated.arange(64), 4, 9).get()[:, :20]
    some = c.random(emulated.asarray(np.array([5, 17])), 4, 9).get()[:, :20]
    np.testing.assert_array_equal(some, every.reshape(64, 4, 20)[[5, 17]].reshape(8, 20))
    assert abs(every.mean()) < 0.1
    assert len(np.unique(every, axis=0)) > 250
    assert np.any(c.random(emulated.arange(64), 4, 10).get()[:, :20] != every)


@pytest.mark.parametrize("schedule", [1, 2])
def test_the_same_seed_gives_the_same_x(short, schedule):
    A, B = batch_of(dtype=np.float32)
    one = dcra.minimize_batch(A, B, seed=5, device="cuda", starts=2)
    short.state.schedule = schedule  # warps take turns in another order
    again = dcra.minimize_batch(A, B, seed=5, device="cuda", starts=2)
    other = dcra.minimize_batch(A, B, seed=6, device="cuda", starts=2)
    np.testing.assert_array_equal(one.x, again.x)
    np.testing.assert_array_equal(one.fun, again.fun)
    assert np.any(one.x != other.x)


def test_equal_columns_are_solved_once(short):
    A, B = batch_of(k=8)
    B[0, 0], B[0, 3] = 0.0, -0.0
    B[1:, 3] = B[1:, 0]
    found = dcra.minimize_batch(A, B[:, [0, 1, 2, 0, 3, 1]], seed=0, device="cuda", starts=1)
    for one, other in ((0, 3), (0, 4), (1, 5)):
        np.testing.assert_array_equal(found.x[:, one], found.x[:, other])
    rows = short.asarray(B.T.astype(np.float32))
    distinct, inverse = far.unlike(rows + np.float32(0))
    assert len(distinct) == 7
    np.testing.assert_array_equal(distinct[inverse].get(), rows.get())


def test_what_is_wrong_with_right_hand_sides_is_said_as_on_the_cpu(short):
    A, B = batch_of()
    for wrong in (B.T, B[:, :0], np.where(B > 2, np.nan, B), 1e200 * B, B + 0j):
        with pytest.raises((ValueError, TypeError)) as theirs:
            dcra.minimize_batch(A, wrong)
        with pytest.raises(theirs.type) as ours:
            dcra.minimize_batch(A, wrong, device="cuda")
        assert str(ours.value) == str(theirs.value)


def test_rounds_end_with_the_budget_and_with_the_time(emulated, monkeypatch):
    monkeypatch.setattr(far, "BUDGET", 1)
    A, B = batch_of(k=16)
    free = dcra.minimize_batch(A, B, seed=0, device="cuda")
    assert free.status == "converged"
    monkeypatch.setattr(far, "ready_in_time", lambda *asked: True)
    cut = dcra.minimize_batch(A, B, seed=0, device="cuda", time_limit=1e-3)
    assert cut.status == "time_limit"
    assert free.fun.mean() < cut.fun.mean()  # first answers after a descent
    signs = np.where(A.T @ B < 0, -1.0, 1.0)
    assert cut.fun.mean() < np.abs(A @ signs - B).sum(axis=0).mean()


def test_settled_columns_rest(emulated, monkeypatch):
    monkeypatch.setattr(far, "BUDGET", 1)
    A, B = batch_of(n=5, r=30, k=16)
    stop = type("Never", (), {"timed": False, "left": np.inf, "__call__": lambda self: False})()
    compiled = compile_problem(dcra.Problem([dcra.Term("l1", A, 0.0)]), keep_rows=True)
    rounds = far.Rounds(compiled, emulated.asarray(B.T), 0, stop, 0)
    rounds.run()
    assert len(rounds.open) == 0
    assert np.all(rounds.times.get() == far.ENOUGH)  # and not once more
    every = 2.0 * (np.arange(32)[:, None] >> np.arange(5) & 1) - 1
    best = np.abs(every @ A.T - B.T[:, None]).sum(axis=2).min(axis=1)
    found = rounds.columns.form.in_order(rounds.S).get()
    np.testing.assert_allclose(np.abs(found @ A.T - B.T).sum(axis=1), best)


def test_short_memory_means_fewer_replicas_at_once(short, monkeypatch):
    load = Annealer.load

    def refuse(self, S, targets=None):
        if len(S) > 128:
            raise short.OutOfMemoryError
        load(self, S, targets)

    monkeypatch.setattr(Annealer, "load", refuse)
    monkeypatch.setattr(columns, "AT_ONCE", 256)
    A, B = batch_of(k=200)
    with pytest.warns(RuntimeWarning, match="short of memory; 128 replicas at once from here on"):
        found = dcra.minimize_batch(A, B, seed=0, device="cuda", starts=1)
    np.testing.assert_allclose(found.fun, np.abs(A @ found.x - B).sum(axis=0))


def test_no_memory_at_all_means_the_cpu(short, monkeypatch):
    def refuse(self, S, targets=None):
        raise short.OutOfMemoryError

    monkeypatch.setattr(Annealer, "load", refuse)
    monkeypatch.setattr(columns, "AT_ONCE", 64)
    A, B = batch_of()
    with pytest.warns(RuntimeWarning, match="the device has no memory for these right-hand sides"):
        ours = dcra.minimize_batch(A, B, seed=0, starts=2, device="cuda")
    np.testing.assert_array_equal(ours.x, dcra.minimize_batch(A, B, seed=0, starts=2).x)


def test_what_kernels_cannot_take_is_solved_by_the_cpu(short):
    A, B = batch_of(k=3)
    ours = dcra.minimize_batch(A, B, "logistic", seed=0, device="cuda", starts=2)
    assert short.state.launches == 0
    np.testing.assert_array_equal(ours.x, dcra.minimize_batch(A, B, "logistic", seed=0, starts=2).x)


def test_what_does_not_go_with_a_device(monkeypatch):
    monkeypatch.setattr(device, "why_not", lambda number=0: "")
    A, B = batch_of(k=3)
    with pytest.raises(ValueError, match="`device` 'cuda' is for method 'auto' alone; got method 'flip'"):
        dcra.minimize_batch(A, B, device="cuda", method="flip")
    with pytest.raises(ValueError, match="`device` 'cuda' does not go with `executor`, `chunk`"):
        dcra.minimize_batch(A, B, device="cuda", chunk=2)
    with pytest.raises(ValueError, match="`device` 'cuda' goes with one `linear` for all columns"):
        dcra.minimize_batch(A, B, device="cuda", x0=np.ones(20))


def test_a_device_that_is_there_agrees_with_the_cpu(there):
    A, B = batch_of(r=40, n=60, k=500)
    ours, again = (dcra.minimize_batch(A, B, seed=0, device="cuda", starts=4) for _ in range(2))
    theirs = dcra.minimize_batch(A, B, seed=0, starts=4)
    np.testing.assert_array_equal(ours.x, again.x)
    np.testing.assert_allclose(ours.fun, np.abs(A @ ours.x - B).sum(axis=0), rtol=1e-12)
    assert ours.fun.mean() <= 1.02 * theirs.fun.mean()
