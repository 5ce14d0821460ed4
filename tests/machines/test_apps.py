"""Estimators and detection by executors: the answers of threads, and clones that share."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from dcra.apps import BinaryRegressor, SupervisedHashing, mimo


@pytest.fixture(params=["cluster", "processes"])
def executor(request):
    return request.getfixturevalue("client" if request.param == "cluster" else "pool")


def test_a_regression(executor):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 30))
    y = X @ rng.choice([-1.0, 1.0], 30) + rng.standard_normal(50)
    known = BinaryRegressor(starts=4, random_state=0, fit_intercept=True).fit(X, y)
    model = BinaryRegressor(starts=4, random_state=0, fit_intercept=True, executor=executor)
    twin = clone(model)
    assert twin.executor is executor
    assert twin.get_params().keys() == known.get_params().keys()
    assert np.array_equal(twin.fit(X, y).coef_, known.coef_)
    assert twin.intercept_ == known.intercept_


def test_hashing(executor):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = np.eye(3)[y] + 0.1 * rng.normal(size=(60, 3))
    known = SupervisedHashing(8, feature_map="linear", random_state=0).fit(X, y)
    model = clone(SupervisedHashing(8, feature_map="linear", random_state=0, executor=executor)).fit(X, y)
    assert np.array_equal(model.codes_, known.codes_)  # all in one chunk


@pytest.mark.parametrize("options", [{}, {"soft": True}, {"loss": "l1"}])
def test_detection(options, executor):
    rng = np.random.default_rng(0)
    sent = mimo.transmit(mimo.iid_channel(6, 6, rng), 10.0, "qpsk", frames=9, rng=rng)
    here = mimo.detect(sent.H, sent.y, sent.noise, seed=0, chunk=4, **options)
    there = mimo.detect(sent.H, sent.y, sent.noise, seed=0, chunk=4, executor=executor, **options)
    for name in ("symbols", "bits", "spins", "fun", "proven"):
        assert np.array_equal(getattr(here, name), getattr(there, name))
    assert (there.llrs is None) == ("soft" not in options)
    assert (here.status, here.method, there.bits.shape) == (there.status, there.method, (6, 9, 2))
    part = mimo.detect(sent.H, sent.y[:, 4:8], sent.noise, seed=0, **options)
    assert np.array_equal(part.symbols, here.symbols[:, 4:8])


@pytest.mark.parametrize("options", [{}, {"soft": True}, {"loss": "huber"}, {"constellation": "8psk"}])
@pytest.mark.parametrize("chunk", [1, 4, None])
def test_detection_through_a_channel_for_each_frame(options, chunk, executor):
    """Frames of channels of their own are decided alone: chunks do not change the answer."""
    rng = np.random.default_rng(1)
    kind = options.get("constellation", "qpsk")
    sent = [mimo.transmit(mimo.iid_channel(6, 4, rng), 8.0, kind, frames=1, rng=rng) for _ in range(9)]
    H, y = np.stack([one.H for one in sent]), np.concatenate([one.y for one in sent], axis=1)
    noise = np.linspace(0.1, 0.3, 6)
    known = mimo.detect(H, y, noise, seed=3, **options)
    assert known.symbols.shape == (4, 9)
    for other in (
        mimo.detect(H, y, noise, seed=3, chunk=chunk, executor=executor, **options),
        mimo.detect(H, y, noise, seed=3, chunk=chunk or 256, **options),
    ):
        for name in ("symbols", "bits", "spins", "fun", "proven"):
            assert np.array_equal(getattr(known, name), getattr(other, name))
        assert (known.llrs is None) == (other.llrs is None) == ("soft" not in options)
        assert known.llrs is None or np.array_equal(known.llrs, other.llrs)
        assert (known.status, known.method) == (other.status, other.method)


def test_one_frame_is_decided_here(executor):
    rng = np.random.default_rng(0)
    sent = mimo.transmit(mimo.iid_channel(6, 6, rng), 10.0, "qpsk", frames=1, rng=rng)
    one = mimo.detect(sent.H, sent.y[:, 0], sent.noise, seed=0, executor=executor)
    assert np.array_equal(one.symbols, mimo.detect(sent.H, sent.y[:, 0], sent.noise, seed=0).symbols)
