"""The report of the benchmarks of quadratic objectives: gaps to the best known, and seconds to a target."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from dcra.bench.base import Row
from dcra.bench.compare import duel, grouped, mean
from dcra.bench.quadratic_targets import OURS, TARGETS, Sets, target_figure, target_table
from dcra.bench.sections import Figure, Panel, ReportTable, Section, Series, Text

RULES = (
    "Every method gets the same wall-clock seconds and threads, and every answer is evaluated in float64. "
    "A gap is the difference to the best value known, the better of the listed one and the best of these "
    "rows, in per cent of it. dwave-sa is dwave-samplers' annealing in one read, with as many sweeps as fill "
    "the time (their pace is measured before the clock starts); dwave-sa-8 shares them among eight reads."
)


def sections(name: str, goal: str, rows: Sequence[Row], large: int) -> list[Section]:
    """Everything, from the rows alone; files of more than `large` variables are a set of their own."""
    measured = with_gaps([row for row in rows if row.get("fun") is not None])
    if not measured:
        return [Text(name, [goal, RULES])]
    sets = grouped([{**row, "set": set_of(row, large)} for row in measured], "set")
    return [
        Text(name, [goal, RULES, *said_of_lists(measured)]),
        mean_table(sets),
        duels(sets),
        gap_figure(sets),
        target_table(sets),
        *(target_figure(words, sets) for words in TARGETS),
        *instance_tables(measured),
        *bound_table(measured),
    ]


def set_of(row: Row, large: int) -> str:
    """The folder that an instance comes from, or its size where it is made by its name."""
    folder, slash, _ = row["instance"].partition("/")
    return f"{folder}{'-large' * (row['n'] > large)}" if slash else f"n = {row['n']}"


def with_gaps(rows: Sequence[Row]) -> list[Row]:
    """Rows with their gap in per cent of the best value known of their instance.

    A listed value that a proved bound rules out does not count.
    """
    measured = []
    for group in grouped(rows, "instance").values():
        proved = max((float(row["bound"]) for row in group if row.get("bound") is not None), default=-inf)
        listed = [float(value) for row in group for value in row.get("listed") or [] if value >= proved]
        best = min([float(row["fun"]) for row in group] + listed)
        unit = abs(best) or 1.0
        measured += [{**row, "best": best, "gap": 100 * (float(row["fun"]) - best) / unit} for row in group]
    return measured


def said_of_lists(rows: Sequence[Row]) -> list[str]:
    """Which listed values are contradicted, by our answers or by each other."""
    groups = grouped([row for row in rows if row.get("listed")], "instance")
    beyond = [i for i, group in groups.items() if group[0]["best"] < min(group[0]["listed"])]
    unlike = [i for i, group in groups.items() if len(group[0]["listed"]) > 1]
    impossible = [i for i, group in groups.items() if group[0]["best"] > min(group[0]["listed"])]
    said = []
    if impossible:
        said.append(f"Proved bounds rule out what is listed for {', '.join(impossible)}; it does not count.")
    if beyond:
        said.append(f"Answers here are beyond the best listed value on {', '.join(beyond)}.")
    if unlike:
        said.append(
            f"Lists disagree on {', '.join(unlike)}: the best of their values counts, reached or not. Nobody "
            "has shown us a point for it; a gap there may be the list's."
        )
    return said


def mean_table(sets: Sets) -> ReportTable:
    budgets = sorted({row["budget"] for rows in sets.values() for row in rows})
    lines = []
    for name, rows in sets.items():
        for method, group in grouped(rows, "method").items():
            found = grouped(group, "budget")
            cells = [mean(found[b], "gap") if b in found else None for b in budgets]
            lines.append([name, method, len({row["instance"] for row in group}), *cells])
    columns = ["set", "method", "instances", *(f"{b:g} s" for b in budgets)]
    caption = (
        "Mean over instances and seeds; smaller is better. Not all methods need have all instances: the next "
        "table compares them on those that they have."
    )
    return ReportTable("Mean gap in per cent", columns, lines, caption, 3, frozen=2)


def duels(sets: Sets) -> ReportTable:
    """Every rival against ours where both have an answer."""
    lines = []
    for name, rows in sets.items():
        by = grouped(rows, "method", "budget")
        for (method, budget), theirs in by.items():
            found = _duel(by.get((OURS, budget), []), theirs) if method != OURS else None
            if found is not None:
                lines.append([name, method, budget, *found])
    columns = ["set", "method", "seconds", "cases", "gap of auto", "gap", "auto wins", "ties", "auto loses"]
    caption = "On the same instances and seeds. Gaps in per cent; wins, ties and losses are shares of cases."
    return ReportTable("Against auto", columns, lines, caption, 3, frozen=2)


def _duel(mine: Sequence[Row], theirs: Sequence[Row]) -> list[float | int | None] | None:
    """Cases, both mean gaps, shares of wins, ties and losses."""
    fight = duel(mine, theirs)
    if fight is None:
        return None
    both = {(row["instance"], row["seed"]) for row in theirs}
    both &= {(row["instance"], row["seed"]) for row in mine}
    gaps = [
        mean([row for row in part if (row["instance"], row["seed"]) in both], "gap")
        for part in (mine, theirs)
    ]
    return [fight.pairs, *gaps, fight.wins, fight.ties, fight.losses]


def gap_figure(sets: Sets) -> Figure:
    panels = []
    for name, rows in sets.items():
        series = []
        for method, group in grouped(rows, "method").items():
            found = sorted(grouped(group, "budget").items())
            gaps = [mean(part, "gap") for _, part in found]
            series.append(Series(method, [budget for budget, _ in found], gaps, strong=method == OURS))
        panels.append(Panel(name, "seconds", "mean gap, per cent", series, log_x=True))
    return Figure("Gap at each budget", panels)


def instance_tables(rows: Sequence[Row]) -> list[ReportTable]:
    """The gap of each instance and method, one table for each budget, with the listed and the best value."""
    tables = []
    for budget, part in sorted(grouped(rows, "budget").items()):
        methods = list(grouped(part, "method"))
        lines = []
        for instance, group in grouped(part, "instance").items():
            found = grouped(group, "method")
            listed = group[0].get("listed") or [None]
            here = min(row["fun"] for row in rows if row["instance"] == instance)
            cells = [round(mean(found[m], "gap") or 0.0, 4) if m in found else None for m in methods]
            lines.append([instance, group[0]["n"], min(listed), here, *cells])
        columns = ["instance", "n", "listed best", "best here", *methods]
        title = f"Gap by instance at {budget:g} s, per cent"
        tables.append(ReportTable(title, columns, lines, digits=7, group="instances", tab=f"{budget:g} s"))
    return tables


def bound_table(rows: Sequence[Row]) -> list[ReportTable]:
    """How far the proved bounds of our longest runs lie below the best value."""
    bounded = [row for row in rows if row["method"] == OURS and row.get("bound") is not None]
    lines = []
    for instance, group in grouped(bounded, "instance").items():
        row = max(group, key=lambda row: float(row["bound"]))
        share = round(100 * (row["best"] - row["bound"]) / (abs(row["best"]) or 1.0), 3)
        lines.append([instance, row["n"], row["best"], row["bound"], share, row["budget"]])
    columns = ["instance", "n", "best value", "lower bound", "distance, per cent", "seconds"]
    caption = "Proved in the same solve as the answer, in a tenth of its time. The best of all runs of auto."
    return [ReportTable("Lower bounds", columns, lines, caption, 7)] if lines else []
