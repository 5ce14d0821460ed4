"""Quadratic assignment: random and grid instances made from their names, and QAPLIB where it is."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from dcra._array import Host
from dcra.apps.qap import assignment_cost, qap
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.quadratic import clocked, data_file, data_names
from dcra.bench.quadratic_report import sections
from dcra.bench.quadratic_rivals import Allowance, QuadraticAnswer
from dcra.bench.sections import Section
from dcra.bench.solving import thinned


class Solver(Protocol):
    """`starts` counts instead of the clock where a solver is only to be warmed up."""

    def __call__(
        self, F: Host, D: Host, allowed: Allowance, starts: int | None = None
    ) -> QuadraticAnswer: ...


FILES = {"qaplib": (0, 30), "qaplib-large": (31, 100)}
"""Least and most facilities."""


class Qap(Benchmark):
    name: ClassVar[str] = "qap"
    summary: ClassVar[str] = "Quadratic assignment with 12 to 50 facilities, and QAPLIB"
    sizes: ClassVar[Sequence[str]] = ("12", "20", "30", "50", *FILES)
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
        if size in FILES:
            return data_names("qaplib", "*.dat", *FILES[size])
        return [f"{kind}-{size}-{k}" for k in range(2) for kind in ("random", "grid")]

    def warm(self, case: Case) -> None:
        F, D = matrices("grid-6-0")
        if case.method in ("auto", "penalties"):
            SOLVERS[case.method](F, D, Allowance(10.0, 0, 1), starts=1)

    def run(self, case: Case) -> Row:
        F, D = matrices(case.instance)
        assert case.budget is not None
        allowed = Allowance(case.budget, case.seed, self.threads)
        answer, row = clocked(lambda: SOLVERS[case.method](F, D, allowed))
        p = answer.x
        if sorted(p.tolist()) != list(range(len(F))):
            raise AssertionError(f"{case.method} gave no permutation")
        cost = assignment_cost(F, D, p)
        return {"fun": cost, **row, "n": len(F), "listed": _listed(case.instance)}

    def report(self, rows: Sequence[Row]) -> list[Section]:
        return sections(self.name, GOAL, rows, large=30)


GOAL = "Put facilities on places so that flow times distance, over all pairs, costs least."


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


def _ours(method: str) -> Solver:
    def run(F: Host, D: Host, allowed: Allowance, starts: int | None = None) -> QuadraticAnswer:
        limits = {"time_limit": allowed.seconds, "starts": starts, "n_jobs": allowed.threads}
        found = qap(F, D, method=method, seed=allowed.seed, **limits)
        if method != "auto":  # the history of the last round of several
            return QuadraticAnswer(found.permutation)
        return QuadraticAnswer(
            found.permutation, thinned([(row.seconds, row.fun) for row in found.result.history])
        )

    return run


def _scipy(method: str) -> Solver:
    def run(F: Host, D: Host, allowed: Allowance, starts: int | None = None) -> QuadraticAnswer:
        """SciPy's method from random starts until the time is up."""
        from scipy import optimize

        assign: Any = optimize.quadratic_assignment
        rng, begin = np.random.default_rng(allowed.seed), time.perf_counter()
        best, cost, history = np.arange(len(F)), np.inf, []
        while time.perf_counter() - begin < allowed.seconds:
            options: dict[str, Any] = {"rng": rng}
            if method == "faq":
                options["P0"] = "randomized"
            found = assign(F, D, method=method, options=options)
            if found.fun < cost:
                best, cost = np.asarray(found.col_ind), float(found.fun)
                history.append((time.perf_counter() - begin, cost))
        return QuadraticAnswer(best, thinned(history))

    return run


def _random(F: Host, D: Host, allowed: Allowance, starts: int | None = None) -> QuadraticAnswer:
    rng = np.random.default_rng(allowed.seed)
    tries = [rng.permutation(len(F)) for _ in range(100)]
    return QuadraticAnswer(min(tries, key=lambda p: assignment_cost(F, D, p)))


SOLVERS: dict[str, Solver] = {
    "auto": _ours("auto"),
    "penalties": _ours("anneal"),
    "scipy-faq": _scipy("faq"),
    "scipy-2opt": _scipy("2opt"),
    "random": _random,
}


def _listed(instance: str) -> list[float]:
    if "/" not in instance:
        return []
    try:
        known = json.loads(data_file("qaplib", "best_known.json").read_text())
    except Skip:
        return []
    value = known.get(instance.rpartition("/")[2].removesuffix(".dat"), {}).get("value_in_sln")
    return [] if value is None else [float(value)]
