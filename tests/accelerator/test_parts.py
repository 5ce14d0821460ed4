"""What needs no device: losses as rows, shapes, words, and the plan on a made-up machine."""

from __future__ import annotations

import warnings
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest

import dcra
from dcra.accelerator import device, loader, rehearsal
from dcra.accelerator.engine import Finish, Round
from dcra.accelerator.form import power_of_two
from dcra.accelerator.replicas import best_of, fits
from dcra.accelerator.rows import rows_of, smoothing_of
from dcra.accelerator.shape import MOST_PARTS, MOST_ROWS, anneal_shape, sweep_shape
from dcra.accelerator.sweeper import rule_for
from dcra.auto import replicas
from dcra.auto.placement import place
from dcra.auto.replicas import ReplicaRounds
from dcra.compiled.form import compile_problem
from dcra.losses import NAMES, TableLoss, adapt
from tests.campaign import devices

TABLES = [name for name in NAMES if isinstance(adapt.as_loss(name), TableLoss) and name != "linear"]
H200 = 232_448


def compiled_of(rng, loss, domain="spin", weighted=True):
    r, n = 9, 6
    A, b = rng.standard_normal((r, n)), 2 * rng.standard_normal(r)
    weight = rng.uniform(0, 2, r) if weighted else 1.7
    terms = [dcra.Term(loss, A, b, weight), dcra.Term("l1", A, b)]
    return compile_problem(dcra.Problem(terms, domain=domain))


@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("loss", TABLES)
def test_rows_have_the_values_and_slopes_of_the_losses(rng, loss, weighted, domain):
    compiled = compiled_of(rng, loss, domain, weighted)
    rows, Z = rows_of(compiled), 3 * rng.standard_normal((20, compiled.n_rows))
    values = sum(p.values(Z[:, p.where]) for p in compiled.pieces)
    np.testing.assert_allclose(rows.values(Z).sum(axis=1), values, rtol=1e-12, atol=1e-12)
    delta = (0.3, 0.8)
    expected = compiled.slopes(Z, delta)
    np.testing.assert_allclose(rows.slopes(Z, smoothing_of(compiled, delta)), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["l1", "hinge", "quantile"])
def test_plain_losses_are_absolute_values_and_a_line(rng, loss):
    rows = rows_of(compiled_of(rng, loss))
    assert rows.plain
    z = rng.standard_normal(len(rows.k))
    half, middle = (rows.hi - rows.lo) / 2, (rows.hi + rows.lo) / 2
    np.testing.assert_allclose(half * np.abs(z) + middle * z, rows.values(z))


@pytest.mark.parametrize("loss", ["huber", "squared", "squared_hinge", "epsilon_insensitive"])
def test_other_tables_are_not_plain(rng, loss):
    assert not rows_of(compiled_of(rng, loss)).plain


@pytest.mark.parametrize("table", [False, True])
def test_every_number_of_rows_finds_room(table):
    for rows in chain(range(1, 2200), range(2200, MOST_ROWS + 1, 37), [MOST_ROWS]):
        sweep, anneal = sweep_shape(rows, table, H200), anneal_shape(rows, table)
        assert sweep.rows >= rows
        assert sweep.TILES % 2 == 0
        assert anneal.rows >= rows
        assert sweep.BLOCKS * (sweep.shared_bytes + 1024) <= H200 + 1024
        assert anneal.shared_bytes <= H200
        assert sweep.M * sweep.TILES * 4 <= 128  # registers of the residuals
        assert anneal.K * anneal.LANE_ROWS <= 128
        assert sweep.PARTS == anneal.PARTS <= MOST_PARTS


def test_clusters_leave_out_what_their_neighbourhoods_do_not_hold():
    assert sweep_shape(2048, False, H200).most_replicas(132) == 132 * 16
    assert [sweep_shape(rows, False, H200).most_replicas(132) // 16 for rows in (2049, 5000, 16384)] == [
        64,
        32,
        16,
    ]
    assert sweep_shape(16384, False, H200).most_replicas(1) == 16


def test_what_kernels_cannot_take(rng):
    A, b = rng.standard_normal((5, 4)), rng.standard_normal(5)
    assert fits(compile_problem(dcra.Problem([dcra.Term("huber", A, b)])))
    assert not fits(compile_problem(dcra.Problem([dcra.Term("logistic", A, b)])))
    assert not fits(compile_problem(dcra.Problem([dcra.Term("l1", A, b)], quadratic=np.eye(4))))
    assert not fits(compile_problem(dcra.Problem(quadratic=np.ones((4, 4)))))
    tall = np.ones((MOST_ROWS + 1, 2))
    assert not fits(compile_problem(dcra.Problem([dcra.Term("l1", tall, 0.0)])))


