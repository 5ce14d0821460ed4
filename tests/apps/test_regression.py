"""The estimator against brute force, planted weights, scikit-learn's own checks and its promises."""

from __future__ import annotations

import doctest
import itertools
import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import LinearConstraint
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import check_estimator

import dcra
from dcra import losses
from dcra.apps import BinaryRegressor, OutlierReport, _intercept
from dcra.apps._intercept import Data, best_intercept
from dcra.bench.base import Choice
from dcra.bench.registry import find_benchmark

DOMAINS = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}
LOSSES = [
    "l1",
    "huber",
    "quantile",
    "squared",
    losses.EpsilonInsensitive(0.5),
    losses.CappedL1(2.0),
    losses.LInf(),
]
EXAMPLE = Path(__file__).parents[2] / "examples" / "robust_regression.py"

HEURISTIC = "30 weights are not enumerated: the search may end at another local answer when rows are repeated"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": HEURISTIC,
    "check_sample_weight_equivalence_on_sparse_data": HEURISTIC,
}


def make_data(rng, rows=30, n=8, domain="spin", noise=0.5, hit=0.2, offset=0.0):
    X = rng.normal(size=(rows, n))
    w = rng.choice(DOMAINS[domain], n)
    y = X @ w + offset + noise * rng.normal(size=rows)
    outliers = rng.choice(rows, round(hit * rows), replace=False)
    y[outliers] += rng.choice([-1.0, 1.0], outliers.size) * 50
    return X, y, w, np.sort(outliers)


def pinball(u, quantile):
    """scikit-learn's, of u = prediction - target."""
    return np.maximum(-quantile * u, (1 - quantile) * u)


def all_points(n, domain):
    return np.array(list(itertools.product(DOMAINS[domain], repeat=n)))


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_equals_brute_force(rng, loss, domain):
    X, y, _, _ = make_data(rng, domain=domain, noise=3.0)
    model = BinaryRegressor(loss, domain=domain, threshold=0.7, quantile=0.8, random_state=0).fit(X, y)
    U = all_points(8, domain) @ X.T - y
    if loss == "quantile":
        values = pinball(U, 0.8).sum(axis=1)
    else:
        values = np.asarray((losses.Huber(0.7) if loss == "huber" else losses.as_loss(loss)).value(U))
    assert model.result_.fun == pytest.approx(values.min(), rel=1e-12)
    assert model.lower_bound_ <= values.min() * (1 + 1e-12)
    np.testing.assert_array_equal(model.coef_, all_points(8, domain)[np.argmin(values)])
    assert model.intercept_ == 0.0
    assert model.objective_path_ == [model.result_.fun]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_planted_weights_are_recovered(rng, domain, fit_intercept):
    offset = 7.0 if fit_intercept else 0.0
    X, y, w, _ = make_data(rng, rows=160, n=40, domain=domain, offset=offset)
    model = BinaryRegressor(domain=domain, fit_intercept=fit_intercept, starts=4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, w)
    assert model.intercept_ == pytest.approx(offset, abs=0.3)
    assert model.predict(X).shape == (160,)
    assert model.score(X, X @ w + offset) > 0.99


