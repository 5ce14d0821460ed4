"""Tables and figures of benchmark `sensitivity`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcra.bench.base import Row
from dcra.bench.compare import grouped
from dcra.bench.sections import Cell, Figure, Panel, ReportTable, Section, Series, Text
from dcra.bench.sensitivity import STUDIES

NEAR = 1.02
"""Values within this factor of the best mean objective are as good."""


def sections(rows: Sequence[Row]) -> list[Section]:
    """A summary, a figure for each parameter, and the numbers behind them."""
    found = grouped(rows, "study")
    studies = {name: found[name] for name in STUDIES if name in found}
    words = [sentence(name, group) for name, group in studies.items()]
    parts: list[Section] = [Text("In short", words or ["There are no finished rows yet."])]
    parts += [figure(name, group) for name, group in studies.items()]
    return [*parts, *(table(name, group) for name, group in studies.items())]


def heading(name: str) -> str:
    """What is varied, in words."""
    study = STUDIES[name]
    return f"Engine {study.engine}: {study.label.partition(' (default')[0]}"


def sentence(name: str, rows: Sequence[Row]) -> str:
    """The best value at each size, and how far from it one may go."""
    parts = []
    for size, group in grouped(rows, "size").items():
        means = {value: spread(trials, "fun")[0] for value, trials in by_value(group).items()}
        best = min(means, key=lambda value: means[value])
        near = around(
            best, [value for value, mean in means.items() if mean <= NEAR * means[best]], list(means)
        )
        worst = max(means.values()) / means[best] - 1
        parts.append(
            f"at {size} the mean objective is lowest at {best:.4g} ({means[best]:.5g}), within 2 % of that "
            f"from {near[0]:.4g} to {near[-1]:.4g}, and {worst:.1%} higher at worst"
        )
    return f"{heading(name)}: {'; '.join(parts)}."


def around(best: float, good: Sequence[float], values: Sequence[float]) -> Sequence[float]:
    """The unbroken run of good values that the best one lies in."""
    first = last = values.index(best)
    while first > 0 and values[first - 1] in good:
        first -= 1
    while last + 1 < len(values) and values[last + 1] in good:
        last += 1
    return values[first : last + 1]


def figure(name: str, rows: Sequence[Row]) -> Figure:
    """Objective and seconds over the value, both axes logarithmic, a curve for each size."""
    label = STUDIES[name].label
    panels = [
        Panel(
            what,
            label,
            axis,
            [series(size, group, field) for size, group in grouped(rows, "size").items()],
            log_x=True,
            log_y=True,
        )
        for what, axis, field in (("Objective", "objective", "fun"), ("Runtime", "seconds", "wall"))
    ]
    return Figure(heading(name), panels, "Mean over trials; bars are one standard deviation up and down.")


def series(size: str, rows: Sequence[Row], field: str) -> Series:
    """Mean and standard deviation of a field over the value."""
    points = {value: spread(trials, field) for value, trials in by_value(rows).items()}
    middle = [mean for mean, _ in points.values()]
    return Series(
        size,
        list(points),
        middle,
        [mean - deviation for mean, deviation in points.values()],
        [mean + deviation for mean, deviation in points.values()],
        bars=True,
    )


def table(name: str, rows: Sequence[Row]) -> ReportTable:
    """The numbers behind the figure."""
    lines: list[list[Cell]] = []
    for size, group in grouped(rows, "size").items():
        for value, trials in by_value(group).items():
            floor = trials[0]["floor"]
            (fun, fun_off), (wall, wall_off) = spread(trials, "fun"), spread(trials, "wall")
            lines.append([size, value, len(trials), fun, fun_off, fun / floor, wall, wall_off])
    columns = ["size", "value", "trials", "objective", "s.d.", "objective / floor", "seconds", "s.d."]
    caption = (
        "Means over trials and their standard deviations (s.d.); each trial is one instance and one start."
    )
    return ReportTable(f"{heading(name)}, in numbers", columns, lines, caption, group="In numbers", tab=name)


def by_value(rows: Sequence[Row]) -> dict[float, list[Row]]:
    """Trials by value, smallest first."""
    return dict(sorted(grouped(rows, "value").items()))


def spread(rows: Sequence[Row], field: str) -> tuple[float, float]:
    """Mean and standard deviation."""
    values = np.asarray([row[field] for row in rows], float)
    return float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else 0.0
