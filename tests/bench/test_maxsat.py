"""The benchmark of Max-SAT."""

from __future__ import annotations

import pytest

from dcra.bench.base import Case, Choice
from dcra.bench.maxsat import independent_set, instance, kind_of, partial_3sat
from dcra.bench.registry import find_benchmark


@pytest.fixture
def bench():
    return find_benchmark("maxsat")


def row(name: str, method: str, cost: float, **others: object) -> dict[str, object]:
    base = {"instance": name, "method": method, "seed": 0, "budget": 1.0, "fun": cost, "cost": cost}
    plain = {"violated": 0, "wall": 1.0, "bound": None, "bound_at": None, "best_known": None, "optimum": None}
    return base | plain | others


def test_cases(bench):
    cases = list(bench.cases(Choice(sizes=["max3sat"], methods=["auto"], instances=2, budget=0.5)))
    assert [case.instance for case in cases] == ["max3sat-0", "max3sat-1"]
    assert {case.budget for case in cases} == {15.0}


def test_instances():
    assert instance("max3sat-0").m == 10_000
    assert independent_set(20, 0.2, 0).hard.any()
    assert partial_3sat(50, 3.5, 0).n == 50
    assert kind_of("evaluation-folder/file.cnf") == "folder"
    assert kind_of("max3sat-3") == "max3sat"


def test_a_run_has_a_bound_and_its_time(bench):
    found = bench.run(Case("independent-set-0", "auto", 0, 0.5))
    assert found["violated"] == 0
    assert 0 <= found["bound"] <= found["cost"]


def test_the_report_counts_optima_and_gaps(bench):
    rows = [
        row("evaluation-a/x.cnf", "auto", 10.0, bound=8.0, bound_at=0.1, best_known=10.0, optimum=10.0),
        row("evaluation-a/y.cnf", "auto", 11.0, bound=11.0, bound_at=0.3, best_known=10.0, optimum=10.0),
        row("evaluation-a/x.cnf", "rc2", 100.0, bound=4.0, best_known=10.0, optimum=10.0),
    ]
    sections = {section.title: section for section in bench.report(rows)}
    assert list(sections) == ["Max-SAT", "By family", "Proven optima", "Lower bounds", "All runs"]
    assert sections["Proven optima"].rows == [("auto", 1.0, 2, 1, 0.5), ("rc2", 1.0, 1, 0, 0.0)]
    assert sections["Lower bounds"].rows == [("a", 1.0, 2, pytest.approx(0.1), 1, pytest.approx(0.2))]
