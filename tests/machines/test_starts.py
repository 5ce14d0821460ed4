"""Many starts of one problem elsewhere: the answer of one machine, within its limits."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import dcra
from dcra.machines.crew import FarCrew
from dcra.machines.parcel import Parcel
from dcra.machines.worker import Worker
from dcra.result import Status
from tests.machines.problems import PROBLEMS, Locked, Shifted, dense, unpacked

STARTS = 11
ENDLESS = 10**6


@cache
def by_threads(kind):
    make, options = PROBLEMS[kind]
    return dcra.solve(make(), starts=STARTS, seed=3, n_jobs=1, **options)


def same(result, kind):
    known = by_threads(kind)
    assert np.array_equal(result.x, known.x)
    assert result.fun == known.fun
    if known.nodes == 0:  # the clock decides when a tree gives up, or ends a search by its proof
        assert (result.lower_bound, result.n_starts) == (known.lower_bound, known.n_starts)
    assert (result.status, result.window) == (known.status, 8)


@pytest.mark.parametrize("n_jobs", [1, None])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_cluster_has_the_answer_of_threads(kind, n_jobs, client):
    make, options = PROBLEMS[kind]
    same(dcra.solve(make(), starts=STARTS, seed=3, executor=client, n_jobs=n_jobs, **options), kind)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_processes_have_the_answer_of_threads(kind, pool):
    make, options = PROBLEMS[kind]
    same(dcra.solve(make(), starts=STARTS, seed=3, executor=pool, **options), kind)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_threads_of_an_executor_have_the_answer_of_ours(kind):
    make, options = PROBLEMS[kind]
    with ThreadPoolExecutor(3) as threads:
        same(dcra.solve(make(), starts=STARTS, seed=3, executor=threads, **options), kind)


def test_nodes_of_a_proof_travel(pool):
    """The same tree, and its proof, wherever its nodes are taken on."""
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((22, 22)), rng.standard_normal(22)
    here, there = (
        dcra.minimize(A, b, method="exact", starts=2, seed=0, executor=executor) for executor in (None, pool)
    )
    assert here.status is there.status is Status.OPTIMAL
    assert here.nodes == there.nodes > 500
    assert np.array_equal(here.x, there.x)
    one, two = here.certificate.arrays(), there.certificate.arrays()
    assert [name for name in one if not np.array_equal(one[name], two[name])] == []


def test_the_window_is_part_of_the_result(pool):
    results = [
        dcra.solve(dense(0), starts=STARTS, seed=3, window=3, **options)
        for options in ({"n_jobs": 1}, {"n_jobs": 2}, {"executor": pool})
    ]
    assert [result.window for result in results] == [3, 3, 3]
    assert all(np.array_equal(result.x, results[0].x) for result in results)
    assert results[0].to_dict()["window"] == 3


def test_more_workers_than_the_window_are_told():
    with ThreadPoolExecutor(9) as threads, pytest.warns(UserWarning, match="9 workers, of which 8"):
        dcra.solve(dense(0), starts=1, seed=0, executor=threads)


def test_the_problem_comes_once(client):
    problem = dense(6, loss=Shifted())
    before = client.run(unpacked)
    dcra.solve(problem, starts=STARTS, seed=3, executor=client)
    after = client.run(unpacked)
    assert [after[worker] - before[worker] for worker in after] == [1, 1, 1]


@pytest.fixture(params=["cluster", "processes"])
def executor(request):
    return request.getfixturevalue("client" if request.param == "cluster" else "pool")


def test_a_target_ends_the_search(executor):
    result = dcra.solve(dense(0, 50, 80), starts=ENDLESS, target=1e9, seed=0, executor=executor)
    assert result.status is Status.TARGET


def test_a_callback_ends_the_search(executor):
    result = dcra.solve(
        dense(0, 50, 80), starts=ENDLESS, callback=lambda row: row.fun < np.inf, seed=0, executor=executor
    )
    assert result.status is Status.CALLBACK


def test_an_interrupt_ends_the_search(executor):
    def interrupt(row):
        os.kill(os.getpid(), signal.SIGINT)

    result = dcra.solve(dense(0, 50, 80), starts=ENDLESS, callback=interrupt, seed=0, executor=executor)
    assert result.status is Status.INTERRUPTED
    assert result.fun == pytest.approx(dense(0, 50, 80).objective(result.x))


def test_a_time_limit_ends_the_search(executor):
    result = dcra.solve(dense(0, 300, 300), time_limit=0.6, seed=0, executor=executor)
    assert result.status is Status.TIME_LIMIT
    assert result.n_starts > 1


def test_a_process_that_finds_no_file_gets_the_problem_with_the_job(pool, monkeypatch):
    sent = []
    enclosed = dcra.machines.teams.Shipment.enclosed
    monkeypatch.setattr(Parcel, "__reduce__", lambda self: _elsewhere(self), raising=False)
    monkeypatch.setattr(
        dcra.machines.teams.Shipment, "enclosed", lambda self: sent.append(1) or enclosed(self)
    )
    same(dcra.solve(dense(0), starts=STARTS, seed=3, executor=pool), "l1")
    assert sent


def _elsewhere(parcel):
    """The parcel as it arrives at a host where there is no such file."""
    return Parcel, ("/nowhere/problem", parcel.key, parcel.spans, parcel.enclosed)


@pytest.mark.parametrize("kind", ["lock", "lambda"])
def test_what_cannot_be_pickled_is_said(kind, executor):
    if kind == "lock":
        with pytest.raises(
            TypeError, match="`executor` needs a problem that can be pickled, and this one cannot"
        ):
            dcra.solve(dense(0, loss=Locked()), starts=2, seed=0, executor=executor)
        return
    pytest.importorskip("cloudpickle")  # with which it can
    loss = SimpleNamespace(
        convex=True,
        value=lambda z: np.abs(z).sum(axis=-1),
        prox=lambda z, step: np.sign(z) * np.maximum(np.abs(z) - step, 0.0),
    )
    here = dcra.solve(dense(0, loss=loss), starts=3, seed=0)
    assert np.array_equal(dcra.solve(dense(0, loss=loss), starts=3, seed=0, executor=executor).x, here.x)


def test_another_version_is_said(executor, monkeypatch):
    monkeypatch.setattr(dcra, "__version__", "0.0.9")
    with pytest.raises(
        RuntimeError, match=r"a worker has dcra .*, the caller dcra 0\.0\.9: install the same"
    ):
        dcra.solve(dense(0), starts=2, seed=0, executor=executor)


def test_what_is_no_executor_is_said():
    with pytest.raises(
        TypeError, match=r"`executor` must be None, a dask\.distributed\.Client or a concurrent"
    ):
        dcra.solve(dense(0), executor="tcp://somewhere:8786")


def test_a_client_without_a_scheduler_is_said(cluster):
    from distributed import Client

    client = Client(cluster, set_as_default=False)
    client.close()
    with pytest.raises(
        ValueError, match="`executor` is a client without a scheduler: its status is 'closed'"
    ):
        dcra.solve(dense(0), executor=client)


@pytest.mark.usefixtures("compiled_loops")
def test_workers_without_loops_are_named_once():
    crew = FarCrew(
        lambda: None, lambda: False, lambda: None, True, team=None, abreast=1, seconds_left=lambda: 1.0
    )
    worker = Worker("there", 1, False, "no compiler")
    with pytest.warns(RuntimeWarning, match=r"workers on there have no compiled loops \(no compiler\)"):
        crew._greet(worker)
    crew._greet(worker)  # a second warning would be an error
