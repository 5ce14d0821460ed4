"""The page of what goes beyond one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from dcra.bench.base import Row
from dcra.bench.compare import grouped, mean
from dcra.bench.in_short import NOTHING
from dcra.bench.sections import ReportTable, Section, Text

THREADS = "threads"

WORDS = """Workers, scheduler and caller share the cores of one machine, and bytes go through its loopback.
Starts: of one problem, by two threads or two workers, A sent and laid out within the seconds. Sent: bytes for
each of four workers, in units of A. Lazy columns: right-hand sides, made and solved as they are needed. A in
partitions: of rows, which workers hold."""


def by_kind(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows of each part."""
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        kinds.setdefault(row["size"].partition("-")[0], []).append(row)
    return kinds


def shares(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """By size and method: starts a second in units of those by threads."""
    found: dict[str, dict[str, float]] = {}
    for size, group in grouped(rows, "size").items():
        rates = {method: mean(part, "rate") or 0.0 for method, part in grouped(group, "method").items()}
        if threads := rates.get(THREADS):
            found[size] = {method: rate / threads for method, rate in rates.items()}
    return found


def starts_table(rows: Sequence[Row]) -> ReportTable:
    names = list(dict.fromkeys(row["method"] for row in rows if row["method"] != THREADS))
    lines = []
    for size, own in shares(rows).items():
        threads = mean([row for row in rows if (row["size"], row["method"]) == (size, THREADS)], "rate")
        lines.append([size.partition("-")[2], threads, *(own.get(name) for name in names)])
    head = ("variables x rows", "threads, starts a second", *(f"{name} / threads" for name in names))
    return ReportTable("Starts", head, lines, "Means over runs.", 3)


def fields_table(title: str, names: dict[str, str], rows: Sequence[Row]) -> ReportTable:
    """A line for each row, with these fields."""
    lines = [[row["size"].partition("-")[2], *(row.get(name) for name in names.values())] for row in rows]
    return ReportTable(title, ["size", *names], lines, "", 7)


SENT = {"bytes in units of A": "moved"}
COLUMNS = {
    "columns a second": "rate",
    "one call on one core": "alone",
    "lazily, a core": "lazily",
    "MB before": "held",
    "MB at most": "here",
}
TALL = {
    "sweeps": "sweeps",
    "seconds": "wall",
    "MB in a worker": "held",
    "MB in the caller": "here",
    "objective": "fun",
    "signs of the relaxation": "rounded",
    "relaxation": "relaxed",
}
TABLES: dict[str, Callable[[Sequence[Row]], ReportTable]] = {
    "starts": starts_table,
    "sent": partial(fields_table, "Sent", SENT),
    "columns": partial(fields_table, "Lazy columns", COLUMNS),
    "tall": partial(fields_table, "A in partitions", TALL),
}


def said_of_starts(rows: Sequence[Row]) -> str:
    found = [share for own in shares(rows).values() for method, share in own.items() if method != THREADS]
    if not found:
        return "No starts by workers were run beside those by threads."
    share = f"{min(found):.0%} to {max(found):.0%}"
    return f"Two workers make {share} of the starts of two threads in the same time."


def said_of_tall(rows: Sequence[Row]) -> str:
    row = max(rows, key=lambda row: float(row["size"].partition("-")[2]))
    size = row["size"].partition("-")[2]
    return f"An A of {size} GB takes {row['wall']:.0f} s, and {row['held']:.0f} MB in a worker at most."


IN_SHORT = {"starts": said_of_starts, "tall": said_of_tall}


def in_short(rows: Sequence[Row]) -> str:
    kinds = by_kind(rows)
    told = [say(kinds[kind]) for kind, say in IN_SHORT.items() if kind in kinds]
    return " ".join(told) or NOTHING


def sections(rows: Sequence[Row]) -> list[Section]:
    kinds = by_kind(rows)
    tables = [table(kinds[kind]) for kind, table in TABLES.items() if kind in kinds]
    return [Text("Beyond one process", [" ".join(WORDS.split())]), *tables]
