"""The same codes wherever the samples lie."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest

from dcra.apps import SupervisedHashing
from dcra.apps.hashing import blocks, rounds
from dcra.apps.hashing.chunks import Chunks


@pytest.fixture
def small_blocks(monkeypatch):
    """Many blocks of few samples; features are made again at every pass."""
    monkeypatch.setattr(blocks.ranges, "__defaults__", (160, 0))
    monkeypatch.setattr(rounds, "SPAN", 320)
    monkeypatch.setattr(blocks, "CACHE", 0)


@pytest.fixture
def data(rng):
    y = rng.integers(0, 3, 500)
    return rng.normal(size=(3, 10))[y] + rng.normal(size=(500, 10)), y


@pytest.mark.parametrize("options", [{}, {"nu": 0.05}, {"target": "features"}, {"feature_map": "rbf"}])
def test_equal_codes_from_memory_file_and_dask(data, options, small_blocks, tmp_path, monkeypatch):
    dask = pytest.importorskip("dask.array")
    X, y = data
    model = SupervisedHashing(
        **({"n_bits": 6, "feature_map": "linear", "random_state": 1, "n_jobs": 2, "max_rounds": 1} | options)
    )
    memory = model.fit(X, y)
    codes, hashed, path = memory.codes_, memory.transform(X), memory.objective_path_
    file = np.memmap(tmp_path / "X.dat", X.dtype, "w+", shape=X.shape)
    file[:] = X
    lazy = dask.from_array(X, chunks=(150, 4))
    for source in (file, lazy):
        fitted = model.fit(source, dask.from_array(y) if source is lazy else y)
        np.testing.assert_array_equal(fitted.codes_, codes)
        assert fitted.objective_path_ == path
        np.testing.assert_array_equal(np.asarray(fitted.transform(source)), hashed)
    monkeypatch.setattr(blocks, "CACHE", 1 << 30)
    np.testing.assert_array_equal(model.fit(X, y).codes_, codes)


def test_transform_of_dask_is_lazy(data):
    dask = pytest.importorskip("dask.array")
    X, y = data
    fitted = SupervisedHashing(6, feature_map="linear", random_state=0).fit(X, y)
    lazy = fitted.transform(dask.from_array(X, chunks=(100, 10)))
    assert isinstance(lazy, dask.Array)
    assert lazy.dtype == np.int8
    assert lazy.chunks[0] == (100,) * 5
    with pytest.raises(ValueError, match="X has 9 features, but SupervisedHashing is expecting 10"):
        fitted.transform(dask.from_array(X[:, :9]))


def test_a_chunk_is_made_once_per_pass(data, small_blocks):
    """Two passes: the sample that the feature map is fitted to, and the sums for the hash function."""
    dask = pytest.importorskip("dask.array")
    X, y = data
    made = Counter()

    def chunk(first):
        made[int(first[0])] += 1
        return X[first[0] : first[0] + 50]

    firsts = dask.from_array(np.arange(0, 500, 50), chunks=1)
    lazy = firsts.map_blocks(chunk, new_axis=1, chunks=((50,) * 10, (10,)), meta=np.empty((0, 0)))
    SupervisedHashing(6, feature_map="linear", random_state=0, n_jobs=2).fit(lazy, y)
    assert len(made) == 10
    assert max(made.values()) <= 3  # the first one is also looked at for its width


@pytest.mark.parametrize("sizes", [(500,), (1, 0, 499), (160, 160, 180)])
@pytest.mark.parametrize("room", [0, 10**6])
def test_chunks_read_like_the_array(data, sizes, room):
    dask = pytest.importorskip("dask.array")
    X, _ = data
    chunks = Chunks(dask.from_array(X, chunks=(sizes, (4, 6))), 2, room)
    for rows in (slice(0, 1), slice(140, 330), slice(490, 500), np.array([0, 3, 160, 161, 499])):
        np.testing.assert_array_equal(chunks[rows], X[rows])


def test_the_chosen_scheduler_makes_the_chunks(data):
    dask = pytest.importorskip("dask")
    pytest.importorskip("dask.array")
    X, _ = data
    calls = []

    def scheduler(graph, keys, **options):
        calls.append(keys)
        return dask.get(graph, keys, **options)

    with dask.config.set(scheduler=scheduler):
        np.testing.assert_array_equal(Chunks(dask.array.from_array(X, chunks=100), 1, 0)[90:110], X[90:110])
    assert len(calls) == 2


def test_transform_sends_the_hash_function_alone(rng):
    """Learned codes are as many as the samples: no task may carry them."""
    dask = pytest.importorskip("dask.array")
    n = 30_000
    y = np.arange(n) % 3
    X = np.eye(3)[y] + 0.1 * rng.normal(size=(n, 3))
    fitted = SupervisedHashing(32, feature_map="linear", random_state=0).fit(X, y)
    lazy = fitted.transform(dask.zeros((10, 3)))
    assert len(pickle.dumps(dict(lazy.__dask_graph__()))) < fitted.codes_.nbytes / 10


def test_bad_values_are_found_when_they_are_read(data):
    dask = pytest.importorskip("dask.array")
    X, y = data
    X[400, 3] = np.inf
    with pytest.raises(ValueError, match="`X` must be finite"):
        SupervisedHashing(6, feature_map="linear").fit(dask.from_array(X, chunks=100), y)
    with pytest.raises(ValueError, match="known shape"):
        SupervisedHashing(6).fit(dask.from_array(X[:, 0], chunks=100), y)
    lazy = dask.from_array(X, chunks=100)
    with pytest.raises(ValueError, match="known shape"):
        SupervisedHashing(6).fit(lazy[lazy[:, 0] > 0], y)
