"""Benchmarks of quadratic objectives: cases, rows and reports on the smallest instances."""

import json

import numpy as np
import pytest

from dcra.bench.base import Case, Choice, Skip
from dcra.bench.coupled_rivals import _over_bits
from dcra.bench.maxcut import GRAPHS
from dcra.bench.registry import benchmark
from dcra.bench.sections import Figure, Table, Text


@pytest.mark.parametrize("name", ["maxcut", "qubo", "qap"])
def test_cases_are_named_and_differ(name):
    study = benchmark(name)
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
    study = benchmark(name)
    rows = rows_of(study, [Case(instance, method, 0, 0.1) for method in methods])
    best = min(row["fun"] for row in rows)
    assert rows[0]["fun"] == best
    sections = study.report(rows)
    assert [type(section) for section in sections] == [Text, Table, sections[2].__class__, Table]
    assert any(isinstance(section, Figure) for section in sections)
    assert sections[1].rows[0][1] == 0.0


@pytest.mark.parametrize("kind", GRAPHS)
def test_graphs_are_simple(kind):
    row, col, weight = GRAPHS[kind](60, np.random.default_rng(0))
    pairs = np.sort(np.stack([row, col], axis=1), axis=1)
    assert np.all(row != col)
    assert len(np.unique(pairs, axis=0)) == len(pairs) == weight.size


@pytest.mark.parametrize(("name", "instance"), [("maxcut", "torus-24-0"), ("qubo", "random-24-100-0")])
def test_rivals_see_the_same_objective(name, instance):
    problem = benchmark(name).problem(instance)
    linear, row, col, value = _over_bits(problem)
    bits = np.random.default_rng(0).integers(0, 2, (4, problem.n)).astype(float)
    points = bits if problem.domain == "binary" else 2 * bits - 1
    ours = problem.objective(points)
    theirs = bits @ linear + np.sum(value * bits[:, row] * bits[:, col], axis=1)
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=1e-9)


def test_absent_data_is_a_reason_to_skip(monkeypatch):
    monkeypatch.delenv("DCRA_DATA", raising=False)
    with pytest.raises(Skip, match="is not below DCRA_DATA"):
        benchmark("maxcut").run(Case("gset/G1.txt", "auto", 0, 0.1))
    assert benchmark("maxcut").instances("gset") == []
