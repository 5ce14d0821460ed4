"""The benchmark of rates: its parts on tiny sizes, its report, its sentences."""

from __future__ import annotations

import json

import pytest

from dcra.bench import speed_parts
from dcra.bench.base import Case, Choice, Skip
from dcra.bench.registry import find_benchmark

TINY = ("sweep-30x40", "sparse-2000", "batch-50-10x16", "start-20x30", "process-20x30")


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.setattr(speed_parts, "SECONDS", 0.01)
    return find_benchmark("speed")


def rows_of(bench):
    rows = []
    for instance in TINY:
        row = bench.run(Case(instance, "auto"))
        assert json.loads(json.dumps(row)) == row
        rows.append({**row, "instance": instance, "method": "auto", "seed": 0, "budget": None})
    return rows


def test_cases_are_parts_times_repetitions(bench):
    full = list(bench.cases(Choice(preset="full")))
    assert len({case.key for case in full}) == len(full) == 3 * len(bench.sizes)
    some = list(bench.cases(Choice(methods=["sweep"])))
    assert {case.instance.partition("-")[0] for case in some} == {"sweep", "sparse"}


def test_rows_and_report(bench):
    rows = rows_of(bench)
    assert all({"fun", "wall", "cpu"} <= set(row) for row in rows)
    assert rows[0]["share"] == rows[0]["rate"] / rows[0]["dot"] > 0
    assert rows[1]["memory"] >= 1
    assert rows[3]["light"]  # SciPy is not imported before it is used
    tables = bench.report(rows)[1:]
    assert [len(table.rows) for table in tables] == [1] * len(TINY)
    assert all(None not in line for table in tables for line in table.rows)
    assert bench.message(rows).startswith("Sweeps over 30x40 read A at")
    assert "100 sweeps over 2000 nonzeros take" in bench.message(rows)


def test_there_may_be_no_rows(bench):
    assert bench.message([]) == "There are no finished rows yet."
    assert len(bench.report([])) == 1


def test_without_proc_memory_is_not_measured(bench, monkeypatch):
    def missing(path):
        raise OSError("no /proc here")

    monkeypatch.setattr(speed_parts.Path, "read_text", missing)
    with pytest.raises(Skip, match="statm"):
        bench.run(Case("sparse-2000", "sweep"))
