"""Reports: what is common to all benchmarks, the page, pictures, and the command line around them."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from dcra.bench import rows
from dcra.bench.base import Choice
from dcra.bench.figures import draw_all
from dcra.bench.html import page
from dcra.bench.report import Report, make_report
from dcra.bench.runner import run
from dcra.bench.sections import Figure, Heat, Panel, ReportTable, Series
from dcra.cli import run as command

SERIES = [
    Series("a", [1, 10, 100], [3, 2, 1], [2, 1, 0.5], [4, 3, 2], strong=True),
    Series("b", [1, 10, 100], [1, None, 2], kind="step"),
    Series("c", [1, 10], [1.5, 2.5], [0.5, 1], [2, 3], kind="points", bars=True),
]
HEAT = Heat([0.1, 0.2, 0.3], [1, 2], [[0, 1, None], [0.5, 0.2, 1]], "rate")
FIGURE = Figure(
    "Some <curves>",
    [
        Panel("Logarithmic", "x", "y", SERIES, log_x=True, log_y=True),
        Panel("Map", "u", "v", SERIES[:1], HEAT),
    ],
    "What they are.",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    from dcra.bench.registry import BENCHMARKS

    from . import toy

    made: Path = tmp_path_factory.mktemp("runs") / "toy"
    BENCHMARKS[toy.NAME] = toy.PATH
    try:
        run("toy", Choice(instances=2, methods=["good", "raises", "skips"]), made)
    finally:
        del BENCHMARKS[toy.NAME]
    return made


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">\n(.*?)\n</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_a_report_says_what_was_not_run_and_where(folder):
    made = make_report(folder)
    words, values, missing, where = made.sections
    assert words.title == "In short"
    assert isinstance(values, ReportTable)
    assert len(values.rows) == 4
    assert missing.rows == [
        ["raises", "failed", 4, "ZeroDivisionError: no such luck"],
        ["skips", "skipped", 4, "not on this day"],
    ]
    assert dict(where.rows)["rows"] == "12"
    assert dict(where.rows)["threads"] == "1"
    assert made.lead == "Nothing much. Made from 4 finished rows, 8 others."


def test_rows_can_be_chosen(folder):
    made = make_report(folder, ["instance=small-0,small-1", "method=good"])
    assert len(made.rows) == 2
    assert [part.title for part in made.sections] == ["In short", "Values", "Environment"]
    with pytest.raises(ValueError, match="has no rows that meet `--where`"):
        make_report(folder, ["seed=77"])


def test_rows_of_another_version_are_refused(folder, tmp_path):
    label = json.loads((folder / "bench.json").read_text())
    (tmp_path / "bench.json").write_text(json.dumps(label | {"version": 9}))
    with pytest.raises(
        ValueError, match="holds rows of version 9 of benchmark toy; this dcra reports on version 1"
    ):
        make_report(tmp_path)
    (tmp_path / "bench.json").write_text(json.dumps(label))
    with pytest.raises(ValueError, match="has no rows"):
        make_report(tmp_path)


def test_the_page_holds_everything(folder):
    made = make_report(folder)
    text = page(made)
    data = data_of(text)
    assert [part["kind"] for part in data["sections"]] == ["text", "table", "table", "table"]
    packed = gzip.decompress(base64.b64decode(data["rows"])).splitlines()
    assert [json.loads(line) for line in packed] == rows.read(folder)
    assert text == page(made)
    assert not re.search(r'(src|href)="(?!data:|#)|@import|url\((?!#)', text.replace("url(#${clip})", ""))


def test_nothing_in_the_data_ends_its_element():
    made = Report("x", "</script><b>", "", [FIGURE], [{"reason": "</script>"}])
    text = page(made)
    assert data_of(text)["title"] == "</script><b>"
    assert text.count("</script>") == 2


@pytest.mark.parametrize(("form", "begin"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_pictures(tmp_path, form, begin):
    files = list(draw_all(Report("x", "", "", [FIGURE, FIGURE], []), tmp_path / "figures", form))
    assert [file.name for file in files] == [f"01-some-curves.{form}", f"02-some-curves.{form}"]
    assert all(file.read_bytes().startswith(begin) for file in files)


def test_the_command(folder, tmp_path, capsys):
    assert command(["report", str(folder), "--out", str(tmp_path / "page.html"), "--figures", "png"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'page.html'}\n"
    assert command(["report", str(folder)]) == 0
    assert (folder / "report.html").read_text() == (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["report", "nowhere"], "nowhere: there is no such folder"),
        (["report", "."], r"has no bench\.json: it is not the output of `dcra bench`"),
        (["report", "FOLDER", "--out", "nowhere/page.html"], "--out: there is no directory nowhere"),
        (["report", "FOLDER", "--figures", "gif"], "`--figures` must be one of png, pdf; got 'gif'"),
        (["report", "FOLDER", "--where", "metod=a"], "`--where` must be one of .*did you mean 'method'"),
        (["bench", "tabel1"], "`benchmark` must be one of .*got 'tabel1'; did you mean 'table1'"),
        (["bench", "toy", "--methods", "god"], "`methods` must be one of .*did you mean 'good'"),
        (["bench", "toy", "--sizes", "smal"], "`sizes` must be one of .*did you mean 'small'"),
        (["bench", "toy", "--budget", "much"], "`--budget` must be a number or 'own'; got 'much'"),
        (["bench", "toy", "--preset", "huge"], "`preset` must be one of small, full; got 'huge'"),
        (["bench", "toy", "--jobs", "0"], "`jobs` must be at least 1; got 0"),
        (["bench", "table1", "--out", "FOLDER"], "holds rows of benchmark toy, not of table1"),
        (["bench", "toy", "--out", "FOLDER/rows.jsonl"], r"rows\.jsonl: File exists"),
        (["bench", "merge", "FOLDER", "FOLDER"], "is not empty: merge into a new folder"),
    ],
)
def test_bad_input_is_one_line(folder, tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    code = command([word.replace("FOLDER", str(folder)) for word in words])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("dcra: ")
    assert err.count("\n") == 1
    assert re.search(message, err)


def test_benchmarks_are_listed(capsys):
    assert command(["bench", "--list"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^table1 +the paper's Table 1", out, re.MULTILINE)
    assert re.search(r"^toy +nothing much", out, re.MULTILINE)
    assert command(["bench", "table1", "--help"]) == 0
    assert "100x50" in capsys.readouterr().out


def test_a_run_from_the_command_line(tmp_path, capsys):
    words = ["bench", "toy", "--instances", "1", "--methods", "good,skips", "--out", str(tmp_path / "out")]
    assert command(words) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"4 rows added (2 ok, 2 skipped); see `dcra report {tmp_path / 'out'}`\n", "")
    with (tmp_path / "out" / rows.ROWS).open("ab") as file:
        file.write(b'{"instance": "sm')
    assert command(words) == 0
    out, err = capsys.readouterr()
    assert out.startswith("0 rows added (none were missing)")
    assert "1 damaged lines were set aside in" in err
    assert "4 of 4 rows are there already" in err
    words = ["bench", "merge", str(tmp_path / "all"), str(tmp_path / "out"), "--where", "method=good"]
    assert command(words) == 0
    assert capsys.readouterr().out == f"2 rows in {tmp_path / 'all'}\n"
