"""The compressed-sensing benchmark: its cases, its rows, its report."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dcra.bench import bcs, bcs_paper
from dcra.bench.base import Case, Choice, Skip
from dcra.bench.bcs_report import sections, threshold_curves, wilson
from dcra.bench.bcs_words import message
from dcra.bench.registry import find_benchmark
from dcra.bench.sections import Figure, ReportTable


def test_cases():
    study = find_benchmark("bcs")
    cases = list(study.cases(Choice()))
    assert len({case.key for case in cases}) == len(cases)
    assert sum(case.budget or 0 for case in cases) < 90
    full = Choice("full", sizes=["mu0"], methods=["recover"])
    assert sum(1 for _ in study.cases(full)) == 10 * 20 * 20


def test_a_name_says_all():
    setting = bcs.Setting(10, 0.31, 0.05, 0.0, 3)
    assert bcs.Setting.parse(setting.name) == setting
    with pytest.raises(ValueError, match="`instance` must be a name of this benchmark"):
        bcs.Setting.parse("l1-3-4-5-6-7")


def test_the_thresholds_are_a_table_of_their_own(monkeypatch):
    monkeypatch.setattr(bcs, "N", 60)
    study = find_benchmark("bcs")
    cases = list(study.cases(Choice(sizes=["edge"], methods=["amp", "dcra"])))
    assert {case.method for case in cases} == {"amp"}  # those with a rule of their own
    assert bcs.Setting.parse(cases[0].instance).edge
    rows = [{**study.run(case), "method": case.method, "instance": case.instance} for case in cases[:5]]
    (table,) = (part for part in study.report(rows) if isinstance(part, ReportTable))
    assert table.title == "At the thresholds"
    assert table.rows == [[0, 0.11, 5, sum(row["exact"] for row in rows)]]


def test_rows_and_report(monkeypatch):
    monkeypatch.setattr(bcs, "N", 60)
    study = find_benchmark("bcs")
    choice = Choice(methods=["recover", "amp", "flip"], budget=0.02)
    cases = [case for case in study.cases(choice) if "alpha0.6" in case.instance][::6]
    rows = [{**study.run(case), "method": case.method} for case in cases]
    json.dumps(rows)
    for row in rows:
        assert row["exact"] == (row["hamming"] == 0)
        assert row["fun"] >= 0
        assert row["noise"] > 0 or row["truth"] == pytest.approx(0.05 * round(row["truth"] / 0.05))
    found = study.report(rows)
    tables = {section.title: section for section in found if isinstance(section, ReportTable)}
    objective = tables["Table 2, mu = 0: mean objective"]
    names = [row[0] for row in objective.rows]
    assert {"truth", "coin", "paper: dcra", "recover"} <= set(names)
    assert "Noisy measurements" in tables
    maps = [section for section in found if isinstance(section, Figure)]
    assert all(panel.heat is not None for figure in maps for panel in figure.panels)
    assert objective.columns[0] == "method"
    assert objective.columns[1].startswith("rho = ")
    groups = {part.group for part in found if isinstance(part, ReportTable | Figure)}
    assert {"Table 2: mean objective", "Phase diagrams: signals recovered"} <= groups
    curves = {one.name for figure in maps for panel in figure.panels for one in panel.series}
    assert curves == {"LP threshold", "AMP threshold"}
    assert [part.title for part in sections([], study.methods)] == ["In short", "How to read this"]


def made_up(method: str, mu: int, fun: float, exact: bool) -> dict[str, Any]:
    cell = {"mu": mu, "rho": 0.31, "alpha": 0.5, "noise": 0.0, "number": 0, "budget": None, "method": method}
    return cell | {"fun": fun, "exact": exact, "coin": 200.0, "truth": 5.0}


def test_the_message_is_made_from_the_rows():
    rows = [made_up("dcra-paper", 0, 190.0, False), made_up("recover", 0, 5.0, True)]
    (words,) = message(rows).paragraphs
    printed = sum(bcs_paper.OBJECTIVE[0]["dcra"]) / 10 / 200
    assert words == (
        "In units of a coin flip's mean objective: at mu = 0 the true signal has 0.03, the paper prints "
        f"{printed:.2f} for its DCRA, dcra-paper here 0.95. Of the signals in 1 cells, every bit is found "
        "by: recover 100%, dcra-paper 0%."
    )


def test_own_ends_are_one_start():
    study = find_benchmark("bcs")
    cases = list(study.cases(Choice(own=True, sizes=["mu0"])))
    assert all(case.budget is None for case in cases)
    assert {"dcra-paper", "recover"} <= {case.method for case in cases}
    assert not {case.method for case in cases} & {"anneal", "milp", "gurobi"}
    name = bcs.Setting(0, 0.31, 0.5, 0.0, 0).name
    assert study.run(Case(name, "dcra-paper"))["fun"] == study.run(Case(name, "dcra-paper"))["fun"]


def test_methods_that_are_not_there_are_skipped(monkeypatch):
    monkeypatch.setattr(bcs, "METHODS", {})
    with pytest.raises(Skip, match="'gurobi' is not part of this installation"):
        find_benchmark("bcs").run(Case(bcs.Setting(0, 0.5, 0.5, 0.0, 0).name, "gurobi", budget=0.1))


def test_printed_numbers():
    assert bcs_paper.OBJECTIVE[0]["dcra"][0] == 182.33
    assert bcs_paper.OBJECTIVE[10]["gurobi"][-1] == 5652.05
    assert bcs_paper.SECONDS[2]["mpec-adm"][-1] == 0.0672


def test_curves_and_intervals():
    lp, amp = threshold_curves(biased=True)
    assert all(a < b for a, b in zip(amp.y, lp.y, strict=True))
    low, high = wilson(5, 10)
    assert low == pytest.approx(1 - high)
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(10, 10)[1] == pytest.approx(1.0)
