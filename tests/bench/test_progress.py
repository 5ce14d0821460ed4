"""Progress and environment: what is shown, and what a row says of its machine."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from dcra.bench import environment, progress
from dcra.bench.base import Case
from dcra.search.threads import default_jobs

CASES = [Case("small-0", "good", 0, 2.0), Case("small-1", "raises", 1, None)]


def test_nothing_is_shown_without_a_terminal(capsys):
    with progress.watching() as begin:
        begin(CASES)(CASES[0], {"status": "ok"})
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_rows_and_what_went_wrong(monkeypatch):
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=120)
    monkeypatch.setattr(progress, "terminal", lambda: console)
    with progress.watching() as begin:
        tell = begin(CASES)
        tell(CASES[0], {"status": "ok"})
        tell(CASES[1], {"status": "failed"})
    assert "2/2" in out.getvalue()
    assert "small-1 raises  1 failed" in out.getvalue()


def test_weights_are_expected_seconds():
    assert progress.weight(CASES[0]) == pytest.approx(2.05)
    assert progress.weight(CASES[1]) == pytest.approx(1.05)


def test_the_environment_is_plain():
    found = environment.describe_environment(threads=3, jobs=2)
    assert (found["threads"], found["jobs"]) == (3, 2)
    assert all(isinstance(value, str | int | None) for value in found.values())


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert environment.commit.__wrapped__() is None


def test_threads_of_a_solve(monkeypatch):
    for name, value in environment.thread_variables(3).items():
        monkeypatch.setenv(name, value)
    assert default_jobs() == 3
    monkeypatch.setenv("DCRA_NUM_THREADS", "many")
    assert default_jobs() >= 1
