"""Rows that were edited, cut or made up: they are left out and named, and the rest is reported."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dcra.bench import rows
from dcra.bench.base import Choice
from dcra.bench.faults import Malformed, parse_row, sound
from dcra.bench.html import page
from dcra.bench.report import Report, make_report
from dcra.bench.runner import run
from dcra.cli import run as command

from .test_report import data_of

RESULTS = Path(__file__).parents[2] / "docs" / "results"
GOOD: dict[str, Any] = {
    "instance": "small-0",
    "method": "good",
    "seed": 0,
    "status": "ok",
    "fun": 1.0,
    "wall": 0.1,
}

LINES = {
    "a line of brackets": b"[" * 100_000,
    "brackets in a field": json.dumps(GOOD).encode()[:-1] + b', "extra": ' + b"[" * 300 + b"]" * 300 + b"}",
    "not JSON": b'{"instance": "sm',
    "no object": b"[1, 2]",
    "an endless number": json.dumps(GOOD).replace("1.0", "9" * 5000).encode(),
    "a huge number": json.dumps(GOOD).replace("1.0", "9" * 400).encode(),
    "bytes": b"\xff\xfe\x00",
    **{
        f"{name} is {value!r}": json.dumps(GOOD | {name: value}).encode()
        for name, value in [
            *(
                ("instance", ["a"]),
                ("method", {}),
                ("seed", "0"),
                ("seed", None),
                ("budget", "1s"),
                ("status", 3),
            ),
            *(("fun", "low"), ("fun", True), ("wall", []), ("history", "long"), ("history", [[1]])),
            *(
                ("history", [[1, "2"]]),
                ("environment", 3),
                ("benchmark", ["toy"]),
                ("reason", {}),
                ("cpu", "x"),
            ),
        ]
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run("toy", Choice(instances=2, methods=["good"]), tmp_path / "toy")
    return tmp_path / "toy"


def add(folder: Path, *lines: bytes) -> None:
    with (folder / rows.ROWS).open("ab") as file:
        file.writelines(line + b"\n" for line in lines)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_malformed_line_is_named_and_left_out(folder, line, capsys):
    add(folder, line)
    assert len(rows.read(folder)) == 4
    assert command(["report", str(folder)]) == 0
    err = capsys.readouterr().err
    assert "left out: rows.jsonl, line 5: " in err
    last = data_of((folder / "report.html").read_text())["sections"][-1]
    assert (last["title"], last["rows"][0][0]) == ("Left out", "rows.jsonl, line 5")
    with pytest.raises(Malformed):
        parse_row(line)
    assert command(["bench", "toy", "--instances", "2", "--methods", "good", "--out", str(folder)]) == 0
    assert "1 damaged lines were set aside" in capsys.readouterr().err
    assert command(["report", str(folder)]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "change", [{"fun": None}, {"n": {"a": 1}}, {"n": []}, {"environment": {"dcra": [[]]}}]
)
def test_rows_that_a_report_stumbles_over_are_named(folder, change):
    wrong = GOOD | {"instance": "odd-0"} | change
    add(folder, json.dumps(wrong).encode(), json.dumps(GOOD | {"method": "other"}).encode())
    made = make_report(folder)
    names = {where for where, _ in made.left_out}
    assert names <= {"odd-0|good|0|own"}
    assert len(made.rows) == 6 - len(names)
    page(made)


def test_unfit_rows_are_found_among_many():
    def report(found: list[dict[str, Any]]) -> None:
        assert all(row["k"] % 37 for row in found), "no multiples"

    kept, wrong = sound([{"k": k} for k in range(1, 200)], report)
    assert [row["k"] for row, _ in wrong] == [37, 74, 111, 148, 185]
    assert len(kept) == 194
    assert wrong[0][1] == "AssertionError: no multiples"


def test_a_packed_file_that_is_cut_short_is_read_as_far_as_it_goes(folder, tmp_path):
    command(["bench", "merge", str(tmp_path / "packed"), str(folder), "--pack"])
    file = tmp_path / "packed" / rows.PACKED
    file.write_bytes(file.read_bytes()[:-12])
    made = make_report(tmp_path / "packed")
    assert 1 <= len(made.rows) <= 4
    assert any("line" in where for where, _ in made.left_out)
    assert rows.repair(tmp_path / "packed") >= 1
    assert rows.faults(tmp_path / "packed") == []


def test_packed_rows_swell_no_further_than_allowed(folder, monkeypatch):
    monkeypatch.setattr("dcra.io.limits.MODEST_BYTES", 1000)
    (folder / rows.ROWS).unlink()
    (folder / rows.PACKED).write_bytes(gzip.compress(b"\n" * 10_000_000))
    with pytest.raises(ValueError, match=r"rows\.jsonl\.gz: .* expands to more than"):
        rows.read(folder)


@pytest.mark.parametrize("text", ["[" * 100_000, "{}", '{"benchmark": ["toy"], "version": 1}', "[]"])
def test_labels_that_are_none(folder, text, capsys):
    (folder / "bench.json").write_text(text)
    assert command(["report", str(folder)]) == 2
    assert "bench.json is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["<!--<script>", "</script>", "<!--", "@data@", "\u2028", "\ud800", "]]>"])
def test_no_text_in_a_row_can_spoil_the_page(text):
    found = data_of(page(Report("x", "t", text, [], [GOOD | {"instance": text}])))
    assert found["lead"] == text
    made = page(Report("x", "t", text, [], []))
    assert "<!--<script>" not in made
    assert made.count("</script>") == made.count("<script") == 2


def test_a_full_disk_leaves_no_report(folder, tmp_path, monkeypatch, capsys):
    def full(self: Path, *_: object, **__: object) -> None:
        self.touch()
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_text", full)
    out = tmp_path / "page.html"
    assert command(["report", str(folder), "--out", str(out)]) == 2
    assert capsys.readouterr().err == f"dcra: {out}: No space left on device\n"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["toy"]


def test_a_full_disk_leaves_no_drafts_of_rows(folder, monkeypatch, capsys):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = sorted(entry.name for entry in folder.iterdir())
    monkeypatch.setattr(rows, "_flush", full)
    with pytest.raises(OSError, match="No space left"):
        rows.replace(folder / rows.ROWS, [b"{}\n"])
    assert sorted(entry.name for entry in folder.iterdir()) == before
    assert command(["bench", "merge", str(folder.parent / "all"), str(folder)]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert not any((folder.parent / "all").iterdir())


@pytest.mark.parametrize("name", sorted(path.parent.name for path in RESULTS.glob("*/rows.jsonl*")))
def test_published_rows_are_sound(name, tmp_path):
    shutil.copytree(RESULTS / name, tmp_path / name)
    assert rows.faults(tmp_path / name) == []
