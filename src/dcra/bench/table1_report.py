"""Tables and figures of benchmark `table1`."""

from __future__ import annotations

from collections.abc import Sequence

from dcra.bench.base import Row
from dcra.bench.sections import Section


def sections(rows: Sequence[Row]) -> list[Section]:
    """Everything the report says."""
    return []
