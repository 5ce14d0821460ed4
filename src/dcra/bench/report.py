"""A report: what a benchmark makes of its rows, and what is the same for all of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dcra.bench import rows as files
from dcra.bench.against import against, check_method
from dcra.bench.base import Benchmark, Row
from dcra.bench.faults import sound
from dcra.bench.folder import read_label
from dcra.bench.registry import find_benchmark
from dcra.bench.sections import ReportTable, Section, Text

IN_SHORT = "In short"
SHOWN = 100
"""Rows named in a report that are not in it."""


@dataclass(frozen=True)
class Report:
    """Sections, and the rows that they are made from."""

    name: str
    title: str
    lead: str
    sections: Sequence[Section]
    rows: Sequence[Row]
    left_out: Sequence[tuple[str, str]] = ()
    """Rows that no report could be made of: which, and why."""


def make_report(folder: Path, where: files.Where = (), method: str | None = None) -> Report:
    """The report on the rows of a folder that meet the conditions, with a method against all others."""
    label = read_label(folder)
    subject = find_benchmark(label["benchmark"])
    if label["version"] != subject.version:
        raise ValueError(
            f"{folder} holds rows of version {label['version']} of benchmark {subject.name}; "
            f"this dcra reports on version {subject.version}"
        )
    found = files.read(folder)
    wanted = files.condition(where, found)
    chosen = [row for row in found if wanted(row)]
    wrong = files.faults(folder)
    if not chosen:
        reason = " that meet `--where`" if found else f" that can be read ({wrong[0][1]})" if wrong else ""
        raise ValueError(f"{folder} has no rows{reason}")
    kept, unfit = sound(chosen, lambda rows: _sections(subject, rows))
    wrong += [(files.key_of(row), why) for row, why in unfit]
    if not kept:
        raise ValueError(f"{folder} has no rows that a report can be made of ({wrong[0][1]})")
    finished = _finished(kept)
    counted = f"{len(finished)} finished rows" + (
        f", {len(kept) - len(finished)} others" * (len(kept) > len(finished))
    )
    return Report(
        subject.name,
        f"Benchmark {subject.name}",
        f"{subject.summary[0].upper()}{subject.summary[1:]}. Made from {counted}.",
        [*_against(method, finished), *_sections(subject, kept), *tell_left_out(wrong)],
        kept,
        wrong,
    )


def _against(method: str | None, rows: Sequence[Row]) -> list[Section]:
    if method is None:
        return []
    check_method(method, rows)
    return against(method, rows)


def _sections(subject: Benchmark, rows: Sequence[Row]) -> list[Section]:
    """All sections, to the form that is written: whatever a row can spoil, it spoils here."""
    own = subject.report(_finished(rows))
    made = [
        *_message(subject, own, _finished(rows)),
        *own,
        *not_run(rows),
        environments(rows),
    ]
    json.dumps(files.plain([asdict(part) for part in made]), allow_nan=False)
    return made


def _message(subject: Benchmark, own: Sequence[Section], rows: Sequence[Row]) -> list[Section]:
    """What the page shows, first of all, unless the report says it itself."""
    if any(part.title == IN_SHORT for part in own[:1]):
        return []
    return [Text(IN_SHORT, [subject.message(rows)])]


def _finished(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.get("status", "ok") == "ok"]


def tell_left_out(wrong: Sequence[tuple[str, str]]) -> list[Section]:
    """Which rows are not in the report, and why; nothing if all are."""
    if not wrong:
        return []
    lines = [[where, why] for where, why in wrong[:SHOWN]]
    more = f" The first {SHOWN} of {len(wrong)}." if len(wrong) > SHOWN else ""
    caption = f"Lines of the rows file that are damaged or do not fit the others.{more}"
    return [ReportTable("Left out", ["row", "what is wrong"], lines, caption)]


def not_run(rows: Sequence[Row]) -> list[Section]:
    """Which cases have no answer, and why; nothing if all have."""
    counts = Counter(
        (row["method"], row["status"], row.get("reason", ""))
        for row in rows
        if row.get("status", "ok") != "ok"
    )
    if not counts:
        return []
    lines = [[method, status, count, reason] for (method, status, reason), count in counts.items()]
    caption = "Cases without an answer. They are in the rows with their reasons, and in no average above."
    return [ReportTable("Not run", ["method", "status", "cases", "reason"], lines, caption)]


def environments(rows: Sequence[Row]) -> ReportTable:
    """The machines and versions of the rows, one column for each that differs."""
    seen: dict[str, tuple[dict[str, Any], int]] = {}
    for row in rows:
        found = row.get("environment", {})
        seen[repr(found)] = (found, seen.get(repr(found), (found, 0))[1] + 1)
    names = list(dict.fromkeys(name for found, _ in seen.values() for name in found))
    lines = [["rows", *(str(count) for _, count in seen.values())]]
    lines += [[name, *(_said(found.get(name)) for found, _ in seen.values())] for name in names]
    columns = ["", *(f"environment {i + 1}" if len(seen) > 1 else "here" for i in range(len(seen)))]
    caption = (
        "Where the rows were measured. Threads: of one solve; jobs: cases at once; BLAS has one thread. "
        "A + after the commit means that files had been changed since."
    )
    return ReportTable("Environment", columns, lines, caption)


def _said(value: Any) -> str:
    return "unknown" if value is None else str(value)
