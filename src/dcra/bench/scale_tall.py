"""An A of gigabytes in partitions of rows, none of them on this side, beside the rounded relaxation."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dcra import api
from dcra._array import Host
from dcra.bench.base import Row

PARTITIONS, COLUMNS, MEMORY, NOISE = 16, 2000, "1GB", 30.0
"""Of a tall A: of how many columns, its workers' memory, and the errors of b in units of sqrt(n)."""

SOME_ROWS = 2000
"""Rows of a tall A that are made at a time."""


@contextmanager
def cluster(workers: int, memory: str | int = "auto") -> Iterator[Any]:
    """Single-thread workers on this machine, and a client of theirs."""
    from dask.distributed import Client, LocalCluster

    made = LocalCluster(n_workers=workers, threads_per_worker=1, memory_limit=memory, dashboard_address=":0")
    with made, Client(made) as client:
        yield client


def peak() -> int:
    """The most memory that this process ever held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def some_rows(chunk: int, rows: int, n: int) -> Iterator[tuple[slice, Host]]:
    """The rows of a partition of a tall A, piece by piece."""
    for lo in range(0, rows, SOME_ROWS):
        place = slice(lo, min(lo + SOME_ROWS, rows))
        rng = np.random.default_rng((chunk, lo))
        yield place, rng.standard_normal((place.stop - lo, n), np.float32)


def made_rows(block_info: Any = None) -> Host:
    rows, n = block_info[None]["chunk-shape"]
    A: Host = np.empty((rows, n), np.float32)
    for place, part in some_rows(block_info[None]["chunk-location"][0], rows, n):
        A[place] = part
    return A


def made_targets(truth: Host, block_info: Any = None) -> Host:
    """A x and errors, without the partition of A as a whole."""
    (rows,), chunk = block_info[None]["chunk-shape"], block_info[None]["chunk-location"][0]
    b: Host = NOISE * truth.size**0.5 * np.random.default_rng(chunk).standard_normal(rows)
    for place, part in some_rows(chunk, rows, truth.size):
        b[place] += part @ truth
    return b.astype(np.float32)


def tall(size: str, method: str) -> Row:
    """One start on an A of so many GB, in as many partitions as workers, none of them on this side."""
    import dask.array as da

    rows = int(float(size) * 1e9 / (4 * COLUMNS * PARTITIONS))
    truth = np.random.default_rng(1).choice([-1.0, 1.0], COLUMNS).astype(np.float32)
    sizes = (rows,) * PARTITIONS
    meta = np.zeros((0, 0), np.float32)
    A = da.map_blocks(made_rows, chunks=(sizes, (COLUMNS,)), dtype=np.float32, meta=meta)
    b = da.map_blocks(made_targets, truth=truth, chunks=(sizes,), dtype=np.float32, meta=meta.ravel())
    with cluster(PARTITIONS, MEMORY) as client:
        targets, begun = b.compute(), time.perf_counter()
        result = api.minimize(A, targets, starts=1, seed=0, executor=client)
        wall = time.perf_counter() - begun
        held = max(client.run(peak).values())
        relaxed, rounded = rounded_relaxation(A, targets, client)
    fit = {"relaxed": relaxed, "rounded": rounded, "wrong": int(np.sum(np.sign(result.x) != truth))}
    return {"fun": result.fun, "wall": wall, "sweeps": result.nit, "held": held, "here": peak(), **fit}


def pulls(A: Host, b: Host, x: Host) -> Host:
    """Of some rows: what the sum of |b - A x| asks of each variable, that sum, and the rows, (1, n + 2)."""
    z = b - A @ x.astype(A.dtype)
    told: Host = np.concatenate([np.sign(z) @ A, [np.abs(z, dtype=np.float64).sum(), len(z)]])[None]
    return told


def rounded_relaxation(A: Any, b: Host, client: Any, steps: int = 15) -> tuple[float, float]:
    """The objective over the box, nearly, and that of its minimiser's signs.

    Rows are many and normal: steps of sqrt(pi/2) times the size of the residual over the number of rows are
    nearly Newton's.
    """
    import dask
    import dask.array as da

    targets = da.from_array(b, chunks=(A.chunks[0],))

    def told(x: Host) -> Host:
        parts = [
            dask.delayed(pulls)(block, target, x)
            for block, target in zip(A.to_delayed().ravel(), targets.to_delayed().ravel(), strict=True)
        ]
        found: Host = np.sum(client.gather(client.compute(parts)), axis=0)[0]
        return found

    x = np.zeros(A.shape[1])
    for _ in range(steps):
        *pull, total, rows = told(x)
        x = np.clip(x + np.pi / 2 * total / rows**2 * np.array(pull), -1, 1)
    return float(told(x)[-2]), float(told(np.where(x < 0, -1.0, 1.0))[-2])
