"""Starts of one problem on threads and on 1, 2 and 4 workers of a local cluster: one answer, and a table.

    python examples/cluster.py --size 1000 1000 --starts 24

Workers are processes with one thread each. With fewer cores than workers the last rows cannot be quicker.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import dcra
from dcra.machines.clusters import cluster


def problem(rows: int, columns: int, seed: int = 0) -> dcra.Problem:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, columns))
    b = A @ rng.choice([-1.0, 1.0], columns) + 5.0 * rng.standard_normal(rows)
    return dcra.Problem([dcra.Term("l1", A, b)])


def timed(problem: dcra.Problem, starts: int, **options: object) -> tuple[dcra.Result, float]:
    """A solve, and its seconds; a shorter one before lets workers import and compile what they need."""
    dcra.solve(problem, starts=2, seed=1, **options)
    begun = time.perf_counter()
    result = dcra.solve(problem, starts=starts, seed=1, **options)
    return result, time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, nargs=2, default=(500, 500), metavar=("ROWS", "COLUMNS"))
    parser.add_argument("--starts", type=int, default=16)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    asked = parser.parse_args()
    one = problem(*asked.size)
    rows = [(f"{n} threads", *timed(one, asked.starts, n_jobs=n)) for n in asked.workers]
    for n in asked.workers:
        with cluster(workers=n) as client:
            rows.append((f"{n} workers", *timed(one, asked.starts, executor=client)))
    known = rows[0][1]
    print(f"{asked.size[0]} x {asked.size[1]}, {asked.starts} starts")
    print(f"{'':>10}  {'objective':>14}  {'same x':>6}  {'seconds':>8}  {'starts/s':>8}")
    for name, result, seconds in rows:
        same = "yes" if np.array_equal(result.x, known.x) else "NO"
        print(f"{name:>10}  {result.fun:>14.8g}  {same:>6}  {seconds:>8.2f}  {asked.starts / seconds:>8.2f}")


if __name__ == "__main__":
    main()
