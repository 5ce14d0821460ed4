"""Runs: every case becomes a row, whatever happens to it, to the run or to the disk."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dcra.bench import folder, rows
from dcra.bench.base import Case, Choice
from dcra.bench.runner import LOG, Options, cases_of, finished, run

from . import toy

TOY = f"""
from dcra.bench.registry import BENCHMARKS
BENCHMARKS["toy"] = "{toy.PATH}"
from dcra.cli import main
main()
"""


def start(out: Path, *words: str) -> subprocess.Popen[bytes]:
    """The command line in a process of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", TOY, "bench", "toy", "--out", str(out), *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def values(out: Path) -> dict[str, Any]:
    """What was measured, by key; every key must be there once."""
    found = rows.read(out)
    assert len({rows.key_of(row) for row in found}) == len(found)
    return {rows.key_of(row): row.get("fun") for row in found}


def statuses(out: Path) -> dict[str, str]:
    return {row["method"]: row["status"] for row in rows.read(out)}


def reasons(out: Path) -> dict[str, str]:
    return {row["method"]: row.get("reason", "") for row in rows.read(out)}


def test_rows_say_all(tmp_path):
    outcome = run("toy", Choice(instances=1, sizes=["large"]), tmp_path / "out")
    (row,) = rows.read(tmp_path / "out")
    assert (outcome.planned, outcome.known, dict(outcome.added)) == (1, 0, {"ok": 1})
    wanted = {"benchmark": "toy", "instance": "large-0", "method": "good", "seed": 0, "budget": None}
    assert wanted.items() <= row.items()
    assert (row["status"], row["fun"], row["wall"], row["cpu"]) == ("ok", 10.0, 0.5, 0.25)
    assert row["importing"] >= 0
    known = {
        "dcra",
        "commit",
        "python",
        "numpy",
        "scipy",
        "system",
        "processor",
        "cores",
        "threads",
        "jobs",
    }
    assert known == row["environment"].keys()


def test_a_benchmark_cannot_rename_its_case():
    made = finished("toy", Case("i", "m", 3, 0.5), {"status": "ok", "method": "other", "fun": 1.0}, {})
    assert list(made)[:5] == ["benchmark", "instance", "method", "seed", "budget"]
    assert (made["method"], made["fun"]) == ("m", 1.0)


def test_a_second_run_adds_what_is_missing(tmp_path):
    run("toy", Choice(instances=1), tmp_path)
    before = rows.read(tmp_path)
    outcome = run("toy", Choice(instances=2), tmp_path)
    assert (outcome.known, outcome.added.total()) == (2, 2)
    assert rows.read(tmp_path)[:2] == before
    assert run("toy", Choice(instances=2), tmp_path).added.total() == 0


def test_methods_that_go_wrong_are_rows(tmp_path):
    methods = ["raises", "crashes", "exits", "skips", "unavailable", "missing", "prints", "good"]
    run("toy", Choice(sizes=["small"], instances=1, methods=methods), tmp_path)
    assert statuses(tmp_path) == {
        "raises": "failed",
        "crashes": "crashed",
        "exits": "failed",
        "skips": "skipped",
        "unavailable": "skipped",
        "missing": "skipped",
        "prints": "ok",
        "good": "ok",
    }
    said = reasons(tmp_path)
    assert said["raises"] == "ZeroDivisionError: no such luck"
    assert said["crashes"] == "its process ended with signal SIGKILL"
    assert said["exits"] == "SystemExit: 3"
    assert said["unavailable"] == "the licence is too small"
    assert said["missing"] == "no module named 'oracle'"
    assert (tmp_path / LOG).read_text().splitlines()[-2:] == ["chatter on stdout", "and below Python"]


def test_a_method_that_hangs_is_given_up(tmp_path):
    choice = Choice(sizes=["small"], instances=1, methods=["hangs", "good"])
    run("toy", choice, tmp_path, Options(grace=0.2))
    assert statuses(tmp_path) == {"hangs": "timeout", "good": "ok"}
    assert reasons(tmp_path)["hangs"].startswith("no answer 0.205 s after the start")


def test_failed_rows_are_run_again_when_asked(tmp_path):
    choice = Choice(sizes=["small"], instances=1, methods=["raises", "good"])
    run("toy", choice, tmp_path)
    assert run("toy", choice, tmp_path).added.total() == 0
    assert dict(run("toy", choice, tmp_path, Options(retry=True)).added) == {"failed": 1}
    assert len(values(tmp_path)) == 2


def test_jobs_side_by_side(tmp_path):
    run("toy", Choice(instances=4, methods=["good", "raises"]), tmp_path, Options(jobs=2))
    assert len(values(tmp_path)) == 16
    assert {row["environment"]["jobs"] for row in rows.read(tmp_path)} == {2}


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_killed_three_times_and_run_again(tmp_path):
    words = ["--methods", "slow", "--instances", "10"]
    out = tmp_path / "killed"
    for count in (2, 7, 13):
        with start(out, *words) as process:
            while process.poll() is None and len(rows.read(out)) < count:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
        assert count <= len(rows.read(out)) < 20
    with start(out, *words) as process:
        process.communicate()
    run("toy", Choice(instances=10, methods=["slow"]), tmp_path / "undisturbed")
    assert values(out) == values(tmp_path / "undisturbed")
    assert len(values(out)) == 20


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for child processes")
def test_ctrl_c_keeps_the_rows(tmp_path):
    out = tmp_path / "out"
    with start(out, "--methods", "slow", "--instances", "50") as process:
        while process.poll() is None and not rows.read(out):
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert b"stopped; rows so far are in" in err
    assert b"Traceback" not in err
    assert values(out)


