"""What a device reaches, beside the cores of its machine."""

from __future__ import annotations

import numpy as np

from dcra.bench.compare import grouped

from .measures import Rows, rows_of
from .pages import computes


def found():
    return grouped(rows_of("device"), "size", "method", "budget")


def over_floor(rows: Rows) -> str:
    return f"{np.mean([row['fun'] / row['floor'] for row in rows]):.4f}" if rows else "-"


@computes("docs/accelerators.md", "| l1, variables x rows | H200, 0.05 / 0.5 s |")
def test_the_table_of_small_problems(head, body):
    rows = found()
    for size, *cells in body:
        name = f"l1-{size.replace(' ', '')}"
        for place, cell in zip(("cuda", "cpu"), cells, strict=True):
            means = [np.mean([row["fun"] for row in rows[name, place, seconds]]) for seconds in (0.05, 0.5)]
            assert cell == " / ".join(f"{mean:.1f}" for mean in means), (size, place)


@computes("docs/accelerators.md", "| l1, variables x rows | seconds | kernels |")
def test_the_table_of_kernels(head, body):
    rows = found()
    for size, seconds, kernels, cores, pace, share in body:
        name = f"l1-{size.replace(' ', '')}"
        budgets = [float(word) for word in seconds.split(" / ")]
        assert budgets == sorted(budget for key, place, budget in rows if (key, place) == (name, "cuda"))
        assert kernels == " / ".join(over_floor(rows[name, "cuda", budget]) for budget in budgets), size
        assert cores == over_floor(rows.get((name, "cpu", 5.0), [])), size
        one = rows[name, "cuda", budgets[0]][0]
        assert pace == f"{1e6 * one['sweep']:.0f} us, {1e6 * one['pass']:.0f} us", size
        assert share == f"{one['bandwidth']:.0%}".replace("%", " %"), size


@computes("docs/accelerators.md", "| right-hand sides | variables x rows | device, no limit |")
def test_the_table_of_batches(head, body):
    rows = found()

    def told(name: str, place: str, limited: bool) -> str:
        own = [
            row
            for (size, at, budget), part in rows.items()
            for row in part
            if (size, at, budget is not None) == (name, place, limited)
        ]
        return f"{own[0]['fun']:.2f} in {own[0]['wall']:.2f} s" if own else "-"

    for count, size, *cells in body:
        name = f"batch-{count.replace(',', '')}-{size.replace(' ', '')}"
        assert cells == [told(name, "cuda", False), told(name, "cuda", True), told(name, "cpu", True)], name
