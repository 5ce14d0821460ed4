"""The X-step benchmark on features of its own: rows are plain, rivals stand beside "auto"."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dcra.bench import xstep
from dcra.bench.base import Case, Choice, Skip
from dcra.bench.registry import find_benchmark
from dcra.bench.sections import ReportTable


@pytest.fixture
def toy(monkeypatch):
    F = np.random.default_rng(3).normal(size=(300, 24))
    monkeypatch.setattr(xstep, "_features", lambda: F / np.linalg.norm(F, axis=1, keepdims=True))


def rows_of(study, *cases):
    out = []
    for case in cases:
        study.warm(case)
        row = study.run(case)
        assert json.loads(json.dumps(row)) == row
        named = {"instance": case.instance, "method": case.method, "budget": case.budget, "seed": case.seed}
        out.append(row | named)
    return out


def test_rows_and_report(toy):
    study = find_benchmark("xstep")
    rows = rows_of(study, *(Case("features-10-200", m) for m in ("auto", "flip", "enumerate")))
    rows += rows_of(study, *(Case("classes-16-200", m) for m in ("auto", "flip x4")))
    assert [row["solved"] for row in rows] == [200, 100, 100, 10, 10]
    assert rows[0]["shown"] == pytest.approx(rows[2]["shown"], rel=1e-3)
    tables = [part for part in study.report(rows) if isinstance(part, ReportTable)]
    assert [len(table.rows) for table in tables] == [3, 2]
    seconds = {line[0]: line[4] for line in tables[0].rows}
    assert seconds["flip"] == pytest.approx(2 * rows[1]["cpu"])
    assert all(line[3] >= -1e-6 for table in tables for line in table.rows)


def test_cases_follow_the_choice():
    study = find_benchmark("xstep")
    full = list(study.cases(Choice(preset="full")))
    assert len({case.key for case in full}) == len(full)
    assert {case.instance for case in full} == {f"{size}-59000" for size in study.sizes}
    some = list(study.cases(Choice(sizes=["features-16"], methods=["auto", "flip"])))
    assert [(case.instance, case.method) for case in some] == [("features-16-2000", "auto")]


def test_missing_data_is_skipped(monkeypatch, tmp_path):
    (tmp_path / "cifar10").mkdir()
    monkeypatch.setenv("DCRA_DATA", str(tmp_path))
    xstep._features.cache_clear()
    with pytest.raises(Skip, match="cifar10"):
        find_benchmark("xstep").run(Case("features-32-100", "auto"))
