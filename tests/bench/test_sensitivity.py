"""Benchmark `sensitivity`: the values tried, a solve for each study, and the numbers of its report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcra.bench.base import Case, Choice
from dcra.bench.sensitivity import STUDIES, Sensitivity, study_of
from dcra.bench.sensitivity_report import sections
from dcra.compiled.units import Units
from dcra.engines.dcra import DCRA


def test_full_is_the_papers_study():
    cases = list(Sensitivity().cases(Choice("full", sizes=["500x300"], methods=["rank", "rho", "delta"])))
    counts: dict[str, int] = {}
    for case in cases:
        counts[case.method] = counts.get(case.method, 0) + 1
    ranks = {name: count for name, count in counts.items() if name.startswith("rank")}
    assert list(ranks.values()) == [50] * 7 + [10] * 4
    factors = [study_of(name)[1] for name in counts if name.startswith("rho")]
    assert factors == pytest.approx(np.geomspace(1e-3, 1e3, 13))
    assert len({case.key for case in cases}) == len(cases)


def test_engines_are_in_natural_units():
    units = Units((2.0,), 4.0)
    assert STUDIES["rho"].make(0.5, units, 11) == DCRA(rho_init=2.0)
    assert STUDIES["delta"].make(0.5, units, 11) == DCRA(smoothing=(1.0,))
    assert STUDIES["rank"].make(1000, units, 11) == DCRA(rank=11, rank_one=True)


@pytest.mark.parametrize(
    "method", ["rank=1", "rank=1e+03", "rho=1", "delta=1", "sweeps=10", "sweep-kappa=1", "sweep-power=0.5"]
)
def test_one_start_of_each_study(method):
    made = Sensitivity().run(Case("l1-30x20-0", method, 0))
    assert made["study"] == method.partition("=")[0]
    assert made["value"] == (31 if method == "rank=1e+03" else float(method.partition("=")[2]))
    assert 0 < made["fun"] < 200
    assert made["steps"] > 0


def test_the_report_has_means_and_deviations():
    def row(size: str, value: float, seed: int, fun: float) -> dict[str, Any]:
        fields = {"size": size, "study": "rho", "value": value, "seed": seed, "fun": fun}
        return fields | {"wall": 0.1 * seed, "floor": 5.0}

    found = [row("500x300", value, seed, value * 10 + seed) for value in (2.0, 1.0) for seed in (1, 2, 3)]
    text, figure, table = sections(found)
    assert text.paragraphs == [
        "Engine dcra: initial rho / natural unit: at 500x300 the mean objective is lowest at 1 (12), within "
        "2 % of that from 1 to 1, and 83.3% higher at worst."
    ]
    objective, runtime = figure.panels
    assert (objective.log_x, objective.log_y, objective.series[0].bars) == (True, True, True)
    assert objective.series[0].x == [1.0, 2.0]
    assert objective.series[0].y == [12.0, 22.0]
    assert objective.series[0].low == [11.0, 21.0]
    assert runtime.series[0].y == pytest.approx([0.2, 0.2])
    assert table.rows[0] == ["500x300", 1.0, 3, 12.0, 1.0, 2.4, pytest.approx(0.2), pytest.approx(0.1)]


def test_rank_one_needs_its_switch():
    with pytest.raises(ValueError, match=r"`rank` must be at least 2 .* `rank_one=True` allows\); got 1"):
        DCRA(rank=1)
    with pytest.raises(ValueError, match="got 0"):
        DCRA(rank=0, rank_one=True)
