"""The library beside the Numba loops that it replaces: the same calls, interleaved, best of several.

    python benchmarks/parity.py [--rounds 7] [name ...]

A ratio above 1 means that the library is quicker. Both must report the same work.
"""

from __future__ import annotations

import argparse
import importlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dcra._kernels import seed, store
from dcra.lift import GRID

Case = tuple[str, str, Callable[[Any], Callable[[], Any]]]
"""Name, module, and what makes a call of that module with fresh state."""


def dense(r: int, n: int, dtype: Any, table: Any = (1, 0, 0, -1, 1)) -> tuple[store.Model, np.ndarray]:
    rng = np.random.default_rng(0)
    cols = rng.standard_normal((n, r)).astype(dtype)
    model = store.build(store.Dense(cols), [table])
    return store.smoothed(model, 0.5 * math.sqrt(n)), rng.standard_normal(r).astype(dtype)


def sparse(r: int, n: int, per_column: int, dtype: Any) -> tuple[store.Model, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = np.sort(rng.integers(0, r, (n, per_column), dtype=np.int32), axis=1)
    ptr = np.arange(0, n * per_column + 1, per_column)
    A = store.Sparse(ptr, rows.ravel(), rng.standard_normal(n * per_column).astype(dtype))
    model = store.build(A, [[1, 0, 0, -1, 1]], n_rows=r)
    return store.smoothed(model, 0.5), rng.standard_normal(r).astype(dtype)


def point(model: store.Model, b: np.ndarray, spins: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from dcra._kernels.state import measure, refresh

    draw = np.random.default_rng(1).uniform(-1, 1, model.c.size)
    x = (np.where(draw < 0, -1, 1) if spins else 0.1 * draw).astype(b.dtype)
    z, score = np.empty_like(b), np.zeros(3)
    refresh(model, b, x, z)
    measure(model, x, z, score)
    return x, z, score


def passes(model: store.Model, entries: float = 4e6) -> int:
    size = sum(a.size for a in model.A if a.dtype == model.c.dtype)
    return max(1, int(entries / size))


def sweeping(model: store.Model, b: np.ndarray) -> Callable[[Any], Callable[[], Any]]:
    def make(kernel: Any) -> Callable[[], Any]:
        x, z, _ = point(model, b, spins=False)
        n = x.size
        blocks, rest, rng, rho = np.arange(max(1, n // 64)), np.zeros(n, np.int64), seed.state(1), np.zeros(1)
        count = passes(model)
        return lambda: kernel.sweep(
            model, x, z, np.arange(n), blocks, rest, rng, rho, 0, count, 1_000_000, 0.5, 0.0
        )

    return make


def flipping(model: store.Model, b: np.ndarray, name: str) -> Callable[[Any], Callable[[], Any]]:
    """An order so long that a call takes about as long as in a search."""
    rounds = passes(model, 1e6) if name == "flip" else 1

    def make(kernel: Any) -> Callable[[], Any]:
        x, z, score = point(model, b, spins=True)
        order = np.tile(np.random.default_rng(2).permutation(x.size), rounds)
        cursor = np.zeros(2, np.int64)
        return lambda: getattr(kernel, name)(model, x, z, score, order, cursor, order.size)

    return make


def annealing(model: store.Model, b: np.ndarray, caution: float) -> Callable[[Any], Callable[[], Any]]:
    def make(kernel: Any) -> Callable[[], Any]:
        x, z, score = point(model, b, spins=True)
        memory, rng = store.memory(x.size), seed.state(1)
        heat = 2.0 * math.sqrt(b.size)
        ladder = np.geomspace(heat, 0.05 * heat, passes(model))
        return lambda: kernel.anneal(model, x, z, score, x.copy(), rng, ladder, memory, caution)

    return make


def tabu(model: store.Model, b: np.ndarray) -> Callable[[Any], Callable[[], Any]]:
    from scipy.sparse import csc_array

    mirror: Any = model.A
    if isinstance(mirror, store.Sparse):
        A = csc_array((mirror.val, mirror.idx, mirror.ptr), shape=(b.size, model.c.size)).tocsr()
        mirror = store.Sparse(A.indptr.astype(np.int64), A.indices.astype(np.int32), A.data)
        mirror = store.Sparse(*store._frozen(mirror))

    def make(kernel: Any) -> Callable[[], Any]:
        x, z, score = point(model, b, spins=True)
        n = x.size
        rises, until, clock, rng = np.zeros(n), np.zeros(n, np.int64), np.zeros(1, np.int64), seed.state(1)
        kernel.rises_at(model, x, z, score, rises)
        moves = passes(model) if mirror is model.A else 300
        return lambda: kernel.tabu(model, mirror, x, z, score, x.copy(), rises, until, clock, rng, moves, 10)

    return make


def gray(model: store.Model, b: np.ndarray) -> Callable[[Any], Callable[[], Any]]:
    def make(kernel: Any) -> Callable[[], Any]:
        x, z = np.empty_like(model.c), np.empty_like(b)
        return lambda: kernel.gray(model, b, 0, 1 << 16, x, z)[1]

    return make


def tiny(model: store.Model, b: np.ndarray) -> Callable[[Any], Callable[[], Any]]:
    """Calls so short that what is before the loop counts."""

    def make(kernel: Any) -> Callable[[], Any]:
        x, z, score = point(model, b, spins=True)

        def call() -> None:
            for _ in range(200):
                kernel.measure(model, x, z, score)

        return call

    return make


def lockstep(model: store.Model, b: np.ndarray) -> Callable[[Any], Callable[[], Any]]:
    """A group of right-hand sides, four starts each."""

    def make(kernel: Any) -> Callable[[], Any]:
        n, r, dtype = model.c.size, b.size, b.dtype
        B = 2 * np.random.default_rng(3).standard_normal((8, r)).astype(dtype)
        X, F, scratch = np.zeros((8, n), dtype), np.zeros(8, dtype), kernel.scratch(n, r, dtype)
        heats = math.sqrt(r) * np.append(np.linspace(1, 0, max(2, passes(model, 5e5))), 0.0)
        return lambda: kernel.batch(model, B, 0, 1, np.uint64(1), 4, heats, X, F, scratch)

    return make


def lifted(model: store.Model, b: np.ndarray, rank: int) -> Callable[[Any], Callable[[], Any]]:
    def make(kernel: Any) -> Callable[[], Any]:
        from dcra._kernels.state import refresh

        n, r = model.c.size, b.size
        V = np.random.default_rng(4).standard_normal((n + 1, rank))
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        x, z = V[1:] @ V[0], np.empty(r)
        refresh(model, b, x, z)
        value = kernel.smoothed_value(model, x, z)
        progress = np.array([0.1, 10.0, value, value, 0, 0, 0])
        options = np.array([1.1, 1e6, 1e-4, 1e-5, -1, 50, 1e9, 1, 0.9, 2, GRID])
        scratch = kernel.scratch(n, rank, r)
        steps = passes(model, 2e6)
        return lambda: kernel.advance(model, b, V, x, z, progress, options, steps, scratch)

    return make


def received(n: int, frames: int, q: int, dtype: Any) -> tuple[np.ndarray, ...]:
    """G, targets, and the triangular form R, Z of noisy frames of q levels."""
    rng = np.random.default_rng(5)
    H = rng.standard_normal((n, n)) / math.sqrt(n)
    levels = 2.0 * rng.integers(0, q, (frames, n)) - (q - 1)
    Y = levels @ H.T + 0.5 * rng.standard_normal((frames, n))
    Q, R = np.linalg.qr(H)
    return (H.T @ H).astype(dtype), (Y @ H).astype(dtype), R, np.ascontiguousarray(Y @ Q)


def is_reference(kernel: Any) -> bool:
    return "numba_reference" in kernel.__name__


def levels_annealed(n: int, q: int, dtype: Any) -> Callable[[Any], Callable[[], Any]]:
    from dcra._kernels.lattice import search_scratch

    G, h, _, _ = received(n, 8, q, dtype)

    def make(kernel: Any) -> Callable[[], Any]:
        U, F, scratch = np.ones((16, n), dtype), np.empty(16), search_scratch(n, dtype)
        ladder = np.geomspace(3, 0.05, 100)
        return lambda: kernel.search_levels(G, h, 0, 16, q, 2, np.uint64(1), ladder, U, F, scratch)

    return make


def levels_sampled(n: int, q: int, copies: int, dtype: Any) -> Callable[[Any], Callable[[], Any]]:
    from dcra._kernels.lattice import Samples, sample_scratch

    G, h, _, _ = received(n, 4, q, dtype)

    def make(kernel: Any) -> Callable[[], Any]:
        samples = Samples(np.ones((4, n), dtype), np.empty((4, n, q)), np.empty((4, 2)))
        heats, scratch = np.geomspace(0.25, 2, copies), sample_scratch(copies, n, q, dtype)
        head, rest = (G, h, 0, 4), (np.uint64(1), heats, 100, 400, 0.01)
        if is_reference(kernel):
            return lambda: kernel.sample_levels(*head, q, *rest, *samples, scratch)
        return lambda: kernel.sample_levels(*head, *rest, samples, scratch)

    return make


def sphere(n: int, q: int) -> Callable[[Any], Callable[[], Any]]:
    from dcra._kernels.lattice import sphere_scratch

    _, _, R, Z = received(n, 20, q, np.float64)

    def make(kernel: Any) -> Callable[[], Any]:
        u, best, scratch = np.ones(n), np.ones(n), sphere_scratch(n)
        return lambda: sum(kernel.sphere(R, z, q, u, best, np.inf, 5000, scratch)[1] for z in Z)

    return make


def tree(n: int, q: int, keep: int) -> Callable[[Any], Callable[[], Any]]:
    from dcra._kernels.tree import scratch as tree_scratch

    _, _, R, Z = received(n, 8, q, np.float64)

    def make(kernel: Any) -> Callable[[], Any]:
        out, scratch = np.ones_like(Z), tree_scratch(keep, n, q)
        if is_reference(kernel):
            scratch = scratch._replace(totals=scratch.totals.ravel(), order=scratch.order.ravel())

        def call() -> float:
            kernel.breadth_first(R, Z, 0, 8, q, keep, out, scratch)
            return float(out.sum())

        return call

    return make


def meeting(n: int) -> Callable[[Any], Callable[[], Any]]:
    """Some residues of a market split problem."""
    from dcra.equations import Equations
    from dcra.meet import Quarters

    from dcra._kernels import join

    rng = np.random.default_rng(6)
    B = rng.integers(0, 100, (8, n))
    quarters = Quarters(Equations(B, B @ rng.integers(0, 2, n), required=True))
    arrays = [quarter.arrays for quarter in quarters.lists]
    bits, capacity = quarters.bits, 256 + int(quarters.sums / 8)
    lists, most = join.lists(*arrays), min(quarters.modulus, 30)

    def make(kernel: Any) -> Callable[[], Any]:
        scratch, hits = join.scratch(bits, capacity), np.zeros(most, bool)
        scratch.packed  # noqa: B018 - made once per search, not per call
        ends = (quarters.target, quarters.residue, 0, most)
        if is_reference(kernel):
            sets = (scratch.bits, scratch.few, np.uint64(64 - bits), scratch.rest)
            return lambda: (kernel.meet(*arrays, *ends, *sets, hits), hits.sum())
        return lambda: (kernel.meet(lists, *ends, scratch, hits), hits.sum())

    return make


def gridded(step: str, size: int, m: int) -> Callable[[Any], Callable[[], Any]]:
    from dcra._kernels.closest import cells, scatter

    rng = np.random.default_rng(7)
    bits = size.bit_length() - 1
    factors = rng.integers(0, 2**64, m, np.uint64) | np.uint64(1)
    grid = (np.full(m, 0.5), np.full(m, 1 / 300), factors, np.uint64(64 - bits))

    def sort(rows: np.ndarray) -> tuple[np.ndarray, ...]:
        key, start = np.empty(size, np.int64), np.zeros((1 << bits) + 1, np.int64)
        cells(rows, *grid, 0, size, key, start)
        np.cumsum(start, out=start)
        out = np.empty_like(rows)
        scatter(rows, key, start.copy(), 0, size, out, np.empty_like(key))
        return key, start, out

    lists = [rng.normal(0, 1000, (size, m)).astype(np.int32) for _ in range(2)]
    (key, start, left), (_, right_start, right) = map(sort, lists)

    def make(kernel: Any) -> Callable[[], Any]:
        again, count, best = np.empty_like(key), np.zeros_like(start), np.array([1 << 40, -1, -1])
        out, origin, place = np.empty_like(left), np.empty_like(key), start.copy()
        return {
            "cells": lambda: kernel.cells(lists[0], *grid, 0, size, again, count),
            "scatter": lambda: kernel.scatter(lists[0], key, place, 0, size, out, origin),
            "closest": lambda: (
                kernel.closest(left, start, right, right_start, 0, 1 << bits, best),
                best.tolist(),
            ),
        }[step]

    return make


HUBER, INSENSITIVE, SQUARED = (1, 1, 0, -1, 1), (1, 0, 0.5, -1, 1), (1, 0.5, 0, -1e30, 1e30)


def cases() -> Iterator[Case]:
    """Rows of float32 problems up to 256 are padded to 32, as `tables` does."""
    for dtype in (np.float32, np.float64):
        bits = f"f{8 * np.dtype(dtype).itemsize}"
        for r, n in ((64, 100), (50, 100), (128, 100), (100, 100), (300, 300), (1000, 1000), (2000, 3000)):
            yield f"sweep {bits} {r}x{n}", "sweep", sweeping(*dense(r, n, dtype))
        for r, n in ((64, 100), (100, 100), (300, 300), (1000, 1000)):
            yield f"flip {bits} {r}x{n}", "flip", flipping(*dense(r, n, dtype), "flip")
        yield f"pair {bits} 100x100", "flip", flipping(*dense(100, 100, dtype), "pair")
        for r, n in ((64, 100), (100, 100), (300, 300), (1000, 1000)):
            for caution in (np.inf, 1.0):
                yield f"anneal {bits} {r}x{n} {caution}", "anneal", annealing(*dense(r, n, dtype), caution)
        for r, n in ((100, 100), (300, 300)):
            yield f"tabu {bits} {r}x{n}", "tabu", tabu(*dense(r, n, dtype))
        yield f"gray {bits} 64x20", "gray", gray(*dense(64, 20, dtype))
        yield f"gray {bits} 20x20", "gray", gray(*dense(20, 20, dtype))
        for size in (2000, 100_000):
            yield f"sweep {bits} sparse {size}", "sweep", sweeping(*sparse(size, size, 10, dtype))
        yield f"anneal {bits} sparse 2000", "anneal", annealing(*sparse(2000, 2000, 10, dtype), 1.0)
        yield f"tabu {bits} sparse 2000", "tabu", tabu(*sparse(2000, 2000, 10, dtype))
        for r, n in ((20, 20), (50, 100), (100, 100), (300, 300)):
            yield f"batch {bits} {r}x{n}", "batch", lockstep(*dense(r, n, dtype))
        for name, table in {"huber": HUBER, "insensitive": INSENSITIVE, "squared": SQUARED}.items():
            yield f"batch {bits} {name} 100x100", "batch", lockstep(*dense(100, 100, dtype, table))
        yield f"batch {bits} sparse 2000", "batch", lockstep(*sparse(2000, 2000, 10, dtype))
        yield f"sweep {bits} huber 300x300", "sweep", sweeping(*dense(300, 300, dtype, HUBER))
        yield f"anneal {bits} huber 300x300", "anneal", annealing(*dense(300, 300, dtype, HUBER), np.inf)
        yield f"anneal {bits} insensitive", "anneal", annealing(*dense(300, 300, dtype, INSENSITIVE), np.inf)
        yield f"measure {bits} 64x100, 200 calls", "state", tiny(*dense(64, 100, dtype))
    for r, n in ((20, 20), (50, 100), (100, 100), (300, 300), (1000, 1000)):
        yield f"lifted {r}x{n}", "lifted", lifted(*dense(r, n, np.float64), 5)
    yield "lifted rank 12 100x100", "lifted", lifted(*dense(100, 100, np.float64), 12)
    yield "lifted huber 100x100", "lifted", lifted(*dense(100, 100, np.float64, HUBER), 5)
    yield "lifted sparse 2000", "lifted", lifted(*sparse(2000, 2000, 10, np.float64), 5)
    for dtype in (np.float32, np.float64):
        bits = f"f{8 * np.dtype(dtype).itemsize}"
        for n, q in ((16, 4), (64, 2), (64, 4), (256, 4)):
            yield f"search_levels {bits} {n}, {q} levels", "lattice", levels_annealed(n, q, dtype)
            yield f"sample_levels {bits} {n}, {q} levels", "lattice", levels_sampled(n, q, 4, dtype)
    for n, q in ((16, 4), (32, 2), (64, 2)):
        yield f"sphere {n}, {q} levels", "lattice", sphere(n, q)
    for n, q, keep in ((16, 4, 512), (32, 4, 64), (64, 2, 32)):
        yield f"breadth_first {n}, {q} levels, {keep}", "tree", tree(n, q, keep)
    for n in (32, 48, 60):
        yield f"meet {n}", "join", meeting(n)
    for step in ("cells", "scatter", "closest"):
        for m in (3, 6):
            yield f"{step} {m} columns", "closest", gridded(step, 1 << 17, m)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    outcome = call()
    return time.perf_counter() - begin, outcome


def compare(case: Case, rounds: int) -> float:
    name, module, make = case
    old = importlib.import_module(f"dcra._kernels.numba_reference.{module}")
    new = importlib.import_module(f"dcra._kernels.{module}")
    make(old)()  # compiles
    best, works = {old: math.inf, new: math.inf}, {}
    for _ in range(rounds):
        for kernel in (old, new):
            seconds, works[kernel] = timed(make(kernel))
            best[kernel] = min(best[kernel], seconds)
    same = "" if works[old] == works[new] else f"   work {works[old]} / {works[new]}"
    ratio = best[old] / best[new]
    print(f"{name:32} {1e3 * best[old]:9.3f} {1e3 * best[new]:9.3f} {ratio:7.2f}{same}", flush=True)
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print(f"{'':32} {'Numba ms':>9} {'ours ms':>9} {'ratio':>7}")
    chosen = [c for c in cases() if not options.names or any(name in c[0] for name in options.names)]
    ratios = [compare(case, options.rounds) for case in chosen]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.2f}, least {min(ratios):.2f}, {len(ratios)} cases")


if __name__ == "__main__":
    main()
