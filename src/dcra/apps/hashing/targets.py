"""The paper's B: what the codes are to reproduce, one row per sample here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from dcra._array import Host, is_dask
from dcra.apps.hashing.blocks import SampleRows
from dcra.retrieval.codes import pack, words


@dataclass(frozen=True, eq=False)
class TargetTable:
    """Few distinct targets: rows of `values` (m, d), and which of them each sample has."""

    values: Host
    index: Host

    @property
    def n(self) -> int:
        return len(self.index)

    @property
    def d(self) -> int:
        return int(self.values.shape[1])

    @property
    def one_hot(self) -> bool:
        """Whether there is one class per sample."""
        return np.array_equal(self.values, np.eye(self.d))

    def read(self, lo: int, hi: int) -> Host:
        return self.values[self.index[lo:hi]]


Targets = TargetTable | SampleRows


@dataclass(frozen=True, eq=False)
class DistinctPairs:
    """Distinct pairs of target and code: where each first occurs, which one each sample has, how often."""

    first: Host
    inverse: Host
    counts: Host


def distinct_pairs(index: Host, X: Host) -> DistinctPairs:
    """Of targets by number (n,) and codes X (n, r), one 64-bit word at a time."""
    _, inverse = np.unique(index, return_inverse=True)
    for word in words(pack(X)).T:
        values, part = np.unique(word, return_inverse=True)
        _, inverse = np.unique(inverse * len(values) + part, return_inverse=True)
    _, first, inverse, counts = np.unique(inverse, return_index=True, return_inverse=True, return_counts=True)
    return DistinctPairs(first, inverse, counts)


def label_table(y: Any, n: int) -> tuple[Host | None, TargetTable]:
    """The classes, if y has one per sample, and the table of one-hot or multi-label rows."""
    if y is None:
        raise ValueError("learning from labels requires y to be passed, but the target y is None; give `y`")
    labels = np.asarray(y.compute() if is_dask(y) else y)
    if labels.ndim not in (1, 2) or len(labels) != n:
        raise ValueError(
            f"`y` must have shape ({n},), or ({n}, c) for several labels, to match `X`; got {labels.shape}"
        )
    if labels.ndim == 2 and labels.shape[1] > 1:
        return None, _several(labels)
    return _classes(labels.reshape(n))


def _classes(labels: Host) -> tuple[Host, TargetTable]:
    kind = type_of_target(labels, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"Unknown label type: `y` must hold classes; got {kind} values")
    classes, index = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"`y` must hold at least 2 classes; got 1 class, {classes[0]!r}")
    return classes, TargetTable(np.eye(len(classes)), index.astype(np.int32))


def _several(labels: Host) -> TargetTable:
    if labels.dtype.kind not in "biuf" or not np.all((labels == 0) | (labels == 1)):
        raise ValueError("`y` of shape (n, c) must hold only 0 and 1")
    values, index = np.unique(labels.astype(np.float64), axis=0, return_inverse=True)
    if len(values) < 2:
        raise ValueError("`y` must hold at least 2 different sets of labels; all samples have the same")
    return TargetTable(values, index.reshape(-1).astype(np.int32))
