"""The kernels on an emulated device: against NumPy and the judge, whatever order warps take turns in."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import dcra
from dcra.accelerator import loader, rehearsal, shape
from dcra.accelerator.replicas import Replicas
from dcra.accelerator.spins import Spins
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts

from . import emulator, test_columns, test_kernels, test_search, test_spins
from .test_kernels import problem_of


@pytest.mark.parametrize(("rows", "loss"), [(30, "l1"), (1100, "huber")])
def test_sweeps_follow_the_rule(emulated, rng, rows, loss):
    test_kernels.test_sweeps_follow_the_rule(emulated, rng, rows, loss)


@pytest.mark.parametrize(("rows", "loss"), [(30, "l1"), (1100, "huber")])
def test_objectives_are_the_judges(emulated, rng, rows, loss):
    test_kernels.test_objectives_are_the_judges(emulated, rng, rows, loss, "spin")


@pytest.fixture
def few_rows(monkeypatch):
    """A device whose blocks hold few rows: clusters of them share those of small problems."""
    monkeypatch.setattr(shape, "PART_ROWS", 32)


@pytest.mark.parametrize(("rows", "loss"), [(60, "huber"), (200, "l1")])
def test_clusters_sweep_by_the_rule(emulated, few_rows, rng, rows, loss):
    assert shape.parts_for(rows) == (2 if rows == 60 else 8)
    test_kernels.test_sweeps_follow_the_rule(emulated, rng, rows, loss)


@pytest.mark.parametrize(("rows", "loss"), [(60, "l1"), (200, "huber")])
def test_objectives_of_clusters_are_the_judges(emulated, few_rows, rng, rows, loss):
    test_kernels.test_objectives_are_the_judges(emulated, rng, rows, loss, "spin")


def test_clusters_remember_the_best(emulated, monkeypatch):
    monkeypatch.setattr(shape, "PART_ROWS", 4)
    test_columns.test_the_best_point_of_a_search_is_remembered(emulated)


@pytest.mark.parametrize("kind", test_spins.KINDS)
def test_fields_are_carried_along(emulated, rng, kind):
    test_spins.test_fields_are_carried_along(emulated, rng, kind, 40)


@pytest.mark.parametrize("part_rows", [2048, 16])
@pytest.mark.parametrize("schedule", range(1, 5))
def test_no_kernel_depends_on_the_order_of_its_warps(emulated, schedule, part_rows, monkeypatch):
    monkeypatch.setattr(shape, "PART_ROWS", part_rows)
    found = []
    for order in (0, schedule):
        emulated.state.schedule = order
        rng = np.random.default_rng(1)
        r = Replicas(compile_problem(problem_of(rng, 30, 70)), 0, 64)
        r.begin(Starts(3, 0, r.count))
        r.sweep(0, 3, 3)
        r.annealer.load(r.sweeper.signs())
        r.anneal(np.full(6, r.temperature), 0, 5)
        s = Spins(compile_problem(test_spins.problem_of(rng, 70, "normal")), 0, 32)
        s.begin(Starts(1, 0, 32))
        s.anneal(np.full(6, 0.5), 0, 7)
        swept, annealed = r.sweeper, r.annealer
        arrays = (swept.X, swept.rho, annealed.signs(), annealed.E, s.bits, s.F)
        found.append([a.get() for a in arrays])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", [3])
def test_random_problems_against_the_judge(emulated, seed, monkeypatch):
    from dcra.auto import replicas

    monkeypatch.setattr(replicas, "SWEEPS_PER_START", 100)
    problem = test_search.random_problem(seed)
    ours = dcra.solve(problem, starts=64, seed=seed, device="cuda")
    assert emulated.state.launches > 0
    theirs = dcra.solve(problem, starts=16, seed=seed)
    assert ours.fun == pytest.approx(float(problem.objective(ours.x)), rel=1e-12)
    spread = abs(float(problem.value_at_ones)) + abs(theirs.fun) + 1e-9
    assert (ours.fun - theirs.fun) / spread < 0.02


DEFECTS = {
    "something was written behind the end of shared memory": "((float*)memory)[blockDim.x] = 1.f;",
    "threads wait for what never comes": "if (threadIdx.x < 32) __syncthreads();",
    "lanes of a warp wait at different places": "if (threadIdx.x) __syncwarp(); else __ballot_sync(1, 1);",
    "a bulk copy that is not aligned": "copy_bulk(4, to, 16, 0);",
}


@pytest.mark.parametrize("fault", DEFECTS)
def test_the_emulator_finds_defects(emulated, fault):
    kernel = _kernel(emulated, DEFECTS[fault])
    with pytest.raises(RuntimeError, match=f"kernel wrong: {fault}"):
        kernel((2,), (64,), (emulated.zeros(64, np.float32),), shared_mem=256)


def test_the_emulator_finds_races(emulated):
    """Warp 1 reads what warp 0 has written, without a barrier between them; with it all is well."""
    racy = """((float*)memory)[threadIdx.x] = 1.f; __syncwarp(); BETWEEN
              to[threadIdx.x] = ((float*)memory)[threadIdx.x ^ 32]; __syncwarp();"""
    kinds = []
    for between in ("", "__syncthreads();"):
        kernel, answers = _kernel(emulated, racy.replace("BETWEEN", between)), set()
        for emulated.state.schedule in range(8):
            to = emulated.zeros(64, np.float32)
            kernel((1,), (64,), (to,), shared_mem=256)
            answers.add(to.get().tobytes())
        kinds.append(len(answers))
    assert kinds[0] > 1
    assert kinds[1] == 1


def test_arrays_of_host_and_device_do_not_meet(emulated):
    there, here = emulated.zeros(3), np.zeros(3)
    for meet in (lambda: there + here, lambda: here * there, lambda: there.__setitem__(slice(None), here)):
        with pytest.raises(TypeError, match="host"):
            meet()
    with pytest.raises(TypeError, match="an array of the host indexes"):
        there[np.arange(2)]
    with pytest.raises(TypeError, match=r"np\.concatenate of an array on the device"):
        np.concatenate([there, there])


def _kernel(emulated, body):
    common = (loader.FOLDER / "common.cuh").read_text()
    head = 'extern "C" __global__ void wrong(float* to) { extern __shared__ __align__(128) u8 memory[]; '
    return emulated.RawModule(common + head + body + " }", ()).get_function("wrong")


@pytest.mark.parametrize("kind", ["losses", "dense couplings", "sparse couplings", "batch"])
def test_rehearsals_go_all_the_way(emulated, rng, kind, monkeypatch):
    """What is held before a search needs nothing that the search has made."""
    held = []

    def hold(way, rehearse):
        rehearse()
        held.append(emulator.state.launches)
        raise KeyboardInterrupt  # the search itself is tested elsewhere

    monkeypatch.setattr(rehearsal, "_hold", hold)
    A, J = rng.standard_normal((20, 30)), scipy.sparse.random_array((60, 60), density=0.05, rng=rng)
    search = {
        "losses": lambda: dcra.minimize(A, rng.standard_normal(20), starts=2, device="cuda"),
        "dense couplings": lambda: dcra.solve(dcra.Problem(quadratic=J.toarray()), starts=2, device="cuda"),
        "sparse couplings": lambda: dcra.solve(dcra.Problem(quadratic=J), starts=2, device="cuda"),
        "batch": lambda: dcra.minimize_batch(A, rng.standard_normal((20, 3)), device="cuda"),
    }[kind]
    with pytest.raises(KeyboardInterrupt):
        search()
    assert held[0] > 3
