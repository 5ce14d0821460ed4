"""What travels, what is held in memory and how fast it goes beyond one machine, on a local cluster.

    python benchmarks/scale.py sent                     bytes that A costs each worker
    python benchmarks/scale.py columns --count 1000000  right-hand sides that are made and solved lazily
    python benchmarks/scale.py tall --gigabytes 8       A in partitions of rows, none of them on this side

Each prints what it did as a table. `tall` needs as many GB of memory as A, spread over its workers.
"""

from __future__ import annotations

import argparse
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import dask.array as da
import numpy as np
import psutil
from dask.distributed import Client, LocalCluster

import dcra


@contextmanager
def cluster(workers: int, memory: str | int = "auto") -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=memory, dashboard_address=":0"
        ) as made,
        Client(made) as client,
    ):
        yield client


def peak() -> int:
    """The most memory that this process ever held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def looped_back() -> int:
    """Bytes that have gone through this machine's own network so far."""
    return int(psutil.net_io_counters(pernic=True)["lo"].bytes_sent)


def sent(workers: int, n: int, starts: int) -> None:
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((n, n)), rng.standard_normal(n)
    with cluster(workers) as client:
        dcra.minimize(A[:10, :10], b[:10], starts=workers, seed=0, executor=client)  # workers import dcra
        before = looped_back()
        time.sleep(2.0)
        idle = (looped_back() - before) / 2.0
        before, begun = looped_back(), time.perf_counter()
        dcra.minimize(A, b, starts=starts, seed=0, window=2 * workers, executor=client)
        moved = looped_back() - before - idle * (time.perf_counter() - begun)
    times = moved / (workers * A.nbytes)
    print(f"{starts} starts of {n} x {n} on {workers} workers: {moved / 1e6:.1f} MB moved,")
    print(f"{times:.2f} times A, {A.nbytes / 1e6:.1f} MB, for each worker")


def right_hand_sides(count: int, chunk: int) -> da.Array:
    """(64, count) in float32, made chunk by chunk."""

    def made(block_info: Any = None) -> np.ndarray:
        rows, columns = block_info[None]["chunk-shape"]
        rng = np.random.default_rng(block_info[None]["chunk-location"][1])
        return rng.standard_normal((rows, columns), np.float32)

    sizes = [min(chunk, count - lo) for lo in range(0, count, chunk)]
    return da.map_blocks(
        made, chunks=((64,), tuple(sizes)), dtype=np.float32, meta=np.zeros((0, 0), np.float32)
    )


class Sink:
    """Where answers go: nothing is kept but their sum."""

    def __init__(self) -> None:
        self.total, self.count, self.lock = 0.0, 0, threading.Lock()

    def __setitem__(self, place: Any, values: np.ndarray) -> None:
        with self.lock:
            self.total, self.count = self.total + float(values.sum()), self.count + values.size


def columns(count: int, chunk: int) -> None:
    A = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
    some = right_hand_sides(8 * chunk, chunk).compute(scheduler="synchronous")
    dcra.minimize_batch(A, some[:, :100], starts=1, seed=0, n_jobs=1)
    begun = time.perf_counter()
    dcra.minimize_batch(A, some, starts=1, seed=0, n_jobs=1, chunk=chunk)  # the work depends on the chunk
    alone = some.shape[1] / (time.perf_counter() - begun)
    before = peak()
    lazy, sink = dcra.minimize_batch(A, right_hand_sides(count, chunk), starts=1, seed=0), Sink()
    cores = 2
    begun = time.perf_counter()
    with dask.config.set(scheduler="threads", num_workers=cores):
        da.store(lazy.fun, sink, lock=False)
    rate = count / (time.perf_counter() - begun)
    print(f"one call of {some.shape[1]} columns on one core: {alone:.0f} a second")
    share = rate / (cores * alone)
    print(f"{sink.count} lazy columns on {cores}: {rate:.0f} a second, {share:.2f} of that a core")
    print(f"mean objective {sink.total / sink.count:.4f}; memory {before} MB before, {peak()} MB at most")


SOME_ROWS = 2000
"""Rows of A that are made at a time."""


def some_rows(chunk: int, rows: int, n: int) -> Iterator[tuple[slice, np.ndarray]]:
    """The rows of a chunk of A, piece by piece."""
    for lo in range(0, rows, SOME_ROWS):
        place = slice(lo, min(lo + SOME_ROWS, rows))
        rng = np.random.default_rng((chunk, lo))
        yield place, rng.standard_normal((place.stop - lo, n), np.float32)


def made_rows(block_info: Any = None) -> np.ndarray:
    rows, n = block_info[None]["chunk-shape"]
    A = np.empty((rows, n), np.float32)
    for place, part in some_rows(block_info[None]["chunk-location"][0], rows, n):
        A[place] = part
    return A


