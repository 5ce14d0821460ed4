"""MIMO detection: constellations, channels, exactness on small systems, soft answers, rivals."""

from __future__ import annotations

import itertools
import signal
from dataclasses import replace

import numpy as np
import pytest

import dcra
from dcra.apps import mimo
from dcra.apps.mimo import CONSTELLATIONS, alphabets, rival, robust
from dcra.apps.mimo.parallel import Threads
from dcra.apps.mimo.robust import as_problem
from dcra.losses import Huber, as_loss
from dcra.result import Status


def frames(name="qpsk", n_receive=6, n_send=6, snr=8.0, count=5, seed=0, **options):
    rng = np.random.default_rng(seed)
    H = mimo.iid_channel(n_receive, n_send, rng)
    return mimo.transmit(H, snr, name, frames=count, rng=rng, **options)


def model_of(sent, name="qpsk"):
    return mimo.received(sent.H, sent.y, name, sent.noise)[0]


def enumerated(model):
    """The levels of least |y - Hs|^2 of every frame."""
    points = np.array(list(itertools.product(model.constellation.choices, repeat=model.n)))
    values = np.sum((points @ model.G) * points, axis=1) - 2 * model.h @ points.T
    return points[np.argmin(values, axis=1)]


@pytest.mark.parametrize("kind", CONSTELLATIONS.values(), ids=lambda kind: kind.name)
def test_constellations(kind):
    rng = np.random.default_rng(0)
    levels = rng.choice(kind.choices, (3, kind.parts * 5))
    every = np.array(list(itertools.product(kind.choices, repeat=kind.parts)))
    assert np.mean(np.abs(kind.symbols(every)) ** 2) == pytest.approx(1)
    np.testing.assert_array_equal(kind.levels(kind.symbols(levels)), levels)
    np.testing.assert_array_equal(kind.from_bits(kind.bits(levels)), levels)
    np.testing.assert_array_equal(kind.from_spins(kind.spins(levels)), levels)
    assert kind.bits(levels).shape == (3, 5, kind.bits_per_symbol)
    neighbours = kind.bits(np.repeat(kind.choices, kind.parts).reshape(kind.q, -1))
    assert np.abs(np.diff(neighbours.reshape(kind.q, -1), axis=0)).sum() == kind.parts * (kind.q - 1)
    sure = np.eye(kind.q)[kind.index(levels)]
    np.testing.assert_array_equal(kind.llrs(sure) < 0, kind.bits(levels) == 1)


@pytest.mark.parametrize("name", ["qpsk", "16qam", "64qam"])
def test_levels_are_bounded_integers(name):
    """Their spins are the bits of `dcra.integers(0, q - 1)`, most significant first, and mean the same."""
    sent = frames(name, 3, 2)
    model = model_of(sent, name)
    kind, H = model.constellation, model.real_channel
    parts = {"loss": "squared", "A": 2 * H, "b": model.real_y[0] + (kind.q - 1) * H.sum(axis=1)}
    whole = dcra.IntegerProblem([dcra.Term(**parts)], domain=dcra.integers(0, kind.q - 1))
    for levels in np.random.default_rng(0).choice(kind.choices, (5, model.n)):
        spins = kind.spins(levels)
        bits = whole.encode("x", kind.index(levels).astype(float))
        ours = (spins.reshape(kind.digits, -1)[::-1].T.ravel() + 1) / 2
        np.testing.assert_array_equal(ours, bits.ravel())
        value = as_problem(model, 0).objective(spins)
        assert value == pytest.approx(whole.objective(kind.index(levels).astype(float)))
        assert value == pytest.approx(whole.bits.objective(bits.ravel()))


