"""What the benchmarks of quadratic objectives share: a clock, rivals' gaps, and one report."""

from __future__ import annotations

import os
import time
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.coupled_rivals import RIVALS
from dcra.bench.sections import Figure, Panel, Section, Series, Table, Text
from dcra.problem import Problem

Host = np.ndarray[Any, Any]


def timed(solve: Callable[[], Host]) -> tuple[Host, float, float]:
    """A point, and the wall and processor seconds that it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    x = solve()
    return x, time.perf_counter() - wall, time.process_time() - cpu


def data_file(*parts: str) -> Path:
    """A file below DCRA_DATA."""
    folder = os.environ.get("DCRA_DATA")
    path = Path(folder or "", *parts)
    if folder is None or not path.is_file():
        raise Skip(f"{'/'.join(parts)} is not below DCRA_DATA")
    return path


def data_names(folder: str, pattern: str) -> list[str]:
    """Names of the files of a folder below DCRA_DATA, shortest first; none where there is none."""
    root = os.environ.get("DCRA_DATA")
    files = Path(root, folder).glob(pattern) if root else []
    return sorted((f.relative_to(Path(root or "")).as_posix() for f in files), key=lambda n: (len(n), n))


class Coupled(Benchmark):
    """A benchmark of problems with a quadratic objective alone: budgets x instances x methods."""

    budgets: ClassVar[dict[str, Sequence[float]]]
    """Seconds of each preset."""
    seeds: ClassVar[int] = 3
    goal: ClassVar[str]

    @abstractmethod
    def instances(self, size: str) -> list[str]:
        """Names of the instances of a size."""

    @abstractmethod
    def problem(self, instance: str) -> Problem:
        """The instance of a name."""

    @abstractmethod
    def best_known(self, instance: str) -> float | None:
        """The best objective known elsewhere."""

    def cases(self, choice: Choice) -> Iterable[Case]:
        sizes = choice.sizes or (self.sizes if choice.preset == "full" else self.sizes[:2])
        methods = choice.methods or self.methods
        most = choice.instances or (1000 if choice.preset == "full" else 2)
        seeds = self.seeds if choice.preset == "full" else 1
        for budget in self.budgets[choice.preset]:
            for size in sizes:
                for instance in self.instances(size)[:most]:
                    for method in methods:
                        for seed in range(seeds):
                            yield Case(instance, method, seed, budget * (choice.budget or 1.0))

    def run(self, case: Case) -> Row:
        problem = self.problem(case.instance)
        rival = RIVALS[case.method]
        rival.warm(problem)
        assert case.budget is not None
        x, wall, cpu = timed(lambda: rival.solve(problem, case.budget or 1.0, case.seed))
        row: Row = {"fun": problem.objective(x), "wall": wall, "cpu": cpu, "n": problem.n}
        known = self.best_known(case.instance)
        return row if known is None else row | {"best_known": known}

    def report(self, rows: Sequence[Row]) -> list[Section]:
        finished = [row for row in rows if row.get("fun") is not None]
        gaps = gaps_of(finished)
        return [
            Text(self.name, [self.goal, RULES]),
            mean_table(finished, gaps),
            gap_figure(finished, gaps),
            instance_table(finished, gaps),
        ]


RULES = (
    "Every method gets the same wall-clock seconds, and every answer is evaluated in float64. A gap is the "
    "difference to the best value known, from the literature or else from this table, in per cent of it. "
    "dwave-sa is run three times with the whole budget, as 2, 8 and 32 reads on two threads, and "
    "the best of the three counts."
)


def gaps_of(rows: Sequence[Row]) -> list[float]:
    """The gap of each row in per cent of the best value known of its instance."""
    best: dict[str, float] = {}
    for row in rows:
        value = min(float(row["fun"]), float(row.get("best_known", np.inf)))
        best[row["instance"]] = min(best.get(row["instance"], np.inf), value)
    return [100 * (float(r["fun"]) - best[r["instance"]]) / (abs(best[r["instance"]]) or 1.0) for r in rows]


def _grouped(rows: Sequence[Row], gaps: Sequence[float], *keys: str) -> dict[tuple[Any, ...], list[float]]:
    groups: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for row, gap in zip(rows, gaps, strict=True):
        groups[tuple(row[key] for key in keys)].append(gap)
    return groups


def mean_table(rows: Sequence[Row], gaps: Sequence[float]) -> Table:
    groups = _grouped(rows, gaps, "method", "budget")
    methods = list(dict.fromkeys(method for method, _ in groups))
    budgets = sorted({budget for _, budget in groups})
    table = [[m, *(_mean(groups.get((m, b))) for b in budgets)] for m in methods]
    columns = ["method", *(f"{b:g} s" for b in budgets)]
    return Table(
        "Mean gap in per cent", columns, table, "Mean over instances and seeds; smaller is better.", 3
    )


def instance_table(rows: Sequence[Row], gaps: Sequence[float]) -> Table:
    last = max((row["budget"] for row in rows), default=0.0)
    kept = [(row, gap) for row, gap in zip(rows, gaps, strict=True) if row["budget"] == last]
    groups = _grouped([row for row, _ in kept], [gap for _, gap in kept], "instance", "method")
    instances = list(dict.fromkeys(instance for instance, _ in groups))
    methods = list(dict.fromkeys(method for _, method in groups))
    table = [[i, *(_mean(groups.get((i, m))) for m in methods)] for i in instances]
    return Table(f"Gap by instance at {last:g} s, per cent", ["instance", *methods], table, digits=3)


def gap_figure(rows: Sequence[Row], gaps: Sequence[float]) -> Figure:
    groups = _grouped(rows, gaps, "method", "budget")
    methods = list(dict.fromkeys(method for method, _ in groups))
    series = []
    for method in methods:
        budgets = sorted(b for m, b in groups if m == method)
        series.append(Series(method, budgets, [_mean(groups[method, b]) for b in budgets]))
    panel = Panel("Mean gap over time", "seconds", "gap, per cent", series, log_x=True)
    return Figure("Gap over time", [panel])


def _mean(values: list[float] | None) -> float | None:
    return float(np.mean(values)) if values else None
