"""Robust regression with binary weights, as a scikit-learn estimator."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar

from dcra.api import solve
from dcra.certificate import DualStage
from dcra.compiled import compile_problem
from dcra.engines.base import Engine
from dcra.losses import L1, Huber, Loss, Quantile, as_loss
from dcra.problem import Problem, Term
from dcra.result import Result

try:
    from joblib import effective_n_jobs
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("BinaryRegressor needs scikit-learn: pip install 'dcra[sklearn]'") from error

Vector = np.ndarray[Any, np.dtype[np.float64]]

MAX_ROUNDS = 10
"""Binary solves of one fit with an intercept."""

MAX_RELAXED_ROUNDS = 200
"""Rounds of the relaxation that gives the first intercept."""

MAX_CANDIDATES = 1001
"""Intercepts tried for a loss that is not convex."""

MAD_TO_SIGMA = 1.4826
"""Normal data have this many median absolute deviations in a standard deviation."""


class BinaryRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """y ~ X w + intercept with every weight w_j in {-1,1} or {0,1}, under a loss that may be robust.

    minimise  sum_i s_i f(x_i'w + intercept - y_i)  over binary w (and the intercept, if it is fitted),

    with s the sample weights. The weights have no free scale: X must be in units in which they are binary.

    Parameters
    ----------
    loss : str or Loss
        "l1" (the paper's), "huber", "quantile", another name that `dcra.minimize` knows, or an object of
        `dcra.losses`, which is then a function of prediction minus target.
    threshold : float
        Where loss "huber" turns from squares to absolute values, in units of y.
    quantile : float
        The quantile of y that loss "quantile" predicts, as in scikit-learn's `QuantileRegressor`: at 0.9
        nine targets of ten lie below their prediction. It is `dcra.losses.Quantile(1 - quantile)`.
    domain : {"spin", "binary"}
        Weights in {-1,1} or in {0,1}.
    fit_intercept : bool
        Alternate the binary solve with an exact update of the intercept, from its value in the relaxed
        problem, until neither changes (ten rounds at most). The objective never rises; the pair need not be
        the best of all pairs.
    method : str or Engine
    time_limit : float, optional
        Seconds for the whole fit.
    starts : int, optional
        Starts of each binary solve; 32 when neither this nor a time limit is given.
    random_state : int, RandomState instance or None
        An integer is the seed of the solver.
    n_jobs : int, optional
        Threads, in scikit-learn's sense: None is one unless a joblib context says otherwise, -1 all. Without
        a time limit the answer does not depend on it.

    Attributes
    ----------
    coef_ : (n_features,) array
    intercept_ : float
    result_ : Result
        Of the last binary solve. Its objective is that of the fitted model; its status and lower bound hold
        for the fitted intercept.
    lower_bound_ : float
        No weights, with whatever intercept if one is fitted, have a smaller objective.
    objective_path_ : list of float
        The objective after every solve and every update of the intercept.
    n_features_in_ : int
    feature_names_in_ : (n_features_in_,) array
        Only where X has column names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from dcra.apps import BinaryRegressor
    >>> X = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5], [2.0, 1.0]])
    >>> y = X @ [1.0, -1.0]
    >>> y[3] = 99.0
    >>> BinaryRegressor(random_state=0).fit(X, y).coef_
    array([ 1., -1.])
    """

    def __init__(
        self,
        loss: str | Loss = "l1",
        *,
        threshold: float = 1.0,
        quantile: float = 0.5,
        domain: str = "spin",
        fit_intercept: bool = False,
        method: str | Engine = "auto",
        time_limit: float | None = None,
        starts: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.threshold = threshold
        self.quantile = quantile
        self.domain = domain
        self.fit_intercept = fit_intercept
        self.method = method
        self.time_limit = time_limit
        self.starts = starts
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.regressor_tags.poor_score = True  # binary weights cannot follow any other linear model
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BinaryRegressor:
        """Find the weights.

        Parameters
        ----------
        X : (n_samples, n_features) array, data frame or scipy.sparse matrix
        y : (n_samples,) array
        sample_weight : (n_samples,) array or number, optional
            Not negative; a weight k counts a row k times.
        """
        X, y = validate_data(self, X, y, accept_sparse="csc", y_numeric=True)
        data = _Data(
            _as_float(X), np.asarray(y, np.float64), self._weight(sample_weight, X), self._loss(), self.domain
        )
        options = {
            "method": self.method,
            "starts": self.starts,
            "seed": self._seed(),
            "n_jobs": effective_n_jobs(self.n_jobs),
        }
        if self.fit_intercept:
            fitted = _alternate(data, self.time_limit, options)
        else:
            result = solve(data.problem(0.0), time_limit=self.time_limit, **options)
            fitted = _Fitted(result, 0.0, result.lower_bound, [result.fun])
        self.coef_ = np.asarray(fitted.result.x, np.float64)
        self.intercept_ = fitted.intercept
        self.result_ = fitted.result
        self.lower_bound_ = fitted.lower_bound
        self.objective_path_ = fitted.path
        return self

    def predict(self, X: Any) -> Vector:
        """X w + intercept, of shape (n_samples,)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=("csr", "csc"), reset=False)
        return self._predict(X)

    def outliers(self, X: Any, y: Any, factor: float = 3.0) -> OutlierReport:
        """The rows whose residual lies far from the others.

        A row is reported when |residual - median| > factor * scale, the scale being 1.4826 times the median
        absolute deviation of the residuals y - prediction from their median: a standard deviation where they
        are normal, and not moved by fewer than half of the rows.

        Parameters
        ----------
        X : (n_samples, n_features) array, data frame or scipy.sparse matrix
        y : (n_samples,) array
        factor : float
        """
        check_is_fitted(self)
        if not 0 < factor < inf:
            raise ValueError(f"`factor` must be positive and finite; got {factor!r}")
        X, y = validate_data(self, X, y, accept_sparse=("csr", "csc"), y_numeric=True, reset=False)
        return _report(np.asarray(y, np.float64), self._predict(X), float(factor))

    def _predict(self, X: Any) -> Vector:
        return np.asarray(X @ self.coef_ + self.intercept_, np.float64)

    def _loss(self) -> Loss:
        if self.loss == "huber":
            return Huber(self.threshold)
        if self.loss == "quantile":
            if not 0 < self.quantile < 1:
                raise ValueError(f"`quantile` must lie strictly between 0 and 1; got {self.quantile!r}")
            return Quantile(1 - self.quantile)
        return as_loss(self.loss)

    def _weight(self, sample_weight: Any, X: Any) -> Vector | None:
        if sample_weight is None:
            return None
        loss = self._loss()
        if not loss.separable:
            raise ValueError(
                f"`sample_weight` needs a loss that is a sum over rows; {type(loss).__name__} is not"
            )
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return np.asarray(weight)

    def _seed(self) -> int:
        state = check_random_state(self.random_state)
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(state.randint(2**31))


