"""Market split: min |Ax - b|_1 over x in {0,1}^n, where some x reaches 0. Tiny, and very hard.

Instances are files of the QOBLIB collection where `DCRA_DATA` has them, else drawn as its makers did:
coefficients uniform in 0..D, n = 10 (m - 1), b = A x for a random x.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean

import numpy as np

from dcra import api
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.compare import grouped
from dcra.bench.sections import ReportTable, Section, Text
from dcra.exact.closest_pairs import Closest
from dcra.io import marketsplit
from dcra.methods import METHODS
from dcra.model.problem import Problem
from dcra.model.term import Term

SECONDS = 60.0
SMALL_SECONDS = 3.0
RIVALS = ("milp", "gurobi", "cpsat")


class MarketSplit(Benchmark):
    """How many systems of equations each method solves, and what it leaves of the others."""

    name = "marketsplit"
    summary = "Market split: equations between integers, min |Ax - b|_1 with optimum 0"
    sizes = tuple(f"m{m}" for m in range(3, 16))
    methods = ("auto", "lattice", "anneal", "flip", *RIVALS)

    def cases(self, choice: Choice) -> Iterable[Case]:
        small = choice.preset == "small"
        sizes = choice.sizes or (("m3", "m4", "m5") if small else self.sizes)
        methods = choice.methods or self.methods
        count = choice.instances or (1 if small else None)
        seconds = (SMALL_SECONDS if small else SECONDS) * (choice.budget or 1.0)
        for size in sizes:
            for instance in instances(int(size[1:]))[:count]:
                for method in methods:
                    yield Case(instance, method, seed=0, budget=seconds)

    def run(self, case: Case) -> Row:
        if case.method not in METHODS:
            raise Skip(f"method {case.method!r} is not installed")
        problem = problem_of(case.instance)
        api.solve(_warm_up(), method=case.method, time_limit=0.5, seed=0)
        api.solve(_warm_up(), method=Closest(half=6, grids=1), starts=1, seed=0)
        cpu, wall = time.process_time(), time.perf_counter()
        try:
            result = api.solve(
                problem, method=case.method, time_limit=case.budget, seed=case.seed, n_jobs=self.threads
            )
        except (ImportError, ValueError) as error:
            raise Skip(str(error)) from error
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        fun = problem.objective(result.x)
        rows, n = problem.terms[0].operator.shape
        return {"fun": fun, "wall": wall, "cpu": cpu, "m": rows, "n": n, "solved": fun == 0}

    def report(self, rows: Sequence[Row]) -> list[Section]:
        names = [name for name in self.methods if any(row["method"] == name for row in rows)]
        sizes = sorted({(row["m"], row["n"], row.get("budget")) for row in rows})
        groups = grouped(rows, "m", "n", "budget", "method")
        solved = [[*size, *(_share(groups.get((*size, name), [])) for name in names)] for size in sizes]
        left = [[*size, *(_mean(groups.get((*size, name), [])) for name in names)] for size in sizes]
        columns = ["m", "n", "seconds", *names]
        return [
            Text(
                "Market split",
                [
                    "Each instance is a system Ax = b of m equations in n binary variables with a solution "
                    "that is known to exist, posed as min |Ax - b|_1. Every method has the same time."
                ],
            ),
            ReportTable("Solved to 0", columns, solved, caption="solved / instances"),
            ReportTable(
                "Mean residual", columns, left, caption="mean of |Ax - b|_1 at the end; 0 is optimal"
            ),
        ]


def _share(rows: list[Row]) -> str | None:
    return f"{sum(bool(row['solved']) for row in rows)} / {len(rows)}" if rows else None


def _mean(rows: list[Row]) -> float | None:
    return mean(float(row["fun"]) for row in rows) if rows else None


def instances(m: int) -> list[str]:
    """Names of the instances with m rows: files where there are any, else drawn ones."""
    files = sorted(path.stem for path in folder().glob(f"ms_{m:02d}_*.dat"))
    return files or [f"drawn-{m}-{D}-{seed}" for D in (50, 100, 200) for seed in range(2)]


def problem_of(instance: str) -> Problem:
    """The problem behind a name."""
    if instance.startswith("drawn-"):
        m, D, seed = map(int, instance.split("-")[1:])
        return drawn(m, D, seed)
    path = folder() / f"{instance}.dat"
    if not path.exists():
        raise Skip(f"there is no {path.name}; set DCRA_DATA to the folder that has marketsplit/")
    return marketsplit.read(path)


def drawn(m: int, D: int, seed: int) -> Problem:
    """A random instance with coefficients in 0..D and a hidden solution."""
    rng = np.random.default_rng((m, D, seed))
    n = 10 * (m - 1)
    A = rng.integers(0, D + 1, (m, n)).astype(np.float64)
    return Problem([Term("l1", A, A @ rng.integers(0, 2, n))], domain="binary")


def folder() -> Path:
    return Path(os.environ.get("DCRA_DATA", ".")) / "marketsplit"


def _warm_up() -> Problem:
    return drawn(4, 100, 0)
