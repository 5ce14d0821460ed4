"""Beyond one process: what was measured, and what a model says of more workers."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from dcra.bench.compare import grouped

from .measures import rows_of
from .pages import ROOT, computes


@computes("docs/scale.md", "| variables x rows | starts | window of 8 |")
def test_the_table_of_starts(head, body):
    rates = {
        key: np.mean([row["rate"] for row in rows])
        for key, rows in grouped(rows_of("scale"), "size", "method").items()
    }
    assert len(body) == len({size for size, method in rates if method == "threads"})
    for size, _, *cells in body:
        name = f"starts-{size.replace(' ', '')}"
        for title, cell in zip(head[2:], cells, strict=True):
            method = f"window-{title.removeprefix('window of ')}"
            assert cell == f"{rates[name, method] / rates[name, 'threads']:.2f}", (size, title)


@computes("docs/scale.md", "| A | sweeps | seconds |")
def test_the_table_of_partitions(head, body):
    found = {row["size"]: row for row in rows_of("scale") if row["size"].startswith("tall")}
    assert {f"tall-{line[0].removesuffix(' GB')}" for line in body} == set(found)
    for A, *cells in body:
        row = found[f"tall-{A.removesuffix(' GB')}"]
        numbers = [row[name] for name in ("sweeps", "wall", "held", "here", "fun", "rounded", "relaxed")]
        assert cells == [f"{number:,.0f}" for number in numbers], A


@computes("docs/scale.md", "| workers | window | simulated starts/s | formula |")
def test_the_table_of_the_model(head, body):
    spec = importlib.util.spec_from_file_location("scaling_model", ROOT / "examples" / "scaling_model.py")
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    for name, window, rate, formula, binds, efficiency, spread in body:
        workers, _, length = name.partition(", J = ")
        count, job = int(workers.replace(",", "")), float(length.removesuffix(" s") or 1.0)
        costs = int(window.replace(",", "")), job, 1e-3, 2e-3
        jobs = max(2000, 10 * count)
        found = model.simulated(count, *costs, jobs=jobs)
        guess, binding = model.predicted(count, *costs)
        assert float(rate.replace(",", "")) == pytest.approx(found, rel=0.01), name
        assert float(formula.replace(",", "")) == pytest.approx(guess, rel=0.01), name
        assert binds == binding
        assert efficiency == f"{found * job / count:.0%}".replace("%", " %")
        assert spread == f"{model.broadcast(100e6, count, 1e9):.1f} s"
