"""Time to target: when a method came as close to the best known value as is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from dcra.bench.base import Row
from dcra.bench.compare import grouped
from dcra.bench.sections import Figure, Panel, ReportTable, Series

OURS = "auto"
Sets = dict[str, list[Row]]

TARGETS = {"0.1 % of the best known value": 0.1, "the best known value": 0.0}
"""What is to be reached, as a gap in per cent."""

ROUNDING = 1e-7
"""Per cent by which a gap may miss a target."""


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


def target_table(sets: Sets) -> ReportTable:
    lines = []
    for name, rows in sets.items():
        found = [_times(rows, gap) for gap in TARGETS.values()]
        for method, group in grouped(rows, "method").items():
            longest = max(float(row["budget"]) for row in group)
            line: list[str | float | int | None] = [name, method, len(found[0][method]), longest]
            for times in found:
                middle = float(np.median(times[method]))
                line += [float(np.mean(np.isfinite(times[method]))), middle if middle < inf else None]
            lines.append(line)
    columns = ["set", "method", "cases", "longest run", "within 0.1 %", "seconds", "best known", "seconds "]
    caption = (
        "The share of instances and seeds on which the target was reached, and the median of the seconds "
        "until then, where at least half reached it. Methods that tell no history are charged the whole of "
        "their shortest run that reached it. Nobody can reach anything after the seconds of the longest run."
    )
    return ReportTable("Time to target", columns, lines, caption, 3, frozen=2)


def target_figure(words: str, sets: Sets) -> Figure:
    """The share of cases that have reached a target over time."""
    panels = []
    for name, rows in sets.items():
        ends = {m: max(float(row["wall"]) for row in group) for m, group in grouped(rows, "method").items()}
        series = []
        for method, times in _times(rows, TARGETS[words]).items():
            reached = sorted(t for t in times if t < inf)
            shares = [(k + 1) / len(times) for k in range(len(reached))]
            if reached:
                x, y = [*reached, max(ends[method], reached[-1])], [*shares, shares[-1]]
                series.append(Series(method, x, y, kind="step", strong=method == OURS))
        panels.append(Panel(name, "seconds", "share of cases", series, log_x=True))
    caption = (
        "The share of cases that have come so far; higher and further left is better. A curve ends with the "
        "longest run of its method."
    )
    return Figure(f"Time to {words}", panels, caption)
