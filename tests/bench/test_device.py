"""The benchmark of devices: cases, instances from names, rows and pages without a device."""

from __future__ import annotations

import numpy as np
import pytest

from dcra.bench.base import Case, Choice, Skip
from dcra.bench.device import SIZES, DeviceBenchmark, problem_of, value
from dcra.bench.maxcut import complete_graph


def test_long_budgets_have_few_instances():
    cases = list(DeviceBenchmark().cases(Choice("full", sizes=["l1-1000x1000"], methods=["cuda"])))
    count, seconds = SIZES["l1-1000x1000"]
    each = {budget: sum(case.budget == budget for case in cases) for budget in seconds}
    assert each == {0.25: count, 1.0: count, 5.0: 3}


def test_instances_are_made_from_their_names():
    one, other = problem_of("l1-20x10-3"), problem_of("l1-20x10-3")
    assert (one.n, one.n_rows) == (20, 10)
    assert one.like.dtype == np.float32
    x = np.ones(20)
    assert one.objective(x) == other.objective(x) != problem_of("l1-20x10-4").objective(x)


def test_a_complete_graph_is_cut():
    problem = problem_of("complete-6-0")
    i, j, weight = complete_graph(6, np.random.default_rng(40_000))
    x = np.array([1.0, 1.0, -1.0, 1.0, -1.0, -1.0])
    assert problem.objective(x) == pytest.approx(-weight[x[i] != x[j]].sum())


@pytest.mark.parametrize("instance", ["l1-30x20-0", "complete-20-0", "batch-5-8x6-0"])
def test_the_cpu_has_rows_and_a_page(instance):
    found = DeviceBenchmark().run(Case(instance, "cpu", budget=0.02))
    row = {"method": "cpu", "budget": 0.02, "instance": instance, **found}
    assert np.isfinite(value(row))
    sections = DeviceBenchmark().report([row])
    assert [section.title for section in sections][1:] == ["Means", "Paces"]


def test_without_a_device_a_case_is_skipped(monkeypatch):
    monkeypatch.setattr("dcra.accelerator.device.why_not", lambda *_: "there is none")
    with pytest.raises(Skip, match="there is none"):
        DeviceBenchmark().run(Case("l1-30x20-0", "cuda", budget=0.02))
