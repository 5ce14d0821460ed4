"""The hashing benchmark on a data set of its own size: rows are plain, the report follows from them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dcra.bench import hashing as bench
from dcra.bench.base import Case, Choice, Skip
from dcra.bench.registry import find_benchmark
from dcra.bench.sections import Figure, ReportTable
from dcra.datasets import Dataset


@pytest.fixture
def toy(monkeypatch):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 4, 300)
    data = Dataset("mirflickr25k", rng.normal(size=(4, 8))[y] + rng.normal(size=(300, 8)), np.eye(4)[y])
    monkeypatch.setattr(bench, "_dataset", lambda name: data)


def test_rows_and_report(toy):
    study = find_benchmark("hashing")
    rows = []
    for method in ("supervised-auto", "paper-auto", "fsdh", "sdh", "codewords", "itq", "lsh"):
        for seed in (0, 1):
            case = Case("mirflickr25k-16-all", method, seed)
            row = study.run(case) | {"instance": case.instance, "method": method, "seed": seed}
            assert json.loads(json.dumps(row)) == row
            assert 0 < row["map_hash"] <= 1
            rows.append(row)
    parts = study.report(rows)
    verdicts, table = (part for part in parts if isinstance(part, ReportTable))
    assert [line[:3] for line in verdicts.rows] == [["mirflickr25k", 16, c] for c in ("hash", "learned")]
    assert {line[-1] for line in verdicts.rows} <= {"yes", "no"}
    assert len(table.rows) == 7
    assert any("±" in str(cell) for cell in table.rows[1])
    curves = [part for part in parts if isinstance(part, Figure)]
    assert all(len(figure.panels) == 1 for figure in curves)
    assert all(len(series.x) == len(series.y) for f in curves for p in f.panels for series in p.series)


def test_cases_follow_the_choice():
    study = find_benchmark("hashing")
    small = list(study.cases(Choice()))
    full = list(study.cases(Choice(preset="full")))
    assert len(small) < 60 < len(full)
    assert {c.method for c in small} >= {"supervised-auto", "paper-auto"}
    assert {c.method for c in full} - {c.method for c in small} == {
        "itq",
        *(f"paper-{solver}" for solver in bench.X_SOLVERS),
        *(f"linear-{solver}" for solver in ("auto", *bench.X_SOLVERS)),
    }
    assert len({case.key for case in full}) == len(full)
    some = list(study.cases(Choice(sizes=["mnist"], methods=["fsdh"], instances=2)))
    assert [(c.instance, c.seed) for c in some][:2] == [("mnist-16-10000", 0), ("mnist-16-10000", 1)]


@pytest.mark.parametrize(
    ("method", "solver", "target"),
    [
        ("supervised-auto", "auto", "relevance"),
        ("paper-auto", "auto", "labels"),
        ("paper-dcra", "dcra", "labels"),
        ("paper-mpec-epm", "mpec-epm", "labels"),
        ("paper-dcra-paper", "dcra-paper", "labels"),
        ("linear-dcra-paper", "dcra-paper", "labels"),
    ],
)
def test_names_end_with_the_method_of_the_x_step(method, solver, target):
    model = bench._model(method, 16, "linear", 0)
    assert (model.solver, model.target) == (solver, target)


def test_the_papers_hash_function_is_linear():
    assert bench._model("linear-dcra-paper", 16, "rbf", 0).feature_map == "linear"
    assert bench._model("paper-dcra-paper", 16, "rbf", 0).feature_map == "rbf"


def test_what_is_missing_is_skipped(toy, monkeypatch, tmp_path):
    study = find_benchmark("hashing")
    monkeypatch.setattr(bench, "_warm_up", lambda method: None)
    with pytest.raises(Skip, match="no method 'nothing'"):
        study.run(Case("mirflickr25k-16-all", "paper-nothing"))


def test_missing_data_is_skipped(monkeypatch, tmp_path):
    (tmp_path / "mirflickr25k").mkdir()
    monkeypatch.setenv("DCRA_DATA", str(tmp_path))
    bench._dataset.cache_clear()
    with pytest.raises(Skip, match=r"no file 'mirflickr25k-yall\.mat'"):
        bench._dataset("mirflickr25k")
