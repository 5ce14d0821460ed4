"""Rows of older names: read under those of now, and said so."""

from __future__ import annotations

import json

import pytest

from dcra.bench import rows
from dcra.bench.folder import merge
from dcra.bench.registry import find_benchmark
from dcra.bench.renamed import RENAMED, rename, tell_renamed


def row(benchmark: str, method: str, **fields):
    return {"benchmark": benchmark, "instance": "a-0", "method": method, "seed": 0, "budget": 1.0} | fields


@pytest.mark.parametrize("name", RENAMED)
def test_old_names_mean_nothing_else(name):
    methods = find_benchmark(name).methods
    assert set(RENAMED[name].values()) <= set(methods)
    assert not set(RENAMED[name]) & set(methods)


def test_a_row_keeps_what_it_was_recorded_as():
    assert rename(row("maxsat", "dcra")) == row("maxsat", "auto", recorded_as="dcra")
    once = rename(row("mimo", "dcra-soft"))
    assert rename(once) == once
    for unchanged in (row("maxsat", "rc2"), row("table1", "dcra"), {"method": "dcra"}):
        assert rename(unchanged) is unchanged


def test_reports_say_which_names_were_changed():
    told = tell_renamed([rename(row("mimo", "dcra")), rename(row("mimo", "dcra-l1")), row("mimo", "ep")])
    assert "detect as dcra, detect-l1 as dcra-l1." in told[0].paragraphs[0]
    assert tell_renamed([row("mimo", "ep")]) == []


def test_old_and_new_rows_of_a_case_are_one(tmp_path):
    for folder, method in (("old", "dcra"), ("new", "auto")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "bench.json").write_text(json.dumps({"benchmark": "maxsat", "version": 1}))
        (tmp_path / folder / rows.ROWS).write_bytes(rows.line_of(row("maxsat", method, fun=1.0)))
    assert merge(tmp_path / "both", [tmp_path / "old", tmp_path / "new"]) == (1, 1)
    (kept,) = rows.read(tmp_path / "both")
    assert (kept["method"], kept["recorded_as"]) == ("auto", "dcra")
