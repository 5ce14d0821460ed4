"""Ctrl-C: signals that the process sends itself at known moments."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dcra
from dcra.apps import compressed_sensing, mimo
from dcra.apps.qap import qap
from dcra.batch.lockstep import Lockstep
from dcra.machines.dispatch import Dispatch
from dcra.search import decoded, driver
from dcra.search.interrupts import on_interrupt

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((30, 40)), RNG.standard_normal((30, 6))


def press():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def press_at(monkeypatch):
    """press_at(k) sends Ctrl-C from within the k-th solve or round of a batch; the list counts them."""
    count = []

    def counted(original, moment):
        def wrapped(*args):
            count.append(None)
            if len(count) == moment:
                press()
            return original(*args)

        return wrapped

    def prepare(moment):
        monkeypatch.setattr(driver, "first_answer", counted(driver.first_answer, moment))
        monkeypatch.setattr(Lockstep, "round", counted(Lockstep.round, moment))
        return count

    return prepare


def test_all_levels_hear_of_it():
    heard = []
    with on_interrupt(lambda: heard.append("outer")) as outer:
        with on_interrupt(lambda: heard.append("inner")) as inner:
            assert not outer
            press()
            assert outer
            assert inner
        with on_interrupt(lambda: heard.append("later")) as later:
            assert later
    assert heard == ["inner", "outer", "later"]
    with on_interrupt() as fresh:
        assert not fresh
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_second_one_raises():
    def twice():
        press()
        press()

    with pytest.raises(KeyboardInterrupt), on_interrupt():
        twice()
    with on_interrupt() as again:
        assert not again


def test_a_handler_of_the_user_stays():
    pressed = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        with on_interrupt() as interrupted, on_interrupt():
            press()
            assert not interrupted
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == [signal.SIGINT]


def test_threads_have_levels_of_their_own():
    seen = []

    def elsewhere():
        with on_interrupt() as interrupted:
            seen.append(bool(interrupted))

    with on_interrupt() as here:
        press()
        worker = threading.Thread(target=elsewhere)
        worker.start()
        worker.join()
        assert here
    assert seen == [False]


def test_a_callback_that_raises_ends_what_is_around_it():
    def refuse(row):
        raise KeyboardInterrupt

    with on_interrupt() as around:
        result = dcra.minimize(A, B[:, 0], starts=100, seed=0, callback=refuse)
    assert result.status == "interrupted"
    assert around


@pytest.mark.parametrize("answer", [np.True_, 1, "enough"])
def test_anything_true_stops(answer):
    result = dcra.minimize(A, B[:, 0], starts=100, seed=0, callback=lambda row: answer)
    assert result.status == "callback"


@pytest.mark.parametrize("answer", [None, False, np.False_, 0])
def test_nothing_else_does(answer):
    result = dcra.minimize(A, B[:, 0], starts=2, seed=0, callback=lambda row: answer)
    assert result.status == "converged"


def test_loops_around_solves(press_at):
    press_at(2)
    with dcra.interruptible() as interrupted:
        results = [dcra.minimize(A, b, starts=3, seed=0) for b in B.T]
    assert interrupted
    assert [r.status for r in results] == ["converged", *["interrupted"] * 5]
    assert [r.n_starts for r in results] == [3, 0, 0, 0, 0, 0]


def test_reads_of_a_sampler(press_at):
    dimod = pytest.importorskip("dimod")
    from dcra.interop.dimod import DCRASampler

    solves = press_at(1)
    model = dimod.BinaryQuadraticModel.from_ising({}, {(i, j): 1.0 for i in range(40) for j in range(i)})
    found = DCRASampler().sample(model, num_reads=10, seed=0)
    assert found.info["status"] == "interrupted"
    assert len(found) >= 1
    assert len(solves) == 1


@pytest.mark.parametrize("moment", [1, 2])
def test_rounds_of_a_regression(press_at, moment):
    pytest.importorskip("sklearn")
    from dcra.apps import BinaryRegressor

    solves = press_at(moment)
    y = A @ np.ones(40) + 3.0 + RNG.standard_normal(30)
    model = BinaryRegressor(fit_intercept=True, starts=1, random_state=0).fit(A, y)
    assert model.result_.status == "interrupted"
    assert set(model.coef_) <= {-1.0, 1.0}
    assert len(solves) == moment


def test_cross_validation(press_at):
    model_selection = pytest.importorskip("sklearn.model_selection")
    from dcra.apps import BinaryRegressor

    press_at(2)
    with dcra.interruptible():
        scores = model_selection.cross_validate(
            BinaryRegressor(starts=1, random_state=0), A, B[:, 0], cv=4, return_estimator=True
        )
    status = [model.result_.status for model in scores["estimator"]]
    assert status == ["converged", "interrupted", "interrupted", "interrupted"]


@pytest.mark.parametrize("moment", [1, 4])
def test_rounds_of_hashing(press_at, moment):
    pytest.importorskip("sklearn")
    from dcra.apps import SupervisedHashing

    solves = press_at(moment)
    y = np.arange(60) % 5
    X = np.eye(5)[y] + 0.1 * RNG.standard_normal((60, 5))
    model = SupervisedHashing(6, feature_map="linear", random_state=0).fit(X, y)
    assert model.status_ == "interrupted"
    assert model.transform(X).shape == model.codes_.shape == (60, 6)
    assert len(solves) <= moment + 1


def test_between_the_solves_of_hashing(monkeypatch):
    pytest.importorskip("sklearn")
    from dcra.apps import SupervisedHashing
    from dcra.apps.hashing.features import Features

    statistics = Features.statistics

    def pressed(self, codes):
        press()
        return statistics(self, codes)

    monkeypatch.setattr(Features, "statistics", pressed)
    y = np.arange(60) % 3
    X = np.eye(3)[y] + 0.1 * RNG.standard_normal((60, 3))
    model = SupervisedHashing(6, feature_map="linear", random_state=0).fit(X, y)
    assert model.status_ == "interrupted"
    assert model.n_iter_ == 1


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("method", ["auto", "flip"])
def test_batches(press_at, method):
    solves = press_at(2)
    result = dcra.minimize_batch(A, B, method=method, seed=0)
    assert result.status == "interrupted"
    assert result.x.shape == (40, 6)
    assert len(solves) == 2


def test_between_the_rounds_of_a_batch(monkeypatch):
    from dcra.batch import arrays

    decide = arrays.decide_batch

    def pressed(*args):
        press()
        return decide(*args)

    monkeypatch.setattr(arrays, "decide_batch", pressed)
    assert dcra.minimize_batch(A, B, seed=0).status == "interrupted"


def test_recovery_of_many_signals(press_at):
    wide, *_ = compressed_sensing.instance(60, alpha=0.3, rho=0.5, seed=0)
    solves = press_at(2)
    Y = wide @ RNG.integers(0, 2, (60, 5)) + 1e-2 * RNG.standard_normal((18, 5))
    found = compressed_sensing.recover(wide, Y, starts=2, seed=0)
    assert len(found) == 5
    assert {one.status for one in found} == {"interrupted"}
    assert len(solves) <= 2 + 5 * 8  # stages of the others end at once


def test_assignments_by_penalties(press_at):
    solves = press_at(2)
    F, D = RNG.integers(0, 9, (2, 7, 7)).astype(float)
    found = qap(F, D, method="anneal", starts=1, seed=0)
    assert found.result.status == "interrupted"
    assert sorted(found.permutation) == list(range(7))
    assert len(solves) == 3


def test_a_callback_stops_assignments_by_penalties():
    F, D = RNG.integers(0, 9, (2, 7, 7)).astype(float)
    found = qap(F, D, method="anneal", starts=1, seed=0, callback=lambda row: True)
    assert found.result.status == "callback"
    assert sorted(found.permutation) == list(range(7))


@pytest.mark.parametrize("soft", [False, True])
def test_frames_under_robust_losses(press_at, soft):
    sent = mimo.transmit(mimo.iid_channel(16, 16, RNG), 12.0, "16qam", frames=3, rng=RNG)
    solves = press_at(2)
    found = mimo.detect(sent.H, sent.y, sent.noise, "16qam", "l1", seed=0, soft=soft)
    assert found.status == "interrupted"
    assert found.symbols.shape == (16, 3)
    assert len(solves) == 2


def test_chunks_of_frames(press_at):
    sent = mimo.transmit(mimo.iid_channel(16, 16, RNG), 12.0, "16qam", frames=9, rng=RNG)
    solves = press_at(2)
    found = mimo.detect(sent.H, sent.y, sent.noise, "16qam", "l1", seed=0, n_jobs=1, chunk=1)
    assert found.status == "interrupted"
    assert found.symbols.shape == (16, 9)
    assert len(solves) == 2


def test_chunks_of_frames_by_workers(monkeypatch):
    """Chunks that nobody has decided by Ctrl-C have first answers."""
    sent = mimo.transmit(mimo.iid_channel(16, 16, RNG), 12.0, "16qam", frames=9, rng=RNG)
    hear = Dispatch.hear

    def pressed(self, seconds):
        press()
        return hear(self, seconds)

    monkeypatch.setattr(Dispatch, "hear", pressed)
    with ThreadPoolExecutor(1) as executor:
        found = mimo.detect(sent.H, sent.y, sent.noise, "16qam", "l1", seed=0, chunk=1, executor=executor)
    assert found.status == "interrupted"
    assert found.symbols.shape == (16, 9)


def test_the_last_descent_over_whole_numbers(monkeypatch):
    neighbours = decoded._neighbours

    def pressed(*asked):
        press()
        return neighbours(*asked)

    monkeypatch.setattr(decoded, "_neighbours", pressed)
    result = dcra.minimize(A, 50 * A[:, 0] + 0.5, domain=dcra.integers(0, 100), starts=1, seed=0)
    assert result.status == "interrupted"
    assert result.fun == pytest.approx(np.abs(A @ result.x - 50 * A[:, 0] - 0.5).sum())
