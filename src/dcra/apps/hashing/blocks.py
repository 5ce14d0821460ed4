"""Samples a block at a time: arrays, memory-mapped files and Dask arrays are read alike.

Blocks have a fixed size and their contributions are added in order, so that what is computed from them
depends neither on where the samples lie nor on how many threads read them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from dcra._array import Host, is_dask
from dcra.apps.hashing.chunks import Chunks

Range = tuple[int, int]
T = TypeVar("T")

BLOCK = 8192
"""Samples that are read, and mapped to features, at a time."""

SPAN = 8 * BLOCK
"""Samples whose codes are improved at a time: enough to make one batched solve worth its while."""


CACHE = 1 << 30
"""Bytes of lazy samples, or of features, that are kept; more are made again whenever they are needed."""


class SampleRows:
    """The rows of X (n, d), read in ranges and checked as they are read."""

    def __init__(self, X: Any, n_jobs: int = 1) -> None:
        if is_dask(X):
            X = X.compute() if X.nbytes <= CACHE else Chunks(X, n_jobs, CACHE)
        self.X = X
        self.n, self.d = (int(size) for size in X.shape)

    def read(self, lo: int, hi: int) -> Host:
        return self._checked(self.X[lo:hi])

    def sample(self, rows: Host) -> Host:
        """The rows of these numbers, in increasing order."""
        return self._checked(self.X[np.sort(rows)])

    def _checked(self, part: Any) -> Host:
        block = np.asarray(part)
        if block.dtype not in (np.float32, np.float64):
            block = block.astype(np.float64)
        if not np.isfinite(block.sum()) and not np.isfinite(block).all():
            raise ValueError("`X` must be finite; it holds NaN or infinite entries")
        return block


def ranges(n: int, size: int = BLOCK, start: int = 0) -> list[Range]:
    """start..n in pieces of `size`."""
    return [(lo, min(lo + size, n)) for lo in range(start, n, size)]


def ordered(work: Callable[[int, int], T], parts: list[Range], n_jobs: int) -> Iterator[T]:
    """work(lo, hi) of every part, in order, by `n_jobs` threads that run at most one part ahead each."""
    if n_jobs == 1 or len(parts) == 1:
        yield from (work(lo, hi) for lo, hi in parts)
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        waiting = deque(pool.submit(work, *part) for part in parts[: n_jobs + 1])
        for part in parts[n_jobs + 1 :]:
            yield waiting.popleft().result()
            waiting.append(pool.submit(work, *part))
        while waiting:
            yield waiting.popleft().result()