def test_the_template_has_the_same_values():
    sent = frames("16qam", 4, 3, count=2)
    model = model_of(sent, "16qam")
    problem = as_problem(model, 1)
    spins = model.constellation.spins(sent.levels)
    assert problem.objective(spins[1]) == pytest.approx(model.objective(sent.levels)[1])
    u = sent.levels[1]
    gram = u @ model.G @ u - 2 * model.h[1] @ u + np.sum(np.abs(model.y[1]) ** 2)
    assert gram == pytest.approx(model.objective(sent.levels)[1])


def test_channels_and_noise_are_what_they_say():
    rng = np.random.default_rng(0)
    H = mimo.correlated_channel(60, 60, 0.7, rng)
    assert abs(np.corrcoef(H[:, 10], H[:, 11])[0, 1]) > 0.5
    assert np.mean(np.abs(H) ** 2) == pytest.approx(2, rel=0.2)
    for draw in (mimo.gaussian_noise, mimo.impulsive_noise):
        noise = draw((100_000,), 3.0, rng)
        assert np.mean(np.abs(noise) ** 2) == pytest.approx(3, rel=0.05)
    H = mimo.iid_channel(200, 200, rng)
    assert mimo.noise_variance(H, 10.0) == pytest.approx(2 * 200 / 10, rel=0.02)
    with pytest.raises(ValueError, match="`rho` must lie between -1 and 1; got 1"):
        mimo.correlated_channel(2, 2, 1, rng)


@pytest.mark.parametrize(
    ("name", "n_receive", "n_send"),
    [("bpsk", 8, 10), ("qpsk", 5, 5), ("qpsk", 3, 5), ("16qam", 3, 2), ("64qam", 2, 1), ("16qam", 1, 2)],
)
@pytest.mark.parametrize("snr", [4.0, 14.0])
def test_small_systems_are_solved_exactly(name, n_receive, n_send, snr):
    sent = frames(name, n_receive, n_send, snr)
    model = model_of(sent, name)
    best = enumerated(model)
    found = mimo.detect(sent.H, sent.y, sent.noise, name, seed=0)
    np.testing.assert_array_equal(model.constellation.levels(found.symbols.T), best)
    np.testing.assert_array_equal(rival("sphere")(model), best)
    np.testing.assert_allclose(found.fun, model.objective(best))
    assert found.proven.all()


@pytest.mark.parametrize("name", CONSTELLATIONS)
def test_frames_have_the_bits_that_detection_reports(name):
    sent = frames(name, 6, 4, 60.0, count=3)
    found = mimo.detect(sent.H, sent.y, sent.noise, name, seed=0)
    assert sent.bits.shape == (4, 3, CONSTELLATIONS[name].bits_per_symbol)
    np.testing.assert_array_equal(found.symbols, sent.symbols)
    np.testing.assert_array_equal(found.bits, sent.bits)


@pytest.mark.parametrize(
    ("n", "options", "stages"),
    [
        (4, {}, "k-best, sphere"),
        (4, {"soft": True}, "k-best, sphere, sampling"),
        (4, {"loss": "l1"}, "enumerate"),
        (20, {"loss": "l1"}, "auto"),
        (40, {}, "matched filter, annealing, sampling"),
    ],
)
def test_detection_says_what_was_run(n, options, stages):
    sent = frames("qpsk", n, n, 30.0, count=1)
    found = mimo.detect(sent.H, sent.y, sent.noise, seed=0, **options)
    assert found.method == stages
    assert f"({stages}; {found.status.value})" in str(found)


@pytest.mark.parametrize("name", ["bpsk", "qpsk"])
def test_what_one_frame_is_drowned_in_proves_nothing_about_another(name):
    """The noise is guessed from all frames; it must not swallow the channel of those without any."""
    H = np.array([[1e6 + 2j, -2 + 2j]])
    kind = CONSTELLATIONS[name]
    symbols = kind.symbols(np.array(list(itertools.product(kind.choices, repeat=kind.parts))))[:, 0]
    points = np.array(list(itertools.product(symbols, repeat=2))).T
    y = np.hstack([[[1e12 + 4j]], H @ points])
    found = mimo.detect(H, y, None, name, seed=1)
    losses = np.sum(np.abs(H @ points - y[:, :, None].transpose(1, 0, 2)) ** 2, axis=1)
    assert np.all(~found.proven | (found.fun <= losses.min(axis=1) + 0.1))


