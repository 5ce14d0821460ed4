"""Objective reached at the paper's own budgets: l1, A and b standard normal.

    python benchmarks/paper_sizes.py --methods auto anneal tabu flip dcra dcra-paper --instances 10

Every method gets the same wall-clock budget on the same instances, in one run. Objectives are judged in
float64 and shown as multiples of the floor, below which a point almost surely does not exist. Loops are
compiled before the timer starts. Rows go to --out as JSON lines.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

import dcra
from dcra.bench.floor import l1_floor, l1_random

PAPER = {  # (n, d): objective and seconds of the paper's DCRA
    (100, 50): (144, 0.0170),
    (100, 100): (330, 0.0145),
    (100, 200): (850, 0.0203),
    (200, 200): (889, 0.0340),
    (300, 300): (1620, 0.0551),
    (300, 500): (3430, 0.1218),
    (500, 500): (3520, 0.9115),
    (300, 1000): (9000, 0.2258),
    (500, 1000): (9600, 1.2865),
    (1000, 1000): (10100, 1.8787),
    (300, 2000): (21600, 0.4629),
    (500, 2000): (24600, 1.0622),
    (1000, 2000): (27200, 3.1180),
    (2000, 2000): (28700, 7.3039),
    (3000, 2000): (29200, 13.4699),
}


def instance(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng((n, d, seed))
    return rng.standard_normal((d, n)), rng.standard_normal(d)


def options(method: str, seconds: float) -> dict[str, object]:
    """The paper's algorithm is one start, to its own end; everything else fills the budget."""
    return {"starts": 1} if method == "dcra-paper" else {"time_limit": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--methods", nargs="+", default=["auto", "anneal", "tabu", "flip", "dcra", "dcra-paper"]
    )
    parser.add_argument("--sizes", nargs="+", help="such as 300,1000; all by default")
    parser.add_argument("--instances", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first instance")
    parser.add_argument("--budget", type=float, default=1.0, help="multiple of the paper's seconds")
    parser.add_argument("--floor-seconds", type=float, default=0.0, help="least budget of an instance")
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    sizes = list(PAPER) if not args.sizes else [tuple(map(int, s.split(","))) for s in args.sizes]
    for method in args.methods:
        dcra.minimize(*instance(60, 20, 0), method=method, starts=2)
    print(f"{os.cpu_count()} cores, dcra {dcra.__version__}; objective / floor, mean of {args.instances}")
    print(
        f"{'n':>5} {'d':>5} {'budget':>8} {'floor':>8} {'random':>7} {'paper':>6}",
        *(f"{m:>17}" for m in args.methods),
    )
    for n, d in sizes:
        objective, seconds = PAPER[n, d]
        floor, budget = l1_floor(n, d), max(args.budget * seconds, args.floor_seconds)
        ratios: dict[str, list[float]] = {method: [] for method in args.methods}
        spent: dict[str, list[float]] = {method: [] for method in args.methods}
        for i in range(args.first, args.first + args.instances):
            A, b = instance(n, d, i)
            for method in args.methods:
                begin = time.perf_counter()
                result = dcra.minimize(
                    A, b, method=method, seed=i, n_jobs=args.jobs, **options(method, budget)
                )
                spent[method].append(time.perf_counter() - begin)
                ratios[method].append(float(np.abs(A @ result.x - b).sum()) / floor)
                row = {
                    "n": n,
                    "d": d,
                    "instance": i,
                    "method": method,
                    "objective": ratios[method][-1] * floor,
                    "floor": floor,
                    "budget": budget,
                    "seconds": spent[method][-1],
                    "lower_bound": result.lower_bound,
                }
                if args.out:
                    with args.out.open("a") as file:
                        file.write(json.dumps(row) + "\n")
        cells = (f"{np.mean(ratios[m]):8.4f} {np.mean(spent[m]):7.3f}s" for m in args.methods)
        random, paper = l1_random(n, d) / floor, objective / floor
        head = f"{n:5d} {d:5d} {budget:7.3f}s {floor:8.0f} {random:7.2f} {paper:6.3f}"
        print(head, *(f"{cell:>17}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
