"""The examples of docs/scale.md: the table is printed, and the formula is near the simulator."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_workers_of_the_example_have_one_answer():
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    words = ["--size", "30", "40", "--starts", "3", "--workers", "1", "2"]
    command = [sys.executable, str(EXAMPLES / "cluster.py"), *words]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == "30 x 40, 3 starts"
    assert [line.split()[:2] for line in lines[2:]] == [
        ["1", "threads"],
        ["2", "threads"],
        ["1", "workers"],
        ["2", "workers"],
    ]
    assert {line.split()[3] for line in lines[2:]} == {"yes"}


@pytest.mark.parametrize(
    ("workers", "window", "job", "binds"),
    [
        (10, 20, 1.0, "workers"),
        (100, 8, 1.0, "window"),
        (2000, 4000, 1.0, "scheduler"),
        (4, 400, 0.5, "workers"),
    ],
)
def test_the_formula_is_near_the_simulator(workers, window, job, binds):
    model = load("scaling_model")
    rate = model.simulated(workers, window, job, 1e-3, 2e-3, jobs=20 * workers)
    guess, binding = model.predicted(workers, window, job, 1e-3, 2e-3)
    assert binding == binds
    assert rate == pytest.approx(guess, rel=0.25)


def test_a_window_of_one_is_one_worker():
    model = load("scaling_model")
    one = model.simulated(1, 1, 1.0, 0.0, 0.0, jobs=50)
    assert model.simulated(9, 1, 1.0, 0.0, 0.0, jobs=50) == pytest.approx(one)
    assert model.broadcast(1e9, 1023, 1e9) == 10.0