def test_the_best_come_first_and_copies_last():
    E = np.array([3.0, 1.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(best_of(E, 3), [1, 3, 0])
    np.testing.assert_array_equal(best_of(E, 5), [1, 3, 0, 2, 4])


def test_powers_of_two():
    assert [power_of_two(x) for x in (0.0, 0.3, 0.5, 1.0, 5.0, np.inf)] == [1.0, 0.5, 0.5, 1.0, 8.0, 1.0]


def test_wide_problems_go_to_the_corners_sooner():
    assert rule_for(1300, 1000).power < rule_for(1200, 1000).power


@pytest.fixture
def nothing(monkeypatch):
    """A machine without a device."""
    monkeypatch.setattr(device, "why_not", lambda number=0: "CuPy is not installed; pip install 'dcra[cuda]'")


def test_a_device_that_is_not_there_is_refused(nothing, rng):
    A, b = rng.standard_normal((5, 4)), rng.standard_normal(5)
    with pytest.raises(ValueError, match="`device` 'cuda' cannot be used: CuPy is not installed; pip"):
        dcra.minimize(A, b, device="cuda")
    with pytest.raises(ValueError, match="`device` must be 'cpu', 'cuda' or 'cuda:1'; got 'gpu'"):
        dcra.minimize(A, b, device="gpu")
    with pytest.raises(TypeError, match="`device` must be a string; got int"):
        dcra.minimize(A, b, device=0)
    assert dcra.minimize(A, b, device="cpu", starts=1).fun == dcra.minimize(A, b, starts=1).fun


def test_a_device_is_for_auto_alone(monkeypatch, rng):
    monkeypatch.setattr(device, "why_not", lambda number=0: "")
    with pytest.raises(ValueError, match="`device` 'cuda' is for method 'auto' alone; got method 'flip'"):
        dcra.minimize(rng.standard_normal((5, 4)), rng.standard_normal(5), device="cuda", method="flip")


def test_the_cpu_is_a_device_too(rng):
    torch = pytest.importorskip("torch")
    problem = dcra.Problem([dcra.Term("l1", torch.asarray(rng.standard_normal((5, 4))), 0.0)])
    assert place(problem, "cpu") is not problem


def test_numbers_of_devices():
    assert [device.number_of(name) for name in ("cuda", "cuda:0", "cuda:3")] == [0, 0, 3]
    assert device.number_under(np.ones(2)) is None


def carried_out(limit, starts, sweep_seconds, pass_seconds, n):
    """The engines that the plan chooses on a machine of this pace, and the seconds they take."""
    paces = {"sweep_seconds": sweep_seconds, "pass_seconds": pass_seconds}
    machine = SimpleNamespace(count=100, compiled=SimpleNamespace(n=n), **paces)
    plan, engines, seconds = ReplicaRounds(machine), [], 0.0
    search = SimpleNamespace(
        limits=SimpleNamespace(time_limit=limit), started=0, seed=0, points=None, closing=0.0
    )
    while True:
        search.seconds_left = np.inf if limit is None else limit - seconds
        search.starts_left = starts - search.started
        if (task := plan.next(search)) is None:
            return engines, seconds
        assert plan.next(search) is None  # there is one device
        engine = task.engine
        engines.append(engine)
        seconds += getattr(engine, "sweeps", 0) * sweep_seconds + (engine.passes + 3) * pass_seconds
        plan.learn(search, task, None, 0.0)


@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize("pace", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("limit", [0.05, 0.3, 1.0, 7.0, 60.0])
def test_rounds_fill_the_time_and_no_more(limit, pace, n):
    engines, seconds = carried_out(limit, np.inf, pace, 7 * pace, n)
    assert seconds <= limit
    if limit > 500 * pace:
        assert isinstance(engines[-1], Finish)
        assert all(isinstance(engine, Round) for engine in engines[:-1])
        assert seconds > 0.75 * limit
        assert max(engine.sweeps for engine in engines[:-1]) <= 4000


def test_counted_starts_need_no_clock():
    engines, _ = carried_out(None, 250, 1.0, 1.0, 300)
    assert [type(engine) for engine in engines] == [Round, Round, Round, Finish]
    assert len({engine.sweeps for engine in engines[:-1]}) == 1


class Rehearsed:
    """A way through kernels whose rehearsals are counted, on a device that is not there."""

    def __init__(self, monkeypatch, tmp_path):
        self.loaded, self.held = [], 0
        monkeypatch.setattr(loader, "load", lambda kernel, number: self.loaded.append(kernel.source))
        monkeypatch.setattr(rehearsal, "_known", set())
        monkeypatch.setattr(rehearsal, "_asked", set())
        monkeypatch.setattr(rehearsal, "_mark", lambda way: tmp_path / str(way.number))
        monkeypatch.setattr(rehearsal.threading.Thread, "start", lambda self: self.run())
        memory = SimpleNamespace(OutOfMemoryError=MemoryError)
        monkeypatch.setattr(device, "library", lambda: SimpleNamespace(cuda=SimpleNamespace(memory=memory)))

    def hold(self):
        self.held += 1

    def ready(self, seconds_left, number=0):
        sweep = loader.kernel("sweep", "sweep", sweep_shape(90, False, H200))
        assert dict(sweep.macros) == {"M": 2, "WARPS": 4, "TILES": 4, "BLOCKS": 2, "TABLE": 0, "PARTS": 1}
        way = rehearsal.Way((sweep, loader.kernel("points", "signs")), number)
        return rehearsal.ready_in_time(way, seconds_left, self.hold)


@pytest.fixture
def rehearsed(monkeypatch, tmp_path):
    return Rehearsed(monkeypatch, tmp_path)


def test_short_searches_leave_the_rehearsal_to_a_thread(rehearsed):
    assert [rehearsed.ready(0.3) for _ in range(3)] == [False, True, True]
    assert (rehearsed.loaded, rehearsed.held) == (["sweep", "points"], 1)


@pytest.mark.parametrize(
    ("seconds", "on_disk", "others"), [(100.0, False, False), (4.0, True, False), (0.5, True, True)]
)
def test_longer_searches_hold_it_themselves(rehearsed, tmp_path, seconds, on_disk, others):
    if others:
        assert rehearsed.ready(None, number=1)
    if on_disk:
        (tmp_path / "0").touch()
    before = rehearsed.held
    assert rehearsed.ready(seconds)
    assert rehearsed.held == before + 1
    assert (tmp_path / "0").exists()


@pytest.mark.parametrize(("seconds", "on_disk"), [(20.0, False), (2.0, True)])
def test_what_is_too_short_for_it(rehearsed, tmp_path, seconds, on_disk):
    if on_disk:
        (tmp_path / "0").touch()
    assert not rehearsed.ready(seconds)


def test_every_source_is_there_and_begins_with_what_all_share():
    common = (loader.FOLDER / "common.cuh").read_text()
    for name in ("sweep", "anneal", "points"):
        assert loader.source_of(name).startswith(common)
        assert 'extern "C" __global__' in loader.source_of(name)


@pytest.mark.parametrize(
    ("missing", "torch", "words"),
    [
        ("", True, "dcra's own kernels, on a card"),
        ("CuPy is not installed", True, "array code, by torch where it has a device: CuPy is not installed"),
        ("CuPy is not installed", False, "none: CuPy is not installed"),
    ],
)
def test_what_searches_a_device_in_a_sentence(monkeypatch, missing, torch, words):
    monkeypatch.setattr(device, "why_not", lambda number=0: missing)
    monkeypatch.setattr(device, "name", lambda number: "a card")
    monkeypatch.setattr(device, "find_spec", lambda name: object() if torch else None)
    assert device.in_words() == words


def test_arrays_of_jax_get_one_back(rng):
    jax = pytest.importorskip("jax")
    A, b = rng.standard_normal((30, 40)).astype(np.float32), rng.standard_normal(30).astype(np.float32)
    ours = dcra.minimize(A, b, starts=2, seed=0)
    theirs = dcra.minimize(jax.numpy.asarray(A), jax.numpy.asarray(b), starts=2, seed=0, device="cpu")
    assert isinstance(theirs.x, jax.Array)
    np.testing.assert_array_equal(np.asarray(theirs.x), ours.x)
    assert theirs.fun == ours.fun


@pytest.mark.parametrize(
    ("A", "b", "weight"), [(1e-30, 1.0, 1.0), (1.0, 1e25, 1.0), (4.0e8, -2.0e15, 1e14), (1.0, 0.5, 1e-32)]
)
def test_numbers_beyond_single_precision_are_left_to_the_cpu(emulated, monkeypatch, A, b, weight):
    monkeypatch.setattr(replicas, "PASSES", 2)
    monkeypatch.setattr(replicas, "END_PASSES", 2)
    problem = dcra.Problem([dcra.Term("huber", np.full((2, 3), A), np.full(2, b), weight)])
    with devices.kernels_first() as searches, warnings.catch_warnings():
        warnings.simplefilter("error")
        result = dcra.solve(problem, starts=1, seed=0, device="cuda")
    assert searches["losses"].call_count == 1
    assert result.fun == pytest.approx(float(problem.objective(result.x)))


def test_objectives_that_are_no_numbers_come_last():
    E = np.array([np.nan, 3.0, np.inf, 1.0])
    assert list(best_of(E, 4))[:2] == [3, 1]
    assert len(best_of(np.full(5, np.nan), 2)) == 2
