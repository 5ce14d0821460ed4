"""Every page begins with two sentences that are made from its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dcra.bench.in_short import NOTHING, best_objectives, best_retrieval, fewest_errors, quickest_proofs
from dcra.bench.registry import find_benchmark
from dcra.bench.report import make_report
from dcra.bench.sections import Figure, Text

RESULTS = Path(__file__).parents[2] / "docs" / "results"
SETS = sorted(path.parent.name for path in RESULTS.glob("*/bench.json"))


@pytest.mark.parametrize("name", SETS)
def test_published_pages_begin_with_what_they_show(name):
    first = make_report(RESULTS / name).sections[0]
    assert isinstance(first, Text)
    assert first.title == "In short"
    words = " ".join(first.paragraphs)
    assert words.count(". ") >= 1
    assert any(letter.isdigit() for letter in words)


def row(method: str, index: int, fun: float) -> dict[str, Any]:
    return {"instance": f"i{index}", "seed": 0, "budget": 1.0, "method": method, "fun": fun}


def test_objectives():
    rows = [*(row("a", i, 1.0) for i in range(4)), *(row("b", i, i / 2) for i in range(4))]
    assert best_objectives(rows, ["a", "b"]) == (
        "Of 4 cases that two methods or more have answered, b has the lowest objective, alone or with "
        "others, in 75% of those that it has answered. "
        "a is no worse than each of the others in 50% of the cases or more (the least against b, 4 cases)."
    )
    assert best_objectives(rows[1:], ["b", "a"]).endswith(
        "of the cases or more (the least against a, 3 cases)."
    )
    assert best_objectives(rows[:2] + rows[4:6], ["b", "a"]).endswith("b is never worse than another method.")
    listed = [one | {"listed": [2.0 if i else 0.5]} for i, one in enumerate(rows[:4])]
    assert best_objectives(listed, ["a"]) == (
        "4 rows, none of two methods on the same instance. The best listed value is reached, or passed, on 3 "
        "of 4 instances that have one."
    )
    assert best_objectives(rows[:4], ["a"]).endswith("There is nothing to compare them with.")


def test_what_was_solved_in_part_is_not_compared_with_the_whole():
    rows = [row("auto", 0, 1.0) | {"solved": 10}, row("flip", 0, 0.1) | {"solved": 1}]
    assert find_benchmark("xstep").message(rows).startswith("2 rows, none of two methods")


def test_errors():
    def cell(method: str, snr: int, wrong: int) -> dict[str, Any]:
        return {"size": "s", "snr": snr, "method": method, "wrong": wrong, "bits": 100}

    rows = [cell("mmse", 4, 30), cell("mmse", 8, 20), cell("detect", 4, 20), cell("detect", 8, 10)]
    assert fewest_errors(rows) == (
        "Of 2 systems and SNRs, detect has the fewest wrong bits, alone or with others, in 2. On those where "
        "MMSE ran too, its mean bit error rate is 0.1500, that of MMSE 0.2500."
    )
    assert fewest_errors([]) == NOTHING


def test_retrieval():
    def cell(method: str, value: float) -> dict[str, Any]:
        return {"instance": "mnist-16-all", "method": method, "map_hash": value}

    rows = [cell("ours", 0.9), cell("paper-a", 0.5), cell("paper-b", 0.6)]
    assert best_retrieval(rows, "ours", ["paper-a", "paper-b"]) == (
        "ours has the highest mAP (hash function on both sides) in 1 of 1 data sets and bits. In the paper's "
        "model, of the solvers of the X-step the highest mAP has: paper-b in 1 of 1."
    )


def test_bits_are_the_ticks():
    figures = [part for part in make_report(RESULTS / "hashing").sections if isinstance(part, Figure)]
    by_bits = [panel for figure in figures for panel in figure.panels if panel.x_label == "bits"]
    assert by_bits
    assert all(list(panel.x_ticks) == [16, 32, 64, 96] for panel in by_bits)


def test_proofs_are_compared_where_both_were_found():
    def row(instance, method, cpu, proved=True):
        return {"instance": instance, "method": method, "cpu": cpu, "proved": proved}

    rows = [
        row("a", "exact", 0.1),
        row("a", "milp", 3.0),
        row("b", "exact", 1.0),
        row("b", "milp", 60.0, False),
    ]
    said = quickest_proofs([*rows, row("c", "exact", 60.0, False)], "exact")
    assert said.startswith("exact proves 2 of 3 problems.")
    assert "milp 1 of 2, in 30.0 times the CPU seconds (median)." in said
    assert quickest_proofs([], "exact") == NOTHING
    assert quickest_proofs(rows[:1], "exact") == "exact proves 1 of 1 problems."
