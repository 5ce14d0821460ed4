"""Couplings on a device: fields and values against NumPy, descents, seeds, and answers against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import dcra
from dcra.accelerator import spins
from dcra.accelerator.couplings import FLOATS, HALVES, SPARSE
from dcra.accelerator.crossing import Crossing
from dcra.accelerator.replicas import LAUNCH_SECONDS
from dcra.accelerator.spin_engine import Cooling
from dcra.accelerator.spins import Spins, fits
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts

KINDS = {"signs": HALVES, "normal": FLOATS, "sparse": SPARSE}


def quadratic(rng, n, kind):
    if kind == "sparse":
        return sp.random_array((n, n), density=0.05, rng=rng, data_sampler=rng.standard_normal).tocsc()
    return rng.choice([-1.0, 1.0], (n, n)) if kind == "signs" else rng.standard_normal((n, n))


def problem_of(rng, n, kind, **options):
    return dcra.Problem(quadratic=quadratic(rng, n, kind), linear=rng.standard_normal(n), **options)


def test_what_kernels_cannot_take(rng):
    assert fits(compile_problem(problem_of(rng, 20, "signs")))
    assert fits(compile_problem(problem_of(rng, 20, "sparse")))
    A = rng.standard_normal((5, 20))
    assert not fits(compile_problem(dcra.Problem([dcra.Term("l1", A, 0.0)], quadratic=np.ones((20, 20)))))
    assert not fits(compile_problem(dcra.Problem([dcra.Term("l1", A, 0.0)])))


@pytest.mark.parametrize("n", [40, 300, 1100])
@pytest.mark.parametrize("kind", KINDS)
def test_fields_are_carried_along(there, rng, kind, n):
    r = Spins(compile_problem(problem_of(rng, n, kind)), 0, 50)
    assert r.couplings.store in (KINDS[kind], FLOATS)
    r.begin(Starts(1, 0, 50))
    before = r.bits.copy()
    r.anneal(np.linspace(0.8, 0.2, 30), 0, 7)
    carried = r.F.copy()
    r.refresh()
    assert bool((before != r.bits).any())
    np.testing.assert_allclose(carried.get(), r.F.get(), atol=2e-3 * r.couplings.unit)


@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("kind", KINDS)
def test_values_are_the_judges(there, rng, kind, domain):
    r = Spins(compile_problem(problem_of(rng, 200, kind, domain=domain)), 0, 64)
    r.begin(Starts(1, 0, 64))
    r.keep()
    judged = r.compiled.judged(r.best(64))
    shift = judged - r.compiled.value_scale * r.pool_values
    np.testing.assert_allclose(shift, shift[0], atol=1e-5 * np.abs(judged).max())


@pytest.mark.parametrize("kind", KINDS)
def test_descent_ends_where_no_flip_helps(there, rng, kind):
    r = Spins(compile_problem(problem_of(rng, 90, kind)), 0, 16)
    r.begin(Starts(1, 0, 16))
    r.anneal(np.zeros(200), 0, 0)
    r.keep()
    for s in r.best(8):
        flipped = np.where(np.eye(90) > 0, -s, s)
        assert r.compiled.judged(s[None])[0] <= r.compiled.judged(flipped).min() + 1e-3


def test_many_short_launches_do_what_a_long_one_does(there):
    found = []
    for ends in ([60], [7, 30, 60]):
        r = Spins(compile_problem(problem_of(np.random.default_rng(1), 150, "normal")), 0, 40)
        r.begin(Starts(1, 0, 40))
        temperatures, first = np.linspace(0.7, 0.0, 60), 0
        for last in ends:
            r.anneal(temperatures[first:last], first, 3)
            first = last
        found.append(r.bits.get())
    np.testing.assert_array_equal(*found)


def test_launches_of_hot_passes_are_no_longer_than_those_of_cold_ones(there, monkeypatch):
    took = []

    def pretend(self, temperatures, first, seed):
        took.append(float(np.sum(2e-3 * temperatures + 1e-6)))
        self.kernel = lambda *_, **__: None
        monkeypatch.setattr(spins, "timed", lambda launch: took[-1])
        return anneal(self, temperatures, first, seed)

    anneal = Spins.anneal
    monkeypatch.setattr(Spins, "anneal", pretend)
    r = Spins(compile_problem(problem_of(np.random.default_rng(1), 60, "normal")), 0, 40)
    list(Cooling(r, 300).flow(Starts(1, 0, 40)))  # whose first launch has nothing to go by
    took.clear()
    for gentle in (False, True, False):
        list(Cooling(r, 300, gentle).flow(Starts(1, 0, 40)))
    assert max(took) < 2 * LAUNCH_SECONDS


@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_answers_are_no_worse_than_those_of_the_cpu(there, kind, domain, seed):
    problem = problem_of(np.random.default_rng(seed), 120, kind, domain=domain)
    ours = dcra.solve(problem, starts=64, seed=seed, device="cuda")
    theirs = dcra.solve(problem, starts=16, seed=seed)
    assert ours.fun <= theirs.fun + 1e-9 * abs(theirs.fun)
    assert ours.fun == pytest.approx(float(problem.objective(ours.x)), rel=1e-12)


def test_the_same_seed_gives_the_same_x(there, rng):
    problem = problem_of(rng, 300, "normal")
    one, again = (dcra.solve(problem, starts=64, seed=4, device="cuda") for _ in range(2))
    np.testing.assert_array_equal(one.x, again.x)
    assert one.n_starts == 64


def test_a_timed_search_ends_and_points_of_the_user_are_kept(there, rng):
    problem = problem_of(rng, 400, "signs")
    best = dcra.solve(problem, time_limit=1.0, seed=0, device="cuda")
    assert best.status == "time_limit"
    again = dcra.solve(problem, starts=4, seed=1, x0=best, device="cuda")
    assert again.fun <= best.fun


def test_couplings_of_torch_come_in_and_x_goes_back(there, rng):
    torch = pytest.importorskip("torch")
    Q = rng.standard_normal((200, 200))
    result = dcra.solve(dcra.Problem(quadratic=torch.asarray(Q, device="cuda")), starts=64, seed=0)
    assert result.x.is_cuda
    host = dcra.solve(dcra.Problem(quadratic=Q), starts=64, seed=0, device="cuda")
    np.testing.assert_array_equal(result.x.cpu().numpy(), host.x)


def torus(side, seed):
    """Max-Cut of a torus with weights 1 and -1, as couplings."""
    rng, n = np.random.default_rng(seed), side * side
    here = np.arange(n)
    right, below = here // side * side + (here + 1) % side, (here + side) % n
    rows, columns = np.concatenate([here, here]), np.concatenate([right, below])
    W = sp.coo_array((rng.choice([-1.0, 1.0], 2 * n), (rows, columns)), (n, n))
    return dcra.Problem(quadratic=((W + W.T) / 4).tocsc())


@pytest.mark.usefixtures("compiled_loops")
def test_children_are_no_worse_than_their_parents(emulated):
    compiled = compile_problem(torus(20, 0))
    r = Spins(compiled, 0, 16)
    assert r.crossing.able
    r.begin(Starts(1, 0, 16))
    r.anneal(np.linspace(0.7, 0.0, 12), 0, 7)
    r.keep()
    before = r.pool_values.copy()
    for _ in r.cross(200, 3):
        pass
    assert r.crossing.gained
    assert r.pool_values[0] < before[0]
    assert np.all(np.sort(r.pool_values)[: len(before)] <= np.sort(before))
    judged = compiled.judged(r.best(16))
    np.testing.assert_allclose(judged - judged[0], r.pool_values[:16] - r.pool_values[0], atol=1e-4)
    again = Spins(compiled, 0, 16)
    again.begin(Starts(1, 0, 16))
    again.anneal(np.linspace(0.7, 0.0, 12), 0, 7)
    again.keep()
    for _ in again.cross(200, 3):
        pass
    np.testing.assert_array_equal(again.best(16), r.best(16))


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("linear", [False, True])
def test_crossing_follows_rounds_of_sparse_couplings(emulated, linear, monkeypatch):
    from dcra.auto import spins

    monkeypatch.setattr(spins, "PASSES_PER_START", 12)
    monkeypatch.setattr(spins, "LEAST_PASSES", 1)
    problem = torus(20, 1)
    if linear:
        problem = problem.replace(linear=np.random.default_rng(0).standard_normal(400))
    crossed = dcra.solve(problem, starts=16, seed=0, device="cuda")
    assert emulated.state.launches > 0
    assert crossed.fun == pytest.approx(float(problem.objective(crossed.x)), rel=1e-12)
    monkeypatch.setattr(spins, "CROSSINGS", 0)
    plain = dcra.solve(problem, starts=16, seed=0, device="cuda")
    assert crossed.fun < plain.fun
    best = dcra.solve(problem, starts=16, seed=0).fun
    assert crossed.fun - best < 0.6 * (plain.fun - best)


def test_crossing_in_vain_gets_little_time():
    from types import SimpleNamespace

    from dcra.auto.spins import SpinRounds

    crossing = SimpleNamespace(able=True, gained=True, seconds=1e-3)
    machine = SimpleNamespace(crossing=crossing, shape=SimpleNamespace(sparse=True), pass_seconds=1e-2)
    plan, search = SpinRounds(machine), SimpleNamespace(limits=SimpleNamespace(time_limit=9.0))
    assert plan._crossings(search, 100) == 250
    crossing.gained = False
    assert plan._crossings(search, 100) == 20
    crossing.able = False
    assert plan._crossings(search, 100) == 0


def test_children_of_one_point_are_no_gain():
    crossing = Crossing(compile_problem(torus(6, 0)))
    s = np.where(np.random.default_rng(0).random((1, 36)) < 0.5, -1.0, 1.0)
    for _ in crossing.cross(np.concatenate([s, s, -s]), 24, 0):
        pass
    assert not crossing.gained
    np.testing.assert_array_equal(crossing.children[0], s[0])
