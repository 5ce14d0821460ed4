"""The benchmark of robust regression: instances by name, shares that are found, reports from rows alone."""

from __future__ import annotations

import builtins
import json

import numpy as np
import pytest

from dcra.bench.base import Case, Choice, Skip
from dcra.bench.registry import find_benchmark
from dcra.bench.regression import METHODS, N_ROWS, N_WEIGHTS, drawn, fitted, spread


@pytest.fixture
def study():
    return find_benchmark("regression")


def test_cases_name_instances_that_can_be_made_again(study):
    cases = list(study.cases(Choice(preset="full", methods=["lp", "ridge"])))
    assert len(cases) == 6 * 20 * 2
    assert [case.key for case in cases[:2]] == ["0-100|lp|0|own", "0-100|ridge|0|own"]
    for one, two in zip(drawn("30-100"), drawn("30-100"), strict=True):
        np.testing.assert_array_equal(one, two)


def test_so_many_rows_are_hit():
    X, y, w = drawn("30-7")
    assert X.shape == (N_ROWS, N_WEIGHTS)
    far = np.abs(y - X @ w) > 4 * np.sqrt(N_WEIGHTS)
    assert np.count_nonzero(far) == 0.3 * N_ROWS


@pytest.mark.parametrize("method", METHODS)
def test_without_errors_everybody_finds_nearly_all(study, method):
    if method != "lp":
        pytest.importorskip("sklearn")
    case = Case("0-100", method)
    study.warm(case)
    row = study.run(case)
    X, y, w = drawn("0-100")
    assert row["found"] > 0.9
    assert row["planted"] == np.abs(X @ w - y).sum()
    assert (row["fun"] == row["planted"]) == (row["found"] == 1)
    json.dumps(row)


def test_a_report_is_made_of_rows_alone(study):
    rows = [
        {"method": m, "percent": 10, "instance": f"10-{k}", "found": f, "fun": 3.0, "planted": 2.0, "seed": 0}
        for m, k, f in [("l1", 0, 1.0), ("l1", 1, 0.5), ("lp", 0, 0.25)]
    ]
    _, figure, found, above = study.report(rows)
    assert found.rows == [[10, 0.75, 0.25]]
    assert above.rows == [[10, 1.5, 1.5]]
    (panel,) = figure.panels
    assert [one.name for one in panel.series] == ["l1", "lp"]
    assert panel.series[0].low == [0.75 - 2 * spread([1.0, 0.5])]
    assert panel.series[1].high == [0.25]


def test_what_is_not_there_is_skipped(monkeypatch):
    found = builtins.__import__

    def without(name, *rest, **more):
        if name.startswith("sklearn"):
            raise ImportError("no scikit-learn here")
        return found(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Skip, match="no scikit-learn"):
        fitted("ridge", *drawn("0-0")[:2])
