"""The benchmark beyond one process: cases, a small run of each part, a page."""

from __future__ import annotations

import pytest

from dcra.bench import scale, scale_tall
from dcra.bench.base import Case, Choice
from dcra.bench.scale import Scale

pytest.importorskip("dask.distributed")


def test_methods_fit_their_sizes():
    cases = list(Scale().cases(Choice("full")))
    assert {case.method for case in cases if case.instance.startswith("starts")} == {
        "threads",
        "window-8",
        "window-16",
        "window-32",
    }
    assert {case.method for case in cases if case.instance.startswith("tall")} == {"cluster"}


@pytest.mark.timeout(300)
def test_rows_of_small_runs(monkeypatch):
    monkeypatch.setitem(scale.STARTS, "starts-30x20", 6)
    monkeypatch.setattr(scale, "CHUNK", 64)
    monkeypatch.setattr(scale_tall, "PARTITIONS", 2)
    monkeypatch.setattr(scale_tall, "COLUMNS", 8)
    monkeypatch.setattr(scale_tall, "SOME_ROWS", 50)
    asked = [
        ("starts-30x20-0", "threads"),
        ("starts-30x20-0", "window-8"),
        ("columns-200-0", "cluster"),
        ("tall-0.00001-0", "cluster"),
    ]
    rows = [{"method": method, **Scale().run(Case(instance, method))} for instance, method in asked]
    assert rows[0]["fun"] == rows[1]["fun"]  # the window of eight is that of threads
    assert rows[2]["here"] >= rows[2]["held"] > 0
    assert rows[3]["relaxed"] <= rows[3]["rounded"]
    assert rows[3]["sweeps"] > 0
    assert len(Scale().report(rows)) == 2
