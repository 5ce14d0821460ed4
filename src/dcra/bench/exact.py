"""Time to the proof: regressions with an answer to find, and some without, by trees of relaxations.

Every method begins at the same point, where it takes one, with one thread; the clock is the processor's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from dcra import api
from dcra._array import Host
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.compare import grouped
from dcra.bench.sections import ReportTable, Section, Text
from dcra.bench.solving import summarise_solve, timed
from dcra.losses import Quantile
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.result import Status

SECONDS, SMALL_SECONDS = 60.0, 5.0
RIVALS = ("gurobi", "milp", "cpsat", "scip")
STARTS = 8
"""Starts of "auto" for the point that all begin with."""

TIMES = (0.01, 0.1, 1.0, 10.0, 60.0)
"""Seconds of the processor at which the profile is read off."""

Rng = np.random.Generator


class Family(NamedTuple):
    """How problems of one kind are drawn, rows for each variable, and the sizes that are tried."""

    draw: Callable[[Rng, int, int], Problem]
    ratio: float
    sizes: tuple[int, ...]


def _planted(rng: Rng, n: int, r: int, noise: float) -> tuple[Host, Host]:
    A = rng.standard_normal((r, n))
    return A, A @ rng.choice([-1.0, 1.0], n) + noise * rng.standard_normal(r)


def gross(rng: Rng, n: int, r: int) -> Problem:
    """l1, a fifth of b replaced by numbers that have nothing to do with A."""
    A, b = _planted(rng, n, r, 0.1)
    b[: r // 5] = 50.0 * rng.standard_normal(r // 5)
    return Problem([Term("l1", A, b)])


def likely(rng: Rng, n: int, r: int) -> Problem:
    """l1, three tenths of b replaced by numbers of the same size, and noise."""
    A, b = _planted(rng, n, r, 0.5)
    wrong = 3 * r // 10
    b[:wrong] = np.sqrt(n) * rng.standard_normal(wrong)
    return Problem([Term("l1", A, b)])


def quantile(rng: Rng, n: int, r: int) -> Problem:
    """The quantile .8, a fifth of b wrong, and noise."""
    A, b = _planted(rng, n, r, 1.0)
    b[: r // 5] = np.sqrt(n) * rng.standard_normal(r // 5)
    return Problem([Term(Quantile(0.8), A, b)])


def hinge(rng: Rng, n: int, r: int) -> Problem:
    """A classifier with weights +-1; a tenth of the labels is wrong."""
    G, h = rng.standard_normal((r, n)), rng.choice([-1.0, 1.0], n)
    labels = np.sign(G @ h) * np.where(rng.random(r) < 0.1, -1.0, 1.0)
    return Problem([Term("hinge", -labels[:, None] * G / np.sqrt(n), -1.0)])


def sensing(rng: Rng, n: int, r: int) -> Problem:
    """Compressed sensing: a tenth of the variables is 1, few rows, noise, and a price on ones."""
    A, x = rng.standard_normal((r, n)) / np.sqrt(r), np.zeros(n)
    x[rng.choice(n, n // 10, replace=False)] = 1.0
    b = A @ x + 0.05 * rng.standard_normal(r)
    return Problem([Term("l1", A, b)], linear=np.full(n, 0.1), domain="binary")


def nothing(rng: Rng, n: int, r: int) -> Problem:
    """l1, and nothing to be found."""
    return Problem([Term("l1", rng.standard_normal((r, n)), rng.standard_normal(r))])


FAMILIES = {
    "gross": Family(gross, 2.0, (100, 200, 500, 1000)),
    "likely": Family(likely, 2.0, (100, 200, 300, 500)),
    "quantile": Family(quantile, 2.0, (100, 200, 300)),
    "hinge": Family(hinge, 5.0, (50, 100, 150)),
    "sensing": Family(sensing, 0.4, (100, 150, 200)),
    "nothing": Family(nothing, 1.0, (30, 40, 50)),
}


class ExactBenchmark(Benchmark):
    """Seconds of the processor to the proof, and how many problems are proved in the time given."""

    name = "exact"
    summary = "Time to the proof: planted regressions under l1, quantile and hinge losses, and pure noise"
    sizes = tuple(f"{name}-{n}" for name, family in FAMILIES.items() for n in family.sizes)
    methods = ("exact", "auto", *RIVALS)

    def cases(self, choice: Choice) -> Iterable[Case]:
        small = choice.preset == "small"
        sizes = choice.sizes or (("gross-100", "likely-100", "nothing-30") if small else self.sizes)
        count = choice.instances or (1 if small else 5)
        seconds = (SMALL_SECONDS if small else SECONDS) * (choice.budget or 1.0)
        for size in sizes:
            for seed in range(count):
                for method in choice.methods or self.methods:
                    yield Case(f"{size}-{seed}", method, seed=0, budget=seconds)

    def run(self, case: Case) -> Row:
        problem = problem_of(case.instance)
        begin = api.solve(problem, starts=STARTS, seed=case.seed, n_jobs=1)
        options = {"time_limit": case.budget, "seed": case.seed, "n_jobs": 1, "x0": begin.x}
        solved = timed(problem, case.method, **options)
        result = solved.result
        own = result.status is Status.CONVERGED and case.method in RIVALS  # within the tolerances of a solver
        family, n, _ = case.instance.split("-")
        return summarise_solve(problem, solved) | {
            "family": family,
            "n": int(n),
            "rows": problem.n_rows,
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


def problem_of(instance: str) -> Problem:
    """The problem behind a name such as hinge-100-3."""
    family, n, seed = instance.split("-")
    if family not in FAMILIES:
        raise Skip(f"there is no family {family!r}; there are {', '.join(FAMILIES)}")
    draw, ratio, _ = FAMILIES[family]
    rng = np.random.default_rng((list(FAMILIES).index(family), int(n), int(seed)))
    return draw(rng, int(n), round(ratio * int(n)))


def _words() -> str:
    return """All begin at the point that eight starts of "auto" find, but for milp, which takes none, and run
    on one thread. The proofs of "exact" and "auto" are closed to what float64 can tell apart, those of the
    others to the tolerances of their solvers."""


def _place(kind: tuple[str, int, int]) -> tuple[int, int]:
    return list(FAMILIES).index(kind[0]), kind[1]


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
