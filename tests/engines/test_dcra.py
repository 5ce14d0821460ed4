"""Engine `dcra`: Algorithms 1 and 2, their stopping tests, their symmetries, one path on every library."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import array_api_strict
import numpy as np
import pytest
from scipy import sparse

import dcra
from dcra import lift, theory
from dcra._array import to_numpy
from dcra.compiled.form import compile_problem
from dcra.engines import DCRA, Starts
from dcra.losses import NAMES
from dcra.model.problem import Problem
from dcra.model.term import Term

PRESETS = {"default": DCRA(), "paper": DCRA.paper(), "authors": DCRA.authors()}
STEADY = DCRA(smoothing=2.0, rho_init=0.05, rho_max=1e4, curvature=40.0, max_outer=30)
"""All scales given: nothing is estimated from the data."""

every_preset = pytest.mark.parametrize("engine", PRESETS.values(), ids=PRESETS.keys())


def draw(seed, r=12, n=10):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((r, n)), rng.standard_normal(r)


def compiled_of(A, b, loss="l1", loops=False, **options):
    """For array code, unless `loops`."""
    return compile_problem(Problem([Term(loss, A, b)], **options), loops)


def factors(n, k=3, rank=4, seed=0):
    return np.stack([lift.random_factor(rank, n, seed, i) for i in range(k)])


def finish(state):
    while not state.done:
        state.advance(10**6)
    return state.candidates()


def walk(state, steps):
    """V after each of the next steps."""
    for _ in range(steps):
        state.advance(1)
        if state.done:
            return
        yield state.iterate.V


@every_preset
@pytest.mark.parametrize("loss", NAMES)
def test_columns_stay_units(engine, loss):
    A, b = draw(0)
    state = engine.start(compiled_of(A, b, loss, linear=0.1 * b[:10]), Starts(0, 0, 3))
    for V in walk(state, 60):
        np.testing.assert_allclose(np.linalg.norm(V, axis=-2), 1, rtol=1e-12)


@pytest.mark.parametrize("loss", ["l1", "huber", "hinge", "logistic", "l2", "linf", "quantile"])
@pytest.mark.parametrize("rho", [0.01, 1.0])
def test_valid_curvature_descends(loss, rho):
    A, b = draw(1, 6, 5)
    compiled, delta = compiled_of(A, b, loss), 0.5
    engine = DCRA(
        smoothing=delta,
        rho_init=rho,
        rho_max=1e6,
        curvature=theory.curvature_bound(compiled, delta),
        max_inner=10**6,
        step_tol=0.0,
    )
    state = engine.start(compiled, Starts(0, 0, 4))
    value = theory.penalized(compiled, state.iterate.V, rho, delta)
    for V in walk(state, 200):
        lower = theory.penalized(compiled, V, rho, delta)
        assert (lower <= value + 1e-12 * (1 + np.abs(value))).all()
        value = lower
    assert state.iterate.rho == pytest.approx(rho)


def test_backtracking_takes_back_steps_that_do_not_descend():
    A, b = draw(2)
    compiled = compiled_of(A, b)
    state = DCRA(smoothing=0.5, rho_init=0.1, rho_max=1.0).start(compiled, Starts(0, 0, 5))
    state.iterate = state.iterate._replace(L=1e-3 + 0 * state.iterate.L)
    taken = np.zeros(5, int)
    for _ in range(150):
        before = state.iterate
        state.advance(1)
        after = state.iterate
        raised = after.L > before.L
        np.testing.assert_array_equal(after.V[raised], before.V[raised])
        np.testing.assert_array_equal(after.smoothed[raised], before.smoothed[raised])
        assert (after.L[~raised] < before.L[~raised]).all()
        x, old = lift.relaxed(after.V), lift.relaxed(before.V)
        g = compiled.pull(compiled.slopes(before.z, 0.5))
        model = before.smoothed + np.sum(g * (x - old) + 0.5 * before.L[:, None] * (x - old) ** 2, axis=-1)
        assert (after.smoothed <= model + 1e-9).all()
        taken += ~raised
    assert (taken > 50).all()
    assert (state.iterate.L > 0.1).all()


def steps_of(engine, **problem):
    A, b = draw(3)
    state = engine.start(compiled_of(A, b, **problem), Starts(0, 0, 1))
    finish(state)
    return state.steps


FIXED = {"smoothing": 1.0, "rho_init": 1e-3, "rho_max": 1.0, "curvature": 50.0}


def test_stops_at_the_rank_gap():
    assert steps_of(DCRA(**FIXED, tol=1.0, max_inner=7, step_tol=0.0)) == 7


def test_stops_at_a_short_step():
    assert steps_of(DCRA(**FIXED, tol=1.0, max_inner=1000, step_tol=10.0)) == 1


def test_stops_at_the_largest_number_of_steps():
    engine = DCRA(**FIXED, tol=0.0, max_inner=6, max_outer=4, step_tol=0.0)
    assert steps_of(engine) == 6 * 4


def test_stops_when_the_objective_rests():
    engine = DCRA(**FIXED, tol=0.0, max_inner=6, max_outer=50, step_tol=0.0, objective_tol=1e300)
    assert steps_of(engine) == 6
    small = steps_of(DCRA(**FIXED, tol=0.0, max_inner=20, max_outer=200, step_tol=0.0, objective_tol=1e-3))
    assert 20 < small < 200 * 20


def test_reaches_the_rank_gap_it_was_asked_for():
    A, b = draw(4)
    state = DCRA.paper(tol=1e-5).start(compiled_of(A, b), Starts(0, 0, 1))
    gaps = [float(lift.rank_gap(V)[0]) for V in walk(state, 10**5)]
    assert state.done
    assert gaps[0] > 1
    assert gaps[-1] < 1e-3


def test_rho_grows_to_its_limit():
    A, b = draw(5)
    engine = DCRA(**{**FIXED, "rho_max": 0.01}, tol=0.0, max_inner=3, step_tol=0.0, rho_growth=2.0)
    state = engine.start(compiled_of(A, b), Starts(0, 0, 1))
    rhos = []
    for _ in range(24):
        rhos.append(float(state.iterate.rho[0]))
        state.advance(1)
    want = [min(1e-3 * 2**k, 0.01) for k in range(8) for _ in range(3)]
    np.testing.assert_allclose(rhos, want)


def libraries():
    yield np.asarray
    yield lambda x: array_api_strict.asarray(np.array(x))
    if find_spec("torch") is not None:
        yield import_module("torch").asarray


@pytest.mark.parametrize("loss", ["l1", "squared", "logistic", "linf", "capped_l1"])
@every_preset
def test_one_path_on_every_library_batched_or_looped(engine, loss):
    A, b = draw(6, 20, 15)
    V0 = factors(15, 3, 5)
    paths = []
    for asarray in libraries():
        compiled = compiled_of(asarray(A), asarray(b), loss)
        batch = engine.start_from(compiled, V0)
        paths.append([to_numpy(V) for V in walk(batch, 20)])
        alone = [[to_numpy(V)[0] for V in walk(engine.start_from(compiled, v[None]), 20)] for v in V0]
        paths.append([np.stack(step) for step in zip(*alone, strict=True)])
    assert len(paths[0]) == 20
    for path in paths[1:]:
        np.testing.assert_allclose(path, paths[0], atol=1e-10, rtol=0)


@pytest.mark.parametrize("n", [10, 30])
@pytest.mark.parametrize("seed", [7, 17])
@pytest.mark.parametrize("engine", [DCRA(), STEADY, DCRA.paper()], ids=["default", "steady", "paper"])
def test_one_answer_on_every_library_batched_or_looped(engine, seed, n):
    A, b = draw(seed, n, n)
    V0 = factors(n, 2, 5)
    compiled = compiled_of(A, b)
    looped = np.concatenate([finish(engine.start_from(compiled, v[None])) for v in V0])
    for asarray in libraries():
        compiled = compiled_of(asarray(A), asarray(b))
        np.testing.assert_array_equal(finish(engine.start_from(compiled, V0)), looped)


@every_preset
@pytest.mark.parametrize("loss", ["l1", "squared", "huber", "hinge", "quantile", "logistic"])
def test_compiled_loops_give_the_same_answer(engine, loss):
    A, b = draw(8, 15, 12)
    plain, loops = (compiled_of(A, b, loss, loops, linear=0.2 * b[:12]) for loops in (False, True))
    starts = Starts(0, 0, 4)
    np.testing.assert_array_equal(finish(engine.start(loops, starts)), finish(engine.start(plain, starts)))


def test_storages_give_one_answer():
    A, b = draw(8, 20, 20)
    V0 = factors(20)
    stored = (A, np.asfortranarray(A), sparse.csr_array(A))
    dense, *others = (finish(STEADY.start_from(compiled_of(given, b), V0)) for given in stored)
    for answer in others:
        np.testing.assert_array_equal(answer, dense)


def test_float32_is_kept():
    A, b = draw(9)
    state = DCRA().start(compiled_of(A.astype(np.float32), b), Starts(0, 0, 2))
    state.advance(10**4)
    assert all(part.dtype in (np.float32, bool) for part in state.iterate)


def test_reflecting_b_reflects_x():
    A, b = draw(10, 20, 18)
    V0 = factors(18)
    mirrored = V0 * np.where(np.arange(19) == 0, 1.0, -1.0)
    x = finish(STEADY.start_from(compiled_of(A, b), V0))
    np.testing.assert_array_equal(finish(STEADY.start_from(compiled_of(A, -b), mirrored)), -x)


def test_permuting_columns_permutes_x(rng):
    A, b = draw(11, 20, 18)
    V0 = factors(18)
    order = rng.permutation(18)
    x = finish(STEADY.start_from(compiled_of(A, b), V0))
    moved = finish(STEADY.start_from(compiled_of(A[:, order], b), V0[..., np.append(0, 1 + order)]))
    np.testing.assert_array_equal(moved, x[:, order])


def test_flipping_signs_of_columns_flips_x(rng):
    A, b = draw(12, 20, 18)
    V0 = factors(18)
    signs = np.where(rng.random(18) < 0.5, -1.0, 1.0)
    x = finish(STEADY.start_from(compiled_of(A, b), V0))
    flipped = finish(STEADY.start_from(compiled_of(A * signs, b), V0 * np.append(1.0, signs)))
    np.testing.assert_array_equal(flipped, x * signs)


def test_rotating_the_factor_changes_nothing(rng):
    A, b = draw(13, 20, 18)
    V0 = factors(18)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    x = finish(STEADY.start_from(compiled_of(A, b), V0))
    np.testing.assert_array_equal(finish(STEADY.start_from(compiled_of(A, b), Q @ V0)), x)


@pytest.mark.parametrize("method", ["dcra", "sweep", DCRA(), "flip"])
@pytest.mark.parametrize("loss", ["l1", "squared", "linf", "quantile"])
@pytest.mark.parametrize("exponent", [-9, 4])
def test_powers_of_two_change_nothing(method, loss, exponent):
    A, b = draw(14, 14, 12)
    scale = 2.0**exponent
    plain = dcra.minimize(A, b, loss, method=method, starts=2, seed=3)
    scaled = dcra.minimize(scale * A, scale * b, loss, method=method, starts=2, seed=3)
    np.testing.assert_array_equal(scaled.x, plain.x)
    assert scaled.fun == plain.fun * (scale**2 if loss == "squared" else scale)


def test_rank_is_capped_only_when_left_alone():
    A, b = draw(15, 4, 2)
    compiled = compiled_of(A, b)
    for engine in PRESETS.values():
        assert engine.start(compiled, Starts(0, 0, 1)).iterate.V.shape == (1, 3, 3)
    with pytest.raises(ValueError, match=r"`rank` must be at most n \+ 1 = 3; got 5"):
        DCRA(rank=5).start(compiled, Starts(0, 0, 1))
    wide = compiled_of(*draw(15, 4, 8))
    for engine in PRESETS.values():
        assert engine.start(wide, Starts(0, 0, 1)).iterate.V.shape == (1, 5, 9)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"rank": 1}, "`rank` must be at least 2 .*; got 1"),
        ({"rank": 0}, "`rank` must be at least 2 .*; got 0"),
        ({"rho_growth": 1.0}, "`rho_growth` must exceed 1; got 1.0"),
        ({"curvature": "nrom"}, "`curvature` must be a number, 'norm', 'half norm' or 'auto'; got 'nrom'"),
    ],
)
def test_bad_options(options, match):
    with pytest.raises(ValueError, match=match):
        DCRA(**options)


def test_starts_are_drawn_on_the_host():
    A, b = draw(16)
    state = DCRA(rank=3).start(compiled_of(array_api_strict.asarray(A), b), Starts(4, 2, 2))
    want = np.stack([lift.random_factor(3, 10, 4, i) for i in (2, 3)])
    np.testing.assert_array_equal(to_numpy(state.iterate.V), want)


@every_preset
def test_rows_that_no_x_changes(engine):
    """All-zero A: the smoothed value is a constant of the batch's shape, on every library."""
    for asarray in libraries():
        compiled = compiled_of(asarray(np.zeros((2, 4))), asarray(np.ones(2)))
        assert np.isin(finish(engine.start(compiled, Starts(0, 0, 2))), (-1.0, 1.0)).all()