@dataclass(frozen=True, eq=False)
class OutlierReport:
    """Rows far from the fit, the farthest first; prints as a table.

    Attributes
    ----------
    rows : (k,) array of int
    targets, predictions, residuals : (k,) arrays
        y, X w + intercept, and their difference y - prediction, at these rows.
    scores : (k,) array
        Distance of the residual from the median one, in scales; infinite where the scale is 0.
    mask : (n_samples,) array of bool
        True at the rows of the report: `X[~mask]` is what remains.
    centre, scale : float
        Median residual, and 1.4826 times the median absolute deviation from it.
    factor : float
    """

    rows: np.ndarray[Any, np.dtype[np.intp]]
    targets: Vector
    predictions: Vector
    residuals: Vector
    scores: Vector
    mask: np.ndarray[Any, np.dtype[np.bool_]]
    centre: float
    scale: float
    factor: float

    SHOWN = 10

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        lines = [
            f"{len(self)} of {self.mask.size} rows lie over {self.factor:g} scales from the median residual",
            f"median residual {self.centre:.4g}, scale {self.scale:.4g} (1.4826 MAD)",
        ]
        if len(self):
            lines.append(f"{'row':>8}{'y':>12}{'predicted':>12}{'residual':>12}{'scales':>10}")
        columns = (self.rows, self.targets, self.predictions, self.residuals, self.scores)
        for row, *numbers, score in list(zip(*columns, strict=True))[: self.SHOWN]:
            lines.append(f"{row:>8}" + "".join(f"{v:>12.4g}" for v in numbers) + f"{score:>+10.1f}")
        if len(self) > self.SHOWN:
            lines.append(f"{'...':>8}  {len(self) - self.SHOWN} more")
        return "\n".join(lines)


def _report(y: Vector, prediction: Vector, factor: float) -> OutlierReport:
    residual = y - prediction
    centre = float(np.median(residual))
    distance = residual - centre
    scale = MAD_TO_SIGMA * float(np.median(np.abs(distance)))
    rounding = 1e-12 * float(np.max(np.abs(y) + np.abs(prediction)))
    mask = np.abs(distance) > max(factor * scale, rounding)
    rows = np.flatnonzero(mask)
    rows = rows[np.argsort(-np.abs(distance[rows]), kind="stable")]
    scores = distance[rows] / scale if scale > 0 else np.copysign(inf, distance[rows])
    return OutlierReport(rows, y[rows], prediction[rows], residual[rows], scores, mask, centre, scale, factor)


