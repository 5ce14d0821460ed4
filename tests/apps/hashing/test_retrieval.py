"""Packed codes, search and metrics against plain loops and scikit-learn."""

from __future__ import annotations

import doctest
from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score, precision_recall_curve

from dcra import retrieval
from dcra.retrieval import codes, evaluate, metrics, search


@pytest.fixture
def problem(rng):
    queries, database = rng.choice([-1, 1], (12, 20)), rng.choice([-1, 1], (150, 20))
    return queries, database, rng.integers(0, 3, 12), rng.integers(0, 3, 150)


@pytest.mark.parametrize("n_bits", [1, 7, 8, 65, 96])
def test_packing_goes_both_ways(rng, n_bits):
    signs = rng.choice([-1, 1], (9, n_bits))
    packed = retrieval.pack(signs)
    assert packed.shape == (9, -(-n_bits // 8))
    np.testing.assert_array_equal(retrieval.unpack(packed, n_bits), signs)
    plain = (signs[:, None, :] != signs[None]).sum(axis=2)
    np.testing.assert_array_equal(retrieval.hamming_distances(packed, packed), plain)


@pytest.mark.parametrize("backend", ["numpy", "faiss", "auto"])
@pytest.mark.parametrize(("n_bits", "k"), [(4, 30), (16, 500), (70, 1)])
def test_search_is_exact_with_ties_in_order(rng, backend, n_bits, k):
    if backend == "faiss":
        pytest.importorskip("faiss")
    Q, D = (retrieval.pack(rng.choice([-1, 1], (n, n_bits))) for n in (70, 500))
    distances, indices = retrieval.search(Q, D, k, backend=backend)
    full = retrieval.hamming_distances(Q, D)
    expected = np.argsort(full, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(distances, np.take_along_axis(full, expected, axis=1))


def test_average_precision_is_scikit_learns_without_ties(rng):
    relevant = rng.random((20, 60)) < 0.3
    falling = -np.arange(60.0)
    expected = [average_precision_score(row, falling) for row in relevant]
    np.testing.assert_allclose(metrics.average_precision(relevant), expected)


def test_expected_average_precision_is_the_mean_over_orders(rng):
    distances = np.array([[0, 1, 1, 1, 2, 2]])
    relevant = np.array([[False, True, False, True, True, False]])
    orders = [[0, *ones, *twos] for ones in permutations([1, 2, 3]) for twos in permutations([4, 5])]
    each = [metrics.average_precision(relevant[:, order])[0] for order in orders]
    assert metrics.expected_average_precision(distances, relevant)[0] == pytest.approx(np.mean(each))


def test_ndcg_is_scikit_learns(rng):
    gains = rng.integers(0, 4, (8, 40))
    ranked = gains[:, :10]
    expected = ndcg_score(gains, np.tile(-np.arange(40.0), (8, 1)), k=10)
    assert metrics.ndcg(ranked, gains).mean() == pytest.approx(expected)


def test_recall_curve_is_scikit_learns(rng):
    relevant = rng.random((5, 80)) < 0.4
    for row, curve in zip(relevant, metrics.precision_at_recall(relevant), strict=True):
        precision, recall, _ = precision_recall_curve(row, -np.arange(80.0))
        levels = metrics.RECALL_GRID
        expected = [precision[:-1][recall[:-1] >= level - 1e-12].max() for level in levels[1:]]
        np.testing.assert_allclose(curve[1:], expected)


def test_evaluate_is_its_parts(problem):
    queries, database, yq, yd = problem
    scores = retrieval.evaluate(queries, database, yq, yd, counts=(5, 50, 999), top=30, ndcg_at=20)
    order = np.argsort((queries[:, None] != database[None]).sum(axis=2), axis=1, kind="stable")
    ranked = np.take_along_axis(yq[:, None] == yd, order, axis=1)
    np.testing.assert_allclose(scores.average_precision, metrics.average_precision(ranked))
    np.testing.assert_array_equal(scores.counts, [5, 50])
    np.testing.assert_allclose(scores.precision, [ranked[:, :5].mean(), ranked[:, :50].mean()])
    assert scores.map_top == pytest.approx(metrics.average_precision(ranked[:, :30]).mean())
    assert scores.map == pytest.approx(retrieval.mean_average_precision(queries, database, yq, yd))
    expected = retrieval.mean_average_precision(queries, database, yq, yd, ties="expected")
    assert scores.map_expected == pytest.approx(expected)
    assert scores.precision_at_recall.shape == scores.recall_grid.shape
    assert 0 < scores.ndcg < 1


def test_several_labels_are_relevant_when_one_is_shared(problem):
    queries, database, yq, yd = problem
    one = retrieval.evaluate(queries, database, yq, yd)
    hot = retrieval.evaluate(queries, database, np.eye(3)[yq], np.eye(3)[yd])
    assert one.map == hot.map
    assert one.ndcg == hot.ndcg
    nothing = retrieval.evaluate(queries, database, np.zeros((12, 3)), np.eye(3)[yd])
    assert nothing.map == nothing.map_expected == nothing.ndcg == 0


def test_bad_input_is_named(problem):
    queries, database, yq, yd = problem
    packed = retrieval.pack(queries)
    for error, match, call in [
        (ValueError, r"`signs` must have shape", lambda: retrieval.pack(queries[0])),
        (ValueError, r"`signs` must hold only -1 and 1", lambda: retrieval.pack(queries * 2)),
        (TypeError, r"`packed` must be packed codes.*forget `pack`", lambda: retrieval.unpack(queries, 3)),
        (ValueError, r"`n_bits` must lie in 1..24", lambda: retrieval.unpack(packed, 25)),
        (ValueError, r"codes of one length", lambda: retrieval.hamming_distances(packed, packed[:, :1])),
        (ValueError, r"codes of one length", lambda: retrieval.search(packed, packed[:, :1], 1)),
        (ValueError, r"`k` must lie in 1..12", lambda: retrieval.search(packed, packed, 13)),
        (ValueError, r"did you mean 'numpy'", lambda: retrieval.search(packed, packed, 1, backend="numpi")),
        (ValueError, r"one row per code, 150", lambda: retrieval.evaluate(queries, database, yq, yd[1:])),
        (ValueError, r"of one kind", lambda: retrieval.evaluate(queries, database, yq, np.eye(3)[yd])),
        (
            ValueError,
            r"`ties` must be",
            lambda: retrieval.mean_average_precision(queries, database, yq, yd, ties="no"),
        ),
    ]:
        with pytest.raises(error, match=match):
            call()


@pytest.mark.parametrize("module", [codes, search, evaluate])
def test_docstring_examples(module):
    import importlib

    name = f"dcra.retrieval.{module.__name__.rpartition('.')[2]}"
    tried = doctest.testmod(importlib.import_module(name), extraglobs={"np": np})
    assert tried.failed == 0


def test_signs_and_packed_codes_are_taken_alike():
    rng = np.random.default_rng(0)
    queries, database = rng.choice([-1, 1], (5, 20)), rng.choice([-1, 1], (30, 20))
    labels = rng.integers(0, 3, 5), rng.integers(0, 3, 30)
    packed = retrieval.pack(queries), retrieval.pack(database)
    plain = retrieval.evaluate(queries, database, *labels)
    assert retrieval.evaluate(*packed, *labels).map == plain.map
    assert retrieval.evaluate(queries, packed[1], *labels).map == plain.map
    both = [retrieval.search(*codes, 4) for codes in ((queries, database), packed)]
    assert np.array_equal(both[0][1], both[1][1])
    assert np.array_equal(
        retrieval.hamming_distances(queries, database), (queries[:, None] != database).sum(axis=-1)
    )
    assert retrieval.mean_average_precision(*packed, *labels) == plain.map


def test_errors_name_the_argument():
    signs = np.ones((3, 8))
    with pytest.raises(ValueError, match="`queries` must hold only -1 and 1"):
        retrieval.search(2 * signs, signs, 1)
    with pytest.raises(ValueError, match="`database` must hold only -1 and 1"):
        retrieval.evaluate(signs, 2 * signs, [0, 0, 0], [0, 0, 0])
    with pytest.raises(ValueError, match=r"`database` must have shape \(n, r\); got \(8,\)"):
        retrieval.hamming_distances(signs, signs[0])


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda S: retrieval.hamming_distances(S[:, :9], S),
            ValueError,
            "codes of one length; got 9 and 16 bits",
        ),
        (
            lambda S: retrieval.search(S, S[:, :9], 1),
            ValueError,
            "must have codes of one length; got 16 and 9 bits",
        ),
        (lambda S: retrieval.pack(np.maximum(S, 0)), ValueError, r"`signs` .*; found 0. Of bits, `2 \* bits"),
        (lambda S: retrieval.pack(3 * S), ValueError, "`signs` must hold only -1 and 1; found -?3$"),
        (
            lambda S: retrieval.unpack(retrieval.pack(S), "16"),
            TypeError,
            "`n_bits` must be an integer; got '16'",
        ),
        (lambda S: retrieval.search(S, S, 1.5), TypeError, "`k` must be an integer; got 1.5"),
    ],
)
def test_codes_that_cannot_be_compared_are_said(rng, call, error, match):
    with pytest.raises(error, match=match):
        call(rng.choice([-1, 1], (4, 16)))


def test_signs_whose_last_byte_is_not_full_are_compared_with_packed_ones(rng):
    S = rng.choice([-1, 1], (5, 9))
    want = np.count_nonzero(S[:, None] != S, axis=2)
    for one, two in ((S, S), (S, retrieval.pack(S)), (retrieval.pack(S), S)):
        assert np.array_equal(retrieval.hamming_distances(one, two), want)


def test_continuous_targets_are_refused():
    from dcra.apps import SupervisedHashing

    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="`y` must hold classes; got continuous values"):
        SupervisedHashing(n_bits=4).fit(rng.standard_normal((30, 3)), rng.standard_normal(30))
