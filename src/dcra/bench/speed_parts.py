"""The parts of benchmark `speed`: each measures once and returns a row."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host
from dcra.bench.base import Row, Skip
from dcra.bench.solving import judged
from dcra.model.problem import Problem
from dcra.model.term import Term

SECONDS = 0.5
"""Of a rate."""

SWEEPS = 100


class Pace(NamedTuple):
    """How often something was done, in so many seconds."""

    times: int
    wall: float
    cpu: float


def paced(step: Callable[[], object]) -> Pace:
    """Do something again and again for a while."""
    times, wall, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - wall < SECONDS:
        step()
        times += 1
    return Pace(times, time.perf_counter() - wall, time.process_time() - cpu)


def sweep(size: str, seed: int, threads: int) -> Row:
    """Entries of A from memory in a processor second: each is used twice, the second time from cache."""
    from dcra.compiled.form import compile_problem
    from dcra.engines.base import Starts
    from dcra.engines.sweep import Sweep

    A = np.asfortranarray(_normal(size, seed).astype(np.float32))
    problem = Problem([Term("l1", A, np.zeros(len(A), np.float32))])
    compiled = compile_problem(problem)
    state = Sweep(1_000_000).start(compiled, Starts(0, 0, 1))  # so slow that no variable rests
    state.advance(4 * A.size)
    before = state.steps
    pace = paced(lambda: state.advance(4 * A.size))
    rate = (state.steps - before) * A.size / pace.cpu
    flat = A.ravel(order="F")
    reading = paced(lambda: np.dot(flat, flat))
    dot = reading.times * A.size / reading.cpu
    fun = judged(problem, compiled.decode(state.candidates()[0]))
    return {"fun": fun, "wall": pace.wall, "cpu": pace.cpu, "rate": rate, "dot": dot, "share": rate / dot}


def sparse(size: str, seed: int, threads: int) -> Row:
    """Sweeps over scattered nonzeros, with the lower bound; time and memory."""
    from dcra.api import minimize
    from dcra.engines.sweep import Sweep

    A, b = scattered(int(size), seed)
    minimize(A[:200, :100], b[:200], method=Sweep(3), starts=1, n_jobs=1)
    with watched() as peak:
        wall, cpu = time.perf_counter(), time.process_time()
        result = minimize(A, b, method=Sweep(SWEEPS), starts=1, seed=0, n_jobs=threads)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = 1 + peak[0] / (A.data.nbytes + A.indices.nbytes + A.indptr.nbytes)
    return {"fun": float(result.fun), "wall": wall, "cpu": cpu, "memory": memory}


def scattered(nonzeros: int, seed: int) -> tuple[Any, Host]:
    """Ten nonzeros in each column."""
    from scipy.sparse import csc_array

    n = nonzeros // 10
    rng = np.random.default_rng(seed)
    values, rows = rng.standard_normal(nonzeros), rng.integers(0, n, nonzeros, dtype=np.int32)
    A = csc_array((values, rows, np.arange(0, nonzeros + 1, 10, dtype=np.int32)), shape=(n, n))
    A.sum_duplicates()
    return A, rng.standard_normal(n)


@contextmanager
def watched() -> Iterator[list[int]]:
    """The most bytes that this process has taken beyond those it had."""
    before, peak, stop = resident(), [0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.01):
            peak[0] = max(peak[0], resident() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        stop.set()
        watcher.join()


def resident() -> int:
    """Bytes of this process in memory."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError as error:
        raise Skip(f"memory is read from /proc/self/statm ({error})") from error


def batch(size: str, seed: int, threads: int) -> Row:
    """Many right-hand sides, noisy images of signs."""
    from dcra.api import minimize_batch

    columns, _, shape = size.partition("-")
    A, rng = _normal(shape, seed), np.random.default_rng((seed, 1))
    X = np.where(rng.random((A.shape[1], int(columns))) < 0.5, -1, 1)
    B = A @ X + 0.5 * rng.standard_normal((len(A), int(columns)))
    minimize_batch(A, B[:, :64], seed=0, n_jobs=threads)
    wall, cpu = time.perf_counter(), time.process_time()
    result = minimize_batch(A, B, seed=0, n_jobs=threads)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"fun": float(np.mean(result.fun)), "wall": wall, "cpu": cpu}


FIRST_CALL = """
import json, sys, time
times = [time.perf_counter()]
def lap(): times.append(time.perf_counter())
import numpy as np; lap()
import dcra; lap()
light = "scipy" not in sys.modules
rng = np.random.default_rng({seed})
A, b = rng.standard_normal(({r}, {n})), np.ones({r}); lap()
result = dcra.minimize(A, b, starts=1, seed=0); lap()
dcra.minimize(A, b, starts=1, seed=0); lap()
numpy, imported, _, first, second = np.diff(times).tolist()
print(json.dumps(dict(fun=result.fun, cpu=time.process_time(), numpy=numpy, imported=imported,
                      first=first, second=second, later=first - second, light=light)))
"""


def start(size: str, seed: int, threads: int) -> Row:
    """Imports, the first solve and the second, told by a new process."""
    return _new_process(FIRST_CALL, size, seed)


WHOLE = """
import json, time
import numpy as np, dcra
rng = np.random.default_rng({seed})
result = dcra.minimize(rng.standard_normal(({r}, {n})), np.ones({r}), time_limit=0.02, seed=0)
print(json.dumps(dict(fun=result.fun, cpu=time.process_time())))
"""


def process(size: str, seed: int, threads: int) -> Row:
    """A process that imports, solves and ends, timed from outside."""
    return _new_process(WHOLE, size, seed)


def _new_process(code: str, size: str, seed: int) -> Row:
    r, n = map(int, size.split("x"))
    command = [sys.executable, "-c", code.format(r=r, n=n, seed=seed)]
    begin = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {**json.loads(done.stdout), "wall": time.perf_counter() - begin}


def _normal(size: str, seed: int) -> Host:
    """A standard normal matrix of so many rows and variables."""
    r, n = map(int, size.split("x"))
    return np.random.default_rng(seed).standard_normal((r, n))


MEASURES: dict[str, Callable[[str, int, int], Row]] = {
    "sweep": sweep,
    "sparse": sparse,
    "batch": batch,
    "start": start,
    "process": process,
}
