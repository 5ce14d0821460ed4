"""Many problems, many right-hand sides: side by side they have the answers of one after another."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dcra
from dcra.machines import batches
from dcra.result import Status
from tests.machines.problems import PROBLEMS, Locked, dense

KINDS = ["l1", "sparse", "quadratic", "clauses", "constrained", "own loss"]


@pytest.fixture(params=["cluster", "processes", "threads"])
def executor(request):
    if request.param == "threads":
        return request.getfixturevalue("threads")
    return request.getfixturevalue("client" if request.param == "cluster" else "pool")


@pytest.fixture
def threads():
    with ThreadPoolExecutor(2) as threads:
        yield threads


def test_many_problems(executor):
    problems = [PROBLEMS[kind][0]() for kind in KINDS]
    found = dict(dcra.solve_many(iter(problems), starts=3, seed=5, executor=executor))
    assert sorted(found) == list(range(len(KINDS)))
    for index, problem in enumerate(problems):
        one = dcra.solve(problem, starts=3, seed=5)
        assert np.array_equal(found[index].x, one.x)
        assert (found[index].fun, found[index].status) == (one.fun, one.status)


def test_one_after_another_by_default():
    problems = [PROBLEMS[kind][0]() for kind in KINDS]
    assert [index for index, _ in dcra.solve_many(problems, starts=2, seed=0)] == list(range(len(KINDS)))


def test_files_are_read_where_they_are_solved(executor, tmp_path):
    names = [tmp_path / f"{seed}.npz" for seed in range(3)]
    for seed, name in enumerate(names):
        dcra.io.write(name, dense(seed))
    for index, result in dcra.solve_many(map(str, names), starts=2, seed=5, executor=executor):
        assert result.fun == dcra.solve(dense(index), starts=2, seed=5).fun


def test_problems_are_taken_as_they_are_needed(threads):
    taken = []

    def endless():
        for seed in range(10**6):
            taken.append(seed)
            yield dense(seed, 5, 8)

    results = dcra.solve_many(endless(), starts=1, seed=0, executor=threads, n_jobs=2)
    assert taken == []
    for _ in range(3):
        next(results)
    results.close()
    assert len(taken) <= 5


def test_a_caller_who_leaves_ends_all(executor):
    problems = [dense(seed, 50, 80) for seed in range(3)]
    results = dcra.solve_many(
        [dense(0, 5, 8), *problems], starts=10**6, target=1e9, seed=0, executor=executor
    )
    next(results)
    results.close()
    assert len(list(dcra.solve_many([dense(0)], starts=1, executor=executor))) == 1  # somebody is free


def test_what_is_no_problem_is_said(threads):
    for options in ({}, {"executor": threads}):
        with pytest.raises(
            TypeError, match=r"`problems` must hold dcra\.Problem objects or file names; got int"
        ):
            list(dcra.solve_many([1], **options))


def test_problems_that_cannot_be_pickled_are_said(pool):
    with pytest.raises(TypeError, match="can be pickled, and this one cannot"):
        list(dcra.solve_many([dense(0, loss=Locked())], executor=pool))


def right_hand_sides(k=45):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((12, 20))
    return A, A @ rng.choice([-1.0, 1.0], (20, k)) + 0.3 * rng.standard_normal((12, k))


@pytest.mark.parametrize(
    "options", [{"starts": 2}, {"starts": 2, "loss": "linf"}, {"starts": 1, "method": "flip"}]
)
def test_chunks_have_the_answers_of_threads(options, executor):
    A, B = right_hand_sides()
    here = dcra.minimize_batch(A, B, seed=5, chunk=16, n_jobs=1, **options)
    there = dcra.minimize_batch(A, B, seed=5, chunk=16, executor=executor, **options)
    assert np.array_equal(here.x, there.x)
    assert np.array_equal(here.fun, there.fun)
    assert (there.status, there.seed, there.method) == (here.status, 5, here.method)


def test_a_chunk_is_solved_as_if_it_were_all():
    A, B = right_hand_sides()
    whole = dcra.minimize_batch(A, B, seed=5, starts=2, chunk=16)
    part = dcra.minimize_batch(A, B[:, 16:32], seed=5, starts=2)
    assert np.array_equal(whole.x[:, 16:32], part.x)


def test_chunks_share_a_time_limit(executor):
    A, B = right_hand_sides()
    result = dcra.minimize_batch(A, B, seed=5, chunk=16, time_limit=0.5, executor=executor, method="flip")
    assert result.x.shape == (20, 45)
    assert np.allclose(result.fun, np.abs(A @ result.x - B).sum(axis=0))


def test_an_interrupt_leaves_first_answers(threads, monkeypatch):
    A, B = right_hand_sides()
    from dcra.machines.batches import Chunks

    columns, asked = Chunks.columns, []

    def interrupt(self, index):
        asked.append(index)
        if len(asked) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return columns(self, index)

    monkeypatch.setattr(Chunks, "columns", interrupt)
    result = dcra.minimize_batch(A, B, seed=5, chunk=16, starts=2, executor=threads, n_jobs=1)
    assert result.status is Status.INTERRUPTED
    assert np.allclose(result.fun, np.abs(A @ result.x - B).sum(axis=0))


def test_errors_name_b(executor):
    A, B = right_hand_sides()
    with pytest.raises(ValueError, match=r"`B` must have shape \(12, k\)"):
        dcra.minimize_batch(A, B.T, executor=executor)
    with pytest.raises(ValueError, match=r"`B` must have shape \(12, k\)"):
        dcra.minimize_batch(A, B[:, 0], executor=executor)


@pytest.mark.parametrize("domain", ["spin", "binary"])
def test_lazy_right_hand_sides_make_lazy_codes(domain):
    array = pytest.importorskip("dask.array")
    A, B = right_hand_sides()
    read = []
    source = array.from_array(B, chunks=(5, 16)).map_blocks(lambda part: read.append(1) or part, dtype=float)
    read.clear()
    lazy = dcra.minimize_batch(A, source, seed=5, starts=2, domain=domain)
    assert read == []
    assert (lazy.x.dtype, lazy.x.shape, lazy.fun.shape) == (np.int8, (20, 45), (45,))
    known = dcra.minimize_batch(A, B, seed=5, starts=2, chunk=16, domain=domain)
    assert np.array_equal(lazy.x.compute(), known.x)
    assert np.array_equal(lazy.fun.compute(), known.fun)
    assert lazy.x.chunks[1] == (16, 16, 13)


def test_lazy_right_hand_sides_on_a_cluster(client):
    from dask import array

    A, B = right_hand_sides()
    lazy = dcra.minimize_batch(A, array.from_array(B), seed=5, starts=2, chunk=20)
    known = dcra.minimize_batch(A, B, seed=5, starts=2, chunk=20)
    x, fun = client.gather(client.compute([lazy.x, lazy.fun]))
    assert np.array_equal(x, known.x)
    assert np.array_equal(fun, known.fun)


def test_what_lazy_arrays_do_not_take_is_said():
    array = pytest.importorskip("dask.array")
    A, B = right_hand_sides()
    lazy = array.from_array(B)
    with pytest.raises(ValueError, match="`time_limit` is not for lazy arrays"):
        dcra.minimize_batch(A, lazy, time_limit=1.0)
    with (
        ThreadPoolExecutor(1) as threads,
        pytest.raises(ValueError, match="`executor` is not for lazy arrays"),
    ):
        dcra.minimize_batch(A, lazy, executor=threads)
    with pytest.raises(ValueError, match=r"`B` must have shape \(12, k\), one right-hand side per column"):
        dcra.minimize_batch(A, lazy.T)


def test_chunks_that_came_too_late_are_answered_together(monkeypatch):
    calls, minimize = [], batches._minimize
    monkeypatch.setattr(batches, "_minimize", lambda *asked: calls.append(1) or minimize(*asked))
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((30, 20)), rng.standard_normal((30, 500))
    found = dcra.minimize_batch(A, B, chunk=5, time_limit=1e-3, seed=0)
    assert found.status == "time_limit"
    assert len(calls) < 20
    np.testing.assert_allclose(found.fun, np.abs(A @ found.x - B).sum(axis=0))