def test_quantile_has_scikit_learns_meaning(rng):
    """At 0.9 nine targets of ten lie below their prediction."""
    X = rng.normal(size=(400, 6))
    y = X @ np.ones(6) + rng.normal(size=400)
    for quantile in (0.1, 0.9):
        model = BinaryRegressor("quantile", quantile=quantile, fit_intercept=True, random_state=0).fit(X, y)
        assert np.mean(y < model.predict(X)) == pytest.approx(quantile, abs=0.01)


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("loss", ["l1", "huber", "quantile"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_sample_weight_is_repetition(rng, loss, fit_intercept):
    X, y, _, _ = make_data(rng, noise=2.0)
    weight = rng.integers(0, 4, y.size)
    model = BinaryRegressor(loss, fit_intercept=fit_intercept, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
    assert weighted.result_.fun == pytest.approx(repeated.result_.fun)
    assert weighted.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=0.02)


def test_sample_weight_may_be_a_number(rng):
    X, y, _, _ = make_data(rng)
    model = BinaryRegressor(random_state=0)
    plain = clone(model).fit(X, y).result_.fun
    assert clone(model).fit(X, y, sample_weight=2.0).result_.fun == pytest.approx(2 * plain)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_intercept_lowers_the_objective_step_by_step(rng, loss, domain, kind):
    X, y, _, _ = make_data(rng, n=6, domain=domain, noise=2.0, offset=9.0)
    X = X + 3.0
    model = BinaryRegressor(loss, domain=domain, fit_intercept=True, random_state=0)
    model.fit(sp.csr_array(X) if kind == "sparse" else X, y)
    path = np.array(model.objective_path_)
    assert np.all(np.diff(path) <= 1e-12 * path[0])
    u = X @ model.coef_ + model.intercept_ - y
    f = losses.Quantile() if loss == "quantile" else losses.as_loss(loss)
    assert float(f.value(u)) == pytest.approx(model.result_.fun)
    best = min(best_value(f, X @ w - y) for w in all_points(6, domain))
    assert model.lower_bound_ <= best * (1 + 1e-9)
    assert best <= model.result_.fun * (1 + 1e-4)
    if kind == "dense" and losses.as_loss(loss).convex:
        assert model.result_.fun <= 1.05 * best


def best_value(loss, u):
    """The least value over all intercepts, to 1e-4: kinks, mean, middle and a fine grid."""
    grid = np.concatenate([-u, [-u.mean()], np.linspace(-u.max(), -u.min(), 2001)])
    return float(np.min(loss.value(u + grid[:, None])))


def test_the_last_intercept_counts_when_rounds_end_early(rng, monkeypatch):
    X, y, _, _ = make_data(rng, n=6, noise=2.0, offset=9.0)
    monkeypatch.setattr(_intercept, "MAX_ROUNDS", 1)
    monkeypatch.setattr(_intercept, "relaxed", lambda data, seconds, stopped: (0.0, 0.0))
    model = BinaryRegressor(fit_intercept=True, random_state=0).fit(X, y)
    assert len(model.objective_path_) == 2
    assert model.objective_path_[1] < model.objective_path_[0]
    assert model.result_.fun == pytest.approx(np.abs(y - model.predict(X)).sum())
    assert model.result_.status == "converged"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [losses.as_loss(loss) for loss in LOSSES], ids=str)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_best_intercept_beats_a_grid(rng, loss, offset, weighted):
    u = rng.normal(size=25) * 3 + offset
    u[:5] = u[5]  # ties
    weight = rng.integers(0, 3, u.size) + 0.5 if weighted and loss.separable else None
    data = Data(None, -u, weight, loss, "spin")
    found = data.value(u + best_intercept(data, u, 0.0))
    grid = np.concatenate([-u, np.linspace(-u.max(), -u.min(), 5001)])
    kinked_at_zero = isinstance(loss, losses.L1 | losses.Quantile | losses.CappedL1)
    assert found <= min(data.value(u + c) for c in grid) * (1 + (1e-12 if kinked_at_zero else 1e-7))


def test_best_intercept_of_equal_residuals_is_exact():
    data = Data(None, np.zeros(3), None, losses.L1(), "spin")
    assert best_intercept(data, np.full(3, 0.1), 0.0) == -0.1
    assert best_intercept(data, np.full(3, 0.1), -0.1) == -0.1


def test_best_intercept_of_residuals_that_rounding_sets_apart():
    """Centred columns leave kinks that are one in pairs, between which values fall or rise by rounding."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(-3, 4, (7, 5)).astype(float), rng.integers(-9, 10, 7).astype(float)
        u = (X - X.mean(axis=0)) @ rng.choice([-1.0, 1.0], 5) - y
        data = Data(None, -u, None, losses.L1(), "spin")
        best = min(data.value(u - z) for z in u)
        assert data.value(u + best_intercept(data, u, 0.0)) == pytest.approx(best, rel=1e-12)


def test_bound_with_an_intercept_is_worth_something(rng):
    X, y, _, _ = make_data(rng, rows=90, n=20, offset=4.0)
    model = BinaryRegressor(fit_intercept=True, random_state=0).fit(X, y)
    assert 0.9 * model.result_.fun <= model.lower_bound_ <= model.result_.fun


def test_no_bound_with_an_intercept_for_losses_that_are_not_convex(rng):
    X, y, _, _ = make_data(rng)
    assert (
        BinaryRegressor(losses.CappedL1(3.0), fit_intercept=True, random_state=0).fit(X, y).lower_bound_
        == -np.inf
    )


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_time_limit_gives_a_model(rng, fit_intercept):
    X, y, _, _ = make_data(rng, rows=80, n=50, offset=3.0)
    model = BinaryRegressor(fit_intercept=fit_intercept, time_limit=0.3, random_state=0, n_jobs=-1).fit(X, y)
    assert set(model.coef_) <= {-1.0, 1.0}
    assert model.result_.fun == pytest.approx(np.abs(y - model.predict(X)).sum())


def test_no_time_is_spent_on_copies_that_take_all_of_it(rng, monkeypatch):
    X, y = rng.normal(size=(300, 300)), rng.normal(size=300)
    monkeypatch.setattr(_intercept, "relaxed", lambda *given: pytest.fail("the relaxation is begun"))
    model = BinaryRegressor(fit_intercept=True, time_limit=1e-3, random_state=0).fit(X, y)
    assert model.lower_bound_ == -np.inf
    assert np.isfinite(model.result_.fun)
    monkeypatch.setattr(_intercept, "relaxed", lambda *given: (0.0, -1.0))
    assert BinaryRegressor(fit_intercept=True, time_limit=0.3, random_state=0).fit(X, y).lower_bound_ == -1.0


def test_same_random_state_same_weights(rng):
    X, y, _, _ = make_data(rng, rows=40, n=50)
    fits = [BinaryRegressor(random_state=3, n_jobs=jobs, starts=4).fit(X, y) for jobs in (1, 2)]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert fits[0].result_.seed == 3
    states = [BinaryRegressor(random_state=np.random.RandomState(5), starts=1).fit(X, y) for _ in range(2)]
    assert states[0].result_.seed == states[1].result_.seed


def test_inputs_are_left_alone(rng):
    X, y, _, _ = make_data(rng)
    before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    BinaryRegressor(fit_intercept=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_equals_dense(rng, container):
    X = sp.random_array((60, 10), density=0.3, rng=rng).toarray()
    y = X @ rng.choice([-1.0, 1.0], 10) + 0.05 * rng.normal(size=60)
    model = BinaryRegressor(random_state=0)
    dense, sparse = clone(model).fit(X, y), clone(model).fit(container(X), y)
    np.testing.assert_array_equal(dense.coef_, sparse.coef_)
    np.testing.assert_allclose(dense.predict(X), sparse.predict(container(X)))
    assert len(sparse.outliers(container(X), y)) == len(dense.outliers(X, y))
    assert clone(model).set_params(fit_intercept=True).fit(container(X), y).predict(container(X)).shape == (
        60,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_number_types(rng, dtype):
    X = rng.integers(-5, 6, size=(40, 8)).astype(dtype)
    w = rng.choice([-1.0, 1.0], 8)
    for fit_intercept in (False, True):
        model = BinaryRegressor(fit_intercept=fit_intercept, random_state=0).fit(X, X @ w)
        np.testing.assert_array_equal(model.coef_, w)
        assert model.coef_.dtype == np.float64
        assert model.result_.fun == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize(
    "model",
    [BinaryRegressor(), BinaryRegressor("huber", domain="binary", fit_intercept=True)],
    ids=["plain", "full"],
)
def test_passes_the_checks_of_scikit_learn(model):
    records = check_estimator(model, expected_failed_checks=EXPECTED_FAILURES, on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in records if r["status"] == "failed"}
    assert failed == {}
    assert sum(r["status"] == "passed" for r in records) > 40


def test_works_in_pipeline_and_grid_search(rng):
    X, y, w, _ = make_data(rng, rows=60, offset=2.0)
    size = np.abs(X).max(axis=0)
    pipeline = make_pipeline(MaxAbsScaler(), BinaryRegressor(random_state=0, fit_intercept=True))
    pipeline.fit(X, (X / size) @ w + 2.0)
    np.testing.assert_array_equal(pipeline[-1].coef_, w)
    grid = GridSearchCV(
        BinaryRegressor(random_state=0),
        {"loss": ["l1", losses.CappedL1(5.0)], "fit_intercept": [False, True]},
        scoring="neg_median_absolute_error",
        cv=3,
    ).fit(X, y, sample_weight=np.ones(60))
    assert grid.best_params_["fit_intercept"]
    np.testing.assert_array_equal(grid.best_estimator_.coef_, w)


def test_clone_keeps_parameters():
    model = BinaryRegressor(losses.Huber(2.0), quantile=0.3, domain="binary", starts=5, random_state=1)
    assert clone(model).get_params() == model.get_params()


def test_feature_names(rng):
    pandas = pytest.importorskip("pandas", reason="column names need a data frame library")
    X, y, _, _ = make_data(rng)
    frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    pipeline = make_pipeline(MaxAbsScaler(), BinaryRegressor(random_state=0)).set_output(transform="pandas")
    pipeline.fit(frame, y)
    assert list(pipeline[-1].feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        pipeline[-1].predict(frame.rename(columns={"c0": "other"}))


def test_outlier_report_names_the_planted_rows(rng):
    X, y, _, planted = make_data(rng, rows=80, hit=0.25)
    model = BinaryRegressor(random_state=0).fit(X, y)
    report = model.outliers(X, y, factor=6.0)
    assert isinstance(report, OutlierReport)
    np.testing.assert_array_equal(np.sort(report.rows), planted)
    np.testing.assert_array_equal(np.flatnonzero(report.mask), planted)
    np.testing.assert_allclose(report.residuals, y[report.rows] - model.predict(X)[report.rows])
    assert np.all(np.diff(np.abs(report.scores)) <= 0)
    assert np.all(np.abs(report.scores) > 6)
    assert report.scale == pytest.approx(0.5, rel=0.5)
    assert len(report) == 20


def test_outlier_report_prints_aligned_rows(rng):
    X, y, _, _ = make_data(rng, rows=80, hit=0.25)
    lines = str(BinaryRegressor(random_state=0).fit(X, y).outliers(X, y, factor=6.0)).splitlines()
    assert lines[0] == "20 of 80 rows lie over 6 scales from the median residual"
    assert lines[2].split() == ["row", "y", "predicted", "residual", "scales"]
    assert len({len(line) for line in lines[2:13]}) == 1
    assert lines[13].split() == ["...", "10", "more"]


def test_outlier_report_of_an_exact_fit(rng):
    X, _, w, _ = make_data(rng)
    y = X @ w
    model = BinaryRegressor(random_state=0).fit(X, y)
    assert len(model.outliers(X, y)) == 0
    assert "0 of 30 rows" in str(model.outliers(X, y))
    y[4] -= 1.0
    report = model.outliers(X, y)
    assert list(report.rows) == [4]
    assert report.scores[0] < -3


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"loss": "hubber"}, ValueError, "`loss` must be one of .*did you mean 'huber'"),
        ({"loss": losses.Huber}, TypeError, "write Huber\\(\\)"),
        (
            {"loss": "huber", "threshold": -1.0},
            ValueError,
            "`threshold` must be positive and finite; got -1.0",
        ),
        ({"loss": "huber", "threshold": "a"}, TypeError, "`threshold` must be a number; got 'a'"),
        ({"loss": "quantile", "quantile": "a"}, TypeError, "`quantile` must be a number; got 'a'"),
        (
            {"loss": "quantile", "quantile": 1.5},
            ValueError,
            "`quantile` must lie strictly between 0 and 1; got 1.5",
        ),
        ({"domain": "ising"}, ValueError, "`domain` must be one of spin, binary; got 'ising'"),
        ({"method": "swep"}, ValueError, "`method` must be one of .*did you mean 'sweep'"),
        ({"starts": 0}, ValueError, "`starts` must be at least 1; got 0"),
        ({"time_limit": -1.0}, ValueError, "`time_limit` must be positive and finite; got -1.0"),
        ({"time_limit": "long"}, TypeError, "`time_limit` must be a number of seconds; got 'long'"),
        ({"random_state": "x"}, ValueError, "cannot be used to seed"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
    ],
)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_bad_options_are_explained(rng, options, kind, message, fit_intercept):
    X, y, _, _ = make_data(rng)
    with pytest.raises(kind, match=message):
        BinaryRegressor(**options, fit_intercept=fit_intercept).fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "linear", "logistic"])
def test_intercept_needs_a_loss_that_grows_on_both_sides(rng, loss):
    X, y, _, _ = make_data(rng)
    with pytest.raises(ValueError, match="`fit_intercept=True` needs a loss that grows on both sides"):
        BinaryRegressor(loss, fit_intercept=True).fit(X, y)


def test_bad_data_are_explained(rng):
    X, y, _, _ = make_data(rng)
    model = BinaryRegressor(random_state=0)
    for words in (["a"] * 30, np.array([*"1b"] * 15, object)):
        with pytest.raises(
            TypeError, match=r"`y` must hold real numbers; got dtype .*; entry \d \(from 0\) is"
        ):
            model.fit(X, words)
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(X, np.where(y > 0, y, np.nan))
    with pytest.raises(ValueError, match="`sample_weight` needs a loss that is a sum over rows; LInf is not"):
        BinaryRegressor("linf").fit(X, y, sample_weight=np.ones(30))
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        model.fit(X, y, sample_weight=-np.ones(30))
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(4,\), expected \(30,\)"):
        model.fit(X, y, sample_weight=np.ones(4))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        BinaryRegressor().outliers(X, y)
    with pytest.raises(ValueError, match="`factor` must be positive and finite; got 0"):
        model.fit(X, y).outliers(X, y, factor=0)
    with pytest.raises(ValueError, match="X has 7 features, but BinaryRegressor is expecting 8"):
        model.predict(X[:, :7])


def test_apps_import_without_scikit_learn():
    code = """
import sys
sys.modules["sklearn"] = sys.modules["sklearn.base"] = None
import dcra.apps
dcra.apps.OutlierReport
try:
    dcra.apps.BinaryRegressor
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "BinaryRegressor needs scikit-learn: pip install 'dcra[sklearn]'"


def test_apps_import_is_lazy():
    code = "import sys, dcra.apps; print('sklearn' in sys.modules, 'BinaryRegressor' in dir(dcra.apps))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
    import dcra.apps

    assert dcra.apps.regression.BinaryRegressor is BinaryRegressor
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dcra.apps.nothing


def test_docstring_example():
    from dcra.apps import regression

    tried = doctest.testmod(regression)
    assert tried.attempted > 0
    assert tried.failed == 0


def test_example_draws_what_a_run_has_found(tmp_path):
    picture = tmp_path / "picture.png"
    study = find_benchmark("regression")
    cases = study.cases(Choice(sizes=["0", "30"], methods=["l1", "ridge"], instances=2))
    ended = {"benchmark": "regression", "status": "ok"}
    rows = [study.run(case) | vars(case) | ended for case in cases]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    runpy.run_path(str(EXAMPLE))["main"]([str(tmp_path), str(picture)])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_optimal_is_said_of_weights_and_intercept():
    """Weights that are best for their intercept may be worse than others with theirs."""
    lesser = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(-3, 4, (7, 5)).astype(float), rng.integers(-9, 10, 7).astype(float)
        model = BinaryRegressor(fit_intercept=True, random_state=0).fit(X, y)
        U = np.array(list(itertools.product((-1.0, 1.0), repeat=5))) @ X.T - y
        best = min(np.abs(u - c).sum() for u in U for c in u)  # a best intercept makes a residual 0
        assert model.lower_bound_ == model.result_.lower_bound <= best * (1 + 1e-12)
        off = model.result_.fun > best * (1 + 1e-9)
        assert not (off and model.result_.status == "optimal")
        lesser += off
    assert lesser


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("intercept", [False, True])
def test_constraints_and_prior_costs(domain, intercept):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y, _, _ = make_data(rng, rows=20, n=6, domain=domain, offset=2.0 * intercept)
        c, rule = 3 * rng.normal(size=6), dcra.exactly(3)
        options = {"domain": domain, "fit_intercept": intercept, "random_state": 0}
        model = BinaryRegressor(constraints=rule, linear=c, **options).fit(X, y)
        W = all_points(6, domain)
        W = W[(W > 0).sum(axis=1) == 3]
        U = W @ X.T - y
        middle = np.median(-U, axis=1) if intercept else np.zeros(len(W))
        values = np.abs(U + middle[:, None]).sum(axis=1) + W @ c
        assert (model.coef_ > 0).sum() == 3
        assert model.objective_path_[-1] == pytest.approx(
            np.abs(X @ model.coef_ + model.intercept_ - y).sum() + c @ model.coef_, rel=1e-9
        )
        assert model.lower_bound_ <= values.min() + 1e-9
        if not intercept:
            assert model.result_.fun == pytest.approx(values.min(), rel=1e-9)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_given_scale(rng, domain):
    X, y, _, _ = make_data(rng, domain=domain)
    plain = BinaryRegressor(domain=domain, random_state=0).fit(X, y)
    scaled = BinaryRegressor(domain=domain, random_state=0, scale=0.5).fit(2 * X, y)
    np.testing.assert_array_equal(scaled.coef_, 0.5 * plain.coef_)
    assert scaled.scale_ == 0.5
    np.testing.assert_allclose(scaled.predict(2 * X), plain.predict(X))


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("intercept", [False, True])
def test_a_fitted_scale(domain, intercept):
    for seed, scale in enumerate((0.03, 0.7, 40.0)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 8))
        w = rng.choice(DOMAINS[domain], 8)
        w[0] = 1.0
        y = scale * (X @ w + 0.05 * rng.normal(size=60)) + 3.0 * scale * intercept
        y[:6] += 50 * scale
        options = {"domain": domain, "fit_intercept": intercept, "random_state": 0}
        model = BinaryRegressor(scale="fit", **options).fit(X, y)
        assert model.scale_ == pytest.approx(scale, rel=0.02)
        np.testing.assert_array_equal(model.coef_ > 0, w > 0)
        assert model.lower_bound_ == -np.inf
        assert model.result_.status != "optimal"


