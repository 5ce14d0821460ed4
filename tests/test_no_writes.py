"""A solve writes no file: it goes on where home, package and the disk are read-only or full."""

from __future__ import annotations

import subprocess
import sys

import pytest

WATCHED = """
import os, sys
wanted = []
def watch(event, given):
    if event == "open":
        path, mode, flags = given
        if path != os.devnull and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
            wanted.append(f"open {path!r}")
    elif event in ("os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink", "os.truncate"):
        wanted.append(f"{event} {given[0]!r}")
sys.dont_write_bytecode = True
sys.addaudithook(watch)
"""

SOLVES = {
    "losses": "dcra.minimize(np.ones((8, 30)), np.arange(8.0), seed=0, starts=4)",
    "quadratic": "dcra.solve(dcra.Problem(quadratic=np.eye(40)[::-1]), seed=0, starts=4)",
    "counts": "dcra.minimize(np.ones((8, 9)), np.ones(8), constraints=dcra.exactly(3), seed=0, starts=4)",
    "clauses": "maxsat.solve([[1, -2], [2, 3], [-1, -3]], hard=[[1, 2, 3]], seed=0)",
    "many": "dcra.minimize_batch(np.ones((6, 5)), np.ones((6, 40)), seed=0)",
}


@pytest.mark.parametrize("solve", SOLVES)
def test_a_solve_writes_nothing(solve, tmp_path):
    imports = "import numpy as np, dcra\nfrom dcra.apps import maxsat"
    code = f"{WATCHED}\n{imports}\n{SOLVES[solve]}\nprint(wanted)\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"


def test_the_watch_sees_writes(tmp_path):
    code = f"{WATCHED}\nopen('a', 'w').close()\nos.mkdir('b')\nprint(len(wanted))\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "2\n"
