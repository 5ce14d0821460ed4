"""The library beside the Numba loops that it replaces: the same calls, interleaved, best of several.

    python benchmarks/parity.py [--rounds 7] [name ...]

A ratio above 1 means that the library is quicker. Both must report the same work.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dcra._kernels import seed, store

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


def couplings(n: int, degree: int | None, dtype: Any) -> store.Dense | store.Sparse:
    """C = 8 J of +-1 couplings; `degree` None: all of them."""
    from scipy.sparse import csc_array

    rng = np.random.default_rng(0)
    if degree is None:
        J = np.triu(rng.choice([-1.0, 1.0], (n, n)), 1)
        return store.Dense((4 * (J + J.T)).astype(dtype))
    row, column = rng.integers(0, n, (2, n * degree // 2))
    J = csc_array((rng.choice([-1.0, 1.0], row.size), (row, column)), shape=(n, n))
    J = csc_array(J + J.T)
    J.setdiag(0)
    J.sum_duplicates()
    J.sort_indices()
    return store.Sparse(J.indptr.astype(np.int64), J.indices.astype(np.int32), (4 * J.data).astype(dtype))


def spins(C: store.Dense | store.Sparse) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from dcra._kernels.quadratic import fields

    n, dtype = C.packed.sizes["n"], C[-1].dtype
    s = np.random.default_rng(1).choice([-1.0, 1.0], n).astype(dtype)
    g = np.empty_like(s)
    fields(C, np.zeros(n, dtype), s, g)
    return s, g, np.full(2, 0.25 * float(s.astype(float) @ g))


def couplings_passes(C: store.Dense | store.Sparse, entries: float) -> int:
    """Most proposals are refused, and then cost one entry."""
    return max(1, int(entries / (0.2 * C[-1].size + C.packed.sizes["n"])))


def searching(C: Any, name: str) -> Callable[[Any], Callable[[], Any]]:
    """The loops of `quadratic`, and of `quadratic_sweep`, `crossover` and `mixing`."""
    from dcra.fields import thresholds

    n, dtype, degree = C.packed.sizes["n"], C[-1].dtype, C[-1].size / C.packed.sizes["n"]
    unit = 0.6 * 4 * math.sqrt(degree) / 2
    passes = couplings_passes(C, 4e6)

    def make(kernel: Any) -> Callable[[], Any]:
        s, g, score = spins(C)
        rng, cursor, order = seed.state(1), np.zeros(2, np.int64), np.random.default_rng(2).permutation(n)
        best, until, clock = s.copy(), np.zeros(n, np.int64), np.zeros(1, np.int64)
        if name == "fields":
            return lambda: kernel.fields(C, np.zeros(n, dtype), s, g)
        if name == "descend":
            return lambda: kernel.descend(C, s, g, score, order, cursor, 0.0, 100 * n)
        if name == "pairs":
            return lambda: kernel.descend_pairs(C, s, g, score, cursor, 0.0, 100 * n)
        if name == "anneal":
            ladder = (unit * np.linspace(3, 0.3, passes)).astype(dtype)
            return lambda: kernel.anneal(C, s, g, score, best, rng, ladder, thresholds(np.dtype(dtype)))
        if name == "tabu":
            memory: Any = (best, until, clock, rng)
            if "numba" not in kernel.__name__:
                memory = (store.TabuMemory(*memory),)
            moves = 20 * n
            return lambda: kernel.tabu(C, s, g, score, *memory, moves, 10 + n // 50, 4)
        if name == "sweep":
            x, blocks, rho = (
                (0.1 * g / np.abs(g).max()).astype(dtype),
                np.arange(-(-n // 64)),
                np.full(1, 0.1),
            )
            kernel_fields(C, x, g)
            return lambda: kernel.sweep(
                C, x, g, blocks, rng, rho, unit, 0, min(passes, 100), min(passes, 100)
            )
        if name == "cross":
            other = np.random.default_rng(3).choice([-1.0, 1.0], n).astype(dtype)
            scratch = np.empty(n, np.int64), np.empty(n, np.int64)
            return lambda: kernel.cross(C, s, g, score, other, dtype.type(1), *scratch)
        k = int(math.sqrt(2 * n)) + 1
        V = np.random.default_rng(4).standard_normal((n + 1, k))
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        y, pull, field = np.zeros(n + 1), np.empty(k), np.ones(n, dtype)
        return lambda: round(kernel.mix(C, field, V, y, pull, 0, n + 1), 3)

    return make


def kernel_fields(C: Any, x: np.ndarray, g: np.ndarray) -> None:
    from dcra._kernels.quadratic import fields

    fields(C, np.zeros_like(x), x, g)


def blending(model: store.Model, b: np.ndarray, C: Any, name: str) -> Callable[[Any], Callable[[], Any]]:
    """The loops of `mixed`: losses in float64 beside couplings."""
    from dcra._kernels.state import refresh
    from dcra.fields import thresholds

    n = model.c.size

    def make(kernel: Any) -> Callable[[], Any]:
        s32, g32, _ = spins(C)
        s, g, z, score = s32.astype(float), g32.astype(float), np.empty_like(b), np.zeros(3)
        refresh(model, b, s, z)
        kernel.value(model, np.zeros(n), s, z, g, score)
        point, rng, cursor = (model, C, s, z, g, score), seed.state(1), np.zeros(2, np.int64)
        best, until, clock = s.copy(), np.zeros(n, np.int64), np.zeros(1, np.int64)
        if name == "descend":
            return lambda: kernel.descend(*point, np.arange(n), cursor, 1e-9, 100 * n)
        if name == "pairs":
            return lambda: kernel.descend_pairs(*point, cursor, 1e-9, 3 * n)
        if name == "anneal":
            ladder = np.linspace(20, 1, passes(model, 2e6))
            return lambda: kernel.anneal(*point, best, rng, ladder, thresholds(np.dtype(float)))
        if name == "tabu":
            memory: Any = (best, until, clock, rng)
            if "numba" not in kernel.__name__:
                memory = (store.TabuMemory(*memory),)
            return lambda: kernel.tabu(*point, *memory, passes(model, 2e6), 10, 4)
        field = np.zeros(n, C[-1].dtype)
        return lambda: kernel.gray(model, b, C, field, 0, 1 << 16, s, z, g, score)[1]

    return make


def swapping(model: store.Model, b: np.ndarray) -> Callable[[Any], Callable[[], Any]]:
    """Annealing that keeps the count of every group of ten."""
    n = model.c.size
    groups = [(np.arange(i, i + 10), 3, 6) for i in range(0, n - n // 4, 10)]

    def make(kernel: Any) -> Callable[[], Any]:
        x = np.where(np.arange(n) % 2, 1, -1).astype(b.dtype)
        from dcra._kernels.state import measure, refresh

        z, score = np.empty_like(b), np.zeros(3)
        refresh(model, b, x, z)
        measure(model, x, z, score)
        heat = 0.3 * math.sqrt(b.size)
        ladder = np.linspace(heat, 1e-6, passes(model, 1e6))
        counts, rng = store.counts(x, groups), seed.state(1)
        return lambda: kernel.anneal_swaps(model, x, z, score, x.copy(), rng, ladder, counts, 4)

    return make


def permuting(n: int, name: str) -> Callable[[Any], Callable[[], Any]]:
    rng = np.random.default_rng(0)
    F, D = (rng.integers(0, 10, (n, n)).astype(float) for _ in range(2))

    def make(kernel: Any) -> Callable[[], Any]:
        p = np.random.default_rng(1).permutation(n)
        change = np.zeros((n, n))
        if name == "changes":
            return lambda: kernel.changes(F, D, p, change)
        kernel.changes(F, D, p, change)
        cost = np.full(2, np.sum(F * D[np.ix_(p, p)]))
        until, clock, state = np.zeros((n, n), np.int64), np.zeros(1, np.int64), seed.state(1)
        moves = 1 if name == "move" else 2_000_000 // (n * n)

        def call() -> list[float]:
            kernel.search(F, D, p, cost, p.copy(), change, until, clock, state, moves)
            return cost.tolist()

        return call

    return make


def satisfying(n: int, name: str, index: Any = np.int32) -> Callable[[Any], Callable[[], Any]]:
    """Random clauses of three literals, a third of them hard where hard ones matter."""
    from dcra._kernels.formula import formula, walk

    m = int(4.4 * n)
    rng = np.random.default_rng(0)
    literals = (rng.integers(0, n, (m, 3)) + 1) * rng.choice([-1, 1], (m, 3))
    hard = np.ones(m, bool) if name in ("walk", "propagate") else rng.random(m) < 0.3
    cost = rng.integers(1, 9, m).astype(float)
    built = formula(np.arange(0, 3 * m + 1, 3), literals.ravel(), n, cost, hard)
    built = built._replace(lit=built.lit.astype(index), occ=built.occ.astype(index))
    weight = np.where(hard, 20.0 if name == "anneal" else 1.0, cost)

    def make(kernel: Any) -> Callable[[], Any]:
        x = np.random.default_rng(1).integers(0, 2, n).astype(np.uint8)
        if name == "propagate":
            scratch = (
                np.zeros(n, np.uint8),
                np.empty(m, np.int32),
                np.zeros(m, np.uint8),
                np.empty(n, np.int32),
            )
            return lambda: kernel.propagate(built, x, np.random.default_rng(2).permutation(n), *scratch)
        at = walk(built, x, weight)
        if name == "place":
            return lambda: kernel.place(built, at)
        kernel.place(built, at)
        best_x, best, state = x.copy(), at.total.copy(), seed.state(1)
        if name == "walk":
            return lambda: kernel.walk_clauses(built, at, best_x, best, state, 100_000, 0.5)
        ladder = np.geomspace(20, 0.5, max(2, 1_000_000 // n))
        return lambda: kernel.anneal_clauses(built, at, best_x, best, state, ladder)

    return make


HUBER, INSENSITIVE = (1, 1, 0, -1, 1), (1, 0, 0.5, -1, 1)


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
        yield f"sweep {bits} huber 300x300", "sweep", sweeping(*dense(300, 300, dtype, HUBER))
        yield f"anneal {bits} huber 300x300", "anneal", annealing(*dense(300, 300, dtype, HUBER), np.inf)
        yield f"anneal {bits} insensitive", "anneal", annealing(*dense(300, 300, dtype, INSENSITIVE), np.inf)
        yield f"measure {bits} 64x100, 200 calls", "state", tiny(*dense(64, 100, dtype))


def coupled_cases() -> Iterator[Case]:
    """Couplings, permutations, counts and clauses."""
    for dtype in (np.float32, np.float64):
        bits = f"f{8 * np.dtype(dtype).itemsize}"
        for n, degree in ((100, None), (250, None), (800, None), (800, 4), (800, 48), (10_000, 4)):
            C, size = couplings(n, degree, dtype), f"{bits} {n} {degree or 'all'}"
            yield f"quadratic anneal {size}", "quadratic", searching(C, "anneal")
            if n < 10_000:
                yield f"quadratic tabu {size}", "quadratic", searching(C, "tabu")
            yield f"mix {size}", "mixing", searching(C, "mix")
            yield f"quadratic sweep {size}", "quadratic_sweep", searching(C, "sweep")
            if n < 800:  # calls that end at once
                continue
            for name in ("fields", "descend", "pairs"):
                yield f"quadratic {name} {size}", "quadratic", searching(C, name)
            yield f"cross {size}", "crossover", searching(C, "cross")
        yield f"swap {bits} 64x100", "swap", swapping(*dense(64, 100, dtype))
        yield f"swap {bits} 300x300", "swap", swapping(*dense(300, 300, dtype))
        yield f"swap {bits} sparse 2000", "swap", swapping(*sparse(2000, 2000, 10, dtype))
    for C, kind in ((couplings(100, None, np.float32), "all"), (couplings(100, 6, np.float64), "6")):
        for name in ("descend", "pairs", "anneal", "tabu"):
            yield f"mixed {name} 64x100 {kind}", "mixed", blending(*dense(64, 100, np.float64), C, name)
            sparse_rows = sparse(100, 100, 10, np.float64)
            yield f"mixed {name} sparse 100 {kind}", "mixed", blending(*sparse_rows, C, name)
    C = couplings(16, None, np.float32)
    yield "mixed gray 20x16", "mixed", blending(*dense(20, 16, np.float64), C, "gray")
    for n in (12, 30, 80):
        for name in ("changes", "search", "move"):
            yield f"swaps {name} {n}", "swaps", permuting(n, name)
    for n in (100, 1000, 50_000):
        for name in ("place", "anneal", "walk", "propagate"):
            yield f"clauses {name} {n}", "clauses", satisfying(n, name)
    yield "clauses anneal 1000 int64", "clauses", satisfying(1000, "anneal", np.int64)


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
    every = itertools.chain(cases(), coupled_cases())
    chosen = [c for c in every if not options.names or any(name in c[0] for name in options.names)]
    ratios = [compare(case, options.rounds) for case in chosen]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.2f}, least {min(ratios):.2f}, {len(ratios)} cases")


if __name__ == "__main__":
    main()
