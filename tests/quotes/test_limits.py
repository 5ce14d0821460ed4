"""The table of solvers that outlast their limits."""

from __future__ import annotations

from .measures import chosen, rows_of
from .pages import computes


@computes("docs/limits.md", "| n, d | allowed | `milp` |")
def test_the_table_of_overruns(head, body):
    lines = []
    for size, allowed, *_ in body:
        sized = chosen(rows_of("table1"), size=size.replace(", ", "x"))
        rows = [row for row in sized if row["budget"] and f"{row['budget']:.2f}" == allowed]
        walls = [[row["wall"] for row in chosen(rows, method=method.strip("`"))] for method in head[2:]]
        told = [f"{max(part):.2f}" if part else "beyond a size-limited licence" for part in walls]
        lines.append([size, allowed, *told])
    return lines
