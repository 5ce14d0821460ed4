"""Algorithm 3 and its steps against formulas and brute force; the estimator's promises."""

from __future__ import annotations

import doctest
import runpy
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from dcra import retrieval
from dcra.apps import SupervisedHashing, hashing
from dcra.apps.hashing.codewords import hadamard_codewords, separated_codewords
from dcra.apps.hashing.rounds import make_regression
from dcra.apps.hashing.targets import TargetTable, distinct_pairs
from dcra.apps.hashing.wstep import accelerated, huber_descent
from dcra.apps.hashing.xstep import XStep
from dcra.engines import DCRA
from dcra.losses import L1, Huber, SquaredL2

LOSSES = {"l1": L1(), "squared": SquaredL2(), "huber": Huber(0.5)}
EXAMPLE = Path(__file__).parents[3] / "examples" / "hashing.py"
PEERS = [hashing.SDH, hashing.FSDH, hashing.ClassCodewords, hashing.ITQ, hashing.LSH]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    y = np.arange(240) % 4
    X = 2 * rng.normal(size=(4, 12))[y] + rng.normal(size=(240, 12))
    return X, y


def model(**options):
    return SupervisedHashing(**({"n_bits": 8, "feature_map": "linear", "random_state": 0} | options))


def quality(fitted, X, y):
    codes = fitted.transform(X)
    return retrieval.mean_average_precision(codes, codes, y, y)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [False, True])
def test_w_step_is_stationary(rng, loss, intercept):
    table = TargetTable(rng.normal(size=(40, 3)), np.arange(40))
    problem = make_regression(
        table, rng.choice([-1, 1], (40, 5)).astype(np.int8), LOSSES[loss], 2.0, intercept
    )
    W = accelerated(problem, np.zeros((3, 5 + intercept)))
    best = problem.objective(W)
    for _ in range(200):
        trial = W + 10 ** rng.uniform(-4, 0) * rng.normal(size=W.shape)
        assert best <= problem.objective(trial) * (1 + 1e-4)


def test_squared_w_step_is_ridge_regression(rng):
    X, Y = rng.choice([-1, 1], (50, 6)).astype(np.int8), rng.normal(size=(50, 4))
    problem = make_regression(TargetTable(Y, np.arange(50)), X, SquaredL2(), 3.0, False)
    expected = np.linalg.solve(X.T @ X + 1.5 * np.eye(6), X.T @ Y).T
    np.testing.assert_allclose(accelerated(problem, np.zeros((4, 6))), expected)


def test_huber_descent_is_the_papers(rng):
    X, Y = rng.choice([-1, 1], (30, 5)).astype(np.int8), rng.normal(size=(30, 3))
    problem = make_regression(TargetTable(Y, np.arange(30)), X, L1(), 0.5, False)
    mu, W = 0.1, rng.normal(size=(3, 5))
    R = Y - W @ X.T if Y.shape[0] == 3 else Y.T - W @ X.T
    step = 1 / (30 * 5 / mu + 0.5)
    expected = W - step * (-np.clip(R / mu, -1, 1) @ X + 0.5 * W)
    np.testing.assert_allclose(huber_descent(problem, W, mu, 30, 1), expected)


def test_equal_pairs_are_counted(rng):
    index, X = rng.integers(0, 3, 500), rng.choice([-1, 1], (500, 70)).astype(np.int8)
    X[:, 3:68] = 1
    pairs = distinct_pairs(index, X)
    rows = np.column_stack([index, X])
    assert len(pairs.first) == len(np.unique(rows, axis=0))
    np.testing.assert_array_equal(rows[pairs.first][pairs.inverse], rows)
    np.testing.assert_array_equal(np.bincount(pairs.inverse), pairs.counts)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["auto", "dcra", DCRA(rank=3)])
