"""Figures of rankings: pure functions of relevance in ranked order, one query per row."""

from __future__ import annotations

import numpy as np

from dcra._array import Host

RECALL_GRID = np.linspace(0.0, 1.0, 101)


def average_precision(relevant: Host) -> Host:
    """The mean of precision over the positions of the relevant samples; 0 where there are none.

    Parameters
    ----------
    relevant : (q, n) array of bool
        Whether the sample at each position is relevant; for a cut ranking, its first columns.
    """
    out = np.zeros(len(relevant))
    for i, row in enumerate(relevant):
        found = np.flatnonzero(row)
        if found.size:
            out[i] = np.mean(np.arange(1, found.size + 1) / (found + 1))
    return out


def expected_average_precision(distances: Host, relevant: Host) -> Host:
    """Average precision (q,), in the mean over all orders of samples at equal distance.

    A group of t samples, m of them relevant, after N samples with M relevant adds

        m/t sum_{i=1..t} (M + 1 + (i-1) (m-1)/(t-1)) / (N + i),

    divided by the number of relevant samples in all: distances enter by their counts alone.
    """
    levels = int(distances.max()) + 1
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, distances.shape[1] + 1))])
    return np.array(
        [_expected(row, rel, levels, harmonic) for row, rel in zip(distances, relevant, strict=True)]
    )


def _expected(distances: Host, relevant: Host, levels: int, harmonic: Host) -> float:
    t = np.bincount(distances, minlength=levels)
    m = np.bincount(distances[relevant], minlength=levels)
    if not m.any():
        return 0.0
    N, M = np.cumsum(t) - t, np.cumsum(m) - m
    inverse = harmonic[N + t] - harmonic[N]  # sum of 1 / (N + i)
    spread = t - (N + 1) * inverse  # sum of (i - 1) / (N + i)
    each = (M + 1) * inverse + spread * (m - 1) / np.maximum(t - 1, 1)
    return float(np.sum(m / np.maximum(t, 1) * each) / m.sum())


def precision_at(relevant: Host, counts: Host) -> Host:
    """The share of relevant samples among the first `counts`: (q, len(counts))."""
    found = np.cumsum(relevant[:, : np.max(counts, initial=0)], axis=1, dtype=np.int32)
    return found[:, counts - 1] / counts


def precision_at_recall(relevant: Host, grid: Host = RECALL_GRID) -> Host:
    """The best precision at each recall of `grid` or beyond: (q, len(grid)); 0 where nothing is relevant."""
    out = np.zeros((len(relevant), len(grid)))
    for i, row in enumerate(relevant):
        found = np.flatnonzero(row)
        if found.size:
            precision = np.arange(1, found.size + 1) / (found + 1)
            best = np.maximum.accumulate(precision[::-1])[::-1]
            needed = np.ceil(grid * found.size - 1e-9).astype(int)
            out[i] = best[np.maximum(needed, 1) - 1]
    return out


def ndcg(ranked: Host, gains: Host) -> Host:
    """Discounted gain sum_i gain_i / log2(i + 1) of ranked samples (q, k) over the best possible: (q,).

    Parameters
    ----------
    ranked : (q, k) array
        Gains of the first k samples of a ranking.
    gains : (q, n) array
        Gains of all samples, in any order.
    """
    k = ranked.shape[1]
    discount = 1 / np.log2(np.arange(2, k + 2))
    best = np.sort(np.partition(gains, -k, axis=1)[:, -k:], axis=1)[:, ::-1]
    ideal = best @ discount
    return np.divide(ranked @ discount, ideal, out=np.zeros(len(ranked)), where=ideal > 0)
