"""Time to the proof: regressions, with an answer to find or without, and couplings, by trees of relaxations.

Every method begins at the same point, where it takes one, with one thread; the clock is the processor's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

import numpy as np

from dcra import api
from dcra.bench.base import Benchmark, Case, Choice, Row
from dcra.bench.compare import grouped
from dcra.bench.exact_families import (
    ORDER,
    SIZES,
    described,
    instances_of,
    methods_of,
    problem_of,
    small_problems,
)
from dcra.bench.sections import ReportTable, Section, Text
from dcra.bench.solving import summarise_solve, timed
from dcra.result import Status

SECONDS, SMALL_SECONDS = 60.0, 5.0
RIVALS = ("gurobi", "milp", "cpsat", "scip")
STARTS = 8
"""Starts of "auto" for the point that all begin with."""

TIMES = (0.01, 0.1, 1.0, 10.0, 60.0)
"""Seconds of the processor at which the profile is read off."""


class ExactBenchmark(Benchmark):
    """Seconds of the processor to the proof, and how many problems are proved in the time given."""

    name = "exact"
    summary = "Time to the proof: planted regressions under many losses, pure noise, and couplings"
    sizes = SIZES
    methods = ("exact", "auto", *RIVALS)

    def warm(self, case: Case) -> None:
        super().warm(case)
        for problem in small_problems() if case.method in self.methods[:2] else ():
            api.solve(problem, method=case.method, starts=1, seed=0, n_jobs=1)

    def cases(self, choice: Choice) -> Iterable[Case]:
        small = choice.preset == "small"
        sizes = choice.sizes or (("gross-100", "likely-100", "nothing-30") if small else self.sizes)
        seconds = (SMALL_SECONDS if small else SECONDS) * (choice.budget or 1.0)
        for size in sizes:
            for instance in instances_of(size, choice.instances, small):
                for method in choice.methods or methods_of(size, self.methods):
                    yield Case(instance, method, seed=0, budget=seconds)

    def run(self, case: Case) -> Row:
        problem = problem_of(case.instance)
        begin = api.solve(problem, starts=STARTS, seed=case.seed, n_jobs=1)
        options = {"time_limit": case.budget, "seed": case.seed, "n_jobs": 1, "x0": begin.x}
        solved = timed(problem, case.method, **options)
        result = solved.result
        own = result.status is Status.CONVERGED and case.method in RIVALS  # within the tolerances of a solver
        return summarise_solve(problem, solved) | {
            **described(case.instance, problem),
            "nodes": result.nodes or result.nit,
            "proved": result.status is Status.OPTIMAL or own,
        }

    def message(self, rows: Sequence[Row]) -> str:
        from dcra.bench.in_short import quickest_proofs

        return quickest_proofs(rows, self.methods[0])

    def report(self, rows: Sequence[Row]) -> list[Section]:
        names = [name for name in self.methods if any(row["method"] == name for row in rows)]
        kinds = sorted({(row["family"], row["n"], row["rows"]) for row in rows}, key=_place)
        groups = grouped(rows, "family", "n", "rows", "method")
        seconds = [[*kind, *(_seconds(groups.get((*kind, name), [])) for name in names)] for kind in kinds]
        share = [[*kind, *(_share(groups.get((*kind, name), [])) for name in names)] for kind in kinds]
        profile = [
            [t, *(_within([row for row in rows if row["method"] == name], t) for name in names)]
            for t in TIMES
        ]
        columns = ["family", "n", "rows", *names]
        return [
            Text("Time to the proof", [" ".join(_words().split())]),
            ReportTable(
                "CPU seconds to the proof", columns, seconds, caption="medians; empty: not the half of them"
            ),
            ReportTable("Proved", columns, share, caption="proved / problems, in the time given"),
            ReportTable("Profile", ["CPU seconds", *names], profile, caption="share proved within so many"),
        ]


def _words() -> str:
    return """All begin at the point that eight starts of "auto" find, but for milp, which takes none, and run
    on one thread. The proofs of "exact" and "auto" are closed to what float64 can tell apart, those of the
    others to the tolerances of their solvers."""


def _place(kind: tuple[str, int, int]) -> tuple[int, int]:
    return ORDER.index(kind[0]), kind[1]


def _seconds(rows: list[Row]) -> float | None:
    """The median, where at least half of the problems were proved."""
    times = sorted(float(row["cpu"]) if row["proved"] else np.inf for row in rows)
    middle = median(times) if times else np.inf
    return float(middle) if middle < np.inf else None


def _share(rows: list[Row]) -> str | None:
    return f"{sum(bool(row['proved']) for row in rows)} / {len(rows)}" if rows else None


def _within(rows: list[Row], seconds: float) -> float | None:
    proved = [row for row in rows if row["proved"] and row["cpu"] <= seconds]
    return len(proved) / len(rows) if rows else None
