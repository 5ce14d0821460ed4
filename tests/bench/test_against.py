"""`dcra report --against METHOD`: one method against each of the others, in any benchmark."""

from __future__ import annotations

from typing import Any

import pytest

from dcra.bench.against import against, check_method
from dcra.bench.sections import ReportTable, Text
from dcra.cli import run as command


def row(method: str, index: int, fun: float, **fields: Any) -> dict[str, Any]:
    return {"instance": f"i{index}", "seed": 0, "method": method, "fun": fun, "budget": 1.0, **fields}


ROWS = [
    *(row("a", i, 10.0, size="s" if i < 2 else "t") for i in range(4)),
    *(row("b", i, fun, size="s" if i < 2 else "t") for i, fun in enumerate([20.0, 20.0, 10.0, 5.0])),
    *(row("c", i, 5.0, size="s" if i < 2 else "t") for i in range(4)),
]


def test_wins_ties_and_differences():
    text, overall, sized = against("a", ROWS)
    assert isinstance(text, Text)
    assert text.paragraphs == [
        "At 1 s a is strictly better in most instances than nobody. It is worse in most than c (0%)."
    ]
    assert isinstance(overall, ReportTable)
    assert overall.rows == [
        ["b", 4, 50.0, 25.0, pytest.approx(100 * (-0.5 - 0.5 + 0 + 1) / 4)],
        ["c", 4, 0.0, 0.0, pytest.approx(100)],
    ]
    assert isinstance(sized, ReportTable)
    assert sized.rows == [["s", "100 (-50)", "0 (+100)"], ["t", "0 (+50)", "0 (+100)"]]


def test_budgets_are_kept_apart():
    rows = [*ROWS, *(row("a", 0, 1.0, budget=None), row("b", 0, 2.0, budget=None))]
    titles = [part.title for part in against("a", rows)]
    assert "a against each rival at 1 s" in titles
    assert "a against each rival to its own end" in titles
    factors = [one | {"factor": 10.0} for one in ROWS]
    assert "at 10 x the paper's seconds" in against("a", factors)[1].title


def test_a_method_alone_is_told():
    assert against("a", ROWS[:4])[0].paragraphs == ["No other method has rows on the instances of a."]


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="`--against` must be one of a, b, c; got 'd'"):
        check_method("d", ROWS)


def test_the_command(tmp_path, capsys):
    words = ["bench", "table1", "--sizes", "100x50", "--instances", "1", "--methods", "flip,random"]
    assert command([*words, "--budget", "own", "--quiet", "--out", str(tmp_path / "out")]) == 0
    assert command(["report", str(tmp_path / "out"), "--against", "flip"]) == 0
    assert "flip against each of the others" in (tmp_path / "out" / "report.html").read_text()
    capsys.readouterr()
    assert command(["report", str(tmp_path / "out"), "--against", "flop"]) == 2
    assert "did you mean 'flip'" in capsys.readouterr().err
