"""The table of solvers that outlast their limits."""

from __future__ import annotations

from .measures import chosen, rows_of
from .pages import computes


@computes("docs/limits.md", "| n, d | allowed | `milp` |")
def test_the_table_of_overruns(head, body):
    for size, allowed, *cells in body:
        sized = chosen(rows_of("table1"), size=size.replace(", ", "x"))
        rows = [row for row in sized if row["budget"] and f"{row['budget']:.2f}" == allowed]
        for method, cell in zip(head[2:], cells, strict=True):
            walls = [row["wall"] for row in chosen(rows, method=method.strip("`"))]
            expected = f"{max(walls):.2f}" if walls else "beyond a size-limited licence"
            assert cell == expected, (size, allowed, method)
