"""What is wrong with a row: rows come from files, and files are edited, cut and merged by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from dcra.bench.base import Row

DEEPEST = 40
"""Lists in lists in a row; no benchmark has more than four."""


class Malformed(ValueError):
    """A line that is no row; its text says why."""


def parse_row(line: bytes) -> Row:
    """The row in a line of a file."""
    try:
        row = json.loads(line)
    except RecursionError:
        raise Malformed("brackets within brackets without end") from None
    except ValueError:
        raise Malformed("not a line of JSON, or cut short") from None
    if not isinstance(row, dict):
        raise Malformed("not an object of JSON")
    missing = [name for name in ("instance", "method", "seed") if name not in row]
    if missing:
        raise Malformed(f"`{missing[0]}` is missing")
    if not _shallow(row):
        raise Malformed("brackets within brackets without end")
    for name, (check, what) in FIELDS.items():
        if name in row and not check(row[name]):
            raise Malformed(f"`{name}` must be {what}; got {repr(row[name])[:40]}")
    return row


def sound(rows: Sequence[Row], report: Callable[[list[Row]], Any]) -> tuple[list[Row], list[tuple[Row, str]]]:
    """The rows that a report can be made of, and the others, each with what went wrong.

    Rows are added by halves, a half that the report fails on by halves of its own: a few rows are found in a
    few reports.
    """
    kept: list[Row] = []
    wrong: list[tuple[Row, str]] = []
    waiting = [list(rows)]
    while waiting:
        part = waiting.pop()
        try:
            report(kept + part)
            kept += part
        except Exception as error:
            if len(part) == 1:
                said = str(error).partition("\n")[0]
                wrong.append((part[0], f"{type(error).__name__}: {said}"[:200]))
            elif part:
                half = len(part) // 2
                waiting += [part[half:], part[:half]]
    return kept, wrong


def _shallow(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            part
            for one in level
            for part in (one.values() if isinstance(one, dict) else one)
            if isinstance(part, dict | list)
        ]
        if not level:
            return True
    return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    """None stands for what JSON cannot write."""
    if value is None:
        return True
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, float) or abs(value) < 10**300


def _is_budget(value: Any) -> bool:
    return _is_number(value) and (value is None or math.isfinite(value))


def _is_history(value: Any) -> bool:
    if value is None:
        return True
    pairs = isinstance(value, list) and all(isinstance(one, list) and len(one) == 2 for one in value)
    return pairs and all(_is_number(part) for one in value for part in one)


FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "benchmark": (_is_text, "a name"),
    "instance": (_is_text, "a name"),
    "method": (_is_text, "a name"),
    "status": (_is_text, "a word"),
    "reason": (_is_text, "a text"),
    "seed": (lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number"),
    "budget": (_is_budget, "a number or null"),
    "fun": (_is_number, "a number or null"),
    "wall": (_is_number, "a number or null"),
    "cpu": (_is_number, "a number or null"),
    "history": (_is_history, "pairs of numbers"),
    "environment": (lambda value: isinstance(value, dict), "an object"),
}
"""Fields that all benchmarks share, and what they hold."""
