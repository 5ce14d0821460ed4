"""One method against each of the others, from the rows of any benchmark: `dcra report --against METHOD`."""

from __future__ import annotations

from collections.abc import Sequence

from dcra.bench.base import Row
from dcra.bench.compare import DEFINITIONS, Duel, duel, grouped
from dcra.bench.sections import Cell, ReportTable, Section, Text
from dcra.messages import suggest

Sized = dict[str, dict[str, Duel]]


def check_method(method: str, rows: Sequence[Row]) -> None:
    """Refuse a method that has no finished rows."""
    known = list(grouped(rows, "method"))
    if method not in known:
        raise ValueError(suggest("--against", method, known))


def against(method: str, rows: Sequence[Row]) -> list[Section]:
    """Two sentences, a table over everything, and one by size, for each budget of the rows."""
    parts: list[Section] = []
    words = []
    for label, group in by_budget(rows).items():
        duels = fights(method, group)
        if not duels:
            continue
        words.append(said(method, label, duels))
        parts.append(_overall(method, label, duels))
        sized = {
            str(size): fights(method, found)
            for size, found in grouped(group, "size").items()
            if size is not None
        }
        if len(sized) > 1:
            parts.append(_by_size(method, label, sized))
    if not words:
        words = [f"No other method has rows on the instances of {method}."]
    return [Text(f"{method} against each of the others", words), *parts]


def by_budget(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by what their time was: a factor on the paper's seconds, seconds, or a method's own end."""
    field = "factor" if any(row.get("factor") is not None for row in rows) else "budget"
    groups = grouped(rows, field)
    timed = sorted((value for value in groups if value is not None), key=float)
    unit = "x the paper's seconds" if field == "factor" else "s"
    named = {f"at {value:g} {unit}": groups[value] for value in timed}
    return named | ({"to its own end": groups[None]} if None in groups else {})


def fights(method: str, rows: Sequence[Row]) -> dict[str, Duel]:
    """The duels of a method with all that have an instance in common with it."""
    parts = grouped(rows, "method")
    found = {other: duel(parts.get(method, ()), group) for other, group in parts.items() if other != method}
    return {other: one for other, one in found.items() if one is not None}


def said(method: str, label: str, duels: dict[str, Duel]) -> str:
    """Whom it beats in most of the instances, and who beats it."""
    beaten = [f"{other} ({one.wins:.0%})" for other, one in duels.items() if one.wins > 0.5]
    lost = [f"{other} ({one.wins:.0%})" for other, one in duels.items() if one.wins + one.ties < 0.5]
    head = f"{label[0].upper()}{label[1:]} {method} is strictly better in most instances than"
    tail = f" It is worse in most than {', '.join(lost)}." if lost else " Nobody is better in most."
    return f"{head} {', '.join(beaten) or 'nobody'}.{tail}"


def _overall(method: str, label: str, duels: dict[str, Duel]) -> ReportTable:
    lines: list[list[Cell]] = [
        [other, one.pairs, 100 * one.wins, 100 * one.ties, apart(one)] for other, one in duels.items()
    ]
    columns = ["rival", "instances", f"{method} wins, %", "ties, %", "relative difference, %"]
    title = f"{method} against each rival {label}"
    return ReportTable(
        title, columns, lines, DEFINITIONS, digits=3, group=f"{method}: {label}", tab="All sizes"
    )


def _by_size(method: str, label: str, sized: Sized) -> ReportTable:
    rivals = list(dict.fromkeys(other for duels in sized.values() for other in duels))
    lines: list[list[Cell]] = [
        [size, *(cell(duels.get(other)) for other in rivals)] for size, duels in sized.items()
    ]
    title = f"{method} against each rival {label}, by size"
    caption = f"Wins in %, and in brackets the mean relative difference in %. {DEFINITIONS}"
    columns = ["size", *rivals]
    return ReportTable(title, columns, lines, caption, group=f"{method}: {label}", tab="By size")


def cell(one: Duel | None) -> Cell:
    """Wins and difference in one cell."""
    if one is None:
        return None
    difference = apart(one)
    return f"{100 * one.wins:.3g}" + ("" if difference is None else f" ({difference:+.3g})")


def apart(one: Duel) -> float | None:
    """The mean relative difference in per cent."""
    return None if one.difference is None else 100 * one.difference
