"""Robust regression with binary weights, as a scikit-learn estimator."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.apps._intercept import LEAST_SECONDS, Data, Deadline, fit_both, fit_weights
from dcra.apps._outliers import OutlierReport, report
from dcra.apps._scale import Scaled, fit_scale
from dcra.apps._sharing import SharesExecutor
from dcra.engines.base import Engine
from dcra.losses import Huber, Loss, Quantile, as_loss
from dcra.losses.table import require_fraction, require_positive
from dcra.model.checks import refuse_masked
from dcra.model.numbers import first_fault, no_numbers
from dcra.model.term import vector
from dcra.search.checks import check_seconds
from dcra.search.interrupts import on_interrupt

try:
    from joblib import effective_n_jobs
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("BinaryRegressor needs scikit-learn: pip install 'dcra[sklearn]'") from error

__all__ = ["BinaryRegressor", "OutlierReport"]


class BinaryRegressor(SharesExecutor, RegressorMixin, BaseEstimator):  # type: ignore[misc]
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
        problem, until neither changes (ten rounds at most). The objective never rises, beyond rounding; the
        pair need not be the best of all pairs. Columns of a dense X are centred for it, which helps; a sparse
        X stays sparse.
    method : str or Engine
    time_limit : float, optional
        Seconds for the whole fit.
    starts : int, optional
        Starts of each binary solve; 32 when neither this nor a time limit is given.
    random_state : int, RandomState instance or None
        An integer is the seed of the solver.
    constraints : constraint, or sequence or mapping of them, optional
        What the binary weights must satisfy, as in `dcra.minimize`; of w, not of `scale` times w.
    linear : (n_features,) array, optional
        Prior costs: linear'w is added to the objective.
    scale : float or "fit"
        The weights are `scale` times binary ones: {-s, s}, or {0, s}. With "fit" the scale is fitted as well,
        in turns with the weights, from several first values; no bound is known then.
    n_jobs : int, optional
        Threads, in scikit-learn's sense: None is one unless a joblib context says otherwise, -1 all. Without
        a time limit the answer does not depend on it. With an executor, jobs under way at a time.
    executor : dask.distributed.Client or concurrent.futures.Executor, optional
        Who takes starts to their ends, as in `dcra.solve`; clones share it. Without a time limit the answer
        does not depend on it either.

    Attributes
    ----------
    coef_ : (n_features,) array, or (n_outputs, n_features) where y has several columns
        `scale_` times the binary weights.
    intercept_ : float, or (n_outputs,) array
    scale_ : float, or (n_outputs,) array
    result_ : Result, or list of them, one for each output
        Of the last binary solve. Its objective is that of the fitted model; "optimal" and the lower bound are
        meant for all weights, with whatever intercept if one is fitted; the seconds are those of the whole
        fit. After Ctrl-C the status is "interrupted", and the model is the best so far.
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
        constraints: Any = None,
        linear: Any = None,
        scale: float | str = 1.0,
        executor: Any = None,
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
        self.constraints = constraints
        self.linear = linear
        self.scale = scale
        self.executor = executor

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # binary weights cannot follow any other linear model
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BinaryRegressor:
        """Find the weights.

        Parameters
        ----------
        X : (n_samples, n_features) array, data frame or scipy.sparse matrix
        y : (n_samples,) or (n_samples, n_outputs) array
            Each output is fitted by itself; a time limit is shared.
        sample_weight : (n_samples,) array or number, optional
            Not negative; a weight k counts a row k times.
        """
        begun = time.perf_counter()
        for name, given in (("X", X), ("y", y), ("sample_weight", sample_weight)):
            refuse_masked(name, given)
        with _targets(y):
            X, y = validate_data(self, X, y, accept_sparse="csc", y_numeric=True, multi_output=True)
            y = np.asarray(y, np.float64)
        loss = self._loss()
        weight = _row_weights(sample_weight, X, loss)
        linear = None if self.linear is None else vector("linear", self.linear, X.shape[1], np.empty(0))
        rules = () if self.constraints is None else self.constraints
        data = Data(_as_float(X), y, weight, loss, self.domain, linear, rules)
        limit = check_seconds("time_limit", self.time_limit)
        scale = self._checked_scale()
        options = {
            "method": self.method,
            "starts": self.starts,
            "seed": self._seed(),
            "n_jobs": self.n_jobs if self.executor is not None else effective_n_jobs(self.n_jobs),
            "executor": self.executor,
        }
        columns = y.T if y.ndim == 2 else y[None]
        each = []
        with on_interrupt():
            for i, column in enumerate(columns):
                now = time.perf_counter() if i else begun
                left = inf if limit is None else max(begun + limit - now, LEAST_SECONDS) / (len(columns) - i)
                each.append(self._fitted(data._replace(y=column), Deadline(now, left), options, scale))
        self._take(each, several=y.ndim == 2)
        return self

    def _fitted(self, data: Data, deadline: Deadline, options: dict[str, Any], scale: float | None) -> Scaled:
        """One output; `scale` None is fitted."""
        fit = fit_both if self.fit_intercept else fit_weights
        if scale is None:
            return fit_scale(data, deadline, options, fit)
        return Scaled(fit(data if scale == 1 else data.scaled(scale), deadline, options), scale)

    def _take(self, each: list[Scaled], several: bool) -> None:
        """Set what is known after a fit, for one output or for several."""
        parts: dict[str, list[Any]] = {
            "coef_": [one.scale * np.asarray(one.fitted.result.x, np.float64) for one in each],
            "intercept_": [one.fitted.intercept for one in each],
            "scale_": [one.scale for one in each],
            "result_": [one.fitted.result for one in each],
            "lower_bound_": [one.fitted.lower_bound for one in each],
            "objective_path_": [one.fitted.path for one in each],
        }
        for name, values in parts.items():
            listed = name in ("result_", "objective_path_")
            value: Any = values if listed else np.asarray(values)
            setattr(self, name, value if several else values[0])

    def _checked_scale(self) -> float | None:
        """The scale; None where it is to be fitted."""
        scale: Any = self.scale
        if isinstance(scale, str) and scale == "fit":
            return None
        if isinstance(scale, bool) or not isinstance(scale, int | float | np.integer | np.floating):
            raise TypeError(f"`scale` must be a number or 'fit'; got {scale!r}")
        if not 0 < scale < inf:
            raise ValueError(f"`scale` must be positive and finite; got {scale!r}")
        return float(scale)

    def predict(self, X: Any) -> Host:
        """X w + intercept, of shape (n_samples,) or (n_samples, n_outputs)."""
        check_is_fitted(self)
        refuse_masked("X", X)
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
        if self.coef_.ndim == 2:
            raise ValueError("`outliers` needs a fit of one output; fit each column of y by itself")
        require_positive("factor", factor)
        refuse_masked("X", X)
        refuse_masked("y", y)
        with _targets(y):
            X, y = validate_data(self, X, y, accept_sparse=("csr", "csc"), y_numeric=True, reset=False)
            y = np.asarray(y, np.float64)
        return report(y, self._predict(X), float(factor))

    def _predict(self, X: Any) -> Host:
        return np.asarray(X @ self.coef_.T + self.intercept_, np.float64)

    def _loss(self) -> Loss:
        if self.loss == "huber":
            return Huber(self.threshold)
        if self.loss == "quantile":
            require_fraction("quantile", self.quantile)
            return Quantile(1 - self.quantile)
        return as_loss(self.loss)

    def _seed(self) -> int:
        state = check_random_state(self.random_state)
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(state.randint(2**31))


@contextmanager
def _targets(y: Any) -> Iterator[None]:
    """Where what is inside fails because of words in y, these are named."""
    try:
        yield
    except (TypeError, ValueError) as error:
        host = np.asarray(y)
        if host.dtype.kind in "OUS" and host.ndim and first_fault(host) is not None:
            raise no_numbers("y", y) from error
        raise


def _row_weights(sample_weight: Any, X: Any, loss: Loss) -> Host | None:
    if sample_weight is None:
        return None
    if not loss.separable:
        raise ValueError(
            f"`sample_weight` needs a loss that is a sum over rows; {type(loss).__name__} is not"
        )
    return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))


def _as_float(X: Any) -> Any:
    """X as it is in single or double precision, converted to double otherwise."""
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
