"""Table 1's own block: the paper's DCRA against its three rivals, printed and measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dcra.bench.against import apart, fights
from dcra.bench.base import Row
from dcra.bench.compare import DEFINITIONS, Duel, grouped
from dcra.bench.gaussian import size_of
from dcra.bench.paper import DIFFERENCES, WIN_RATES
from dcra.bench.sections import Cell, ReportTable, Section, Text

METHOD = "dcra-paper"
RIVALS = ("gurobi", "mpec-epm", "l2box-admm")
"""Those of the paper, solved in earnest, in its order."""

COLUMN = {"gurobi": "Gurobi", "mpec-epm": "MPEC-EPM", "l2box-admm": "L2-box ADMM"}


def own_block(runs: dict[str, list[Row]]) -> list[Section]:
    """For each budget the paper's block of win rates and differences, printed beside measured."""
    found = {title: fights(METHOD, rows) for title, rows in runs.items()}
    found = {title: duels for title, duels in found.items() if any(name in duels for name in RIVALS)}
    if not found:
        return []
    words = [_said(title, duels) for title, duels in found.items()]
    tables = [
        table
        for title in found
        for table in (
            _table("win rate", title, runs[title], WIN_RATES, lambda one: 100 * one.wins),
            _table("relative difference", title, runs[title], DIFFERENCES, apart),
        )
    ]
    return [Text("The paper's own block", words), *tables]


def _said(title: str, duels: dict[str, Duel]) -> str:
    parts = []
    for k, rival in enumerate(RIVALS):
        if rival in duels:
            printed = sorted({rates[k] for rates in WIN_RATES.values()})
            span = f"{printed[0]} to {printed[-1]}" if len(printed) > 1 else f"{printed[0]}"
            share, pairs = f"{duels[rival].wins:.0%}", duels[rival].pairs
            parts.append(f"{share} of {pairs} instances against {COLUMN[rival]} (printed: {span} %)")
    return f"{title[0].upper()}{title[1:]} {METHOD} wins {', '.join(parts)}."


def _table(
    what: str,
    title: str,
    rows: Sequence[Row],
    printed: Mapping[tuple[int, int], Sequence[int]],
    measured: Callable[[Duel], float | None],
) -> ReportTable:
    """Printed beside measured, for each rival."""
    lines: list[list[Cell]] = []
    for size, group in grouped(rows, "size").items():
        duels = fights(METHOD, group)
        line: list[Cell] = []
        for k, rival in enumerate(RIVALS):
            one = duels.get(rival)
            line += [printed[size_of(size)][k], None if one is None else measured(one)]
        pairs = max((one.pairs for one in duels.values()), default=0)
        lines.append([*size_of(size), pairs, *line])
    columns = [f"{COLUMN[rival]}, {kind}" for rival in RIVALS for kind in ("printed", "measured")]
    caption = (
        f"{METHOD} against the paper's rivals, each solved in earnest. The printed Gurobi and MPEC-EPM "
        f"columns are of other things: see the printed objectives. {DEFINITIONS}"
    )
    return ReportTable(
        f"DCRA's {what} {title}, %",
        ["n", "d", "instances", *columns],
        lines,
        caption,
        digits=3,
        frozen=2,
        group="DCRA against its rivals: printed and measured, %",
        tab=f"{what[0].upper()}{what[1:]} {title}",
    )
