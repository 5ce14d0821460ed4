"""Benchmarks of quadratic objectives: cases, rows and reports on the smallest instances."""

import json
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from dcra import api
from dcra.bench import quadratic_samplers
from dcra.bench.base import Case, Choice, Skip
from dcra.bench.maxcut import GRAPHS, complete_graph
from dcra.bench.quadratic import RIVALS
from dcra.bench.quadratic_exact import over_bits
from dcra.bench.quadratic_report import said_of_lists, set_of, with_gaps
from dcra.bench.quadratic_rivals import Allowance
from dcra.bench.quadratic_targets import seconds_to
from dcra.bench.registry import find_benchmark
from dcra.bench.sections import Figure, ReportTable, Text


@pytest.mark.parametrize("name", ["maxcut", "qubo", "qap"])
def test_cases_are_named_and_differ(name):
    study = find_benchmark(name)
    cases = list(study.cases(Choice()))
    assert cases
    assert len({case.key for case in cases}) == len(cases)
    assert [case.budget for case in cases] == sorted(case.budget for case in cases)
    one = list(study.cases(Choice(sizes=study.sizes[:1], methods=["auto"], instances=1, budget=0.5)))
    assert {case.method for case in one} == {"auto"}
    assert len({case.instance for case in one}) == 1


def rows_of(study, cases):
    rows = []
    for case in cases:
        row = study.run(case)
        rows.append(
            {**row, "instance": case.instance, "method": case.method, "seed": 0, "budget": case.budget}
        )
    return json.loads(json.dumps(rows))


@pytest.mark.parametrize(
    ("name", "instance", "methods"),
    [
        ("maxcut", "torus-24-0", ["auto", "flip", "random"]),
        ("qubo", "random-24-100-0", ["auto", "flip", "highs"]),
        ("qap", "grid-6-0", ["auto", "scipy-faq", "scipy-2opt", "random"]),
    ],
)
def test_rows_add_up_to_a_report(name, instance, methods):
    study = find_benchmark(name)
    seconds = 1.0  # hundreds of times what auto needs
    rows = rows_of(study, [Case(instance, method, 0, seconds) for method in methods])
    best = min(row["fun"] for row in rows)
    assert rows[0]["fun"] == best
    sections = study.report(rows)
    tables = {section.title: section for section in sections if isinstance(section, ReportTable)}
    assert isinstance(sections[0], Text)
    assert sum(isinstance(section, Figure) for section in sections) == 3
    assert tables["Mean gap in per cent"].rows[0][1:] == ["auto", 1, 0.0]
    assert tables["Time to target"].rows[0][1:5] == ["auto", 1, seconds, 1.0]
    assert [line[1] for line in tables["Against auto"].rows] == methods[1:]


def row(method, fun, budget=1.0, history=None, listed=(-100.0,), instance="a"):
    case = {"instance": instance, "method": method, "seed": 0, "budget": budget}
    return {**case, "fun": fun, "wall": budget, "n": 9, "listed": list(listed), "history": history}


def test_time_to_target_is_read_from_histories_or_charged_as_a_whole():
    rows = with_gaps(
        [
            row("auto", -99.0, 1.0, [[0.1, -99.0]]),
            row("auto", -100.0, 10.0, [[0.5, -98.0], [2.0, -99.95], [5.0, -100.0]]),
            row("dwave-sa", -99.92, 1.0),
            row("dwave-sa", -99.95, 3.0),
        ]
    )
    ours, theirs = rows[:2], rows[2:]
    assert [seconds_to(ours, gap) for gap in (0.1, 0.0)] == [2.0, 5.0]
    assert [seconds_to(theirs, gap) for gap in (0.1, 0.0)] == [1.0, np.inf]


def test_gaps_are_to_the_best_of_lists_and_rows():
    rows = with_gaps(
        [row("auto", -101.0), row("flip", -99.0), row("auto", -98.0, listed=(-100.0, -98.0), instance="b")]
    )
    assert [round(r["gap"], 3) for r in rows] == [0.0, 1.98, 2.0]
    beyond, unlike = said_of_lists(rows)
    assert beyond == "Answers here are beyond the best listed value on a."
    assert "Lists disagree on b" in unlike