def test_one_frame_or_many():
    sent = frames("16qam", 4, 4, 20.0, count=3)
    many = mimo.detect(sent.H, sent.y, sent.noise, "16qam", seed=0)
    one = mimo.detect(sent.H, sent.y[:, 1], sent.noise, "16qam", seed=0)
    assert many.symbols.shape == (4, 3)
    assert many.bits.shape == (4, 3, 4)
    assert many.spins.shape == (16, 3)
    np.testing.assert_array_equal(one.symbols, many.symbols[:, 1])
    np.testing.assert_array_equal(one.bits, many.bits[:, 1])
    assert one.proven is True
    assert isinstance(one.fun, float)
    assert str(many).startswith("3 frames of 4 symbols, mean loss ")


def test_the_answer_does_not_depend_on_the_number_of_threads():
    sent = frames("qpsk", 40, 40, 6.0, count=4)
    one, two = (mimo.detect(sent.H, sent.y, sent.noise, seed=3, soft=True, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.llrs, two.llrs)
    np.testing.assert_array_equal(one.bits, two.bits)


@pytest.mark.usefixtures("compiled_loops")
def test_large_frames_beat_the_sent_one():
    """More unknowns than float64 is used for; the likeliest frame is at least as likely as the one sent."""
    sent = frames("qpsk", 280, 280, 8.0, count=1)
    found = mimo.detect(sent.H, sent.y, sent.noise, seed=0)
    model = model_of(sent)
    assert found.fun[0] <= model.objective(sent.levels)[0]
    wrong = np.mean(found.bits[:, 0] != model.constellation.bits(sent.levels)[0])
    assert wrong < 0.5 * np.mean(rival("mmse")(model) != sent.levels)


def test_soft_answers_are_posterior_probabilities():
    sent = frames("qpsk", 4, 4, 4.0, count=4)
    model = model_of(sent)
    points = np.array(list(itertools.product([-1.0, 1.0], repeat=8)))
    found = mimo.detect(sent.H, sent.y, sent.noise, seed=0, soft=True)
    for f in range(4):
        values = np.sum(np.abs(model.y[f] - model.constellation.symbols(points) @ sent.H.T) ** 2, axis=1)
        weights = np.exp((values.min() - values) / sent.noise)
        up = np.array([weights[points[:, i] > 0].sum() for i in range(8)]) / weights.sum()
        exact = model.constellation.llrs(np.stack([1 - up, up], axis=-1))
        mild = np.abs(exact) < 3
        np.testing.assert_allclose(found.llrs[:, f][mild], exact[mild], atol=0.5)


@pytest.mark.parametrize("loss", ["l1", "huber", dcra.losses.Huber(0.5)])
def test_impulsive_noise_wants_another_loss(loss):
    sent = frames("qpsk", 16, 12, 8.0, count=20, impulsive=True)
    truth = sent.bits
    robust = mimo.detect(sent.H, sent.y, sent.noise, loss=loss, seed=0)
    plain = mimo.detect(sent.H, sent.y, sent.noise, seed=0)
    assert np.mean(robust.bits != truth) < 0.7 * np.mean(plain.bits != truth)
    soft = mimo.detect(sent.H, sent.y, sent.noise, loss=loss, seed=0, soft=True)
    assert np.mean(soft.bits != truth) < 0.7 * np.mean(plain.bits != truth)


@pytest.mark.parametrize("name", mimo.RIVALS)
def test_rivals_find_clear_frames(name):
    sent = frames("16qam", 8, 6, 30.0, count=4)
    np.testing.assert_array_equal(rival(name)(model_of(sent, "16qam")), sent.levels)


def test_a_frame_without_noise_given():
    sent = frames("qpsk", 12, 8, 15.0, count=3)
    found = mimo.detect(sent.H, sent.y, seed=0, soft=True)
    np.testing.assert_allclose(found.symbols, sent.symbols)


def test_bad_input():
    H, y = np.ones((4, 3)), np.ones(4)
    with pytest.raises(ValueError, match=r"`y` must have shape \(4,\), or \(4, k\) for k frames.*got \(3,\)"):
        mimo.detect(H, np.ones(3))
    with pytest.raises(ValueError, match=r"Did you mean `y.T`\?"):
        mimo.detect(H, np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"`H` must have shape \(n_receive, n_send\)"):
        mimo.detect(np.ones(4), y)
    with pytest.raises(ValueError, match="`H` must be finite"):
        mimo.detect(np.where(H == 1, np.nan, H), y)
    with pytest.raises(ValueError, match="`y` must be finite"):
        mimo.detect(H, np.full(4, np.inf))
    with pytest.raises(TypeError, match="`H` must hold numbers"):
        mimo.detect([["a"]], y)
    with pytest.raises(ValueError, match=r"`constellation` must be one of bpsk, qpsk, .*8psk; got '17qam'"):
        mimo.detect(H, y, constellation="17qam")
    with pytest.raises(ValueError, match="`noise` must be a positive variance; got 0"):
        mimo.detect(H, y, noise=0)
    with pytest.raises(TypeError, match="`noise` must be one number"):
        mimo.detect(H, y, noise="loud")
    with pytest.raises(ValueError, match="`n_jobs` must be at least 1, or -1 for all cores; got 0"):
        mimo.detect(H, y, n_jobs=0)
    with pytest.raises(ValueError, match="`seed` must not be negative; got -1"):
        mimo.detect(H, y, seed=-1)
    with pytest.raises(ValueError, match="`loss` must be one of"):
        mimo.detect(H, y, loss="l3")
    with pytest.raises(ValueError, match="`rival` must be one of"):
        rival("zff")


def pressed(monkeypatch, after):
    """Ctrl-C during the piece of work of this number, counted from 0 over the whole detection."""
    from dcra.apps.mimo import parallel

    real, done = parallel.in_parallel, itertools.count()

    def interrupted(work, count, n_jobs, grain, stop):
        def counting(lo, hi):
            if next(done) == after:
                signal.raise_signal(signal.SIGINT)
            work(lo, hi)

        real(counting, count, n_jobs, grain, stop)

    monkeypatch.setattr(parallel, "GRAIN", 8)
    monkeypatch.setattr(parallel, "in_parallel", interrupted)


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize(
    ("n", "soft", "after"),
    [
        *((12, False, after) for after in (0, 12, 20, 21)),
        (12, True, 25),
        (70, False, 0),
        (70, False, 1),
        (70, True, 1),
    ],
)
def test_ctrl_c_returns_the_best_so_far(monkeypatch, n, soft, after):
    """In every stage: tree search, sphere search, annealing, sampling."""
    sent = frames("qpsk", n, n, 8.0, count=80 if n < 50 else 2)
    whole = mimo.detect(sent.H, sent.y, sent.noise, soft=soft, seed=0, n_jobs=1)
    pressed(monkeypatch, after)
    found = mimo.detect(sent.H, sent.y, sent.noise, soft=soft, seed=0, n_jobs=1)
    assert found.status is Status.INTERRUPTED
    assert whole.status is not Status.INTERRUPTED
    assert found.message.startswith("interrupted")
    assert found.symbols.shape == sent.symbols.shape
    np.testing.assert_allclose(
        found.fun, model_of(sent).objective(CONSTELLATIONS["qpsk"].levels(found.symbols.T))
    )
    assert np.mean(found.symbols != sent.symbols) < 0.6
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("count", [2, 6], ids=["one by one", "in lockstep"])
def test_ctrl_c_under_another_loss(monkeypatch, count):
    from dcra import api

    sent = frames("qpsk", 14, 13, 16.0, count=count)
    name = "minimize" if count == 2 else "minimize_batch"
    real = getattr(api, name)

    def interrupted(*args, **options):
        return replace(real(*args, **options), status=Status.INTERRUPTED)

    monkeypatch.setattr(api, name, interrupted)
    found = mimo.detect(sent.H, sent.y, sent.noise, loss="huber", soft=True, seed=0, n_jobs=1)
    assert found.status is Status.INTERRUPTED
    np.testing.assert_allclose(found.symbols[:, 0], sent.symbols[:, 0])
    assert np.isfinite(found.llrs).all()


@pytest.mark.parametrize("loss", ["l1", dcra.losses.Huber(0.4)], ids=["l1", "huber"])
def test_few_points_are_all_tried_under_any_loss(loss):
    """Fewer rows than unknowns: what is left of the loss is tiny, and descents stop elsewhere."""
    sent = frames("64qam", 1, 3, 8.0, count=6, impulsive=True)
    model = model_of(sent, "64qam")
    found = mimo.detect(sent.H, sent.y, sent.noise, "64qam", loss, seed=0)
    assert found.status is Status.OPTIMAL
    best = [dcra.solve(as_problem(model, f, loss), method="enumerate", seed=0).fun for f in range(6)]
    np.testing.assert_allclose(found.fun, best, atol=1e-12)


@pytest.mark.parametrize("name", ["k-best", "sphere"])
def test_ctrl_c_in_a_rival_raises(monkeypatch, name):
    sent = frames()
    pressed(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        rival(name)(model_of(sent))


@pytest.mark.parametrize("noise", [None, 1e-310])
def test_soft_answers_to_silence(noise):
    """The least noise to guess is that of rounding; what is known to be less is not sampled at."""
    H = np.array([[10 + 0j]])
    found = mimo.detect(H, np.zeros(1, complex), noise, "qpsk", soft=True, seed=0)
    assert np.all(np.isfinite(found.llrs))
    several = mimo.detect(np.stack([H, H]), np.array([[0, 10 + 0j]]), noise, "qpsk", soft=True, seed=0)
    assert np.all(np.isfinite(several.llrs))


def test_the_l1_fit_is_the_answer_where_time_ends_after_it(monkeypatch):
    model, threads, fit = model_of(frames(count=8)), Threads(), robust._fit
    l1 = fit(model, as_loss("l1"), 0, Threads())

    def ending(*asked):
        found = fit(*asked)
        threads.stop.why = Status.TIME_LIMIT
        return found

    monkeypatch.setattr(robust, "_fit", ending)
    found, loss = robust.fit_robustly(model, "huber", 0, threads)
    assert isinstance(loss, Huber)
    np.testing.assert_array_equal(found.levels, l1.levels)
    assert not found.sure.any()


def test_points_of_no_grid_keep_their_l1_fit_too(monkeypatch):
    sent, choose = frames("8psk", count=6), alphabets.choose
    threads, kind, Y = Threads(), alphabets.phases(8), sent.y.T
    l1 = choose(sent.H, Y, kind, as_loss("l1"), 0, Threads())

    def ending(*asked):
        found = choose(*asked)
        threads.stop.why = Status.TIME_LIMIT
        return found

    monkeypatch.setattr(alphabets, "choose", ending)
    found = alphabets.choose_by_huber(sent.H, Y, kind, 0, threads)
    np.testing.assert_array_equal(found.index, l1.index)
    assert np.all(found.fun <= l1.fun)  # Huber's loss of the same residuals


def test_a_batch_that_is_cut_short_says_so():
    sent = frames("16qam", 48, 24, count=60)
    assert (
        mimo.detect(sent.H, sent.y, sent.noise, "16qam", "l1", seed=0, time_limit=0.01).status == "time_limit"
    )
