"""Linear constraints: l1 regression with a fixed number of ones, set covering, assignment, at equal time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

import numpy as np

from dcra.api import solve
from dcra.bench.base import Benchmark, Case, Choice, Row
from dcra.bench.compare import duel, grouped, mean
from dcra.bench.sections import ReportTable, Section, Text
from dcra.bench.solving import summarise_solve, timed
from dcra.model.constraints import exactly
from dcra.model.problem import Problem
from dcra.model.term import Term

SECONDS = {
    "cardinality-300x300": 2.0,
    "covering-100x300": 5.0,
    "covering-200x1000": 5.0,
    "covering-500x2000": 5.0,
    "assignment-15": 5.0,
    "assignment-30": 5.0,
}
"""Sizes, and the seconds of each."""

SMALL_COUNT, FULL_COUNT = 2, 20


class Constrained(Benchmark):
    """Objectives of feasible answers at equal time."""

    name: ClassVar[str] = "constrained"
    summary: ClassVar[str] = "Linear constraints: regression with half of the spins up, covering, assignment"
    sizes: ClassVar[Sequence[str]] = tuple(SECONDS)
    methods: ClassVar[Sequence[str]] = ("auto", "anneal", "milp", "gurobi", "cpsat")

    def cases(self, choice: Choice) -> Iterable[Case]:
        small = choice.preset == "small"
        count = choice.instances or (SMALL_COUNT if small else FULL_COUNT)
        for size in choice.sizes or self.sizes:
            for index in range(count):
                for method in choice.methods or self.methods:
                    yield Case(f"{size}-{index}", method, 0, SECONDS[size] * (choice.budget or 1.0))

    def warm(self, case: Case) -> None:
        if case.method in ("auto", "anneal"):  # the loops of penalties and swaps
            solve(cardinality(40, 10, 0), method=case.method, starts=1, seed=0, n_jobs=1)

    def run(self, case: Case) -> Row:
        problem = problem_of(case.instance)
        options = {"time_limit": case.budget, "seed": case.seed, "n_jobs": self.threads}
        solved = timed(problem, case.method, **options)
        row = summarise_solve(problem, solved)
        row |= {"feasible": solved.result.feasible, "violation": float(problem.violation(solved.result.x))}
        return row | {"size": size_of(case.instance)}

    def report(self, rows: Sequence[Row]) -> list[Section]:
        words = (
            "Cardinality: min |Ax - b|_1 over spins with exactly half of them up, A and b standard normal. "
            "Covering: the cheapest sets that contain every element. Assignment: each row and each column "
            "once. Every method has the same seconds; methods milp, gurobi and cpsat get the constraints as "
            "rows of their models."
        )
        return [Text("Linear constraints", [words]), _means(rows), _duels(rows)]


def _means(rows: Sequence[Row]) -> ReportTable:
    """Objectives, the share of feasible answers, and the way to the best answer and to the best bound."""
    cells = []
    for size, group in grouped(rows, "size").items():
        best = {name: _best(own) for name, own in grouped(group, "instance").items()}
        for method, own in grouped(group, "method").items():
            fine = [row for row in own if row["feasible"]]
            above = [row["fun"] / best[row["instance"]] - 1 for row in fine if best[row["instance"]] > 0]
            worst = max(above, default=None)
            share = len(fine) / len(own)
            cells.append((size, method, len(own), share, mean(fine, "fun"), worst, mean(own, "wall")))
    columns = ("size", "method", "runs", "feasible", "mean objective", "worst above the best", "seconds")
    return ReportTable("Answers", columns, cells, "Above the best of all methods, as a share of it.", 4)


def _best(rows: Sequence[Row]) -> float:
    return min((row["fun"] for row in rows if row["feasible"]), default=np.inf)


def _duels(rows: Sequence[Row]) -> ReportTable:
    cells = []
    for size, group in grouped([row for row in rows if row["feasible"]], "size").items():
        methods = grouped(group, "method")
        for method, others in methods.items():
            found = duel(methods.get("auto", []), others) if method != "auto" else None
            if found is not None:
                cells.append((size, method, found.pairs, found.wins, found.ties, found.difference))
    columns = ("size", "auto against", "instances", "wins", "ties", "relative difference")
    return ReportTable("Duels", columns, cells, "Where both answers are feasible.", 4)


def size_of(instance: str) -> str:
    return instance.rpartition("-")[0]


def problem_of(instance: str) -> Problem:
    """The problem behind a name."""
    kind, size, index = instance.split("-")
    makers: dict[str, Callable[..., Problem]] = {
        "cardinality": cardinality,
        "covering": covering,
        "assignment": assignment,
    }
    return makers[kind](*map(int, size.split("x")), seed=int(index))


def cardinality(n: int, d: int, seed: int) -> Problem:
    """l1 regression over spins, half of them up."""
    rng = np.random.default_rng((n, d, seed, 7))
    A, b = rng.standard_normal((d, n)), rng.standard_normal(d)
    return Problem([Term("l1", A, b)], constraints=exactly(n // 2))


def covering(n_elements: int, n_sets: int, seed: int) -> Problem:
    """The cheapest sets that contain every element; each holds one in twenty at random."""
    from scipy import sparse
    from scipy.optimize import LinearConstraint

    rng = np.random.default_rng((n_elements, n_sets, seed))
    holds = rng.random((n_elements, n_sets)) < 0.05
    holds[np.arange(n_elements), rng.integers(0, n_sets, n_elements)] = True
    rows = LinearConstraint(sparse.csr_array(holds.astype(float)), 1, np.inf)
    return Problem(linear=rng.integers(1, 100, n_sets).astype(float), domain="binary", constraints=rows)


def assignment(n: int, seed: int) -> Problem:
    """Every worker has exactly one job, every job exactly one worker."""
    cost = np.random.default_rng((n, seed)).integers(1, 100, (n, n)).astype(float)
    workers = [exactly(1, range(n * i, n * i + n)) for i in range(n)]
    jobs = [exactly(1, range(j, n * n, n)) for j in range(n)]
    return Problem(linear=cost.ravel(), domain="binary", constraints=[*workers, *jobs])
