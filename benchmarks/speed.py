"""How fast the engine is, beside what the machine can do.

    python benchmarks/speed.py [sweep] [batch] [sparse] [start]

sweep   entries of A per second in sweeps over a dense float32 A, beside a plain copy and a plain sum
batch   many right-hand sides for one A
sparse  100 sweeps at 10^6 and 10^7 nonzeros, time and memory
start   a first call in a new process
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
from scipy import sparse

import dcra
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.engines.sweep import Sweep
from dcra.search.threads import one_blas_thread


def sweep() -> None:
    """Sweeps on one core beside what binds: reading A where it exceeds the caches, else arithmetic."""
    print("dense float32 sweeps, one core")
    gemm = _gemm()
    for r, n in ((300, 300), (1000, 1000), (2000, 3000), (5000, 5000)):
        rng = np.random.default_rng(0)
        A = np.asfortranarray(rng.standard_normal((r, n)).astype(np.float32))
        ours, reading = _swept(A), _read(A)
        print(
            f"  {r:>5} x {n:<5} A at {4 * ours / 1e9:5.1f} GB/s, dot product {4 * reading / 1e9:5.1f} "
            f"({100 * ours / reading:3.0f} %); {FLOPS * ours / 1e9:5.1f} Gflop/s of {gemm / 1e9:.0f}"
        )


FLOPS = 7
"""Per entry: scale, clip at both sides, multiply and add for the gradient; multiply and add for the move."""


def _swept(A: np.ndarray) -> float:
    """Entries of A per second that come from memory: each is used twice, the second time from cache."""
    compiled = compile_problem(dcra.Problem([dcra.Term("l1", A, np.zeros(len(A), np.float32))]))
    state = Sweep(1_000_000).start(compiled, Starts(0, 0, 1))  # so slow that no variable rests
    state.advance(4 * A.size)
    before, begin = state.steps, time.perf_counter()
    while time.perf_counter() - begin < 0.5:
        state.advance(4 * A.size)
    return (state.steps - before) * A.size / (time.perf_counter() - begin)


def _read(A: np.ndarray) -> float:
    """Entries of A per second in a product with itself."""
    flat = A.ravel(order="F")
    begin, times = time.perf_counter(), 0
    while time.perf_counter() - begin < 0.5:
        np.dot(flat, flat)
        times += 1
    return times * A.size / (time.perf_counter() - begin)


def _gemm(n: int = 1000) -> float:
    """Operations per second of a matrix product on one core."""
    A = np.ones((n, n), np.float32)
    with one_blas_thread():
        begin, times = time.perf_counter(), 0
        while time.perf_counter() - begin < 0.5:
            A @ A
            times += 1
        return 2.0 * n**3 * times / (time.perf_counter() - begin)


def batch() -> None:
    print("many right-hand sides, all cores")
    rng = np.random.default_rng(0)
    for r, n, k in ((10, 64, 60_000), (512, 32, 10_000)):
        A = rng.standard_normal((r, n))
        B = A @ np.where(rng.random((n, k)) < 0.5, -1, 1) + 0.5 * rng.standard_normal((r, k))
        dcra.minimize_batch(A, B[:, :64])
        begin = time.perf_counter()
        result = dcra.minimize_batch(A, B, seed=0)
        seconds = time.perf_counter() - begin
        print(f"  {r} x {n}, {k} columns: {seconds:.2f} s, mean objective {np.mean(result.fun):.4g}")


def scattered(nonzeros: int) -> tuple[sparse.csc_array, np.ndarray]:
    """Ten nonzeros in each column."""
    n = nonzeros // 10
    rng = np.random.default_rng(0)
    parts = (
        rng.standard_normal(nonzeros),
        rng.integers(0, n, nonzeros, dtype=np.int32),
        np.arange(0, nonzeros + 1, 10, dtype=np.int32),
    )
    A = sparse.csc_array(parts, shape=(n, n))
    A.sum_duplicates()
    return A, rng.standard_normal(n)


def sparse_cost() -> None:
    print("100 sweeps over sparse A with the lower bound, one core")
    for nonzeros in (10**6, 2 * 10**6, 10**7):
        A, b = scattered(nonzeros)
        dcra.minimize(A[:200, :100], b[:200], method=Sweep(3), starts=1)
        own = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
        before, peak, stop = _resident(), [0], threading.Event()

        def watch(peak: list[int] = peak, stop: threading.Event = stop) -> None:
            while not stop.wait(0.01):
                peak[0] = max(peak[0], _resident())

        watcher = threading.Thread(target=watch)
        watcher.start()
        wall, cpu = time.perf_counter(), time.process_time()
        dcra.minimize(A, b, method=Sweep(100), starts=1, n_jobs=1)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        stop.set()
        watcher.join()
        memory = 1 + (peak[0] - before) / own
        print(
            f"  {nonzeros:>9} nonzeros: {wall:6.1f} s wall, {cpu:6.1f} s CPU, memory {memory:.2f} x A's own"
        )


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


FIRST_CALL = """
import time; begin = time.perf_counter()
import numpy as np, dcra
A = np.random.default_rng(0).standard_normal((50, 100)); b = np.ones(50)
imported = time.perf_counter()
result = dcra.minimize(A, b, starts=1)
solved = time.perf_counter()
dcra.minimize(A, b, starts=1)
print(f"  imports {imported - begin:.2f} s, first call {solved - imported:.2f} s, "
      f"second {time.perf_counter() - solved:.3f} s")
"""


def start() -> None:
    print("a new process whose compile cache is warm")
    for _ in range(3):
        subprocess.run([sys.executable, "-c", FIRST_CALL], check=True)


PARTS = {"sweep": sweep, "batch": batch, "sparse": sparse_cost, "start": start}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
