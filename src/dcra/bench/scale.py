"""Beyond one process, on a local cluster: starts, bytes that travel, lazy columns, A in partitions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from dcra import api
from dcra._array import Host
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.gaussian import size_of
from dcra.bench.scale_tall import cluster, peak, tall
from dcra.bench.sections import Section
from dcra.model.problem import Problem
from dcra.model.term import Term

STARTS = {"starts-2000x3000": 32, "starts-1000x1000": 96}
WINDOWS = (8, 16, 32)
WORKERS, SENDING = 2, 4
SIZES = ("columns-1000000", "tall-2", "tall-8", *STARTS, "sent-1000x1000")
"""Those that tell the caller's memory come first: a process remembers the most that it ever had."""

METHODS = ("threads", *(f"window-{window}" for window in WINDOWS), "cluster")
SMALL = ("starts-1000x1000",)
CHUNK = 8192
"""Columns of a lazy batch that are solved together."""


class Scale(Benchmark):
    """What travels, what is held and how fast it goes, with workers and the caller on one machine."""

    name: ClassVar[str] = "scale"
    summary: ClassVar[str] = "A local Dask cluster: starts a second, bytes, lazy columns, A of gigabytes"
    sizes: ClassVar[Sequence[str]] = SIZES
    methods: ClassVar[Sequence[str]] = METHODS

    def cases(self, choice: Choice) -> Iterable[Case]:
        for size in choice.sizes or (SMALL if choice.preset == "small" else SIZES):
            starts = size in STARTS
            fitting = METHODS[:-1] if starts else METHODS[-1:]
            for number in range(choice.instances or (3 if starts and choice.preset == "full" else 1)):
                for method in choice.methods or fitting:
                    if method in fitting:
                        yield Case(f"{size}-{number}", method)

    def warm(self, case: Case) -> None:
        try:
            import dask.distributed  # noqa: F401
            import psutil  # noqa: F401
        except ImportError as error:
            raise Skip("dask.distributed is missing; pip install 'dcra[dask]'") from error

    def run(self, case: Case) -> Row:
        kind, size, _ = case.instance.split("-")
        row = PARTS[kind](size, case.method)
        return {"fun": None, "cpu": None, "size": f"{kind}-{size}", **row}

    def message(self, rows: Sequence[Row]) -> str:
        from dcra.bench.scale_report import in_short

        return in_short(rows)

    def report(self, rows: Sequence[Row]) -> list[Section]:
        from dcra.bench.scale_report import sections

        return sections(rows)


def drawn(n: int, r: int) -> Problem:
    """Nothing to be found, or proved before all starts are done."""
    rng = np.random.default_rng(0)
    return Problem([Term("l1", rng.standard_normal((r, n)), rng.standard_normal(r))])


def starts(size: str, method: str) -> Row:
    """Starts a second, by threads or by as many workers; what workers import is imported before."""
    n, r = size_of(size)
    problem, count = drawn(n, r), STARTS[f"starts-{size}"]

    def timed(**options: Any) -> Row:
        api.solve(problem, starts=2 * WORKERS, seed=1, **options)
        begun = time.perf_counter()
        result = api.solve(problem, starts=count, seed=1, **options)
        wall = time.perf_counter() - begun
        return {"fun": result.fun, "wall": wall, "rate": result.n_starts / wall}

    if method == "threads":
        return timed(n_jobs=WORKERS)
    from dcra.machines.clusters import cluster as quiet

    with quiet(workers=WORKERS) as client:
        return timed(executor=client, window=int(method.partition("-")[2]))


def sent(size: str, method: str) -> Row:
    """Bytes on the loopback for each worker, in units of A, less what an idle cluster says."""
    n, r = size_of(size)
    problem = drawn(n, r)
    with cluster(SENDING) as client:
        api.solve(drawn(10, 10), starts=SENDING, seed=0, executor=client)
        before = looped_back()
        time.sleep(2.0)
        idle = (looped_back() - before) / 2.0
        before, begun = looped_back(), time.perf_counter()
        result = api.solve(problem, starts=64, seed=0, window=2 * SENDING, executor=client)
        wall = time.perf_counter() - begun
        moved = looped_back() - before - idle * wall
    return {"fun": result.fun, "wall": wall, "moved": moved / (SENDING * 8 * n * r)}


def looped_back() -> int:
    """Bytes that have gone through this machine's own network so far."""
    import psutil

    return int(psutil.net_io_counters(pernic=True)["lo"].bytes_sent)


class Sink:
    """Where answers go: nothing is kept but their sum."""

    def __init__(self) -> None:
        self.total, self.count, self.lock = 0.0, 0, threading.Lock()

    def __setitem__(self, place: Any, values: Host) -> None:
        with self.lock:
            self.total, self.count = self.total + float(values.sum()), self.count + values.size


def right_hand_sides(count: int) -> Any:
    """(64, count) in float32, made chunk by chunk."""
    import dask.array as da

    def made(block_info: Any = None) -> Host:
        rows, columns = block_info[None]["chunk-shape"]
        rng = np.random.default_rng(block_info[None]["chunk-location"][1])
        return rng.standard_normal((rows, columns), np.float32)

    sizes = tuple(min(CHUNK, count - lo) for lo in range(0, count, CHUNK))
    return da.map_blocks(made, chunks=((64,), sizes), dtype=np.float32, meta=np.zeros((0, 0), np.float32))


def columns(size: str, method: str) -> Row:
    """Right-hand sides a second, made and solved lazily, beside one call on one core; and memory."""
    import dask
    import dask.array as da

    count = int(size)
    A = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
    some = right_hand_sides(8 * CHUNK).compute(scheduler="synchronous")
    api.minimize_batch(A, some[:, :100], starts=1, seed=0, n_jobs=1)
    begun = time.perf_counter()
    api.minimize_batch(A, some, starts=1, seed=0, n_jobs=1, chunk=CHUNK)  # the work depends on the chunk
    alone = some.shape[1] / (time.perf_counter() - begun)
    before, sink = peak(), Sink()
    lazy = api.minimize_batch(A, right_hand_sides(count), starts=1, seed=0)
    begun = time.perf_counter()
    with dask.config.set(scheduler="threads", num_workers=WORKERS):
        da.store(lazy.fun, sink, lock=False)
    wall = time.perf_counter() - begun
    share = {"alone": alone, "lazily": count / wall / WORKERS, "held": before, "here": peak()}
    return {"fun": sink.total / sink.count, "wall": wall, "rate": count / wall, **share}


PARTS: dict[str, Callable[[str, str], Row]] = {
    "starts": starts,
    "sent": sent,
    "columns": columns,
    "tall": tall,
}