def test_a_torn_last_line_is_set_aside(tmp_path):
    run("toy", Choice(instances=2), tmp_path)
    whole = values(tmp_path)
    file = tmp_path / rows.ROWS
    data = file.read_bytes()
    file.write_bytes(data[:-20])
    torn = data.splitlines()[-1][:-19]
    outcome = run("toy", Choice(instances=2), tmp_path)
    assert (outcome.torn, outcome.added.total()) == (1, 1)
    assert (tmp_path / rows.TORN).read_bytes() == torn + b"\n"
    assert values(tmp_path) == whole


def test_a_last_line_that_lacks_its_end_alone_is_kept(tmp_path):
    run("toy", Choice(instances=1), tmp_path)
    file = tmp_path / rows.ROWS
    file.write_bytes(file.read_bytes()[:-1])
    assert run("toy", Choice(instances=2), tmp_path).torn == 0
    assert len(values(tmp_path)) == 4


def test_two_runs_do_not_share_a_folder(tmp_path):
    with folder.locked(tmp_path), pytest.raises(ValueError, match=r"another run is writing to .*: wait"):
        run("toy", Choice(), tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"benchmark": "table1"}, "holds rows of benchmark table1, not of toy: give `--out` another folder"),
        ({"version": 0}, "holds rows of benchmark version 0, not of 1"),
        ({"dcra": "0.0.1"}, r"holds rows of dcra 0\.0\.1, not of"),
    ],
)
def test_rows_of_something_else_are_refused(tmp_path, change, message):
    run("toy", Choice(instances=1), tmp_path)
    label = folder.read_label(tmp_path)
    (tmp_path / folder.LABEL).write_text(json.dumps(label | change))
    before = (tmp_path / rows.ROWS).read_bytes()
    with pytest.raises(ValueError, match=message):
        run("toy", Choice(), tmp_path)
    assert (tmp_path / rows.ROWS).read_bytes() == before


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(ValueError, match="has files of its own: give `--out` a new or an empty folder"):
        run("toy", Choice(), tmp_path)


def test_a_damaged_label_is_said(tmp_path):
    (tmp_path / folder.LABEL).write_text("{")
    with pytest.raises(ValueError, match=r"bench\.json is damaged"):
        run("toy", Choice(), tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_said(tmp_path):
    run("toy", Choice(instances=1), tmp_path)
    file = tmp_path / rows.ROWS

    def fill(outcome: Any, cases: Any) -> Any:
        file.rename(tmp_path / "aside")
        file.symlink_to("/dev/full")
        return lambda case, row: None

    said = r"rows\.jsonl: No space left on device; the rows so far are intact"
    with pytest.raises(OSError, match=said) as error:
        run("toy", Choice(instances=2), tmp_path, begin=fill)
    assert error.value.errno == errno.ENOSPC


def test_half_a_row_is_taken_back(tmp_path, monkeypatch):
    with rows.Appender(tmp_path) as file:
        file.add({"instance": "a", "method": "m", "seed": 0})
        write, calls = os.write, []

        def fill(descriptor: int, data: bytes) -> int:
            calls.append(data)
            if len(calls) > 1:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(descriptor, data[:5])

        monkeypatch.setattr(os, "write", fill)
        with pytest.raises(OSError, match="No space left"):
            file.add({"instance": "b", "method": "m", "seed": 0})
    assert [row["instance"] for row in rows.read(tmp_path)] == ["a"]
    assert (tmp_path / rows.ROWS).read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (Choice(preset="medium"), "`preset` must be one of small, full; got 'medium'"),
        (Choice(sizes=["lage"]), "`sizes` must be one of small, large; got 'lage'; did you mean 'large'"),
        (Choice(methods=["god"]), "`methods` must be one of .*did you mean 'good'"),
        (Choice(instances=0), "`instances` must be at least 1; got 0"),
        (Choice(budget=-1.0), "`budget` must be a positive factor; got -1"),
    ],
)
def test_bad_choices(tmp_path, choice, message):
    with pytest.raises(ValueError, match=message):
        run("toy", choice, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_cases_of_a_folder_once_more(tmp_path):
    run("toy", Choice(instances=2, methods=["good"]), tmp_path / "out")
    cases = cases_of(tmp_path / "out", ["instance=small-1,large-0"])
    outcome = run("toy", Choice(cases=cases), tmp_path / "again")
    assert {case.instance for case in cases} == {row["instance"] for row in rows.read(tmp_path / "again")}
    assert outcome.planned == len(cases) >= 1
    with pytest.raises(ValueError, match="there are no rows"):
        cases_of(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--where", "method=good"], "there is no `--like`"),
        (["--like", "out", "--methods", "good"], "say `--where method=A,B` instead"),
        (["--like", "nowhere"], "nowhere: there are no rows"),
    ],
)
def test_what_goes_with_like(tmp_path, words, message):
    process = start(tmp_path / "new", *words)
    assert message in process.communicate()[1].decode()
    assert process.returncode == 2


def test_bad_options():
    with pytest.raises(ValueError, match="`jobs` must be at least 1; got 0"):
        Options(jobs=0)
    with pytest.raises(ValueError, match="`threads` must be at least 1; got -2"):
        Options(threads=-2)