def test_several_outputs(rng):
    X, y, _, _ = make_data(rng)
    other = rng.normal(size=y.size)
    both = BinaryRegressor(random_state=0, fit_intercept=True).fit(X, np.stack([y, other], axis=1))
    each = [BinaryRegressor(random_state=0, fit_intercept=True).fit(X, column) for column in (y, other)]
    np.testing.assert_array_equal(both.coef_, np.stack([one.coef_ for one in each]))
    np.testing.assert_array_equal(both.intercept_, [one.intercept_ for one in each])
    np.testing.assert_allclose(both.predict(X), np.stack([one.predict(X) for one in each], axis=1))
    assert [result.fun for result in both.result_] == [one.result_.fun for one in each]
    with pytest.raises(ValueError, match="`outliers` needs a fit of one output"):
        both.outliers(X, np.stack([y, other], axis=1))


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"scale": 0}, ValueError, "`scale` must be positive and finite; got 0"),
        ({"scale": "free"}, TypeError, "`scale` must be a number or 'fit'; got 'free'"),
        ({"linear": np.ones(3)}, ValueError, r"`linear` must have shape \(8,\); got \(3,\)"),
        ({"constraints": 3}, TypeError, "`constraints` must be a scipy.optimize.LinearConstraint"),
    ],
)
def test_bad_priors(rng, options, error, match):
    X, y, _, _ = make_data(rng)
    with pytest.raises(error, match=match):
        BinaryRegressor(**options).fit(X, y)


