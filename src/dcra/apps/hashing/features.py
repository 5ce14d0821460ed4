"""What the hash function sees of a sample: unit length, perhaps a kernel, and a constant."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from dcra._array import Host
from dcra.apps.hashing import blocks
from dcra.apps.hashing.blocks import SampleRows, ordered, ranges
from dcra.messages import suggest

MAP_ROWS = 10_000
"""Samples that a feature map is fitted to."""


class AnchorKernel(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """exp(-|x - a|^2 / (2 sigma^2)) for random samples a, the anchors.

    Parameters
    ----------
    n_anchors : int
        All samples where there are fewer.
    sigma : float
    random_state : int, RandomState instance or None

    Attributes
    ----------
    anchors_ : (n_anchors, n_features) array
    """

    def __init__(self, n_anchors: int = 1000, sigma: float = 0.4, random_state: Any = None) -> None:
        self.n_anchors = n_anchors
        self.sigma = sigma
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> AnchorKernel:
        """Choose the anchors among the rows of X (n, d)."""
        if self.n_anchors < 1 or not self.sigma > 0:
            raise ValueError(
                f"`n_anchors` and `sigma` must be positive; got {self.n_anchors} and {self.sigma}"
            )
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        rng = check_random_state(self.random_state)
        self.anchors_ = X[rng.permutation(len(X))[: self.n_anchors]]
        return self

    def transform(self, X: Any) -> Host:
        """Kernel values (n, n_anchors)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        values: Host = rbf_kernel(X, self.anchors_.astype(X.dtype, copy=False), 0.5 / self.sigma**2)
        return values


def feature_map(kind: Any, n_anchors: int, sigma: float, seed: int) -> Any:
    """The transformer behind a name, or a copy of one that was given."""
    if kind == "rbf":
        return make_pipeline(Normalizer(), AnchorKernel(n_anchors, sigma, random_state=seed))
    if kind == "linear":
        return make_pipeline(Normalizer())
    if isinstance(kind, str) or not hasattr(kind, "transform"):
        raise ValueError(suggest("feature_map", kind, ("rbf", "linear")) + "; a transformer will do too")
    return clone(kind)


def mapped(transformer: Any, block: Host) -> Host:
    """The features (b, m + 1) of raw samples (b, d), the last one constant."""
    inner = np.asarray(transformer.transform(block))
    return np.concatenate([inner, np.ones((len(inner), 1), inner.dtype)], axis=1)


class Features:
    """The features Phi (n, m) of all samples, never in one piece."""

    def __init__(self, rows: SampleRows, transformer: Any, n_jobs: int) -> None:
        self.rows, self.transformer, self.n_jobs = rows, transformer, n_jobs
        probe = mapped(transformer, rows.read(0, 1))
        self.m = probe.shape[1]
        self._kept: dict[int, Host] | None = {} if rows.n * probe.nbytes <= blocks.CACHE else None

    def block(self, lo: int, hi: int) -> Host:
        if self._kept is None:
            return mapped(self.transformer, self.rows.read(lo, hi))
        if lo not in self._kept:
            self._kept[lo] = mapped(self.transformer, self.rows.read(lo, hi))
        return self._kept[lo]

    def statistics(self, X: Host) -> tuple[Host, Host]:
        """Phi'Phi and Phi'X for codes X (n, r)."""

        def part(lo: int, hi: int) -> tuple[Host, Host]:
            phi = self.block(lo, hi).astype(np.float64, copy=False)
            return phi.T @ phi, phi.T @ X[lo:hi].astype(np.float64)

        gram, cross = np.zeros((self.m, self.m)), np.zeros((self.m, X.shape[1]))
        for one, two in ordered(part, ranges(self.rows.n), self.n_jobs):
            gram += one
            cross += two
        return gram, cross

    def cross(self, X: Host) -> Host:
        """Phi'X for codes X (n, r)."""

        def part(lo: int, hi: int) -> Host:
            return self.block(lo, hi).T.astype(np.float64) @ X[lo:hi].astype(np.float64)

        total = np.zeros((self.m, X.shape[1]))
        for one in ordered(part, ranges(self.rows.n), self.n_jobs):
            total += one
        return total

    def project(self, P: Host, lo: int, hi: int) -> Host:
        """Phi P for the samples lo..hi."""
        return np.concatenate(
            list(ordered(lambda a, b: self.block(a, b) @ P, ranges(hi, start=lo), self.n_jobs))
        )
