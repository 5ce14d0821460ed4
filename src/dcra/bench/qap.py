"""Quadratic assignment: random and grid instances made from their names, and QAPLIB where it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from dcra.apps.qap import assignment_cost, qap
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.coupled import (
    RULES,
    data_file,
    data_names,
    gap_figure,
    gaps_of,
    instance_table,
    mean_table,
    timed,
)
from dcra.bench.sections import Section, Text

Host = np.ndarray[Any, Any]


class Qap(Benchmark):
    name: ClassVar[str] = "qap"
    summary: ClassVar[str] = "Quadratic assignment with 12 to 50 facilities, and QAPLIB"
    sizes: ClassVar[Sequence[str]] = ("12", "20", "30", "50", "qaplib")
    methods: ClassVar[Sequence[str]] = ("auto", "penalties", "scipy-faq", "scipy-2opt", "random")

    def cases(self, choice: Choice) -> Iterable[Case]:
        sizes = choice.sizes or (self.sizes if choice.preset == "full" else self.sizes[:2])
        most = choice.instances or (1000 if choice.preset == "full" else 2)
        for budget in (0.3, 1.0) if choice.preset == "small" else (1.0, 10.0):
            for size in sizes:
                for instance in self.instances(size)[:most]:
                    for method in choice.methods or self.methods:
                        yield Case(instance, method, 0, budget * (choice.budget or 1.0))

    def instances(self, size: str) -> list[str]:
        if size == "qaplib":
            return data_names("qaplib", "*.dat")
        return [f"{kind}-{size}-{k}" for k in range(2) for kind in ("random", "grid")]

    def run(self, case: Case) -> Row:
        F, D = matrices(case.instance)
        assert case.budget is not None
        solve = SOLVERS[case.method]
        if case.method in ("auto", "penalties"):
            qap(F[:5, :5], D[:5, :5], method="auto" if case.method == "auto" else "anneal", starts=1, seed=0)
        p, wall, cpu = timed(lambda: solve(F, D, case.budget or 1.0, case.seed))
        if sorted(p.tolist()) != list(range(len(F))):
            raise AssertionError(f"{case.method} gave no permutation")
        row: Row = {"fun": assignment_cost(F, D, p), "wall": wall, "cpu": cpu, "n": len(F)}
        known = _best_known(case.instance)
        return row if known is None else row | {"best_known": known}

    def report(self, rows: Sequence[Row]) -> list[Section]:
        finished = [row for row in rows if row.get("fun") is not None]
        gaps = gaps_of(finished)
        goal = "Put facilities on places so that flow times distance, over all pairs, costs least."
        tables = (mean_table, gap_figure, instance_table)
        return [Text(self.name, [goal, RULES]), *(make(finished, gaps) for make in tables)]


def matrices(instance: str) -> tuple[Host, Host]:
    """Flow and distance of an instance."""
    if "/" in instance:
        from dcra.io.qaplib import read_matrices

        return read_matrices(data_file(*instance.split("/")))
    kind, size, seed = instance.split("-")
    n, rng = int(size), np.random.default_rng(int(seed))
    F = np.triu(rng.integers(0, 10, (n, n)), 1)
    if kind == "random":
        D = np.triu(rng.integers(0, 100, (n, n)), 1)
    else:
        side = next(k for k in range(int(np.sqrt(n)), 0, -1) if n % k == 0)
        at = np.stack(np.divmod(np.arange(n), n // side), axis=1)
        D = np.triu(np.abs(at[:, None] - at[None]).sum(-1), 1)
    return (F + F.T).astype(float), (D + D.T).astype(float)


def _scipy(method: str) -> Callable[[Host, Host, float, int], Host]:
    def run(F: Host, D: Host, seconds: float, seed: int) -> Host:
        """SciPy's method from random starts until the time is up."""
        import time

        from scipy import optimize

        assign: Any = optimize.quadratic_assignment
        rng, end = np.random.default_rng(seed), time.perf_counter() + seconds
        best, cost = np.arange(len(F)), np.inf
        while True:
            options: dict[str, Any] = {"rng": rng}
            if method == "faq":
                options["P0"] = "randomized"
            found = assign(F, D, method=method, options=options)
            if found.fun < cost:
                best, cost = np.asarray(found.col_ind), float(found.fun)
            if time.perf_counter() > end:
                return best

    return run


def _random(F: Host, D: Host, seconds: float, seed: int) -> Host:
    rng = np.random.default_rng(seed)
    tries = [rng.permutation(len(F)) for _ in range(100)]
    return min(tries, key=lambda p: assignment_cost(F, D, p))


SOLVERS: dict[str, Callable[[Host, Host, float, int], Host]] = {
    "auto": lambda F, D, s, seed: qap(F, D, time_limit=s, seed=seed).permutation,
    "penalties": lambda F, D, s, seed: qap(F, D, method="anneal", time_limit=s, seed=seed).permutation,
    "scipy-faq": _scipy("faq"),
    "scipy-2opt": _scipy("2opt"),
    "random": _random,
}


def _best_known(instance: str) -> float | None:
    if "/" not in instance:
        return None
    try:
        known = json.loads(data_file("qaplib", "best_known.json").read_text())
    except Skip:
        return None
    value = known.get(instance.rpartition("/")[2].removesuffix(".dat"), {}).get("value_in_sln")
    return None if value is None else float(value)
