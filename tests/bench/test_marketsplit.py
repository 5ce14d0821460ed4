"""The market split benchmark: instances by name, rows that add up, reports from rows alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dcra.bench import marketsplit
from dcra.bench.base import Case, Choice, Skip
from dcra.bench.registry import find_benchmark
from dcra.io.marketsplit import read


@pytest.fixture
def study(monkeypatch, tmp_path):
    monkeypatch.setenv("DCRA_DATA", str(tmp_path))
    return find_benchmark("marketsplit")


def test_cases_name_instances_that_can_be_made_again(study):
    cases = list(study.cases(Choice(sizes=["m3"], methods=["auto", "flip"], instances=2)))
    assert len(cases) == 4
    assert len({case.key for case in cases}) == 4
    one, two = (marketsplit.problem_of(cases[0].instance) for _ in range(2))
    np.testing.assert_array_equal(one.terms[0].A, two.terms[0].A)
    assert one.n == 20
    assert {case.budget for case in study.cases(Choice(preset="full", sizes=["m4"]))} == {60.0}


def test_a_row_is_judged_and_reported(study):
    row = study.run(Case("drawn-3-50-0", "auto", budget=60.0))
    assert row["fun"] == 0
    assert row["solved"]
    json.dumps(row)
    _, solved, left = study.report([{**row, "method": "auto", "budget": 2.0}])
    assert solved.rows == [[3, 20, 2.0, "1 / 1"]]
    assert left.rows == [[3, 20, 2.0, 0.0]]


def test_what_is_not_installed_is_skipped(study):
    with pytest.raises(Skip, match="not installed"):
        study.run(Case("drawn-3-50-0", "nobody", budget=1.0))
    with pytest.raises(Skip, match="ms_03_x"):
        study.run(Case("ms_03_x", "flip", budget=1.0))


def test_files_are_read(study, tmp_path):
    folder = tmp_path / "marketsplit"
    folder.mkdir()
    (folder / "ms_03_a.dat").write_text("# a comment\n\n2 3\n 1 2 3 3\n 4 5 6 9\n")
    assert marketsplit.instances(3) == ["ms_03_a"]
    problem = marketsplit.problem_of("ms_03_a")
    assert problem.objective([1, 1, 0]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("2\n1 2\n", "line 1: the number of variables is missing"),
        ("2 2\n1 2 3\n", "line 1 promises 2 rows; the file has 1"),
        ("# x\n1 2\n1 2\n", "line 3: 2 coefficients and a right-hand side expected; got 2"),
        ("1 2\n1 x 3\n", "line 2: numbers expected"),
    ],
)
def test_damaged_files_are_refused(text, message, tmp_path):
    path = tmp_path / "damaged.dat"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read(path)
