"""The figures of benchmark `table1`."""

from __future__ import annotations

from collections.abc import Sequence

from dcra.bench import compare
from dcra.bench.base import Row
from dcra.bench.compare import grouped
from dcra.bench.gaussian import size_of
from dcra.bench.sections import Figure, Panel, Section
from dcra.bench.table1_tables import OURS


def profiles(runs: dict[str, list[Row]]) -> Figure:
    """Performance profiles, one panel for each budget."""
    panels = [
        Panel(
            title[0].upper() + title[1:],
            "objective / best of all methods",
            "share of instances",
            compare.profile(rows, OURS),
            log_x=True,
        )
        for title, rows in runs.items()
    ]
    return Figure(
        "Performance profiles",
        panels,
        "The share of instances on which a method's objective is within a factor of the best that any method "
        "found at that budget. Higher is better; at 1 it is the share of instances won or tied.",
    )


def anytime(rows: Sequence[Row]) -> list[Section]:
    """Objective over time, one panel for each size, from the longest budget that each method had."""
    timed = [row for row in rows if row["factor"] is not None]
    if not timed:
        return []
    longest = {
        key: max(row["factor"] for row in found) for key, found in grouped(timed, "size", "method").items()
    }
    kept = [row for row in timed if row["factor"] == longest[row["size"], row["method"]]]
    panels = [
        Panel(
            f"n = {size_of(size)[0]}, d = {size_of(size)[1]}",
            "seconds",
            "objective / floor",
            compare.anytime(found, OURS, scale="floor"),
            log_x=True,
            log_y=True,
        )
        for size, found in grouped(kept, "size").items()
    ]
    return [
        Figure(
            "Objective over time",
            panels,
            "Median over instances, with the quartiles as a band, of the best objective so far over the "
            "floor. Below 1 an x almost surely does not exist.",
        )
    ]
