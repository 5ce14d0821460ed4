"""The nearest codes, exactly."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.messages import suggest
from dcra.retrieval.codes import check_both, hamming_distances

BACKENDS = ("auto", "faiss", "numpy")
CHUNK = 16
"""Queries that are ranked at a time: few, so that their distances and positions stay in the cache."""


def search(queries: Host, database: Host, k: int, *, backend: str = "auto") -> tuple[Host, Host]:
    """The k nearest codes of each query, by Hamming distance; equal distances in the order of the database.

    Parameters
    ----------
    queries, database : (q, r) and (n, r) arrays of signs, or (q, bytes) and (n, bytes) arrays of uint8
        Signs, or what `pack` makes of them.
    k : int
    backend : {"auto", "faiss", "numpy"}
        faiss's `IndexBinaryFlat` where it is installed; both give the same answer.

    Returns
    -------
    distances, indices : (q, k) arrays of int32 and int64

    Examples
    --------
    >>> codes = np.array([[0b1010], [0b1011], [0b0101]], np.uint8)
    >>> search(codes[:1], codes, 2, backend="numpy")[1]
    array([[0, 1]])
    """
    queries, database = check_both(queries, database)
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise TypeError(f"`k` must be an integer; got {k!r}")
    if not 1 <= k <= len(database):
        raise ValueError(f"`k` must lie in 1..{len(database)}, the size of `database`; got {k}")
    if backend not in BACKENDS:
        raise ValueError(suggest("backend", backend, BACKENDS))
    if backend == "auto":
        backend = "faiss" if find_spec("faiss") else "numpy"
    return (_by_faiss if backend == "faiss" else _by_counting)(queries, database, k)


def _by_faiss(queries: Host, database: Host, k: int) -> tuple[Host, Host]:
    try:
        import faiss
    except ImportError as error:
        raise ImportError("backend 'faiss' needs faiss: pip install 'dcra[hashing]'") from error
    index: Any = faiss.IndexBinaryFlat(8 * database.shape[1])
    index.use_heap = False  # the counting search keeps equal distances in order
    index.add(np.ascontiguousarray(database))
    distances, indices = index.search(np.ascontiguousarray(queries), k)
    return distances, indices


def _by_counting(queries: Host, database: Host, k: int) -> tuple[Host, Host]:
    distances, indices = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.int64)
    for lo in range(0, len(queries), CHUNK):
        for i, row in enumerate(hamming_distances(queries[lo : lo + CHUNK], database), lo):
            distances[i], indices[i] = nearest(row, k)
    return distances, indices


def nearest(distances: Host, k: int) -> tuple[Host, Host]:
    """The k least of distances (n,), and their positions, equal ones in order."""
    counts = np.bincount(distances)
    values = np.repeat(np.arange(len(counts), dtype=np.int32), counts)[:k]
    if k == len(distances):
        return values, np.argsort(distances, kind="stable")
    near = np.flatnonzero(distances <= values[-1])
    return values, near[np.argsort(distances[near], kind="stable")[:k]]


def ranking(distances: Host) -> Host:
    """All positions by distance (q, n), equal ones in order: a radix sort."""
    return np.argsort(distances, axis=1, kind="stable")
