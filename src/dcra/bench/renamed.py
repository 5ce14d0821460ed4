"""Methods under the names they have now: rows that were measured under older ones are read under these.

"dcra" was also the name of whatever ran by default in some benchmarks, where the paper's method had no part.
What a row was recorded as stays in it, in `recorded_as`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dcra.bench.base import Row
from dcra.bench.sections import Section, Text

RENAMED: Mapping[str, Mapping[str, str]] = {
    "hashing": {"dcra": "supervised-auto", "paper": "paper-auto"},
    "maxsat": {"dcra": "auto"},
    "mimo": {
        "dcra": "detect",
        "dcra-soft": "detect-soft",
        "dcra-l1": "detect-l1",
        "dcra-huber": "detect-huber",
        "dcra-huber-soft": "detect-huber-soft",
    },
}
"""By benchmark: the old name of a method, and that of now. None of the old ones means anything else there."""


def rename(row: Row) -> Row:
    """The row under the name that its method has now."""
    names = RENAMED.get(row.get("benchmark", ""), {})
    if row["method"] not in names:
        return row
    return {**row, "method": names[row["method"]], "recorded_as": row["method"]}


def tell_renamed(rows: Sequence[Row]) -> list[Section]:
    """Which names were changed since the rows were measured; nothing if none was."""
    pairs = {(row["recorded_as"], row["method"]): None for row in rows if "recorded_as" in row}
    if not pairs:
        return []
    listed = ", ".join(f"{method} as {old}" for old, method in pairs)
    words = (
        f"Some rows were recorded under older names of the methods: {listed}. The methods are the same; "
        "dcra is now the name of the paper's relaxation alone, which none of them ran."
    )
    return [Text("Names", [words])]
