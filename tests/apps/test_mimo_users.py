"""MIMO as users have it: a channel for each frame, noise for each antenna, other constellations, labels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import dcra
from dcra.apps import mimo
from dcra.apps.mimo.constellations import LABELS, constellation_of, nr_table


def noisy(rng, H, symbols, noise):
    shape = (H.shape[-2], symbols.shape[1])
    e = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return np.einsum("...rs,sk->rk", H, symbols) + np.sqrt(noise / 2) * e


def draw(rng, name, n, k, labels="gray"):
    kind = constellation_of(name, labels)
    bits = rng.integers(0, 2, (n, k, kind.bits_per_symbol))
    levels = kind.from_bits(np.moveaxis(bits, 1, 0))
    return bits, np.moveaxis(kind.symbols(levels), 0, 1)


def test_one_channel_for_each_frame():
    rng = np.random.default_rng(0)
    k = 6
    H = np.stack([mimo.iid_channel(6, 4, rng) for _ in range(k)])
    bits, symbols = draw(rng, "16qam", 4, k)
    y = np.stack([h @ s for h, s in zip(H, symbols.T, strict=True)], axis=1)
    y = y + 0.01 * rng.standard_normal(y.shape)
    found = mimo.detect(H, y, 0.0001, "16qam", seed=0)
    assert np.array_equal(found.bits, bits)
    assert found.proven.shape == found.fun.shape == (k,)
    for f in range(k):
        alone = mimo.detect(H[f], y[:, f], 0.0001, "16qam", seed=0)
        assert np.array_equal(found.symbols[:, f], alone.symbols)
    soft = mimo.detect(H, y, 0.0001, "16qam", soft=True, seed=0)
    assert soft.llrs.shape == bits.shape
    with pytest.raises(ValueError, match=r"`y` must have shape \(6, 6\), a column for each channel"):
        mimo.detect(H, y[:, :2], None, "16qam")


def test_noise_for_each_antenna_is_maximum_likelihood():
    rng = np.random.default_rng(1)
    noise = np.array([1e-4, 1e-4, 1e-4, 25.0])
    H = mimo.iid_channel(4, 3, rng)
    points = constellation_of("qpsk").symbols(np.array(list(product((-1.0, 1.0), repeat=6))))
    wrong = 0
    for _ in range(20):
        _, s = draw(rng, "qpsk", 3, 1)
        e = np.sqrt(noise / 2)[:, None] * (rng.standard_normal((4, 1)) + 1j * rng.standard_normal((4, 1)))
        y = (H @ s + e)[:, 0]
        best = points[np.argmin(np.sum(np.abs(points @ H.T - y) ** 2 / noise, axis=1))]
        found = mimo.detect(H, y, noise, "qpsk", seed=0)
        assert np.allclose(found.symbols, best)
        wrong += not np.allclose(mimo.detect(H, y, None, "qpsk", seed=0).symbols, best)
    assert wrong > 0  # it makes a difference


@pytest.mark.parametrize("name", ["256qam", "256-QAM"])
def test_256_points(name):
    rng = np.random.default_rng(2)
    H = mimo.iid_channel(8, 6, rng)
    bits, s = draw(rng, "256qam", 6, 5)
    found = mimo.detect(H, noisy(rng, H, s, 1e-6), 1e-6, name, seed=0)
    assert np.array_equal(found.bits, bits)


def test_256_points_against_all_frames():
    rng = np.random.default_rng(12)
    kind = constellation_of("256qam")
    every = kind.symbols(np.array(list(product(kind.choices, repeat=4))))
    H = mimo.iid_channel(3, 2, rng)
    y = noisy(rng, H, draw(rng, "256qam", 2, 3)[1], 0.05)
    found = mimo.detect(H, y, 0.05, "256QAM", seed=0)
    best = [np.min(np.sum(np.abs(every @ H.T - frame) ** 2, axis=1)) for frame in y.T]
    assert found.fun == pytest.approx(best)
    assert found.proven.all()


@pytest.mark.parametrize("name", ["QPSK", "16-QAM", "64Qam", "BPSK", "4QAM"])
def test_names_in_any_case(name):
    plain = {"QPSK": "qpsk", "16-QAM": "16qam", "64Qam": "64qam", "BPSK": "bpsk", "4QAM": "qpsk"}
    assert constellation_of(name).name == plain[name]


def nr_symbols(bits):
    """3GPP TS 38.211, 5.1.3 to 5.1.6, written out."""
    b = 1 - 2 * bits
    if bits.shape[-1] == 2:
        return (b[..., 0] + 1j * b[..., 1]) / np.sqrt(2)
    if bits.shape[-1] == 4:
        return (b[..., 0] * (2 - b[..., 2]) + 1j * b[..., 1] * (2 - b[..., 3])) / np.sqrt(10)
    if bits.shape[-1] == 6:
        re = b[..., 0] * (4 - b[..., 2] * (2 - b[..., 4]))
        im = b[..., 1] * (4 - b[..., 3] * (2 - b[..., 5]))
        return (re + 1j * im) / np.sqrt(42)
    re = b[..., 0] * (8 - b[..., 2] * (4 - b[..., 4] * (2 - b[..., 6])))
    im = b[..., 1] * (8 - b[..., 3] * (4 - b[..., 5] * (2 - b[..., 7])))
    return (re + 1j * im) / np.sqrt(170)


@pytest.mark.parametrize("name", ["qpsk", "16qam", "64qam", "256qam"])
def test_labels_of_3gpp(name):
    kind = constellation_of(name, "3gpp")
    bits = np.array(list(product((0, 1), repeat=kind.bits_per_symbol)))[:, None, :]
    symbols = kind.symbols(kind.from_bits(bits))
    assert symbols[:, 0] == pytest.approx(nr_symbols(bits)[:, 0])
    assert np.array_equal(kind.bits(kind.from_bits(bits)), bits)
    assert len(nr_table(kind.q)) == kind.q


def test_labels_reach_bits_and_ratios():
    rng = np.random.default_rng(3)
    H = mimo.iid_channel(6, 4, rng)
    bits, s = draw(rng, "64qam", 4, 4, "3gpp")
    y = noisy(rng, H, s, 1e-5)
    found = mimo.detect(H, y, 1e-5, "64qam", labels="3gpp", soft=True, seed=0)
    assert np.array_equal(found.bits, bits)
    assert np.array_equal(found.llrs < 0, bits == 1)
    assert np.array_equal(mimo.detect(H, y, 1e-5, "64qam", labels="3gpp", seed=0).bits, bits)
    assert LABELS == ("gray", "3gpp")


@pytest.mark.parametrize("loss", ["squared", "l1"])
def test_phases_against_all_frames(loss):
    rng = np.random.default_rng(4)
    H = mimo.iid_channel(4, 3, rng)
    kind = mimo.alphabet(np.exp(1j * np.pi * (2 * np.arange(8) + 1) / 8))
    every = kind.points[np.array(list(product(range(8), repeat=3)))]
    y = noisy(rng, H, kind.points[rng.integers(0, 8, (3, 6))], 0.3)
    found = mimo.detect(H, y, 0.3, "8-PSK", loss, seed=0)
    e = every @ H.T - y.T[:, None, :]
    parts = np.concatenate([e.real, e.imag], axis=-1)
    values = (parts**2 if loss == "squared" else np.abs(parts)).sum(axis=-1)
    assert found.fun == pytest.approx(values.min(axis=1))
    assert found.proven.all()
    assert found.bits.shape == (3, 6, 3)


def test_points_of_ones_own(compiled_loops):
    """Too many frames to try them all: a choice for each symbol."""
    rng = np.random.default_rng(5)
    points = np.concatenate([np.exp(2j * np.pi * np.arange(6) / 6), [0.0, 2.0]])
    bits = (np.arange(8)[:, None] >> np.arange(3)) & 1
    kind = mimo.alphabet(points, bits)
    H = mimo.iid_channel(10, 7, rng)
    index = rng.integers(0, 8, (7, 3))
    found = mimo.detect(H, noisy(rng, H, points[index], 1e-4), 1e-4, kind, seed=0)
    assert np.allclose(found.symbols, points[index])
    assert np.array_equal(found.bits, bits[index])
    assert np.array_equal(kind.from_bits(bits[index]), index)
    assert not found.proven.any()


def test_single_precision_and_time_limits():
    rng = np.random.default_rng(6)
    H = mimo.iid_channel(6, 4, rng)
    _, s = draw(rng, "qpsk", 4, 8)
    y = noisy(rng, H, s, 0.01)
    found = mimo.detect(H.astype(np.complex64), y.astype(np.complex64), 0.01, seed=0)
    assert found.symbols.dtype == np.complex64
    assert mimo.detect(H, y, 0.01, seed=0).symbols.dtype == np.complex128
    timed = mimo.detect(H, y, 0.01, seed=0, time_limit=1e-9)
    assert timed.status == "time_limit"
    assert timed.symbols.shape == s.shape
    robust = mimo.detect(H, y, 0.01, "qpsk", "l1", seed=0, time_limit=1e-9)
    assert robust.status == "time_limit"
    assert mimo.detect(H, y, 0.01, "8psk", seed=0, time_limit=1e-9).status == "time_limit"


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        (
            {"labels": "grey"},
            ValueError,
            "`labels` must be one of gray, 3gpp; .* mean 'gray'",
        ),
        ({"constellation": "8psk", "labels": "3gpp"}, ValueError, "`labels` goes with grids"),
        (
            {"constellation": "8psk", "soft": True},
            ValueError,
            "`soft=True` needs a .* grid",
        ),
        ({"constellation": "32qam"}, ValueError, "`constellation` must be one of bpsk, .*8psk; got '32qam'"),
        ({"noise": [1.0, 2.0]}, ValueError, r"`noise` must be a number or have shape \(4,\); got \(2,\)"),
        ({"noise": [1.0, 0.0, 1.0, 1.0]}, ValueError, "`noise` must hold positive variances"),
        ({"time_limit": -1}, ValueError, "`time_limit` must be positive"),
    ],
)
def test_bad_requests(options, error, match):
    with pytest.raises(error, match=match):
        mimo.detect(np.eye(4), np.ones(4), **options)


def test_a_user_may_draw_what_can_be_detected():
    """Frames of every kind of constellation, with its own energy and labels, and detection of them."""
    rng = np.random.default_rng(7)
    H = mimo.iid_channel(8, 3, rng)
    own = mimo.alphabet([3, 3j, -3], [[0, 0], [0, 1], [1, 1]])
    for kind, labels in (("8-PSK", None), (own, None), ("16qam", "3GPP"), ("16qam", None)):
        sent = mimo.transmit(H, 40.0, kind, frames=4, rng=rng, labels=labels)
        found = mimo.detect(H, sent.y, sent.noise, kind, labels=labels, seed=0)
        assert np.array_equal(found.bits, sent.bits)
        assert np.allclose(found.symbols, sent.symbols)
        assert len(sent.levels) == 4
    quiet, loud = (mimo.transmit(H, 10.0, k, rng=rng).noise for k in ("qpsk", own))
    assert loud == pytest.approx(9 * quiet)


def test_huber_of_points_takes_its_threshold_from_residuals():
    """Among all frames the best one, by the threshold that an l1 fit leaves."""
    rng = np.random.default_rng(8)
    H = mimo.iid_channel(6, 3, rng)
    sent = mimo.transmit(H, 20.0, "8psk", frames=5, impulsive=True, rng=rng)
    every = mimo.alphabet(np.exp(1j * np.pi * (2 * np.arange(8) + 1) / 8))
    symbols = every.points[np.array(list(product(range(8), repeat=3)))]
    found = mimo.detect(H, sent.y, sent.noise, "8psk", "huber", seed=0)
    first = mimo.detect(H, sent.y, sent.noise, "8psk", "l1", seed=0)

    def parts(s):
        e = s @ H.T - sent.y.T[:, None, :]
        return np.concatenate([e.real, e.imag], axis=-1)

    scale = 1.345 * 1.4826 * np.median(np.abs(parts(first.symbols.T[:, None, :])))
    a = np.abs(parts(symbols))
    values = np.where(a <= scale, a**2 / 2, scale * (a - scale / 2)).sum(axis=-1)
    assert found.fun == pytest.approx(values.min(axis=1))


def test_time_limits_reach_the_search_for_points(monkeypatch):
    rng = np.random.default_rng(9)
    sent = mimo.transmit(mimo.iid_channel(12, 10, rng), 20.0, "8psk", frames=2, rng=rng)
    limits, solve = [], dcra.api.solve

    def seen(problem, **options):
        limits.append(options["time_limit"])
        return solve(problem, **options)

    monkeypatch.setattr(dcra.api, "solve", seen)
    mimo.detect(sent.H, sent.y, sent.noise, "8psk", seed=0, time_limit=1000)
    assert len(limits) == 2
    assert 0 < limits[1] < limits[0] < 1000


@pytest.mark.parametrize("kind", ["qpsk", "8psk"])
def test_what_does_not_fit_is_said_for_grids_and_for_points(kind):
    with pytest.raises(ValueError, match=r"`y` must have shape \(4,\), or \(4, k\) .* got \(3, 2\)"):
        mimo.detect(np.eye(4), np.ones((3, 2)), None, kind)
    with pytest.raises(ValueError, match=r"`H` must have shape \(n_receive, n_send\)"):
        mimo.detect(np.ones(4), np.ones(4), None, kind)
    with pytest.raises(ValueError, match=r"`noise` must be a positive variance; got -1"):
        mimo.detect(np.eye(4), np.ones(4), -1.0, kind)
    with pytest.raises(ValueError, match=r"`noise` must be a number or have shape \(4,\); got \(4, 2\)"):
        mimo.detect(np.eye(4), np.ones((4, 2)), np.ones((4, 2)), kind)
    for chunk in (None, 1):
        with pytest.raises(ValueError, match=r"`y` must have shape \(4, 2\), a column for each channel"):
            mimo.detect(np.ones((2, 4, 4)), np.ones((4, 3)), None, kind, chunk=chunk)
        with pytest.raises(ValueError, match=r"`H` must have shape \(k, n_receive, n_send\), none of them 0"):
            mimo.detect(np.ones((0, 4, 4)), np.ones((4, 0)), None, kind, chunk=chunk)
        with pytest.raises(ValueError, match=r"`y` must have shape \(4,\), or \(4, k\) .* got \(4, 0\)"):
            mimo.detect(np.eye(4), np.ones((4, 0)), None, kind, chunk=chunk)
        for masked in ("H", "y"):
            given = {"H": np.eye(4), "y": np.ones((4, 2))}
            given[masked] = np.ma.masked_equal(given[masked], 1)
            with pytest.raises((TypeError, ValueError), match=f"`{masked}`.*mask"):
                mimo.detect(**given, constellation=kind, chunk=chunk)
    for scale in (1e-310, 1e160):
        with pytest.raises(ValueError, match="`H` must hold numbers whose squares float64 can sum"):
            mimo.detect(scale * np.eye(4), np.ones(4), None, kind)
    assert mimo.detect(np.eye(4), np.ones(4), np.array(0.1), kind, seed=0).symbols.shape == (4,)


def test_names_of_constellations():
    with pytest.raises(TypeError, match=r"`constellation` must be a name, such as bpsk, .*; got list"):
        mimo.detect(np.eye(4), np.ones(4), None, [1, -1])
    with pytest.raises(ValueError, match=r"`constellation` must be a grid here, one of bpsk.*; 8psk is none"):
        mimo.received(np.eye(4), np.ones(4), "8psk", None)
    with pytest.raises(TypeError, match=r"`constellation` must be a grid here, .*; got Alphabet"):
        mimo.received(np.eye(4), np.ones(4), mimo.alphabet([1, -1]), None)


def test_bad_alphabets():
    with pytest.raises(ValueError, match=r"`bits` must be those of points .*; none has \[1, 1\]"):
        mimo.alphabet([1, 2, 3]).from_bits([[0, 1], [1, 1]])
    with pytest.raises(TypeError, match="`points` must be a vector of at least two complex numbers"):
        mimo.alphabet([1.0])
    with pytest.raises(ValueError, match="`points` must be finite and all different"):
        mimo.alphabet([1.0, 1.0])
    with pytest.raises(ValueError, match="`bits` must hold a row of 0 and 1 for each of 2 points"):
        mimo.alphabet([1.0, -1.0], [[0], [2]])
    with pytest.raises(ValueError, match="`bits` must be different for all points"):
        mimo.alphabet([1.0, -1.0], [[0], [0]])
