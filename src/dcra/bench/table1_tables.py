"""The tables of benchmark `table1`: the paper's blocks, and what the paper leaves out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dcra.bench import compare
from dcra.bench.base import Row
from dcra.bench.compare import DEFINITIONS, Duel, duel, grouped, mean
from dcra.bench.floor import l1_floor, l1_random
from dcra.bench.gaussian import size_of
from dcra.bench.paper import PAPER
from dcra.bench.sections import Cell, ReportTable, Section

OURS = "auto"


def methods_of(rows: Sequence[Row]) -> list[str]:
    """Methods in the benchmark's order."""
    from dcra.bench.table1 import Table1

    present = dict.fromkeys(row["method"] for row in rows)
    ours = [method for method in Table1.methods if method in present]
    return [*ours, *(method for method in present if method not in ours)]


def brief(factor: float | None) -> str:
    """A budget in one word."""
    return "own" if factor is None else f"{factor:g} x"


def glance(runs: dict[str, list[Row]]) -> ReportTable:
    """All sizes together: one line for each method, three columns for each budget."""
    everything = [row for rows in runs.values() for row in rows]
    cells: dict[str, list[Cell]] = {method: [] for method in methods_of(everything)}
    columns = ["method"]
    for rows in runs.values():
        short = brief(rows[0]["factor"])
        columns += [f"{short}: objective / floor", f"{short}: {OURS} wins, %", f"{short}: difference, %"]
        parts = grouped(rows, "method")
        for method, line in cells.items():
            line += _glance(parts.get(OURS, ()), parts.get(method, ()), method)
    return ReportTable(
        "Methods at a glance",
        columns,
        [[method, *line] for method, line in cells.items()],
        "Means over all sizes and instances at each budget: 1 x is the paper's seconds, own is the "
        f"method's own end: of one start, or of a plain call for {OURS}. {DEFINITIONS}",
    )


def _glance(ours: Sequence[Row], rows: Sequence[Row], method: str) -> list[Cell]:
    ratios = [row["fun"] / row["floor"] for row in rows]
    level = sum(ratios) / len(ratios) if ratios else None
    found = None if method == OURS else duel(ours, rows)
    return [level, None, None] if found is None else [level, _won(found), _apart(found)]


def tables(title: str, rows: Sequence[Row]) -> list[Section]:
    """The paper's four blocks for one budget; CPU and wall seconds both."""
    groups, methods, group = grouped(rows, "size"), methods_of(rows), f"Tables: {title}"
    means = compare.columns(groups, methods, lambda found: mean(found, "fun"))
    walls = compare.columns(groups, methods, lambda found: mean(found, "wall"))
    cpus = compare.columns(groups, methods, lambda found: mean(found, "cpu"))
    heads = [[*size_of(size), len(grouped(found, "instance"))] for size, found in groups.items()]
    limits = [[*scale(size), lower_bound(found)] for size, found in groups.items()]
    printed = [PAPER[size_of(size)].dcra for size in groups]
    parts: list[Section] = [
        ReportTable(
            f"Average objective {title}",
            ["n", "d", "instances", "floor", "random", "bound", "paper's DCRA", *methods],
            [
                [*head, *limit, paper, *line]
                for head, limit, paper, line in zip(heads, limits, printed, means, strict=True)
            ],
            "Mean of |Ax - b|_1, judged in float64. Floor: below it an x almost surely does not exist. "
            "Random: the expected objective of random signs. Bound: the mean, over instances, of the "
            "largest lower bound that any method proved. Paper's DCRA: as printed there.",
            digits=5,
            best="min",
            best_from=7,
            frozen=2,
            group=group,
            tab="Objective",
        ),
    ]
    if OURS in methods and len(methods) > 1:
        parts += [
            _duels(f"Win rate of {OURS} {title}, %", groups, methods, _won, group, "Win rate"),
            _duels(
                f"Mean relative difference of {OURS} {title}, %",
                groups,
                methods,
                _apart,
                group,
                "Relative difference",
            ),
        ]
    for name, lines in (("wall", walls), ("CPU", cpus)):
        parts.append(
            ReportTable(
                f"Average {name} seconds {title}",
                ["n", "d", "instances", "paper's DCRA", *methods],
                [
                    [*head, PAPER[head[0], head[1]].dcra_seconds, *line]
                    for head, line in zip(heads, lines, strict=True)
                ],
                "Seconds of the solve alone: making the instance and importing come before the "
                "clock starts. CPU seconds count all threads.",
                digits=3,
                frozen=2,
                group=group,
                tab=f"{name[0].upper()}{name[1:]} seconds",
            )
        )
    return parts


def _duels(
    title: str,
    groups: dict[Any, list[Row]],
    methods: Sequence[str],
    cell: Callable[[Duel], Cell],
    group: str,
    tab: str,
) -> ReportTable:
    """One cell for each rival and size."""
    rivals = [method for method in methods if method != OURS]
    lines: list[list[Cell]] = []
    for size, found in groups.items():
        parts = grouped(found, "method")
        duels = [duel(parts.get(OURS, ()), parts.get(rival, ())) for rival in rivals]
        lines.append([*size_of(size), *(None if one is None else cell(one) for one in duels)])
    return ReportTable(
        title, ["n", "d", *rivals], lines, DEFINITIONS, digits=3, frozen=2, group=group, tab=tab
    )


def _won(found: Duel) -> Cell:
    wins, ties = 100 * found.wins, 100 * found.ties
    return f"{wins:.3g} (+{ties:.3g} ties)" if ties else wins


def _apart(found: Duel) -> Cell:
    return None if found.difference is None else 100 * found.difference


def scale(size: str) -> tuple[float, float]:
    """Floor and random-sign value of a size."""
    return l1_floor(*size_of(size)), l1_random(*size_of(size))


def lower_bound(rows: Sequence[Row]) -> float | None:
    """The mean over instances of the best proven lower bound."""
    best = [
        max((row["bound"] for row in group if row.get("bound") is not None), default=None)
        for group in grouped(rows, "instance").values()
    ]
    known = [bound for bound in best if bound is not None]
    return sum(known) / len(known) if known else None
