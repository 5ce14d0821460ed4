"""The report of the benchmarks of quadratic objectives: gaps to the best known, and seconds to a target."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from dcra.bench.base import Row
from dcra.bench.compare import duel, grouped, mean
from dcra.bench.sections import Figure, Panel, Section, Series, Table, Text

OURS = "auto"
TARGETS = {"within 0.1 % of the best known": 0.1, "the best known": 0.0}
"""What is to be reached, as a gap in per cent."""

ROUNDING = 1e-7
"""Per cent by which a gap may miss a target."""

RULES = (
    "Every method gets the same wall-clock seconds and threads, and every answer is evaluated in float64. "
    "A gap is the difference to the best value known, the better of the listed one and the best of these "
    "rows, in per cent of it. dwave-sa is dwave-samplers' annealing in one read, with as many sweeps as fill "
    "the time (their pace is measured before the clock starts); dwave-sa-8 shares them among eight reads."
)


def sections(name: str, goal: str, rows: Sequence[Row]) -> list[Section]:
    """Everything, from the rows alone."""
    measured = with_gaps([row for row in rows if row.get("fun") is not None])
    if not measured:
        return [Text(name, [goal, RULES])]
    return [
        Text(name, [goal, RULES, *said_of_lists(measured)]),
        mean_table(measured),
        duels(measured),
        gap_figure(measured),
        target_table(measured),
        target_figure(measured),
        *instance_tables(measured),
        *bound_table(measured),
    ]


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


def mean_table(rows: Sequence[Row]) -> Table:
    budgets = sorted({row["budget"] for row in rows})
    lines = []
    for method, group in grouped(rows, "method").items():
        found = grouped(group, "budget")
        cells = [mean(found[b], "gap") if b in found else None for b in budgets]
        lines.append([method, len({row["instance"] for row in group}), *cells])
    columns = ["method", "instances", *(f"{b:g} s" for b in budgets)]
    caption = "Mean over instances and seeds; smaller is better. Not all methods need have all instances."
    return Table("Mean gap in per cent", columns, lines, caption, 3)


def duels(rows: Sequence[Row]) -> Table:
    """Every rival against ours where both have an answer."""
    lines = []
    by = grouped(rows, "method", "budget")
    for (method, budget), theirs in by.items():
        mine = by.get((OURS, budget), [])
        fight = duel(mine, theirs) if method != OURS else None
        if fight is None:
            continue
        pairs = {(row["instance"], row["seed"]) for row in mine} & {
            (row["instance"], row["seed"]) for row in theirs
        }
        gaps = [
            mean([row for row in part if (row["instance"], row["seed"]) in pairs], "gap")
            for part in (mine, theirs)
        ]
        lost = round(1 - fight.wins - fight.ties, 9)
        lines.append([method, budget, fight.pairs, *gaps, fight.wins, fight.ties, lost])
    columns = ["method", "seconds", "cases", "gap of auto", "gap", "auto wins", "ties", "auto loses"]
    caption = "On the same instances and seeds. Gaps in per cent; wins, ties and losses are shares of cases."
    return Table("Against auto", columns, lines, caption, 3)


def gap_figure(rows: Sequence[Row]) -> Figure:
    series = []
    for method, group in grouped(rows, "method").items():
        found = sorted(grouped(group, "budget").items())
        gaps = [mean(part, "gap") for _, part in found]
        series.append(Series(method, [budget for budget, _ in found], gaps, strong=method == OURS))
    panel = Panel("Mean gap at each budget", "seconds", "gap, per cent", series, log_x=True)
    return Figure("Gap over time", [panel])


def seconds_to(rows: Sequence[Row], gap: float) -> float:
    """When the rows of one method, instance and seed reached a gap in per cent; inf if they did not.

    The history of the longest run tells, and without one the shortest run whose answer is good enough.
    """
    goal = rows[0]["best"] + (gap + ROUNDING) / 100 * abs(rows[0]["best"])
    longest = max(rows, key=lambda row: float(row["budget"]))
    if longest.get("history"):
        return next((float(t) for t, fun in longest["history"] if fun <= goal), inf)
    return min((float(row["wall"]) for row in rows if row["fun"] <= goal), default=inf)


def _times(rows: Sequence[Row], gap: float) -> dict[str, list[float]]:
    """Seconds to a target for each method, over instances and seeds."""
    return {
        method: [seconds_to(part, gap) for part in grouped(group, "instance", "seed").values()]
        for method, group in grouped(rows, "method").items()
    }


def target_table(rows: Sequence[Row]) -> Table:
    found = {words: _times(rows, gap) for words, gap in TARGETS.items()}
    lines = []
    for method in grouped(rows, "method"):
        line: list[str | float | int | None] = [method, len(next(iter(found.values()))[method])]
        for times in found.values():
            reached = np.isfinite(times[method])
            middle = float(np.median(times[method]))
            line += [float(np.mean(reached)), middle if np.isfinite(middle) else None]
        lines.append(line)
    columns = ["method", "cases", "within 0.1 %", "seconds", "best known", "seconds "]
    caption = (
        "The share of instances and seeds on which the target was reached, and the median of the seconds "
        "until then, where at least half reached it. Methods that tell no history are charged the whole of "
        "their shortest run that reached it."
    )
    return Table("Time to target", columns, lines, caption, 3)


def target_figure(rows: Sequence[Row]) -> Figure:
    """The share of cases that have reached a target over time."""
    end = max(float(row["wall"]) for row in rows)
    panels = []
    for words, gap in TARGETS.items():
        series = []
        for method, times in _times(rows, gap).items():
            reached = sorted(t for t in times if np.isfinite(t))
            if reached:
                shares = [(k + 1) / len(times) for k in range(len(reached))]
                x, y = [*reached, max(end, reached[-1])], [*shares, shares[-1]]
                series.append(Series(method, x, y, kind="step", strong=method == OURS))
        panels.append(Panel(words[0].upper() + words[1:], "seconds", "share of cases", series, log_x=True))
    return Figure("Time to target over all cases", panels, "Higher and further left is better.")


def instance_tables(rows: Sequence[Row]) -> list[Table]:
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
        tables.append(Table(title, columns, lines, digits=7, group="instances", tab=f"{budget:g} s"))
    return tables


def bound_table(rows: Sequence[Row]) -> list[Table]:
    """How far the proved bounds of our longest runs lie below the best value."""
    bounded = [row for row in rows if row["method"] == OURS and row.get("bound") is not None]
    lines = []
    for instance, group in grouped(bounded, "instance").items():
        row = max(group, key=lambda row: float(row["bound"]))
        share = round(100 * (row["best"] - row["bound"]) / (abs(row["best"]) or 1.0), 3)
        lines.append([instance, row["n"], row["best"], row["bound"], share, row["budget"]])
    columns = ["instance", "n", "best value", "lower bound", "distance, per cent", "seconds"]
    caption = "Proved in the same solve as the answer, in a tenth of its time. The best of all runs of auto."
    return [Table("Lower bounds", columns, lines, caption, 7)] if lines else []