@pytest.mark.parametrize("rounds", [_intercept.MAX_ROUNDS, 1])
@pytest.mark.parametrize("scale", [1.0, "fit"])
def test_no_intercept_mends_constraints_that_no_weights_satisfy(monkeypatch, rounds, scale):
    """Weights that violate them may fit exactly, or call for another intercept: neither is an answer."""
    monkeypatch.setattr(_intercept, "MAX_ROUNDS", rounds)
    odd = LinearConstraint([[1, 1, 0], [0, 1, 1], [1, 0, 1]], 0, 0)
    for y in ([-1.0, 1.0, 1.0], [-5.0, 1.0, 2.0]):
        model = BinaryRegressor(fit_intercept=True, random_state=0, constraints=odd, scale=scale)
        result = model.fit(np.eye(3), y).result_
        assert result.status == "infeasible"
        assert not result.feasible
        assert result.violation == 2.0


def test_weights_that_violate_constraints_prove_nothing():
    """Whatever a search without proofs ends at, only points that satisfy the constraints are optimal."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        ring = np.eye(5) + np.roll(np.eye(5), 1, axis=1)  # five signs around it cannot all differ
        w = rng.choice([-1.0, 1.0], 5)
        options = {"constraints": LinearConstraint(ring, 0, 0), "method": "flip", "starts": 2}
        model = BinaryRegressor(fit_intercept=True, random_state=0, **options)
        result = model.fit(np.eye(5), w + 2.0).result_
        assert not result.feasible
        assert result.status != "optimal"


def test_a_scale_is_not_rounded_to_the_type_of_X():
    X, y = np.ones((3, 1), np.float32), np.full(3, 0.1)
    model = BinaryRegressor(scale=0.1, random_state=0).fit(X, y)
    assert model.lower_bound_ <= np.abs(X @ model.coef_ - y).sum()


def test_clones_keep_requests_and_output():
    from sklearn import config_context
    from sklearn.base import clone

    with config_context(enable_metadata_routing=True):
        model = clone(BinaryRegressor().set_fit_request(sample_weight=True))
        assert model.get_metadata_routing().fit.requests["sample_weight"] is True
