"""Targets of samples with several labels: coordinates in which samples are near that share labels."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from dcra._array import Host
from dcra.apps.hashing.blocks import ranges
from dcra.apps.hashing.targets import TargetTable

LANDMARKS = 3000
"""Sets of labels, the most frequent, whose relations decide the coordinates of all."""


def relevance_table(table: TargetTable) -> TargetTable:
    """Rows e with e_i'e_j about the root of the number of labels that the sets i and j share.

    One class per sample is such a table already. Else they are principal coordinates (Nystroem's, where there
    are more sets of labels than landmarks), as many as there are labels or fewer, the widest spread first.
    """
    if table.one_hot:
        return table
    counts = np.bincount(table.index, minlength=len(table.values))
    landmarks = np.sort(np.argsort(-counts, kind="stable")[:LANDMARKS])
    weights, near = np.sqrt(counts[landmarks]), table.values[landmarks]

    def shared(labels: Host) -> Host:
        relations: Host = np.sqrt(labels @ near.T) * weights
        return relations

    m = len(landmarks)
    spread, axes = eigh(weights[:, None] * shared(near), subset_by_index=(max(0, m - table.d), m - 1))
    kept = spread > 1e-9 * spread[-1]
    axes = (axes[:, kept] / np.sqrt(spread[kept]))[:, ::-1]
    values = [shared(table.values[lo:hi]) @ axes for lo, hi in ranges(len(table.values))]
    return TargetTable(np.concatenate(values), table.index)