@pytest.mark.parametrize("nu", [0.0, 0.3])
def test_x_step_against_brute_force(rng, loss, solver, nu):
    W, Y, H = rng.normal(size=(5, 7)), rng.normal(size=(9, 5)), 2 * rng.normal(size=(9, 7))
    step = XStep(LOSSES[loss], nu, solver, 0, 1)
    start = rng.choice([-1, 1], (9, 7)).astype(np.int8)
    points = np.array(list(product([-1, 1], repeat=7)), np.int8)
    tie = H if nu else None
    found, changed = step.improve(W, Y, start, tie)
    values = step.values(W, Y, found, tie)
    best = [
        min(step.values(W, np.tile(Y[i], (128, 1)), points, None if tie is None else np.tile(H[i], (128, 1))))
        for i in range(9)
    ]
    assert np.all(values <= step.values(W, Y, start, tie))
    assert changed == np.sum(np.any(found != start, axis=1))
    if solver == "auto":
        np.testing.assert_allclose(values, best, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_tie_to_features_is_our_template(rng, loss):
    """The added rows are nu |x - h|^2 up to a constant."""
    f, nu = LOSSES[loss], 0.7
    step = XStep(f, nu, "auto", 0, 1)
    W, Y, H = rng.normal(size=(2, 6)), rng.normal(size=(1, 2)), 3 * rng.normal(size=(1, 6))
    A, B, weights = step.template(W, Y, H)
    X = rng.choice([-1, 1], (10, 6))
    rows = f.values(X @ A.T - B) @ weights
    np.testing.assert_allclose(np.diff(rows), np.diff(step.values(W, Y, X, H)))


def test_a_worse_code_is_never_taken(rng):
    W, Y = rng.normal(size=(30, 12)), rng.normal(size=(40, 30))
    step = XStep(L1(), 0.0, "auto", 0, 1)
    best, _ = step.improve(W, Y, np.ones((40, 12), np.int8))
    poor = XStep(L1(), 0.0, "random", 0, 1)
    kept, changed = poor.improve(W, Y, best)
    assert np.all(poor.values(W, Y, kept, None) <= poor.values(W, Y, best, None))
    assert changed == 0


@pytest.mark.parametrize("target", ["labels", "features"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("nu", [0.0, 0.05])
def test_objective_is_monotone(data, target, loss, nu):
    X, y = data
    fitted = model(loss=loss, nu=nu, target=target, start="random", max_rounds=4, tol=0.0).fit(X, y)
    path = np.array(fitted.objective_path_)
    assert np.all(np.diff(path) <= 1e-9 * path[0])
    assert fitted.n_iter_ >= 1
    assert set(np.unique(fitted.codes_)) <= {-1, 1}


@pytest.mark.parametrize("loss", LOSSES)
def test_objective_is_monotone_with_several_labels(data, loss, rng):
    X, _ = data
    several = rng.integers(0, 2, (len(X), 5))
    path = model(loss=loss, max_rounds=4, tol=0.0).fit(X, several).objective_path_
    assert len(path) > 2
    assert np.all(np.diff(path) <= 1e-9 * path[0])


@pytest.mark.parametrize("n_bits", [4, 8, 24])
def test_words_of_classes_stay_by_default(data, n_bits):
    """n r/d is a weight of |W|^2/2 at which no code of a class gains by changing, and W still tells all."""
    X, y = data
    fitted = model(n_bits=n_bits).fit(X, y)
    scores = fitted.codes_ @ fitted.W_.T + fitted.intercept_
    np.testing.assert_array_equal(fitted.classes_[scores.argmax(axis=1)], y)
    assert fitted.n_iter_ == 1


def test_huber_descent_is_monotone_up_to_its_smoothing(data):
    X, y = data
    mu = 0.05
    fitted = model(w_step="huber-descent", smoothing=mu, start="random", fit_intercept=False, tol=0.0).fit(
        X, y
    )
    path = np.array(fitted.objective_path_)
    assert np.all(np.diff(path) <= 4 * len(X) * mu / 2 + 1e-9)


def test_samples_of_a_class_share_a_code_without_a_tie(data):
    X, y = data
    fitted = model().fit(X, y)
    assert len(np.unique(fitted.codes_, axis=0)) == 4
    np.testing.assert_array_equal(fitted.codes_, fitted.codes_[y])
    assert fitted.W_.shape == (4, 8)
    assert fitted.projection_.shape == (13, 8)
    np.testing.assert_array_equal(fitted.classes_, range(4))
    reached = fitted.codes_ @ fitted.W_.T + fitted.intercept_
    np.testing.assert_allclose(reached, np.eye(4)[y], atol=1e-3)


@pytest.mark.parametrize("options", [{}, {"feature_map": "rbf", "n_anchors": 60}, {"nu": 0.01}])
def test_retrieval_is_good_where_classes_are_apart(data, options):
    X, y = data
    assert quality(model(**options).fit(X, y), X, y) > 0.95


@pytest.mark.parametrize("peer", PEERS)
def test_peers_have_the_same_face(data, peer):
    X, y = data
    fitted = peer(8, feature_map="linear", random_state=0).fit(X, y)
    assert fitted.codes_.shape == (240, 8)
    assert quality(fitted, X, y) > (0.9 if fitted._needs_labels() else 0.4)
    np.testing.assert_array_equal(clone(fitted).fit(X, y).codes_, fitted.codes_)


def test_fsdh_and_sdh_codes_are_stationary(data):
    """One more update by the formulas changes nothing."""
    X, y = data
    Y = np.eye(4)[y]
    fast = hashing.FSDH(8, feature_map="linear", random_state=0).fit(X, y)
    Z = np.column_stack([X / np.linalg.norm(X, axis=1, keepdims=True), np.ones(len(X))])
    np.testing.assert_array_equal(np.where(Z @ fast.projection_ >= 0, 1, -1), fast.transform(X))
    W = np.linalg.solve(Y.T @ Y + np.eye(4), Y.T @ fast.codes_)
    expected = np.where(Y @ W + 1e-5 * Z @ fast.projection_ >= 0, 1, -1)
    np.testing.assert_array_equal(expected, fast.codes_)
    P = np.linalg.solve(Z.T @ Z + 1e-2 * np.eye(13), Z.T @ fast.codes_)
    np.testing.assert_allclose(P, fast.projection_, rtol=1e-6, atol=1e-8)


def test_several_labels(rng):
    Y = (rng.random((200, 5)) < 0.3).astype(int)
    X = Y @ rng.normal(size=(5, 10)) + 0.1 * rng.normal(size=(200, 10))
    fitted = model(n_bits=12).fit(X, Y)
    assert not hasattr(fitted, "classes_")
    codes = fitted.transform(X)
    random = np.mean((Y @ Y.T > 0)[Y.sum(axis=1) > 0])
    assert retrieval.mean_average_precision(codes, codes, Y, Y) > random + 0.1


@pytest.mark.parametrize(("n_classes", "n_bits"), [(2, 1), (10, 16), (10, 33), (20, 18)])
def test_codewords_are_apart(n_classes, n_bits):
    spread = separated_codewords(n_classes, n_bits, 1)
    assert spread.shape == hadamard_codewords(n_classes, n_bits, 1).shape == (n_classes, n_bits)
    assert len(np.unique(spread, axis=0)) == n_classes
    off = (spread @ spread.T)[~np.eye(n_classes, dtype=bool)]
    assert off.mean() <= 0
    with pytest.raises(ValueError, match="`n_bits` must be at least 4 to tell 10 classes apart; got 3"):
        separated_codewords(10, 3)


def test_same_seed_same_codes_at_any_n_jobs(data):
    X, y = data
    for options in ({"nu": 0.05}, {"target": "features"}):
        one, two = (model(n_jobs=jobs, **options).fit(X, y) for jobs in (1, 2))
        np.testing.assert_array_equal(one.codes_, two.codes_)
        np.testing.assert_array_equal(one.projection_, two.projection_)


def test_scikit_learn_ways(data):
    X, y = data
    line = make_pipeline(StandardScaler(), model(feature_map=Nystroem(n_components=30, random_state=0)))
    codes = line.fit(X, y).transform(X)
    assert codes.dtype == np.int8
    assert line[-1].get_feature_names_out()[0] == "supervisedhashing0"
    twin = clone(line[-1])
    assert twin.get_params()["n_bits"] == 8
    again = model(target="features").fit(X)
    assert again.codes_.shape == (240, 8)


@pytest.mark.parametrize(
    "estimator", [model(n_bits=4, n_jobs=1), hashing.FSDH(4, n_jobs=1), hashing.AnchorKernel(20)]
)
def test_check_estimator(estimator):
    check_estimator(estimator, on_skip=None)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_bits": 0}, r"`n_bits` must be an integer in 1..1024; got 0"),
        ({"n_bits": 4096}, r"`n_bits` must be an integer in 1..1024"),
        ({"n_bits": 1}, r"`n_bits` must be at least 2 to tell 4 classes apart"),
        ({"loss": "l2"}, r"`loss` must be one of l1, squared, huber"),
        ({"target": "label"}, r"did you mean 'labels'"),
        ({"w_step": "exact"}, r"`w_step` must be one of"),
        ({"start": "zeros"}, r"`start` must be one of"),
        ({"solver": "dcrb"}, r"`solver` must be one of .*did you mean 'dcra'"),
        ({"delta": 0.0}, r"`delta` must be positive and finite; got 0.0"),
        ({"delta": "big"}, r"`delta` must be positive and finite; got 'big'"),
        ({"nu": None}, r"`nu` must be finite and not negative; got None"),
        ({"target": "label"}, r"`target` must be .*labels"),
        ({"nu": -1.0}, r"`nu` must be finite and not negative"),
        ({"max_rounds": 0}, r"`max_rounds` must be a positive integer"),
        ({"feature_map": "poly"}, r"`feature_map` must be one of rbf, linear.*transformer"),
        ({"feature_map": "rbf", "sigma": 0.0}, r"`n_anchors` and `sigma` must be positive"),
    ],
)
def test_bad_options_are_named(data, options, match):
    with pytest.raises(ValueError, match=match):
        model(**options).fit(*data)


def test_bad_data_is_named(data):
    X, y = data
    for labels, match in [
        (y[:-1], r"`y` must have shape \(240,\)"),
        (np.zeros(240), r"at least 2 classes; got 1 class"),
        (None, r"requires y to be passed.*give `y`"),
        (np.random.default_rng(0).random(240), r"Unknown label type: `y` must hold classes"),
        (np.full((240, 3), 2), r"must hold only 0 and 1"),
        (np.ones((240, 3)), r"2 different sets of labels"),
    ]:
        with pytest.raises(ValueError, match=match):
            model().fit(X, labels)
    broken = X.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model().fit(broken, y)
    with pytest.raises(NotFittedError):
        model().transform(X)
    with pytest.raises(ValueError, match="features"):
        model().fit(X, y).transform(X[:, :5])


def test_docstring_examples():
    for module in ("estimator", "codewords"):
        tried = doctest.testmod(sys.modules[f"dcra.apps.hashing.{module}"])
        assert tried.attempted > 0
        assert tried.failed == 0


def test_example_runs(capsys):
    main = runpy.run_path(str(EXAMPLE))["main"]
    main(["--toy", "--samples", "600", "--bits", "16"])
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()[1:]}
    assert float(lines["SupervisedHashing"][1]) > float(lines["LSH"][1])