def made_targets(truth: np.ndarray, noise: float, block_info: Any = None) -> np.ndarray:
    """A x + noise of so many times the size, without the chunk of A as a whole."""
    (rows,), chunk = block_info[None]["chunk-shape"], block_info[None]["chunk-location"][0]
    b = noise * truth.size**0.5 * np.random.default_rng(chunk).standard_normal(rows)
    for place, part in some_rows(chunk, rows, truth.size):
        b[place] += part @ truth
    return b.astype(np.float32)


def pulls(A: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Of some rows: what the sum of |b - A x| asks of each variable, that sum, and the rows, (1, n + 2)."""
    z = b - A @ x.astype(A.dtype)
    return np.concatenate([np.sign(z) @ A, [np.abs(z, dtype=np.float64).sum(), len(z)]])[None]


def rounded_relaxation(A: da.Array, b: np.ndarray, client: Client, steps: int = 15) -> tuple[float, float]:
    """The objective over the box, nearly, and that of its minimiser's signs.

    Rows are many and normal: steps of sqrt(pi/2) times the size of the residual over the number of rows are
    nearly Newton's.
    """
    targets = da.from_array(b, chunks=(A.chunks[0],))

    def told(x: np.ndarray) -> np.ndarray:
        parts = [
            dask.delayed(pulls)(block, target, x)
            for block, target in zip(A.to_delayed().ravel(), targets.to_delayed().ravel(), strict=True)
        ]
        return np.sum(client.gather(client.compute(parts)), axis=0)[0]

    x = np.zeros(A.shape[1])
    for _ in range(steps):
        *pull, total, rows = told(x)
        x = np.clip(x + np.pi / 2 * total / rows**2 * np.array(pull), -1, 1)
    return float(told(x)[-2]), float(told(np.where(x < 0, -1.0, 1.0))[-2])


def tall(gigabytes: float, n: int, chunks: int, memory: str, seconds: float, noise: float) -> None:
    rows = int(gigabytes * 1e9 / (4 * n * chunks))
    truth = np.random.default_rng(1).choice([-1.0, 1.0], n).astype(np.float32)
    sizes = (rows,) * chunks
    A = da.map_blocks(made_rows, chunks=(sizes, (n,)), dtype=np.float32, meta=np.zeros((0, 0), np.float32))
    b = da.map_blocks(
        made_targets,
        truth=truth,
        noise=noise,
        chunks=(sizes,),
        dtype=np.float32,
        meta=np.zeros(0, np.float32),
    )
    with cluster(chunks, memory) as client:
        seen: list[str] = []

        def told(progress: Any) -> None:
            seen.append(f"{progress.seconds:.0f} s {progress.fun:.6g}")

        targets, begun = b.compute(), time.perf_counter()
        result = dcra.minimize(
            A, targets, starts=1, seed=0, time_limit=seconds, executor=client, callback=told
        )
        taken = time.perf_counter() - begun
        held = max(client.run(peak).values())
        relaxed, rounded = rounded_relaxation(A, targets, client)
    print(
        f"{chunks * rows} x {n}, {A.nbytes / 1e9:.1f} GB in {chunks} partitions, as many workers of {memory}"
    )
    print(f"{result.nit} sweeps in {taken:.0f} s ({result.status})")
    print(f"{held} MB at most in a worker, {peak()} here")
    print(f"objective {result.fun:.8g}, of the relaxation {relaxed:.8g}, of its signs {rounded:.8g}")
    wrong = int(np.sum(np.sign(result.x) != truth))
    print(f"of the planted point's signs {wrong} of {n} differ; {'; '.join(seen)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(dest="part", required=True)
    one = parts.add_parser("sent")
    one.add_argument("--workers", type=int, default=4)
    one.add_argument("--size", type=int, default=1000)
    one.add_argument("--starts", type=int, default=32)
    two = parts.add_parser("columns")
    two.add_argument("--count", type=int, default=1_000_000)
    two.add_argument("--chunk", type=int, default=8192)
    three = parts.add_parser("tall")
    three.add_argument("--gigabytes", type=float, default=8.0)
    three.add_argument("--columns", type=int, default=2000)
    three.add_argument("--chunks", type=int, default=16)
    three.add_argument("--memory", default="1GB")
    three.add_argument("--seconds", type=float, default=300.0)
    three.add_argument("--noise", type=float, default=30.0)
    asked = parser.parse_args()
    if asked.part == "sent":
        sent(asked.workers, asked.size, asked.starts)
    elif asked.part == "columns":
        columns(asked.count, asked.chunk)
    else:
        tall(asked.gigabytes, asked.columns, asked.chunks, asked.memory, asked.seconds, asked.noise)


if __name__ == "__main__":
    main()
