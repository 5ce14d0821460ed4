"""How fast the engine is, beside what the machine can do: sweeps, sparse data, batches, a new process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dcra._array import Host
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.compare import grouped, mean
from dcra.bench.in_short import NOTHING
from dcra.bench.sections import ReportTable, Section, Text
from dcra.bench.solving import judged
from dcra.model.problem import Problem
from dcra.model.term import Term

SIZES = {
    "start-50x100": "auto",
    "process-50x100": "auto",
    "sweep-300x300": "sweep",
    "sweep-1000x1000": "sweep",
    "sweep-2000x3000": "sweep",
    "sweep-5000x5000": "sweep",
    "sparse-1000000": "sweep",
    "batch-60000-10x64": "auto",
    "batch-10000-512x32": "auto",
    "sparse-10000000": "sweep",
}
"""Parts, with rows x variables, nonzeros or right-hand sides, and the method of each."""

SECONDS = 0.5
"""Of a rate."""

SWEEPS = 100
FULL_COUNT = 3

WORDS = (
    "Sweeps: entries of a dense float32 A that a sweep takes in a second, beside a dot product of A with "
    f"itself. Sparse: {SWEEPS} sweeps with the lower bound, ten nonzeros in each column; memory in units of "
    "A's own. Batches: many right-hand sides of one A, to their own end. A new process: the imports of "
    "NumPy and of dcra, the first solve and the second; and, from outside, a process that imports, solves in "
    "0.02 s and ends. Matrices are rows x variables; threads as in --threads."
)


class Speed(Benchmark):
    """Rates and seconds; a case is a part, and its seed counts repetitions."""

    name: ClassVar[str] = "speed"
    summary: ClassVar[str] = (
        "Rates of sweeps, seconds of batches and sparse data, the first call of a process"
    )
    sizes: ClassVar[Sequence[str]] = tuple(SIZES)
    methods: ClassVar[Sequence[str]] = ("auto", "sweep")

    def cases(self, choice: Choice) -> Iterator[Case]:
        for seed in range(choice.instances or (1 if choice.preset == "small" else FULL_COUNT)):
            for size in choice.sizes or self.sizes:
                if SIZES[size] in (choice.methods or self.methods):
                    yield Case(size, SIZES[size], seed)

    def run(self, case: Case) -> Row:
        part, _, size = case.instance.partition("-")
        return {"part": part, **MEASURES[part](size, case.seed, self.threads)}

    def message(self, rows: Sequence[Row]) -> str:
        parts = grouped(rows, "part")
        words = [say(grouped(parts[part], "instance")) for part, say in IN_SHORT.items() if part in parts]
        return " ".join(words) or NOTHING

    def report(self, rows: Sequence[Row]) -> list[Section]:
        parts = grouped(rows, "part")
        tables = [_table(part, parts[part]) for part in COLUMNS if part in parts]
        return [Text("How fast it is", [WORDS]), *tables]


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
    """Entries of A that come from memory in a second: each is used twice, the second time from cache."""
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
    rate = (state.steps - before) * A.size / pace.wall
    flat = A.ravel(order="F")
    reading = paced(lambda: np.dot(flat, flat))
    dot = reading.times * A.size / reading.wall
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

TIMES = {"seconds": "wall", "CPU seconds": "cpu"}
LAPS = {"NumPy's import": "numpy", "dcra's import": "imported", "first solve": "first", "second": "second"}
COLUMNS: dict[str, tuple[str, dict[str, str]]] = {
    "sweep": ("Sweeps", {"entries per second": "rate", "dot product": "dot", "share of it": "share"}),
    "sparse": ("Sparse data", TIMES | {"memory of A": "memory"}),
    "batch": ("Batches", TIMES | {"mean objective": "fun"}),
    "start": ("A new process", LAPS),
    "process": ("A process as a whole", TIMES),
}
"""Titles, and what columns are called and hold."""


def _table(part: str, rows: Sequence[Row]) -> ReportTable:
    title, columns = COLUMNS[part]
    cells = [
        [instance.partition("-")[2], len(group), *(mean(group, field) for field in columns.values())]
        for instance, group in grouped(rows, "instance").items()
    ]
    return ReportTable(title, ["size", "runs", *columns], cells, "Means over runs.", 3)


def _largest(groups: dict[Any, list[Row]]) -> tuple[str, list[Row]]:
    """What comes last in the list of sizes, by its size."""
    instance = max(groups, key=lambda name: list(SIZES).index(name) if name in SIZES else -1)
    return instance.partition("-")[2], groups[instance]


def _said_of_sweeps(groups: dict[Any, list[Row]]) -> str:
    size, rows = _largest(groups)
    return f"Sweeps over {size} read A at {mean(rows, 'share'):.0%} of the rate of a dot product."


def _said_of_sparse(groups: dict[Any, list[Row]]) -> str:
    size, rows = _largest(groups)
    taken = f"{mean(rows, 'wall'):.1f} s and {mean(rows, 'memory'):.1f} times the memory of A"
    return f"{SWEEPS} sweeps over {size} nonzeros take {taken}."


IN_SHORT = {"sweep": _said_of_sweeps, "sparse": _said_of_sparse}