class _Data(NamedTuple):
    """What a fit minimises: sum_i weight_i loss(x_i'w + intercept - y_i)."""

    X: Any
    y: Vector
    weight: Vector | None
    loss: Loss
    domain: str

    def problem(self, intercept: float) -> Problem:
        """The binary problem that an intercept leaves."""
        return Problem([self.term(self.loss, self.X, self.y - intercept)], domain=self.domain)

    def term(self, loss: Loss, X: Any, b: Vector) -> Term:
        return Term(loss, X, b, 1.0 if self.weight is None else self.weight)

    def value(self, u: Vector) -> float:
        if self.weight is None:
            return float(self.loss.value(u))
        return float(np.sum(self.weight * self.loss.values(u)))


class _Fitted(NamedTuple):
    result: Result
    intercept: float
    lower_bound: float
    path: list[float]


def _alternate(data: _Data, time_limit: float | None, options: dict[str, Any]) -> _Fitted:
    """Weights for the intercept, the intercept for the weights, until the intercept stays.

    The weights of one round are a start of the next, so that no step raises the objective.
    """
    _require_growth(data.loss)
    end = inf if time_limit is None else time.perf_counter() + time_limit
    intercept, bound = _relaxed(data, inf if time_limit is None else 0.1 * time_limit)
    x0, path = None, []
    while True:
        left = end - time.perf_counter()
        share = time_limit and max(0.5 * left, 1e-3)
        result = solve(data.problem(intercept), x0=x0, time_limit=share, **options)
        path.append(result.fun)
        u = np.asarray(data.X @ np.asarray(result.x, np.float64)) - data.y
        better = _best_intercept(data, u, intercept)
        if better == intercept or len(path) >= 2 * MAX_ROUNDS - 1 or time.perf_counter() >= end:
            return _Fitted(result, intercept, min(bound, result.fun), path)
        path.append(data.value(u + better))
        x0, intercept = result.x, better


def _best_intercept(data: _Data, u: Vector, current: float) -> float:
    """argmin_c f(u + c), or `current` where nothing is lower; all rows reach 0 between the ends of -u."""
    zeros = np.sort(-u)
    lo, hi = float(zeros[0]), float(zeros[-1])
    if not data.loss.convex:
        candidates = zeros[np.linspace(0, zeros.size - 1, min(zeros.size, MAX_CANDIDATES)).astype(int)]
    elif lo == hi:
        candidates = zeros[:1]
    else:
        options = {"xatol": 1e-14 * (hi - lo)}
        c = minimize_scalar(lambda c: data.value(u + c), bounds=(lo, hi), method="bounded", options=options).x
        near = int(np.searchsorted(zeros, c))
        candidates = np.append(zeros[max(near - 1, 0) : near + 1], c)  # a kink of l1 is met exactly
    values = [data.value(u + c) for c in candidates]
    best = int(np.argmin(values))
    lowest = data.value(u + current)
    return float(candidates[best]) if values[best] < lowest - 1e-12 * abs(lowest) else current


def _relaxed(data: _Data, seconds: float) -> tuple[float, float]:
    """Intercept of the problem relaxed to the box, and a lower bound for all weights and intercepts.

    The intercept is one more variable of the box, `middle` +- `reach`: wide enough for any weights' best one,
    which lies among their residuals. A loss that is not convex is replaced by l1, and not bounded.
    """
    loss = data.loss if data.loss.convex else L1()
    middle = float(np.median(data.y))
    reach = float(np.max(np.abs(data.y - middle)) + np.max(abs(data.X).sum(axis=1))) or 1.0
    low = 0.0 if data.domain == "spin" else reach
    X = _with_column(data.X, reach + low)
    compiled = compile_problem(Problem([data.term(loss, X, data.y - middle + low)], domain=data.domain))
    stage = DualStage(compiled)
    end = time.perf_counter() + seconds
    while not stage.done and stage.rounds < MAX_RELAXED_ROUNDS and time.perf_counter() < end:
        stage.advance(2 * stage.SWEEPS * compiled.work_per_pass)
    shift = 0.0 if stage.point is None else reach * float(stage.point[-1])
    least_at_zero = data.loss.positive and float(data.loss.value(np.zeros(1))) == 0
    return middle + shift, stage.bound if loss is data.loss and least_at_zero else -inf


def _with_column(X: Any, value: float) -> Any:
    """X and one more column of equal entries."""
    column: Any = np.full((X.shape[0], 1), value)
    return sp.hstack([X, column], format="csc") if sp.issparse(X) else np.hstack([X, column])


def _require_growth(loss: Loss) -> None:
    least, far = float(loss.value(np.zeros(1))), np.full(1, 1e6)
    if not (float(loss.value(far)) > least and float(loss.value(-far)) > least):
        raise ValueError(
            f"`fit_intercept=True` needs a loss that grows on both sides of 0; {type(loss).__name__} does not"
        )


def _as_float(X: Any) -> Any:
    """X as it is in single or double precision, converted to double otherwise."""
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
