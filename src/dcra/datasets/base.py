"""What a data set is, and how it is cut into queries and database."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcra._array import Host


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features (n, d) and labels: classes (n,) or, where a sample may have several, 0 and 1 (n, c)."""

    name: str
    features: Host
    labels: Host

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, features {self.features.shape}, labels {self.labels.shape})"

    def split(self, n_queries: int, seed: int) -> Split:
        """Random queries; all other samples are the training set and the database."""
        if not 1 <= n_queries < len(self.features):
            raise ValueError(f"`n_queries` must lie in 1..{len(self.features) - 1}; got {n_queries}")
        order = np.random.default_rng(seed).permutation(len(self.features))
        query, base = order[:n_queries], order[n_queries:]
        return Split(self.features[query], self.labels[query], self.features[base], self.labels[base])

    def first(self, n: int) -> Dataset:
        """The first n samples."""
        return Dataset(self.name, self.features[:n], self.labels[:n])


@dataclass(frozen=True, eq=False)
class Split:
    """Queries, and the samples that are both trained on and searched."""

    query_features: Host
    query_labels: Host
    features: Host
    labels: Host
