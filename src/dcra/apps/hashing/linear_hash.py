"""What all hashing estimators share: checked input, a feature map, a linear hash function for new samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from dcra._array import Host, is_dask
from dcra.apps.hashing.blocks import SampleRows, ordered, ranges
from dcra.apps.hashing.features import MAP_ROWS, Features, feature_map, mapped
from dcra.apps.hashing.ridge import signs
from dcra.apps.hashing.targets import TargetTable, label_table
from dcra.model.checks import refuse_masked
from dcra.result import Status
from dcra.search.interrupts import on_interrupt
from dcra.search.threads import one_blas_thread

MAX_BITS = 1024


def encode(block: Host, transformer: Any, P: Host) -> Host:
    """The codes of raw samples (b, d): all that a machine elsewhere needs to know of an estimator."""
    return signs(mapped(transformer, block) @ P)


class LinearHash(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """sign(P'phi(x)), P from a subclass's `_learn`.

    A subclass has the parameters n_bits, feature_map, n_anchors, sigma, random_state and n_jobs, and sets
    codes_ and projection_. After Ctrl-C they are the best so far, and status_ is "interrupted".
    """

    n_bits: int
    feature_map: Any
    n_anchors: int
    sigma: float
    random_state: Any
    n_jobs: int | None
    codes_: Host
    projection_: Host
    status_: Status

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_labels()
        tags.target_tags.two_d_labels = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn codes and hash function.

        Parameters
        ----------
        X : (n, d) array, memory-mapped array or Dask array
        y : (n,) array of classes or (n, c) array of 0 and 1
        """
        self._check_options()
        refuse_masked("X", X)
        refuse_masked("y", y)
        seed, self._jobs = self._seed(), effective_n_jobs(self.n_jobs)
        rows = self._rows(X)
        table = self._labels(y, rows.n)
        with one_blas_thread(), on_interrupt() as interrupted:
            self._learn(self._features(rows, seed), table, seed)
        self.status_ = Status.INTERRUPTED if interrupted else Status.CONVERGED
        self._n_features_out = self.n_bits
        return self

    def transform(self, X: Any) -> Any:
        """Codes (n, n_bits) of -1 and 1, int8; of a Dask array, a Dask array."""
        check_is_fitted(self)
        if is_dask(X):
            self._check_width(X)
            columns = (X.chunks[0], (self.n_bits,))
            hashed = {"transformer": self.feature_map_, "P": self.projection_, "dtype": np.int8}
            return X.rechunk({1: -1}).map_blocks(encode, **hashed, chunks=columns)
        refuse_masked("X", X)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        rows = SampleRows(X)

        def part(lo: int, hi: int) -> Host:
            return encode(rows.read(lo, hi), self.feature_map_, self.projection_)

        with one_blas_thread():
            return np.concatenate(list(ordered(part, ranges(rows.n), self._jobs)))

    def _learn(self, features: Features, table: TargetTable | None, seed: int) -> None:
        raise NotImplementedError

    def _needs_labels(self) -> bool:
        return True

    def _labels(self, y: Any, n: int) -> TargetTable | None:
        if not self._needs_labels():
            return None
        classes, table = label_table(y, n)
        if classes is not None:
            self.classes_ = classes
        return table

    def _check_options(self) -> None:
        whole = isinstance(self.n_bits, int | np.integer) and not isinstance(self.n_bits, bool)
        if not whole or not 1 <= self.n_bits <= MAX_BITS:
            raise ValueError(f"`n_bits` must be an integer in 1..{MAX_BITS}; got {self.n_bits!r}")

    def _rows(self, X: Any) -> SampleRows:
        if not is_dask(X):
            return SampleRows(validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2))
        if X.ndim != 2 or np.isnan(X.shape[0]):
            raise ValueError(f"`X` must be a Dask array of known shape (n, d); got shape {X.shape}")
        self.n_features_in_ = int(X.shape[1])
        return SampleRows(X, self._jobs)

    def _check_width(self, X: Any) -> None:
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[-1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )

    def _features(self, rows: SampleRows, seed: int) -> Features:
        transformer = feature_map(self.feature_map, self.n_anchors, self.sigma, seed)
        chosen = np.random.default_rng(seed).permutation(rows.n)[:MAP_ROWS]
        self.feature_map_ = transformer.fit(rows.sample(chosen))
        return Features(rows, self.feature_map_, self._jobs)

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))
