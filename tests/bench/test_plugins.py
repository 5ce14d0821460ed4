"""Benchmarks and methods of others: by 'module:Class', and by entry points of an installed package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dcra.bench.registry import find_benchmark
from dcra.cli import run as command

EXAMPLES = Path(__file__).parents[2] / "examples"

ENTRY_POINTS = """[dcra.benchmarks]
sums = own_benchmark:Sums
[dcra.methods]
quick-anneal = own_benchmark:quick_anneal
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder of an installed package that offers a benchmark and a method."""
    folder = tmp_path / "site" / "sums-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: sums\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder.parent


def dcra(*words: str, path: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": path}
    order = [sys.executable, "-m", "dcra", *words]
    return subprocess.run(order, capture_output=True, text=True, env=environment, cwd=cwd, check=False)


def test_a_benchmark_by_its_path(tmp_path):
    words = ("bench", "own_benchmark:Sums", "--instances", "1", "--quiet")
    done = dcra(*words, path=str(EXAMPLES), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "bench-own_benchmark-Sums"
    assert json.loads((folder / "bench.json").read_text())["benchmark"] == "own_benchmark:Sums"
    done = dcra("report", folder.name, path=str(EXAMPLES), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "numbers split into two halves" in (folder / "report.html").read_text().lower()


@pytest.mark.usefixtures("compiled_loops")
def test_entry_points_have_names(package, tmp_path):
    path = f"{package}{os.pathsep}{EXAMPLES}"
    assert "sums          numbers split" in dcra("bench", "--list", path=path, cwd=tmp_path).stdout
    words = (
        "bench",
        "sums",
        "--methods",
        "quick-anneal,random",
        "--instances",
        "1",
        "--quiet",
        "--out",
        "out",
    )
    done = dcra(*words, path=path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "out" / "rows.jsonl").read_text().splitlines()]
    found = {row["method"]: row["fun"] for row in rows}
    assert found["quick-anneal"] < found["random"]
    words = (
        "bench",
        "table1",
        "--sizes",
        "100x50",
        "--instances",
        "1",
        "--methods",
        "quick-anneal",
        "--quiet",
    )
    assert dcra(*words, "--budget", "own", "--out", "two", path=path, cwd=tmp_path).returncode == 0
    assert dcra("report", "two", path=path, cwd=tmp_path).returncode == 0
    assert "quick-anneal" in (tmp_path / "two" / "report.html").read_text()


def test_what_is_no_benchmark_is_refused(capsys):
    with pytest.raises(ValueError, match=r"no benchmark at 'nowhere:Thing'.*PYTHONPATH"):
        find_benchmark("nowhere:Thing")
    with pytest.raises(ValueError, match=r"'json:loads' must be a subclass of dcra\.bench\.base\.Benchmark"):
        find_benchmark("json:loads")
    assert command(["bench", "nowhere:Thing"]) == 2
    assert "no benchmark at 'nowhere:Thing'" in capsys.readouterr().err
