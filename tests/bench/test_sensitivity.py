"""Benchmark `sensitivity`: the values tried, a solve for each study, and the numbers of its report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcra.bench.base import Case, Choice
from dcra.bench.sensitivity import STUDIES, Sensitivity, study_of
from dcra.bench.sensitivity_report import sections
from dcra.bench.sensitivity_words import PAPER_SAYS, beside_the_paper, message, sentence
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
    "method",
    [
        *("paper-rank=1e+03", "paper-rho=0.1", "paper-delta=10", "rank=1", "rank=1e+03", "rho=1", "delta=1"),
        *("sweeps=10", "sweep-kappa=1", "sweep-power=0.5"),
    ],
)
def test_one_start_of_each_study(method):
    made = Sensitivity().run(Case("l1-30x20-0", method, 0))
    assert made["study"] == method.partition("=")[0]
    assert made["value"] == (31 if method.endswith("rank=1e+03") else float(method.partition("=")[2]))
    assert 0 < made["fun"] < 200
    assert made["steps"] > 0


def row(size: str, value: float, seed: int, fun: float, study: str = "rho") -> dict[str, Any]:
    fields = {"size": size, "study": study, "value": value, "seed": seed, "fun": fun}
    return fields | {"cpu": 0.1 * seed, "floor": 5.0}


def test_the_report_has_means_and_errors():
    found = [row("500x300", value, seed, value * 10 + seed) for value in (2.0, 1.0) for seed in (1, 2, 3)]
    text, words, figure, table = sections(found)
    assert text.title == "In short"
    assert words.paragraphs == [
        "Engine dcra: initial rho / natural unit: at 500x300 nothing is better than 1 by over two "
        "standard errors, and the worst value, 2, is 83.3 ± 0.0 % above."
    ]
    objective, runtime = figure.panels
    assert (objective.log_x, objective.log_y, objective.series[0].bars) == (True, True, True)
    assert objective.series[0].x == [1.0, 2.0]
    assert objective.series[0].y == [12.0, 22.0]
    assert objective.series[0].low == [11.0, 21.0]
    assert runtime.series[0].y == pytest.approx([0.2, 0.2])
    error = pytest.approx(1 / 3**0.5)
    assert table.rows[0] == ["500x300", 1.0, 3, 12.0, error, 2.4, 0.0, 0.0, "yes", pytest.approx(0.2)]
    assert table.rows[1][6:9] == [pytest.approx(1000 / 12), pytest.approx(0), "no"]


def test_noise_is_called_flat():
    """Values that differ by chance alone have no best one; one that is worse in every trial is told."""
    rng = np.random.default_rng(0)
    noise = [
        row("500x300", v, seed, 100 + rng.normal(), "paper-delta") for v in (1, 10) for seed in range(50)
    ]
    assert "flat at 500x300" in sentence("paper-delta", noise)
    assert message({"paper-delta": noise}).paragraphs == [
        "One start of the paper's preset is as good as at its best value, to two standard errors, for delta "
        "of every value at 500x300 (flat)."
    ]
    worse = [*noise, *(row("500x300", 100, seed, 103 + rng.normal(), "paper-delta") for seed in range(50))]
    assert "flat" not in sentence("paper-delta", worse)
    assert "nothing is better than 1 to 10 by over" in sentence("paper-delta", worse)


def test_one_trial_is_no_error_and_no_evidence():
    alone = [row("500x300", value, 0, fun) for value, fun in ((1.0, 10.0), (2.0, 11.0))]
    assert "the worst value, 2, is 10.0 % in one trial above" in sentence("rho", alone)
    assert sections(alone)[-1].rows[1][6:9] == [pytest.approx(10), None, "no"]


def test_the_papers_preset_is_in_absolute_units():
    units = Units((2.0,), 4.0)
    assert STUDIES["paper-rho"].make(0.5, units, 11) == DCRA.paper(rho_init=0.5)
    assert STUDIES["paper-delta"].make(0.5, units, 11) == DCRA.paper(smoothing=0.5)
    assert STUDIES["paper-rank"].make(1000, units, 11) == DCRA.paper(rank=11, rank_one=True)


def test_the_papers_words_stand_beside_the_rows():
    found = [row("500x300", value, seed, 10 - value, "paper-rank") for value in (1, 2) for seed in (1, 2)]
    (table,) = beside_the_paper({"paper-rank": found})
    assert table.rows[0][:3] == ["m", PAPER_SAYS["paper-rank"], "500x300"]
    assert table.rows[0][3].startswith("at 1: 12.5 ± 0.0 %, s.d. 0, 0.15 s; at 2 (best): 0.0")
    assert beside_the_paper({"rank": found}) == []


def test_rank_one_needs_its_switch():
    with pytest.raises(ValueError, match=r"`rank` must be at least 2 .* `rank_one=True` allows\); got 1"):
        DCRA(rank=1)
    with pytest.raises(ValueError, match="got 0"):
        DCRA(rank=0, rank_one=True)
