"""Benchmark `table1`: its cases, one solve, and the numbers of its report from rows made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcra.bench.base import Case, Choice, Skip
from dcra.bench.gaussian import instance
from dcra.bench.paper import DIFFERENCES, PAPER, WIN_RATES
from dcra.bench.sections import Figure, ReportTable, Section, Text
from dcra.bench.table1 import FOREVER, Table1
from dcra.bench.table1_report import sections

FLOOR = 50.0


def row(method: str, index: int, fun: float, factor: float | None = 1.0, **fields: Any) -> dict[str, Any]:
    return {
        "size": "100x50",
        "instance": f"l1-100x50-{index}",
        "seed": index,
        "method": method,
        "factor": factor,
        "fun": fun,
        "wall": 0.02,
        "cpu": 0.04,
        "bound": 1.0 + index,
        "history": [[0.001, 2 * fun], [0.01, fun]],
        "floor": FLOOR,
        "random": 390.0 + index,
        **fields,
    }


ROWS = [
    *(row("auto", i, fun) for i, fun in enumerate([100.0, 90.0, 80.0, 70.0])),
    *(row("anneal", i, fun) for i, fun in enumerate([200.0, 90.0, 40.0, 140.0])),
    *(row("auto", i, fun, None) for i, fun in enumerate([110.0, 100.0])),
    *(row("dcra-paper", i, fun, None) for i, fun in enumerate([140.0, 141.0])),
    *(row("mpec-epm-table", i, fun, None) for i, fun in enumerate([620.0, 640.0])),
]


def titled(parts: list[Section], title: str) -> Any:
    return next(part for part in parts if part.title.startswith(title))


def line(table: ReportTable, index: int = 0) -> dict[str, Any]:
    return dict(zip(table.columns, table.rows[index], strict=True))


def test_full_is_the_paper():
    cases = list(Table1().cases(Choice("full", methods=["auto", "milp"])))
    auto = [case for case in cases if case.method == "auto"]
    assert len({case.instance for case in cases}) == 15 * 100
    assert len(auto) == 15 * 100 * 3
    assert len(cases) - len(auto) == 15 * 100 * 2  # no end of its own
    first = [case.budget for case in auto if case.instance == "l1-100x50-0"]
    assert first == [0.017, 0.17, None]
    assert len({case.key for case in cases}) == len(cases)


def test_budgets_are_factors_or_own():
    def budgets(**choice: Any) -> set[float | None]:
        return {case.budget for case in Table1().cases(Choice(sizes=["500x500"], instances=1, **choice))}

    assert budgets(budget=2.0) == {2 * 0.9115}
    assert budgets(own=True) == {None}
    assert budgets() == {0.9115, None}
    own = {case.method for case in Table1().cases(Choice(own=True))}
    assert own == set(Table1.methods) - set(FOREVER)


def test_instances_come_from_their_names():
    one, two = instance("l1-30x20-1"), instance("l1-30x20-1")
    assert one is not two  # nothing that one solve has prepared serves another
    assert one.terms[0].A.shape == (20, 30)
    assert np.array_equal(one.terms[0].A, two.terms[0].A)
    assert not np.array_equal(one.terms[0].A, instance("l1-30x20-2").terms[0].A)


def test_a_row_is_judged():
    case = Case("l1-100x50-0", "random", 0, None)
    made = Table1().run(case)
    assert made["size"] == "100x50"
    assert made["factor"] is None
    assert made["floor"] == pytest.approx(58.71, abs=0.01)
    assert made["history"][-1][1] == pytest.approx(made["fun"])
    assert made["wall"] > 0


def test_a_method_that_is_not_there_is_skipped():
    with pytest.raises(Skip, match="dcra has no method 'oracle'"):
        Table1().run(Case("l1-100x50-0", "oracle", 0, 0.01))


def test_objectives_and_seconds():
    parts = sections(ROWS)
    objective = line(titled(parts, "Average objective at the paper's seconds"))
    assert (objective["auto"], objective["anneal"]) == (85.0, 117.5)
    assert (objective["instances"], objective["bound"]) == (4, 2.5)
    assert objective["floor"] == pytest.approx(58.71, abs=0.01)
    assert objective["random"] == pytest.approx(400.9, abs=0.1)
    assert objective["paper's DCRA"] == PAPER[100, 50].dcra == 144
    assert line(titled(parts, "Average wall"))["auto"] == pytest.approx(0.02)
    assert line(titled(parts, "Average CPU"))["anneal"] == pytest.approx(0.04)


def test_all_sizes_at_a_glance():
    found = titled(sections(ROWS), "Methods at a glance")
    lines = {cells[0]: cells[1:] for cells in found.rows}
    assert lines["auto"] == [pytest.approx(85 / FLOOR), None, None, pytest.approx(105 / FLOOR), None, None]
    assert lines["anneal"][:2] == [pytest.approx(117.5 / FLOOR), "50 (+25 ties)"]
    assert lines["anneal"][3:] == [None, None, None]


def test_wins_ties_and_differences():
    parts = sections(ROWS)
    wins = titled(parts, "Win rate of auto at the paper's seconds")
    assert line(wins)["anneal"] == "50 (+25 ties)"
    assert "strictly better judged objective" in wins.caption
    difference = titled(parts, "Mean relative difference of auto at the paper's seconds")
    assert line(difference)["anneal"] == pytest.approx(100 * (-0.5 + 0 + 1 - 0.5) / 4)
    assert "(ours - other) / other" in difference.caption
    assert line(titled(parts, "Win rate of auto to its own end"))["dcra-paper"] == 100


def test_the_papers_own_block():
    rows = [
        *(row("dcra-paper", i, fun) for i, fun in enumerate([100.0, 100.0, 100.0, 100.0])),
        *(row("l2box-admm", i, fun) for i, fun in enumerate([200.0, 200.0, 200.0, 50.0])),
    ]
    parts = sections(rows)
    assert titled(parts, "The paper's own block").paragraphs == [
        "At the paper's seconds dcra-paper wins 75% of 4 instances against L2-box ADMM "
        "(printed: 88 to 100 %)."
    ]
    shown = line(titled(parts, "DCRA's win rate at the paper's seconds"))
    assert (shown["instances"], shown["L2-box ADMM, measured"], shown["Gurobi, measured"]) == (4, 75.0, None)
    shown = line(titled(parts, "DCRA's relative difference at the paper's seconds"))
    assert shown["L2-box ADMM, measured"] == pytest.approx(100 * (3 * -0.5 + 1) / 4)
    assert shown["L2-box ADMM, printed"] == -59
    assert not any("own block" in part.title for part in sections(ROWS))


def test_printed_differences_follow_from_printed_objectives():
    """A slip of the pen in either would show: they agree to the rounding of the printed means."""
    for size, printed in PAPER.items():
        for share, other in zip(DIFFERENCES[size], printed[1:4], strict=True):
            assert share == pytest.approx(100 * (printed.dcra / other - 1), abs=2.1)
    assert [rates for rates in WIN_RATES.values() if rates != (100, 100, 100)] == [
        (100, 100, 99),
        (100, 100, 88),
    ]


def test_the_printed_columns_stand_beside_ours():
    found = titled(sections(ROWS), "The paper's printed")
    assert found.rows[0][:2] == [100, 50]
    assert found.rows[0][2:5] == [144, 140.5, pytest.approx(100 * -3.5 / 144)]
    assert found.rows[0][5:8] == [396, 391.5, pytest.approx(100 * -4.5 / 396)]
    assert found.rows[0][8:11] == [633, 630.0, pytest.approx(100 * -3 / 633)]


def test_the_printed_seconds_stand_beside_ours():
    found = line(titled(sections(ROWS), "The paper's printed seconds"))
    assert (found["paper's DCRA"], found["paper's L2-box ADMM"]) == (0.017, 0.006)
    assert found["dcra-paper"] == pytest.approx(0.02)
    assert found["l2box-admm"] is None


def test_the_words_say_where_it_wins_and_where_not():
    text = titled(sections(ROWS), "In short")
    assert isinstance(text, Text)
    first, last = text.paragraphs
    assert first.startswith(
        "At the paper's seconds (1 size, 4 instances): auto alone has the best objective in 50%"
    )
    assert "shares it in 25%" in first
    assert "70.0% above the floor" in first
    assert "41.0% below what the paper prints" in first
    assert "The closest rivals by mean relative difference are anneal (+0.0%)." in first
    assert "No rival has a better mean objective at any size." in first
    assert "dcra-paper (-25.3%), mpec-epm-table (-83.3%)" in last
    worse = [*ROWS[:4], *(row("anneal", i, 42.5) for i in range(4))]
    said = titled(sections(worse), "In short").paragraphs[0]
    assert "It does not have the best mean objective at 100x50 (anneal is 50.0% lower)." in said


def test_curves_and_profiles():
    parts = sections(ROWS)
    profiles = titled(parts, "Performance profiles")
    assert isinstance(profiles, Figure)
    assert [panel.title for panel in profiles.panels] == [
        "At the paper's seconds",
        "To its own end",
    ]
    curves = titled(parts, "Objective over time").panels[0]
    assert {one.name for one in curves.series} == {"auto", "anneal"}
    assert next(one.y[-1] for one in curves.series if one.name == "auto") == pytest.approx(85 / FLOOR)


def test_no_rows_are_no_error():
    assert titled(sections([]), "In short").paragraphs == ["There are no finished rows yet."]
