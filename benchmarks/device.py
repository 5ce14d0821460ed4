"""Method "auto" on an accelerator and on the CPU: objective over floor of the same instances.

    python benchmarks/device.py --sizes 300x300,1000x1000 --seconds 0.05,1 --seeds 3

Sizes are variables x rows, A and b standard normal in float32, the loss is l1, arrays are NumPy's: seconds go
from arrays on the host to x on the host. Kernels are compiled before. Without a device only the CPU is
measured. The last columns are microseconds of a sweep and of an annealing pass over all replicas, and what a
sweep moves through shared memory as a share of what the processors could at their highest clock.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import dcra
from dcra.accelerator import device
from dcra.accelerator.replicas import Replicas
from dcra.auto import placement
from dcra.bench.floor import l1_floor
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts

TABLE = {
    (300, 300): (0.05, 1.0),
    (1000, 1000): (0.25, 1.0, 5.0),
    (2000, 2000): (1.0, 5.0),
    (3000, 2000): (1.0, 5.0, 20.0),
}
DEFAULT_SIZES = ",".join(f"{n}x{r}" for n, r in TABLE)
FIRST_SEED = 40_000
"""Of the instances: not those that anything was tuned on."""

BANK_BYTES = 128
"""That the shared memory of a processor moves in a cycle."""


def instance(n: int, r: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(FIRST_SEED + seed)
    return rng.standard_normal((r, n), np.float32), rng.standard_normal(r, np.float32)


def places() -> list[str]:
    return ["cpu"] if device.why_not() else ["cuda", "cpu"]


def pace(n: int, r: int) -> str:
    """Microseconds of a sweep and of a pass, and the share of the shared memory's bandwidth."""
    A, b = instance(n, r, -1)
    replicas = Replicas(compile_problem(dcra.Problem([dcra.Term("l1", A, b)])), 0, np.inf)
    for _ in range(2):
        replicas.begin(Starts(0, 0, replicas.count))
        replicas.sweep(0, 200, 200)
        replicas.annealer.load(replicas.sweeper.signs())
        replicas.anneal(np.zeros(20), 0, 0)
    shape, steps = replicas.shapes.sweep, replicas.sweeper.steps
    tiles = shape.rows // shape.PARTS * shape.width * 2  # bytes of a step: written once, read twice
    sums = 2 * shape.WARPS * shape.width**2 * (4 if shape.M == 1 else 2)
    moved = steps * (3 * tiles + sums) * shape.BLOCKS
    clock = device.library().cuda.Device(0).attributes["ClockRate"] * 1e3
    share = moved / (BANK_BYTES * clock * replicas.sweep_seconds)
    return f"{1e6 * replicas.sweep_seconds:5.0f} us  {1e6 * replicas.pass_seconds:5.0f} us  {share:4.0%}"


def clique(n: int, seed: int) -> dcra.Problem:
    """Max-Cut of a complete graph with weights 1 and -1, as a minimisation of minus the cut."""
    rng = np.random.default_rng(FIRST_SEED + seed)
    upper = np.triu(rng.choice([-1.0, 1.0], (n, n)), 1).astype(np.float32)
    W = upper + upper.T
    return dcra.Problem(quadratic=W / 4, constant=-float(W.sum()) / 4)


def warm_up(problem: dcra.Problem, place: str) -> None:
    """Have the kernels compiled and the device rehearsed."""
    if place == "cuda":
        dcra.solve(problem, starts=1, seed=0, device=place)


def cut_cliques(n: int, budgets: list[float], seeds: int, places: list[str]) -> None:
    """The largest cuts found."""
    problems = [clique(n, seed) for seed in range(seeds)]
    for place in places:
        warm_up(problems[0], place)
        for seconds in budgets:
            found = [dcra.solve(p, time_limit=seconds, seed=0, device=place) for p in problems]
            cuts, slowest = [-result.fun for result in found], max(result.seconds for result in found)
            each = " ".join(f"{cut:.0f}" for cut in cuts)
            start = f"clique {n} {place:5} {seconds:5g} s  {np.mean(cuts):.1f}"
            print(f"{start}  ({each})  slowest {slowest:.3f} s", flush=True)


