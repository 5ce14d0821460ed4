"""The rows of a Dask array, read from first to last."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np

from dcra._array import Host


class Chunks:
    """A Dask array (n, d) that can be sliced, and indexed by increasing rows, from several threads.

    Any row costs the making of its whole chunk. Chunks are therefore made once for all their readers, and
    some of those that come next are made meanwhile, by `n_jobs` threads; the last few are held.

    Parameters
    ----------
    X : dask.array.Array
    n_jobs : int
    room : int
        Bytes that chunks may take, if two of them do not take more.
    """

    def __init__(self, X: Any, n_jobs: int, room: int) -> None:
        self.X, self.shape = X.rechunk({1: -1}), X.shape
        self.starts = np.concatenate([[0], np.cumsum(X.chunks[0])])
        fitting = room // max(1, max(X.chunks[0]) * X.shape[1] * X.dtype.itemsize)
        self.ahead = min(n_jobs, fitting)
        # readers may stand on both sides of a border between two chunks
        self.n_held = max(2, min(n_jobs + 1 + self.ahead, fitting))
        self._pool, self._lock = ThreadPoolExecutor(n_jobs), Lock()
        self._held: dict[int, Future[Host]] = {}

    def __getitem__(self, rows: slice | Host) -> Host:
        if isinstance(rows, slice):
            rows = np.arange(rows.start, rows.stop)
        of = np.searchsorted(self.starts, rows, side="right") - 1
        return np.concatenate([self._chunk(i)[rows[of == i] - self.starts[i]] for i in np.unique(of)])

    def _chunk(self, i: int) -> Host:
        with self._lock:
            for k in range(i, min(i + self.ahead + 1, len(self.starts) - 1)):
                if k not in self._held:
                    self._held[k] = self._pool.submit(self._make, k)
            found = self._held[i]
            for k in list(self._held)[: -self.n_held]:
                del self._held[k]
        return found.result()

    def _make(self, i: int) -> Host:
        from dask.base import get_scheduler

        chosen_by_user = get_scheduler() is not None
        return np.asarray(self.X.blocks[i].compute(scheduler=None if chosen_by_user else "synchronous"))
