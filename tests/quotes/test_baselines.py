"""The table of rivals as the paper ran them."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from dcra.bench.paper import PAPER

from .measures import chosen, rows_of
from .pages import computes


@computes("docs/baselines.md", "| n, d | `mpec-epm-table` |")
def test_the_table_of_one_round(head, body):
    lines = []
    for size, *_ in body:
        n, d = map(int, size.split(", "))
        rows = chosen(rows_of("table1"), method="mpec-epm-table", size=f"{n}x{d}", factor=1.0)
        assert len(rows) == 20, size
        printed = PAPER[n, d]
        ours, coin = np.mean([row["fun"] for row in rows]), d * sqrt(2 * (n + 1) / pi)
        lines.append([size, *(f"{number:.0f}" for number in (ours, printed.mpec_epm, coin, printed.gurobi))])
    return lines
