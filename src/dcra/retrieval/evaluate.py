"""All figures of a ranking from one pass over the distances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.model.checks import refuse_masked
from dcra.retrieval import metrics
from dcra.retrieval.codes import check_both, hamming_distances
from dcra.retrieval.search import CHUNK, ranking

COUNTS = (1, 10, 100, 500, 1000, 2000, 5000)


@dataclass(frozen=True, eq=False)
class Scores:
    """Means over the queries; those without any relevant sample count as zero.

    Attributes
    ----------
    average_precision : (q,) array
        Of each query over the whole ranking, equal distances in the order of the database.
    map, map_top, map_expected : float
        Its mean; that of the first `top`; the mean over all orders of equal distances.
    counts, precision : (m,) arrays
        Precision among the first `counts` samples.
    recall_grid, precision_at_recall : (101,) arrays
        The precision-recall curve: the best precision at this recall or beyond, as in trec_eval.
    ndcg : float
        Of the first `ndcg_at`, the gain of a sample being the number of labels it shares with the query.
    """

    average_precision: Host
    map_top: float
    map_expected: float
    counts: Host
    precision: Host
    precision_at_recall: Host
    ndcg: float

    @property
    def map(self) -> float:
        """Mean average precision, over all queries."""
        return float(np.mean(self.average_precision))

    @property
    def recall_grid(self) -> Host:
        """The recalls at which precision is given."""
        return metrics.RECALL_GRID


def evaluate(
    queries: Host,
    database: Host,
    query_labels: Any,
    database_labels: Any,
    *,
    counts: Sequence[int] = COUNTS,
    top: int = 1000,
    ndcg_at: int = 20,
) -> Scores:
    """Rank the database by Hamming distance to every query, and score the rankings.

    Parameters
    ----------
    queries, database : (q, r) and (n, r) arrays of signs, or (q, bytes) and (n, bytes) arrays of uint8
        Signs, or what `pack` makes of them.
    query_labels, database_labels : (q,) and (n,) arrays of classes, or (q, c) and (n, c) arrays of 0 and 1
        Samples are relevant to each other when they share a label.
    counts : sequence of int
        Where the precision is wanted; those beyond the database are left out.
    top : int
        The depth of `map_top`, which divides by the relevant samples found within it.
    ndcg_at : int
    """
    gains = _gains(query_labels, database_labels, len(queries), len(database))
    Q, D = check_both(queries, database)
    depths = np.array([count for count in counts if count <= len(database)], int)
    parts = []
    for lo in range(0, len(Q), CHUNK):
        distances = hamming_distances(Q[lo : lo + CHUNK], D)
        gain = gains(lo, lo + CHUNK)
        ranked = np.take_along_axis(gain, ranking(distances), axis=1)
        relevant = ranked > 0
        parts.append(
            (
                metrics.average_precision(relevant),
                metrics.average_precision(relevant[:, :top]),
                metrics.expected_average_precision(distances, gain > 0),
                metrics.precision_at(relevant, depths),
                metrics.precision_at_recall(relevant),
                metrics.ndcg(ranked[:, :ndcg_at], gain),
            )
        )
    columns = [np.concatenate(part) for part in zip(*parts, strict=True)]
    each, topped, expected, precision, curve, ndcg = columns
    return Scores(
        average_precision=each,
        map_top=float(np.mean(topped)),
        map_expected=float(np.mean(expected)),
        counts=depths,
        precision=precision.mean(axis=0),
        precision_at_recall=curve.mean(axis=0),
        ndcg=float(np.mean(ndcg)),
    )


def mean_average_precision(
    queries: Host, database: Host, query_labels: Any, database_labels: Any, *, ties: str = "order"
) -> float:
    """The mean over the queries of the average precision of the whole ranking.

    Parameters
    ----------
    queries, database, query_labels, database_labels
        As in `evaluate`.
    ties : {"order", "expected"}
        Equal distances in the order of the database, or the mean over all their orders.

    Examples
    --------
    >>> codes = np.array([[1, 1], [1, -1], [-1, -1]])
    >>> mean_average_precision(codes[:1], codes, [0], [0, 1, 0])
    0.8333333333333333
    """
    if ties not in ("order", "expected"):
        raise ValueError(f"`ties` must be 'order' or 'expected'; got {ties!r}")
    gains = _gains(query_labels, database_labels, len(queries), len(database))
    Q, D = check_both(queries, database)
    return float(np.mean(np.concatenate(list(_precisions(Q, D, gains, ties)))))


def _precisions(Q: Host, D: Host, gains: Any, ties: str) -> Iterator[Host]:
    for lo in range(0, len(Q), CHUNK):
        distances, relevant = hamming_distances(Q[lo : lo + CHUNK], D), gains(lo, lo + CHUNK) > 0
        if ties == "expected":
            yield metrics.expected_average_precision(distances, relevant)
        else:
            yield metrics.average_precision(np.take_along_axis(relevant, ranking(distances), axis=1))


def _gains(query_labels: Any, database_labels: Any, n_queries: int, n_database: int) -> Any:
    """A function of a range of queries: how many labels they share with every sample of the database."""
    for name, given in (("query_labels", query_labels), ("database_labels", database_labels)):
        refuse_masked(name, given)
    left, right = np.asarray(query_labels), np.asarray(database_labels)
    for name, labels, n in (("query_labels", left, n_queries), ("database_labels", right, n_database)):
        if len(labels) != n:
            raise ValueError(f"`{name}` must have one row per code, {n}; got {len(labels)}")
    if left.ndim != right.ndim or left.shape[1:] != right.shape[1:]:
        raise ValueError(
            f"`query_labels` and `database_labels` must be of one kind; got {left.shape} and {right.shape}"
        )
    if left.ndim == 1:
        return lambda lo, hi: (left[lo:hi, None] == right).view(np.uint8)
    wide = right.astype(np.float32).T
    return lambda lo, hi: (left[lo:hi].astype(np.float32) @ wide).astype(np.uint8)
