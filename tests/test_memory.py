"""Memory of one call: a dense A is never copied more often than its storage asks for."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import dcra

ROWS, COLUMNS = 3000, 4000
MEGABYTE = 10**6
LAYOUTS = {"float64 F": 1.5, "float32 F": 1.5, "float64 C": 2.0, "float32 C": 2.0}
"""Copies of A, itself included, that a call may hold at its peak."""


def matrix(layout, rows=ROWS, columns=COLUMNS):
    dtype, order = layout.split()
    A = np.empty((rows, columns), dtype, order)
    for j in range(0, columns, 200):
        block = A[:, j : j + 200]
        block[...] = np.random.default_rng(j).standard_normal(block.shape, np.float32)
    return A


def warm_up(layout):
    """Load all code that a solve needs."""
    dcra.minimize(matrix(layout, 20, 30), np.ones(20), starts=1)


def solve(A):
    return dcra.minimize(A, np.ones(len(A)), time_limit=1.5, seed=0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_allocated(layout):
    """Counted by tracemalloc, which sees every NumPy allocation and nothing else of the process."""
    warm_up(layout)
    tracemalloc.start()
    try:
        A = matrix(layout)
        solve(A)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= LAYOUTS[layout] * A.nbytes + 64 * MEGABYTE


STATUS = Path("/proc/self/status")
SCRIPT = """
import sys

from test_memory import STATUS, matrix, solve, warm_up

def resident(field):
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])

warm_up(sys.argv[1])
before = resident("VmRSS")
A = matrix(sys.argv[1])
solve(A)
print(resident("VmHWM") - before)
"""


@pytest.mark.skipif(not STATUS.exists(), reason="the kernel does not tell")
@pytest.mark.parametrize("layout", ["float64 F", "float64 C"])
def test_memory_of_the_process(layout):
    """Peak resident memory, in a process of its own."""
    command = [sys.executable, "-c", SCRIPT, layout]
    folder = Path(__file__).parent
    output = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    size = ROWS * COLUMNS * 8
    assert size <= int(output) <= LAYOUTS[layout] * size + 200 * MEGABYTE
