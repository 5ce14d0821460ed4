"""Choices of groups and bisections: cases, instances, rivals, rows and reports."""

from __future__ import annotations

import json
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import dcra
from dcra.bench import bisection, categorical
from dcra.bench.base import Case, Choice, Skip
from dcra.bench.bisection_rivals import evened, restarted
from dcra.bench.quadratic_exact import equations_over_bits, over_bits
from dcra.bench.quadratic_rivals import Allowance
from dcra.bench.registry import find_benchmark

NAMES = ["bisection", "categorical"]
NEEDED = {"kernighan-lin": "networkx", "metis": "pymetis", "cpsat": "ortools", "gurobi": "gurobipy"}


@pytest.mark.parametrize("name", NAMES)
def test_cases_are_sizes_times_instances_times_methods(name):
    study = find_benchmark(name)
    small, full = (list(study.cases(Choice(preset=preset))) for preset in ("small", "full"))
    sizes = [size for size in study.sizes if size not in study.asked]
    assert len({case.key for case in full}) == len(sizes) * study.count * len(study.methods)
    assert sum(case.budget for case in small) <= 120
    one = list(study.cases(Choice(sizes=study.sizes[:1], methods=["auto"], instances=2, budget=0.5)))
    assert [(case.method, case.budget) for case in one] == 2 * [("auto", study.seconds / 2)]


@pytest.mark.parametrize("name", NAMES)
def test_instances_are_made_from_their_names(name):
    study = find_benchmark(name)
    for size in [size for size in study.sizes if size not in study.asked][::3]:
        one, same, other = (study.problem(size, index) for index in (0, 0, 1))
        x = dcra.minimize(np.eye(one.n), np.ones(one.n), "l1", domain=one.domain, starts=1, seed=0).x
        x[::2] = one.domain == "spin" and -1.0
        assert one.objective(x) == same.objective(x) != other.objective(x)
        assert one.constraints is not None


def test_a_cut_is_the_weight_between_the_halves():
    for make in bisection.GRAPHS.values():
        graph = make(12, np.random.default_rng(0))
        problem, W = bisection.cut_problem(graph), sparse.csr_array(graph).toarray()
        s = np.repeat([1.0, -1.0], 6)
        assert problem.objective(s) == pytest.approx(W[:6, 6:].sum())
        assert problem.violation(s) == 0


@pytest.mark.parametrize("kind", categorical.KINDS)
def test_costs_over_bits_are_the_objective(kind):
    problem = find_benchmark("categorical").problem(kind, 0)
    linear, i, j, value = over_bits(problem)
    x = np.random.default_rng(0).integers(0, 2, problem.n).astype(float)
    assert problem.objective(x) == pytest.approx(linear @ x + value @ (x[i] * x[j]))
    G, ends = equations_over_bits(problem)
    assert set(ends) == {1.0}
    assert (problem.violation(x) == 0) == bool((G @ x == ends).all())


def test_equations_of_spins_are_those_of_bits():
    G, ends = equations_over_bits(bisection.cut_problem(np.ones((8, 8)) - np.eye(8)))
    up = np.repeat([1.0, 0.0], 4)
    assert (G @ up == ends).all()


def test_assignments_are_flows_times_distances():
    problem = categorical.assignment(np.random.default_rng(3), 1.0, 4)
    cost = np.asarray(categorical.assignment(np.random.default_rng(3), 0.0, 4).linear).reshape(4, 4)
    one = dcra.solve(problem, seed=0)
    assert one.feasible
    assert one.fun >= cost[linear_sum_assignment(cost)].sum()


@pytest.mark.parametrize(
    ("name", "size"), [("bisection", "geometric6-60"), ("categorical", "assignment-linear")]
)
def test_rows_make_a_report(name, size):
    study = find_benchmark(name)
    rows, skipped = [], []
    for method in study.methods:
        case = Case(f"{size}-0", method, 0, 0.5)
        try:
            row = study.run(case)
        except Skip as reason:
            skipped.append(str(reason))
            continue
        rows.append(row | {"instance": case.instance, "method": method, "seed": 0, "budget": 0.5})
    json.dumps(rows, allow_nan=False)
    missing = [m for m in study.methods if m in NEEDED and find_spec(NEEDED[m]) is None]
    assert len(skipped) == len(missing)
    auto = rows[0]
    assert auto["feasible"]
    assert all(auto["fun"] <= row["fun"] for row in rows if row["feasible"])
    titles = [section.title for section in study.report(rows)]
    assert titles == [study.summary, "Mean objective after 0.5 s", "auto against each, after 0.5 s"]
    assert "auto" in study.message(rows)


def test_no_answer_is_an_empty_cell():
    study = find_benchmark("bisection")
    rows = [
        {
            "size": "a",
            "instance": "a-0",
            "method": m,
            "seed": 0,
            "budget": 1.0,
            "fun": 1.0,
            "feasible": m == "auto",
        }
        for m in ("auto", "cpsat")
    ]
    assert study.report(rows)[1].rows == [["a", 1.0, None]]


def test_a_rival_is_run_again_until_the_time_is_up():
    problem = SimpleNamespace(objective=float)
    answer = restarted(problem, Allowance(0.01, 2, 1), lambda seed: float(abs(seed - 20_003)))()
    assert answer.x == 0
    assert [cut for _, cut in answer.history] == [3, 2, 1, 0]


def test_uneven_halves_are_evened_out():
    W = bisection.geometric_graph(20, 5, np.random.default_rng(0))
    s = evened(W, np.repeat([1.0, -1.0], [13, 7]))
    assert s.sum() == 0


def test_assignments_alone_are_for_linear_sum_assignment():
    with pytest.raises(Skip, match="linear"):
        find_benchmark("categorical").run(Case("schedule-0", "linear_sum_assignment", 0, 0.1))


@pytest.mark.parametrize(("name", "size"), [("bisection", "signed-60"), ("categorical", "colouring-small")])
def test_cp_sat_keeps_the_counts(name, size):
    pytest.importorskip("ortools")
    assert find_benchmark(name).run(Case(f"{size}-0", "cpsat", 0, 2.0))["feasible"]