def cut_files(folder: str, budgets: list[float], places: list[str]) -> None:
    """Mean gap to the best known cuts of the graphs in a folder, in per cent."""
    known = json.loads((Path(folder) / "best_known.json").read_text())
    for place in places:
        for seconds in budgets:
            gaps: dict[str, float] = {}
            for path in sorted(Path(folder).glob("G*.txt")):
                problem, best = dcra.io.read(path), float(known[path.stem]["best_known_cut"])
                warm_up(problem, place)
                result = dcra.solve(problem, time_limit=seconds, seed=0, device=place)
                gaps[path.stem] = 100 * (best + result.fun) / best
                print(f"{path.stem:5} {place:5} {seconds:5g} s  gap {gaps[path.stem]:.4f} %", flush=True)
            mean = np.mean(list(gaps.values()))
            print(f"{len(gaps)} graphs {place:5} {seconds:5g} s  mean gap {mean:.4f} %", flush=True)


def batches(counts: list[int], n: int, r: int, budgets: list[float], places: list[str]) -> None:
    """Mean objective of many right-hand sides of one A, and the seconds they took."""
    rng = np.random.default_rng(FIRST_SEED)
    A, B = rng.standard_normal((r, n), np.float32), rng.standard_normal((r, max(counts)), np.float32)
    for place in places:
        dcra.minimize_batch(A, B[:, :64], starts=1, seed=0, device=place)  # kernels are compiled
        for count in counts:
            for seconds in (None, *budgets):
                found = dcra.minimize_batch(A, B[:, :count], time_limit=seconds, seed=0, device=place)
                asked = "no limit" if seconds is None else f"{seconds:g} s"
                start = f"batch {count} of {n}x{r} {place:5} {asked:8}"
                print(f"{start}  mean {found.fun.mean():.4f}  took {found.seconds:.3f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=DEFAULT_SIZES)
    parser.add_argument("--seconds", help="of every size; those of the table by default")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--places", default=",".join(places()))
    parser.add_argument("--cliques", type=int, help="instead, Max-Cut of complete graphs of so many nodes")
    parser.add_argument("--graphs", help="instead, Max-Cut of the files of a folder with best_known.json")
    parser.add_argument("--batch", help="instead, so many right-hand sides, of the first of the sizes")
    options = parser.parse_args()
    placement.REPLICA_ENTRIES = 0  # CUDA means CUDA, however small A is
    where = options.places.split(",")
    if options.batch:
        size = options.sizes.split(",")[0] if options.sizes != DEFAULT_SIZES else "64x32"
        n, r = map(int, size.split("x"))
        budgets = [float(seconds) for seconds in (options.seconds or "2").split(",")]
        batches([int(count) for count in options.batch.split(",")], n, r, budgets, where)
        return
    if options.cliques or options.graphs:
        budgets = [float(seconds) for seconds in (options.seconds or "1").split(",")]
        if options.cliques:
            cut_cliques(options.cliques, budgets, options.seeds, where)
        if options.graphs:
            cut_files(options.graphs, budgets, where)
        return
    for size in options.sizes.split(","):
        n, r = map(int, size.split("x"))
        floor = l1_floor(n, r)
        budgets = options.seconds.split(",") if options.seconds else TABLE[n, r]
        for place in where:
            dcra.minimize(*instance(n, r, -1), starts=16, device=place, seed=0)  # kernels are compiled
            speed = pace(n, r) if place == "cuda" else ""
            for seconds in map(float, budgets):
                found = [
                    dcra.minimize(*instance(n, r, seed), time_limit=seconds, seed=seed, device=place)
                    for seed in range(options.seeds)
                ]
                ratios = np.array([result.fun for result in found]) / floor
                slowest = max(result.seconds for result in found)
                each = " ".join(f"{ratio:.4f}" for ratio in ratios)
                start = f"{size:10} {place:5} {seconds:5g} s  {ratios.mean():.4f}"
                print(f"{start}  ({each})  slowest {slowest:.3f} s  {speed}", flush=True)


if __name__ == "__main__":
    main()