def test_steps_that_rounding_forbids_do_not_go_on_for_ever():
    """In float32 the descent inequality can fail at every step; L then grew, and nothing ever ended."""
    A = np.array(
        [
            [0, 2, 0, -1, 0, -1, 1, 2, -2],
            [-2, -2, -2, 2, 2, 0, 0, 2, 0],
            [-2, 2, -1, -2, -2, 2, -1, 0, 2],
            [0, -2, 0, 1, 2, 1, 2, 2, 0],
            [1, 2, -1, -1, -2, -1, -1, -1, 2],
            [1, 0, 2, 0, 0, 2, -2, -2, 1],
            [0, -1, 0, -2, 2, 0, 1, -2, -2],
            [0, 2, 1, -2, 1, -2, 2, 1, -1],
        ]
    )
    b = np.array([-11, 12, -22, -24, 16, 22, 6, 22]) / 10
    problem = Problem([Term("linf", (A / 10).astype(np.float32), b, 1e6)])
    state = DCRA().start(compile_problem(problem), Starts(10, 0, 2))
    for _ in range(4000):
        state.advance(1)
    assert state.done


def test_a_curvature_that_underflows_can_grow():
    """Beside a linear part of 1e15 the curvature of a tiny loss is zero in float32, and stayed it."""
    A = np.array([[5.1e-31, 2.8e-31, -4.1e-31, -2.9e-31, 1.4e-30]], np.float32)
    c = np.array([1.36e15, -1.63e15, 1.27e15, -1.04e15, 4.0e15])
    state = DCRA().start(compiled_of(A, np.array([-1.4e-5]), "hinge", linear=c), Starts(8, 0, 2))
    for _ in range(20_000):
        state.advance(1)
    assert state.done
