"""The benchmark of linear constraints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import dcra
from dcra.bench.base import Case, Choice
from dcra.bench.constrained import SECONDS, assignment, problem_of
from dcra.bench.registry import find_benchmark


@pytest.fixture
def bench():
    return find_benchmark("constrained")


def test_cases_are_instances_times_methods(bench):
    cases = list(bench.cases(Choice(sizes=["covering-100x300"], methods=["auto", "milp"], instances=3)))
    assert len(cases) == 6
    assert {case.budget for case in cases} == {SECONDS["covering-100x300"]}


@pytest.mark.parametrize("size", SECONDS)
def test_instances_are_made_from_their_names(size):
    one, two = problem_of(f"{size}-1"), problem_of(f"{size}-1")
    x = np.ones(one.n)
    assert one.objective(x) == two.objective(x)
    assert one.constraints is not None


def test_assignments_have_the_known_optimum():
    problem = assignment(4, seed=1)
    cost = problem.linear.reshape(4, 4)
    found = dcra.solve(problem, seed=0)
    assert found.feasible
    assert found.fun == cost[linear_sum_assignment(cost)].sum()


def test_rows_make_a_report(bench):
    rows = []
    for method in ("auto", "milp"):
        case = Case("assignment-4-0", method, 0, 5.0)
        rows.append(bench.run(case) | {"instance": case.instance, "method": method, "seed": 0, "budget": 5.0})
    assert all(row["feasible"] and row["violation"] == 0 for row in rows)
    titles = [section.title for section in bench.report(rows)]
    assert titles == ["Linear constraints", "Answers", "Duels"]
