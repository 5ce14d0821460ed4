"""Tables and figures of benchmark `sensitivity`."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, sqrt

from dcra.bench.base import Row
from dcra.bench.compare import grouped
from dcra.bench.sections import Cell, Figure, Panel, ReportTable, Section, Series, Text
from dcra.bench.sensitivity import STUDIES
from dcra.bench.sensitivity_words import beside_the_paper, heading, levels, message, sentence, spread


def sections(rows: Sequence[Row]) -> list[Section]:
    """A message, the paper's words, a figure for each parameter, and the numbers behind them."""
    found = grouped(rows, "study")
    studies = {name: found[name] for name in STUDIES if name in found}
    parts: list[Section] = [message(studies), *beside_the_paper(studies)]
    if studies:
        parts.append(
            Text("Parameter by parameter", [sentence(name, group) for name, group in studies.items()])
        )
    parts += [figure(name, group) for name, group in studies.items()]
    return [*parts, *(table(name, group) for name, group in studies.items())]


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
        for what, axis, field in (("Objective", "objective", "fun"), ("Runtime", "CPU seconds", "cpu"))
    ]
    caption = "Mean over trials; bars are one standard deviation up and down."
    group, _, what = heading(name).partition(": ")
    return Figure(heading(name), panels, caption, group=group, tab=what)


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
        trials = by_value(group)
        for one in levels(group):
            floor = trials[one.value][0]["floor"]
            error = one.deviation / sqrt(one.trials)
            error_of = 100 * one.error if isfinite(one.error) else None
            above = [100 * one.above, error_of, "yes" if one.alike else "no"]
            lines.append([size, one.value, one.trials, one.mean, error, one.mean / floor, *above, one.cpu])
    columns = [
        *("size", "value", "trials", "objective", "s.e.", "objective / floor"),
        *("above the best, %", "s.e., %", "as good", "CPU seconds"),
    ]
    caption = (
        "Means over trials and their standard errors (s.e.); a trial is one instance and one start, the same "
        "for all values, and differences to the value of the lowest mean are taken trial by trial. As good: "
        "above it by no more than two standard errors."
    )
    return ReportTable(f"{heading(name)}, in numbers", columns, lines, caption, group="In numbers", tab=name)


def by_value(rows: Sequence[Row]) -> dict[float, list[Row]]:
    """Trials by value, smallest first."""
    return dict(sorted(grouped(rows, "value").items()))
