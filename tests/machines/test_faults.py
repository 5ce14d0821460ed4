"""Workers that die: their jobs are done again, and where nobody is left the best so far comes back."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import dcra
from dcra.machines import dispatch
from dcra.machines.crew import FarCrew
from dcra.result import Status
from tests.machines.problems import dense

STARTS = 20


@pytest.fixture
def after_answers(monkeypatch):
    """Let something be done right after some answers have come, by their numbers."""

    def let(what, *numbers):
        count, accept = iter(range(1, 10**6)), FarCrew._accept

        def accept_and_do(self, answer, jobs):
            accept(self, answer, jobs)
            if next(count) in numbers:
                what(answer.worker)

        monkeypatch.setattr(FarCrew, "_accept", accept_and_do)

    return let


def kill(worker):
    os.kill(worker.process, signal.SIGKILL)


def test_killed_workers_change_nothing(client, after_answers):
    problem = dense(0, 100, 150)
    known = dcra.solve(problem, method="sweep", starts=64, seed=3)
    killed = []
    after_answers(lambda worker: killed.append(worker.process) or kill(worker), 1, 3)
    result = dcra.solve(problem, method="sweep", starts=64, seed=3, executor=client)
    assert len(set(killed)) == 2
    assert np.array_equal(result.x, known.x)
    assert (result.fun, result.n_starts) == (known.fun, 64)


def test_the_only_copy_of_the_problem_may_go_with_its_worker(lonely, after_answers, monkeypatch):
    """A nanny brings another worker, however long that takes; the problem is scattered again."""
    monkeypatch.setattr(dispatch, "ABSENCE", 250.0)
    _, client = lonely
    problem = dense(0, 100, 150)
    after_answers(kill, 3)
    result = dcra.solve(problem, starts=STARTS, seed=3, executor=client)
    assert np.array_equal(result.x, dcra.solve(problem, starts=STARTS, seed=3).x)


def test_the_last_worker_of_a_cluster_dies(lonely, after_answers, monkeypatch):
    cluster, client = lonely
    monkeypatch.setattr(dispatch, "ABSENCE", 0.5)
    monkeypatch.setattr(dispatch, "SILENCE", 0.1)
    after_answers(lambda worker: cluster.scale(0), 3)
    with pytest.warns(RuntimeWarning, match=r"`executor` has had no worker.*; this is the best point so far"):
        result = dcra.solve(dense(0, 100, 150), method="sweep", starts=10**6, seed=3, executor=client)
    assert result.status is Status.INTERRUPTED
    assert result.n_starts >= 3
    assert result.fun == pytest.approx(dense(0, 100, 150).objective(result.x))


def test_a_worker_of_a_pool_dies(after_answers):
    """Such pools break, and do not recover."""
    after_answers(kill, 3)
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool,
        pytest.warns(RuntimeWarning, match=r"the workers of `executor` are gone \(BrokenProcessPool"),
    ):
        result = dcra.solve(dense(0, 100, 150), method="sweep", starts=10**6, seed=3, executor=pool)
    assert result.status is Status.INTERRUPTED
    assert result.n_starts >= 3


def test_a_pool_that_was_shut_down_is_said():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(ValueError, match="`executor` takes no work any more: cannot schedule new futures"):
        dcra.solve(dense(0), starts=2, seed=0, executor=pool)


@pytest.fixture(scope="module")
def lonely():
    """A cluster of one worker, of its own."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield cluster, client
