"""A slice of the campaign on damaged files, and the campaign itself."""

from __future__ import annotations

import os
import random
import signal

import numpy as np
import pytest

from tests.campaign.files import Reader, campaign, report
from tests.campaign.mutate import mutated, shrunk
from tests.campaign.samples import PART_OF, samples

FAST = [name for name in samples() if not name.endswith((".lp", ".mps", ".mps.gz"))]


def test_every_sample_can_be_read(tmp_path):
    for name, data in samples().items():
        (tmp_path / name).write_bytes(data)
    with Reader() as reader:
        for name in FAST:
            found = reader.read(tmp_path / PART_OF.get(name, name))
            assert (found["read"], found["fault"]) == (True, ""), (name, found)


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_files(seed):
    tally = campaign(seed, files=800, only=FAST)
    assert not tally.findings, report(tally, seed)
    assert tally.tried.total() == 800
    assert 40 < tally.read.total() < 760  # some damage does no harm, and most is noticed


def test_damaged_models():
    pytest.importorskip("highspy", exc_type=ImportError)
    tally = campaign(3, files=6, only=["a.lp", "a.mps", "a.mps.gz"])
    assert not tally.findings, report(tally, 3)


def test_damage_comes_from_the_seed():
    for name, data in samples().items():
        once, again = (mutated(data, random.Random(f"{name} 5")) for _ in range(2))
        if not name.endswith((".gz", ".npz")):  # what is packed again holds the time
            assert once == again


def test_findings_are_shrunk():
    assert shrunk(b"abcdefXghijkYlmno", lambda data: b"X" in data and b"Y" in data) == b"XY"


def test_a_reader_that_dies_or_hangs_is_a_finding(tmp_path, monkeypatch):
    (tmp_path / "a.cnf").write_bytes(b"p cnf 1 1\n1 0\n")
    with Reader(seconds=20) as reader:
        assert reader.read(tmp_path / "a.cnf")["read"]
        assert reader.child is not None
        reader.child.kill()
        assert reader.read(tmp_path / "a.cnf")["fault"] == "died (-9)"
        assert reader.read(tmp_path / "a.cnf")["fault"] == ""
        reader.seconds = 0.2
        os.kill(reader.child.pid, signal.SIGSTOP)  # it will never answer
        assert "no end in" in reader.read(tmp_path / "a.cnf")["fault"]


def test_memory_of_whoever_started_the_reader_is_not_its_own(tmp_path):
    (tmp_path / "a.cnf").write_bytes(b"p cnf 1 1\n1 0\n")
    large = np.ones(50 * 2**20)  # 400 MB
    with Reader() as reader:
        assert 0 <= reader.read(tmp_path / "a.cnf")["peak"] < large.nbytes / 2**21
