"""Locks for threads, and what a fork leaves of them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from dcra.foreign import Lock

FORKED = """
import os, signal, threading
import numpy as np
import dcra
from dcra.compiled import form, quadratic

inside, leave = threading.Event(), threading.Event()

def hold():
    with form._building.held, quadratic._building.held:
        inside.set()
        leave.wait()

threading.Thread(target=hold).start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)
    dcra.solve(dcra.Problem(quadratic=np.ones((9, 9))), method="anneal", starts=1, seed=0)
    os._exit(0)
print(os.waitpid(child, 0)[1])
leave.set()
"""


def ran(program):
    command = [sys.executable, "-W", "ignore", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.strip()


def test_one_thread_at_a_time_and_that_one_again():
    lock, order = Lock(), []
    other = threading.Thread(target=lambda: [lock.held.acquire(), order.append("other"), lock.held.release()])
    with lock.held:
        other.start()
        with lock.held:
            order.append("first")
        order.append("first")
    other.join()
    assert order == ["first", "first", "other"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_forked_child_solves_while_its_parent_builds_tables():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.split() == ["0"], done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_thread_that_forks_inside_leaves_in_the_child_too():
    inside = """
import os
from dcra.foreign import Lock

lock = Lock()
with lock.held:
    child = os.fork()
with lock.held:
    pass
if child:
    print(os.waitpid(child, 0)[1])
"""
    assert ran(inside) == "0"
