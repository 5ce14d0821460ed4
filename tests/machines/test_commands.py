"""The command line on a cluster: the answers and the rows of one machine."""

from __future__ import annotations

import json
import socket
import sys

import pytest
from click.testing import CliRunner

import dcra
from dcra.bench import rows
from dcra.bench.base import Choice
from dcra.bench.registry import BENCHMARKS
from dcra.bench.runner import Options, run
from dcra.cli import run as command
from dcra.cli.solve import solve
from dcra.machines import clusters
from tests.bench import toy
from tests.machines.problems import dense


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "problem.npz"
    dcra.io.write(path, dense(0))
    return str(path)


def answer(words):
    done = CliRunner().invoke(
        solve, [*words, "--json", "--quiet", "--starts", "9", "--seed", "5"], standalone_mode=False
    )
    assert done.exception is None, done.output
    return json.loads(done.stdout)


def test_a_file_is_solved_by_a_cluster(file, cluster):
    here = answer([file])
    there = answer([file, "--scheduler", cluster.scheduler_address])
    assert (here["x"], here["fun"], here["window"]) == (there["x"], there["fun"], 8)
    assert answer([file, "--window", "2"])["window"] == 2


def test_a_file_is_solved_by_workers_of_its_own(file):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    assert answer([file, "--workers", "1"])["x"] == answer([file])["x"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--scheduler", "tcp://127.0.0.1:1"], "there is no scheduler at tcp://127.0.0.1:1: "),
        (["--scheduler", "nonsense"], "there is no scheduler at nonsense: "),
        (["--scheduler", "tcp://127.0.0.1:1", "--workers", "2"], "give one of the two"),
        (["--workers", "0"], "--workers must be at least 1; got 0"),
    ],
)
def test_what_is_no_cluster_is_said(words, sentence, file, capsys, monkeypatch):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.setattr(clusters, "SECONDS", 0.2)
    assert command(["solve", file, *words]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_without_dask_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    cluster = clusters.cluster(workers=1)
    with pytest.raises(ValueError, match=r"a cluster needs dask\.distributed: pip install 'dcra\[dask\]'"):
        cluster.__enter__()


def test_cases_run_on_a_cluster(tmp_path, client, monkeypatch):
    monkeypatch.setitem(BENCHMARKS, toy.NAME, toy.PATH)
    choice = Choice(instances=2, sizes=["large"])
    run("toy", choice, tmp_path / "here")
    run("toy", Choice(instances=1, sizes=["large"]), tmp_path / "there")
    outcome = run("toy", choice, tmp_path / "there", Options(executor=client))
    assert (outcome.known, outcome.added.total()) == (1, 1)  # it goes on with what there is
    here, there = (rows.read(tmp_path / name) for name in ("here", "there"))
    by_key = {rows.key_of(row): row["fun"] for row in there}
    assert by_key == {rows.key_of(row): row["fun"] for row in here}
    assert (there[1]["host"], there[1]["side_by_side"]) == (socket.gethostname(), 3)
    assert "host" not in there[0]
