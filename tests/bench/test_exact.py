"""The benchmark of proofs: instances by name, rows that say what was proved, reports from rows alone."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

import numpy as np
import pytest

from dcra.bench.base import Case, Choice, Skip
from dcra.bench.exact_families import FAMILIES, SERIES, described, problem_of, small_problems
from dcra.bench.registry import find_benchmark
from dcra.exact.trees import TreeKind, tree_kind


@pytest.fixture
def study():
    return find_benchmark("exact")


def test_cases_name_instances_that_can_be_made_again(study):
    cases = list(study.cases(Choice(sizes=["hinge-50"], methods=["exact", "milp"], instances=2)))
    assert [case.key for case in cases[:2]] == ["hinge-50-0|exact|0|5s", "hinge-50-0|milp|0|5s"]
    one, two = (problem_of(cases[0].instance) for _ in range(2))
    np.testing.assert_array_equal(one.terms[0].A, two.terms[0].A)
    assert one.terms[0].operator.shape == (250, 50)
    assert {case.budget for case in study.cases(Choice(preset="full"))} == {60.0}
    alone = {case.method for case in study.cases(Choice(sizes=["logistic-40"]))}
    assert alone == {"exact", "auto"}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_can_be_proved(family):
    problem = problem_of(f"{family}-20-0")
    assert tree_kind(problem) is not TreeKind.NONE
    assert problem.n == 20
    assert described(f"{family}-20-0", problem)["family"] == family


@pytest.fixture
def square(tmp_path, monkeypatch):
    """A cycle of four nodes where Biq Mac has its first graph, and what is listed of it."""
    folder = tmp_path / "biqmac" / "rudy"
    folder.mkdir(parents=True)
    (folder / "g05_60.0").write_text("4 4\n1 2 1\n2 3 1\n3 4 1\n4 1 1\n")
    (folder / "optimal_energy.txt").write_text("g05_60.0 4\n")
    monkeypatch.setenv("DCRA_DATA", str(tmp_path))


@pytest.mark.usefixtures("square")
def test_files_are_proved_at_what_is_listed(study):
    (case,) = study.cases(Choice(preset="full", sizes=["biqmac-g05_60"]))
    assert case.key == "biqmac/rudy/g05_60.0|exact|0|60s"
    row = study.run(case)
    assert row["proved"]
    assert (row["family"], row["n"], row["rows"]) == ("g05_60", 4, 0)
    assert [row["fun"]] == row["listed"] == [-4.0]


def test_a_file_is_of_one_series():
    for name, pattern in SERIES.items():
        path = PurePosixPath(pattern.replace("*", "7"))
        assert [other for other, kind in SERIES.items() if path.match(kind)] == [name]


def test_every_kind_of_tree_is_loaded_before_the_clock_starts():
    kinds = {tree_kind(problem) for problem in small_problems()}
    assert kinds == {TreeKind.COUPLINGS, TreeKind.KINKS, TreeKind.DUALS}


def test_a_row_says_whether_there_was_a_proof(study):
    row = study.run(Case("gross-20-0", "exact", budget=60.0))
    assert row["proved"]
    assert row["nodes"] >= 1
    json.dumps(row)
    rows = [{**row, "method": "exact", "cpu": 0.02}, {**row, "method": "milp", "proved": False}]
    _, seconds, share, profile = study.report(rows)
    assert seconds.rows == [["gross", 20, 40, 0.02, None]]
    assert share.rows == [["gross", 20, 40, "1 / 1", "0 / 1"]]
    assert profile.rows[0] == [0.01, 0.0, 0.0]
    assert profile.rows[1] == [0.1, 1.0, 0.0]


def test_what_is_not_there_is_skipped(study):
    with pytest.raises(Skip, match="no family 'other'"):
        study.run(Case("other-20-0", "exact", budget=1.0))
    with pytest.raises(Skip, match="no method"):
        study.run(Case("gross-20-0", "nobody", budget=1.0))
