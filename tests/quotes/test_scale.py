"""Beyond one process: what was measured, and what a model says of more workers."""

from __future__ import annotations

import importlib.util

import numpy as np

from dcra.bench.compare import grouped
from dcra.bench.scale import STARTS, WINDOWS

from .measures import rows_of
from .pages import ROOT, computes


@computes("docs/scale.md", "| variables x rows | starts | window of 8 |")
def test_the_table_of_starts(head, body):
    rates = {
        key: np.mean([row["rate"] for row in rows])
        for key, rows in grouped(rows_of("scale"), "size", "method").items()
        if key[0] in STARTS
    }
    lines = []
    for name, count in STARTS.items():
        shares = [rates[name, f"window-{window}"] / rates[name, "threads"] for window in WINDOWS]
        size = name.removeprefix("starts-").replace("x", " x ")
        lines.append([size, f"{count}", *(f"{share:.2f}" for share in shares)])
    return lines


@computes("docs/scale.md", "| A | sweeps | seconds |")
def test_the_table_of_partitions(head, body):
    names = ("sweeps", "wall", "held", "here", "fun", "rounded", "relaxed")
    found = [row for row in rows_of("scale") if row["size"].startswith("tall")]
    return [
        [f"{row['size'].removeprefix('tall-')} GB", *(f"{row[name]:,.0f}" for name in names)]
        for row in sorted(found, key=lambda row: row["size"])
    ]


@computes("docs/scale.md", "| workers | window | simulated starts/s | formula |")
def test_the_table_of_the_model(head, body):
    spec = importlib.util.spec_from_file_location("scaling_model", ROOT / "examples" / "scaling_model.py")
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    lines = []
    for name, window, *_ in body:
        workers, _, length = name.partition(", J = ")
        count, job = int(workers.replace(",", "")), float(length.removesuffix(" s") or 1.0)
        costs = int(window.replace(",", "")), job, 1e-3, 2e-3
        jobs = max(2000, 10 * count)
        found = model.simulated(count, *costs, jobs=jobs)
        guess, binding = model.predicted(count, *costs)
        share = f"{100 * found * job / count:.0f} %"
        spread = f"{model.broadcast(100e6, count, 1e9):.1f} s"
        lines.append([name, window, short(found), short(guess), binding, share, spread])
    return lines


def short(rate: float) -> str:
    return f"{rate:,.1f}" if rate < 100 else f"{rate:,.0f}"
