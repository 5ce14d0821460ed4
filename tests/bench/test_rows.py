"""Rows in files: plain numbers, keys, filters, merging."""

from __future__ import annotations

import gzip
import json
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

from dcra.bench import rows
from dcra.bench.base import Case, Choice
from dcra.bench.folder import merge
from dcra.bench.runner import run


def row(instance: str, **fields: object) -> dict[str, object]:
    return {"instance": instance, "method": "m", "seed": 0, "status": "ok"} | fields


def label(folder: Path, **changes: object) -> Path:
    folder.mkdir()
    (folder / "bench.json").write_text(json.dumps({"benchmark": "toy", "version": 1, "dcra": "1"} | changes))
    return folder


def write(folder: Path, *found: dict[str, object]) -> Path:
    with rows.Appender(folder) as file:
        for one in found:
            file.add(one)
    return folder


def test_rows_hold_plain_numbers():
    line = rows.line_of(
        {"a": np.float64(1.5), "b": inf, "c": [nan, np.int64(2)], "d": np.arange(2), "e": (1, None)}
    )
    assert json.loads(line) == {"a": 1.5, "b": None, "c": [None, 2], "d": [0, 1], "e": [1, None]}


@pytest.mark.parametrize("budget", [None, 0.017, 10.0])
def test_keys_are_those_of_the_case(budget):
    case = Case("l1-100x50-3", "auto", 3, budget)
    made = {"instance": case.instance, "method": case.method, "seed": 3, "budget": budget}
    assert rows.key_of(made) == case.key


def test_packed_rows_are_read(tmp_path):
    (tmp_path / rows.PACKED).write_bytes(gzip.compress(rows.line_of(row("a")) + rows.line_of(row("b"))))
    assert [one["instance"] for one in rows.read(tmp_path)] == ["a", "b"]


def test_conditions():
    found = [row("a", n=100, budget=0.5), row("b", n=200, budget=None)]
    assert [rows.condition(["n=100,300"], found)(one) for one in found] == [True, False]
    assert [rows.condition(["budget=0.5", "instance=a"], found)(one) for one in found] == [True, False]
    assert [rows.condition(["budget=None"], found)(one) for one in found] == [False, True]
    with pytest.raises(ValueError, match=r"`--where` must be FIELD=VALUE or FIELD=VALUE,VALUE; got 'n'"):
        rows.condition(["n"], found)
    with pytest.raises(ValueError, match=r"`--where` must be one of .*got 'budgt'; did you mean 'budget'"):
        rows.condition(["budgt=1"], found)


def test_merging_keeps_each_row_once(tmp_path):
    one = write(label(tmp_path / "one"), row("a", fun=1.0), row("b", status="failed"))
    two = write(label(tmp_path / "two"), row("b", fun=2.0), row("c", fun=3.0), row("a", fun=1.0))
    assert merge(tmp_path / "all", [one, two]) == (3, 2)
    assert {found["instance"]: found.get("fun") for found in rows.read(tmp_path / "all")} == {
        "a": 1.0,
        "b": 2.0,
        "c": 3.0,
    }
    assert merge(tmp_path / "some", [one, two], ["instance=c"]) == (1, 0)


def test_packed_rows_can_be_added_to(tmp_path):
    one = write(label(tmp_path / "one"), row("a", fun=1.0))
    merge(tmp_path / "packed", [one], pack=True)
    assert not (tmp_path / "packed" / rows.ROWS).exists()
    assert rows.read(tmp_path / "packed") == rows.read(one)
    assert rows.repair(tmp_path / "packed") == 0
    write(tmp_path / "packed", row("b"))
    assert [found["instance"] for found in rows.read(tmp_path / "packed")] == ["a", "b"]


def test_what_cannot_be_merged(tmp_path):
    one, other = label(tmp_path / "one"), label(tmp_path / "other", benchmark="table1")
    newer = label(tmp_path / "newer", version=2)
    with pytest.raises(ValueError, match="other holds rows of benchmark table1, not of toy"):
        merge(tmp_path / "all", [one, other])
    with pytest.raises(ValueError, match="newer holds rows of benchmark version 2, not of 1"):
        merge(tmp_path / "all", [one, newer])
    with pytest.raises(ValueError, match="one is not empty: merge into a new folder"):
        merge(one, [other])
    with pytest.raises(ValueError, match="nowhere: there is no such folder"):
        merge(tmp_path / "all", [tmp_path / "nowhere"])
    with pytest.raises(ValueError, match=r"has no bench\.json: it is not the output of `dcra bench`"):
        merge(tmp_path / "all", [tmp_path])


def test_merged_rows_can_be_added_to(tmp_path):
    run("toy", Choice(instances=1), tmp_path / "one")
    run("toy", Choice(instances=2, sizes=["small"]), tmp_path / "two")
    merge(tmp_path / "all", [tmp_path / "one", tmp_path / "two"])
    outcome = run("toy", Choice(instances=2), tmp_path / "all")
    assert (outcome.known, outcome.added.total()) == (3, 1)
