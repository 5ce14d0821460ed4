"""The table of bounds on the Evaluation's files."""

from __future__ import annotations

import numpy as np

from dcra.bench.maxsat import kind_of

from .measures import chosen, rows_of
from .pages import computes

KINDS = {
    "Max-2-SAT, 120 variables": "max2sat_120v",
    "Max-2-SAT, 140 variables": "max2sat_140v",
    "Max-Cut, 140 variables": "maxcut_140_630",
    "Max-Cut of DIMACS graphs, 28 to 70 variables": "maxcut_dimacs",
    "Max-Cut of spin glasses, 216 and 343 variables": "maxcut_spinglass",
}


@computes("docs/maxsat.md", "| files | | mean gap |")
def test_the_table_of_bounds(head, body):
    ours = chosen(rows_of("maxsat"), method="auto", budget=1.0)
    lines = []
    for name, kind in KINDS.items():
        rows = [row for row in ours if kind_of(row["instance"]).startswith(kind)]
        gaps = [(row["cost"] - row["bound"]) / row["cost"] for row in rows]
        lines.append(
            [
                name,
                f"{len(rows)}",
                f"{100 * np.mean(gaps):.1f} %",
                f"{100 * max(gaps):.1f} %",
                f"{sum(gap <= 0 for gap in gaps)}",
                f"{max(row['bound_at'] for row in rows):.3f} s",
            ]
        )
    return lines
