"""Tables of market split, choices of groups and bisections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dcra.bench.base import Row
from dcra.bench.compare import grouped
from dcra.bench.counted import mean_objective

from .measures import Rows, at_most_seconds, best_of_groups, chosen, rows_of
from .pages import Make, computes

PAGE = "docs/constraints.md"
SOLVERS = ("milp", "gurobi", "cpsat")


def span(seconds: Sequence[float]) -> str:
    """Least and largest."""
    ends = [f"{end(seconds):.2g}" for end in (min, max)] if seconds else []
    return " to ".join(dict.fromkeys(ends))


def solved_by(rows: Rows) -> str:
    return f"{sum(row['solved'] for row in rows)}" if rows else ""


def lattice_lines() -> Iterator[list[str]]:
    """Files, how many were solved, and the seconds of these."""
    rows = sorted(chosen(rows_of("marketsplit"), method="lattice"), key=lambda row: row["m"])
    for (m, n), part in grouped(rows, "m", "n").items():
        walls = [row["wall"] for row in part if row["solved"]]
        yield [f"{m}", f"{n}", f"{len(part)}", solved_by(part), span(walls)]


def minute_lines() -> Iterator[list[str]]:
    """What `auto` solves in 60 s, when, and what it leaves in the mean; what others solve."""
    rows = [row for row in rows_of("marketsplit") if round(row["budget"]) == 60]
    for (m, n), part in sorted(grouped(rows, "m", "n").items()):
        by = grouped(part, "method")
        if ours := by.get("auto", []):
            assert all(len(by.get(name, ours)) == len(ours) for name in SOLVERS)
            walls = [row["wall"] for row in ours if row["solved"]]
            left = f"{np.mean([row['fun'] for row in ours]):.1f}"
            others = [solved_by(by.get(name, [])) for name in SOLVERS]
            yield [f"{m}", f"{n}", f"{len(ours)}", solved_by(ours), span(walls), left, *others]


def residual_lines() -> Iterator[list[str]]:
    """Mean residuals after 10 s, on files that all were given, and how many were solved."""
    rows = at_most_seconds(rows_of("marketsplit"), 10)
    for (m, n), part in sorted(grouped(rows, "m", "n").items()):
        by = grouped(part, "method")
        assert len({len(by[name]) for name in ("auto", *SOLVERS)}) == 1
        cells = [mean_and_solved(by[name]) for name in ("auto", *SOLVERS)]
        yield [f"{m}", f"{n}", f"{len(by['auto'])}", *cells]


def mean_and_solved(rows: Rows) -> str:
    solved = sum(row["fun"] == 0 for row in rows)
    return f"{np.mean([row['fun'] for row in rows]):.1f}" + (f" ({solved})" if solved else "")


KINDS = {
    "colouring, 100 vertices, degree 16, five colours": "colouring",
    "the same, weighted": "colouring-weighted",
    "colouring, 40 vertices, degree 10, weighted": "colouring-small",
    "scheduling, 40 jobs on 6 machines": "schedule",
    "assignment 25 x 25, flows of all pairs": "assignment",
    "assignment 25 x 25, a fifth of the flows": "assignment-sparse",
    "assignment 25 x 25, linear": "assignment-linear",
}
CHOOSERS = ("auto", "cpsat", "gurobi", "linear_sum_assignment")

GRAPHS = {
    "G(n, p), degree 4": "random4",
    "G(n, p), degree 10": "random10",
    "G(n, p), p = 1/2": "random-half",
    "geometric, degree 6": "geometric6",
    "geometric, degree 15": "geometric15",
    "±1, p = 1/10": "signed-tenth",
    "±1, complete": "signed",
}
CUTTERS = ("auto", "anneal", "tabu", "kernighan-lin", "metis", "cpsat")


def means(rows: list[Row], methods: Sequence[str], instances: int, seconds: float) -> list[str]:
    """Means of the methods, and on how many instances nobody is better than `auto`."""
    by = grouped(rows, "method")
    assert {row["budget"] for row in rows} == {seconds}
    assert all(len(by[name]) == instances for name in by if name != "linear_sum_assignment")
    found = [mean_objective(by[name]) if name in by else None for name in methods]
    held, total = best_of_groups(rows)
    return ["" if cell is None else f"{cell:.1f}" for cell in found] + [f"{held} of {total}"]


def choice_lines() -> Iterator[list[str]]:
    sizes = grouped(rows_of("categorical"), "size")
    assert set(sizes) == set(KINDS.values())
    for name, size in KINDS.items():
        yield [name, *means(sizes[size], CHOOSERS, 5, 2.0)]


def cut_lines() -> Iterator[list[str]]:
    sizes = grouped(rows_of("bisection"), "size")
    assert len(sizes) == 4 * len(GRAPHS)
    for name, kind in GRAPHS.items():
        for n in (60, 120, 250, 500):
            yield [name, f"{n}", *means(sizes[f"{kind}-{n}"], CUTTERS, 3, 1.0)]


TABLES: dict[str, tuple[Callable[[], Iterator[list[str]]], range | None]] = {
    "| m | n | files | solved | seconds |": (lattice_lines, None),
    "| m | n | files | `auto` | after, s |": (minute_lines, None),
    "| m | n | files | `auto` | HiGHS |": (residual_lines, range(3, 7)),
    "| instances | auto |": (choice_lines, range(1, 5)),
    "| graph | n | auto |": (cut_lines, range(2, 8)),
}


def made(lines: Callable[[], Iterator[list[str]]]) -> Make:
    return lambda head, body: list(lines())


test_lattices, test_a_minute, test_ten_seconds, test_choices, test_bisections = (
    computes(PAGE, heading, [bold] if bold else [])(made(lines)) for heading, (lines, bold) in TABLES.items()
)