def test_files_are_reported_by_folder_and_size():
    rows = [{**row("auto", 0.0, instance="gset/G1"), "n": n} for n in (800, 5000)]
    assert [set_of(one, 3000) for one in rows] == ["gset", "gset-large"]
    assert set_of(row("auto", 0.0, instance="torus-9-0"), 3000) == "n = 9"


def test_lists_that_a_bound_rules_out_do_not_count():
    rows = with_gaps([{**row("auto", -90.0), "bound": -95.0}, row("flip", -81.0)])
    assert [r["gap"] for r in rows] == [0.0, 10.0]
    assert said_of_lists(rows) == ["Proved bounds rule out what is listed for a; it does not count."]


def test_pace_is_measured_until_it_takes_a_share_of_the_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(quadratic_samplers, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def run(sweeps):
        now[0] += 0.5 + 0.01 * sweeps

    assert quadratic_samplers._fitting(run, 10.5) in range(980, 1020)


@pytest.mark.parametrize("kind", GRAPHS)
def test_graphs_are_simple(kind):
    row, col, weight = GRAPHS[kind](60, np.random.default_rng(0))
    pairs = np.sort(np.stack([row, col], axis=1), axis=1)
    assert np.all(row != col)
    assert len(np.unique(pairs, axis=0)) == len(pairs) == weight.size


@pytest.mark.parametrize(("name", "instance"), [("maxcut", "torus-24-0"), ("qubo", "random-24-100-0")])
def test_rivals_see_the_same_objective(name, instance):
    problem = find_benchmark(name).problem(instance)
    linear, row, col, value = over_bits(problem)
    bits = np.random.default_rng(0).integers(0, 2, (4, problem.n)).astype(float)
    points = bits if problem.domain == "binary" else 2 * bits - 1
    ours = problem.objective(points)
    theirs = bits @ linear + np.sum(value * bits[:, row] * bits[:, col], axis=1)
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=1e-9)


def test_absent_data_is_a_reason_to_skip(monkeypatch):
    monkeypatch.delenv("DCRA_DATA", raising=False)
    with pytest.raises(Skip, match="is not below DCRA_DATA"):
        find_benchmark("maxcut").run(Case("gset/G1.txt", "auto", 0, 0.1))
    assert find_benchmark("maxcut").instances("gset") == []


@pytest.mark.parametrize(
    ("method", "package"),
    [
        ("dwave-sa", "dwave.samplers"),
        ("openjij", "openjij"),
        ("bifurcation", "simulated_bifurcation"),
        ("qqa", "qqa"),
    ],
)
@pytest.mark.parametrize(("name", "instance"), [("maxcut", "complete-12-0"), ("qubo", "random-12-100-0")])
def test_samplers_of_others(method, package, name, instance, monkeypatch):
    """Where one is installed it gives a point of the domain, in its order; where not, the reason is a row."""
    monkeypatch.setattr(quadratic_samplers, "_fitting", lambda run, seconds: 50)
    study = find_benchmark(name)
    problem = study.problem(instance)
    allowed = Allowance(0.1, 0, 1)
    if find_spec(package.split(".")[0]) is None:
        with pytest.raises(Skip, match="is not installed"):
            RIVALS[method](problem, allowed)
        return
    x = problem.check_point("x", RIVALS[method](problem, allowed)().x)
    least = api.solve(problem, seed=0).fun
    assert problem.objective(x) <= 0.8 * least


def test_complete_graphs():
    study = find_benchmark("maxcut")
    assert study.instances("k2000") == ["complete-2000-0", "complete-2000-1"]
    assert not any(name.startswith("complete") for name in study.instances("2000"))
    row, col, weight = complete_graph(9, np.random.default_rng(0))
    assert len({*zip(row.tolist(), col.tolist(), strict=True)}) == 36
    assert {*np.abs(weight)} == {1.0}
