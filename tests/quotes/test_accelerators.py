"""What a device reaches, beside the cores of its machine."""

from __future__ import annotations

import numpy as np

from dcra.bench.compare import grouped

from .measures import Rows, rows_of
from .pages import computes

LARGE = (
    "300 x 300",
    "1000 x 1000",
    "2000 x 2000",
    "3000 x 2000",
    "3000 x 4000",
    "6000 x 6000",
    "10000 x 12000",
)
BATCHES = ((1_000_000, "32 x 64"), (1_000_000, "64 x 32"), (1000, "64 x 32"), (100, "800 x 800"))


def named(size: str) -> str:
    return f"l1-{size.replace(' ', '')}"


def found():
    return grouped(rows_of("device"), "size", "method", "budget")


def over_floor(rows: Rows) -> str:
    return f"{np.mean([row['fun'] / row['floor'] for row in rows]):.4f}" if rows else "-"


@computes("docs/accelerators.md", "| l1, variables x rows | H200, 0.05 / 0.5 s |")
def test_the_table_of_small_problems(head, body):
    rows, lines = found(), []
    for size in ("60 x 60", "100 x 100", "140 x 140", "200 x 200"):
        means = [
            [np.mean([row["fun"] for row in rows[named(size), place, seconds]]) for seconds in (0.05, 0.5)]
            for place in ("cuda", "cpu")
        ]
        lines.append([size, *(" / ".join(f"{mean:.1f}" for mean in part) for part in means)])
    return lines


@computes("docs/accelerators.md", "| l1, variables x rows | seconds | kernels |")
def test_the_table_of_kernels(head, body):
    rows, lines = found(), []
    for size in LARGE:
        name = named(size)
        budgets = sorted(budget for key, place, budget in rows if (key, place) == (name, "cuda"))
        one = rows[name, "cuda", budgets[0]][0]
        lines.append(
            [
                size,
                " / ".join(f"{budget:g}" for budget in budgets),
                " / ".join(over_floor(rows[name, "cuda", budget]) for budget in budgets),
                over_floor(rows.get((name, "cpu", 5.0), [])),
                f"{1e6 * one['sweep']:.0f} us, {1e6 * one['pass']:.0f} us",
                f"{100 * one['bandwidth']:.0f} %",
            ]
        )
    return lines


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

    return [
        [f"{count:,}", size, told(name, "cuda", False), told(name, "cuda", True), told(name, "cpu", True)]
        for count, size in BATCHES
        for name in [f"batch-{count}-{size.replace(' ', '')}"]
    ]
