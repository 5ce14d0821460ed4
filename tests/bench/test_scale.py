"""The benchmark beyond one process: cases, a small run of each part, a page."""

from __future__ import annotations

import pytest

from dcra.bench import scale, scale_tall
from dcra.bench.base import Case, Choice
from dcra.bench.in_short import NOTHING
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
    assert [part.title for part in Scale().report(rows)[1:]] == ["Starts", "Lazy columns", "A in partitions"]
    assert Scale().message(rows).count(". ") == 1


def test_a_page_of_some_rows():
    assert Scale().message([]) == NOTHING
    rates = {"threads": 10.0, "window-8": 8.0, "window-16": 9.0}
    rows = [{"size": "starts-30x20", "method": name, "rate": rate} for name, rate in rates.items()]
    assert (
        Scale().message(rows) == "Two workers make 80% to 90% of the starts of two threads in the same time."
    )
    assert Scale().report(rows)[1].rows == [["30x20", 10.0, 0.8, 0.9]]
    assert Scale().message(rows[:1]) == "No starts by workers were run beside those by threads."
