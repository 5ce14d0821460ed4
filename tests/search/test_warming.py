"""Loops that are loaded behind calls which have no time for it."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import defaultdict

import pytest

from dcra._kernels import loading
from dcra.search import warming


@pytest.fixture
def threads(monkeypatch):
    """What would have been started."""
    started = []

    class Thread:
        def __init__(self, target, args, name):
            self.call = (target, args)

        def start(self):
            started.append(self.call)

    monkeypatch.setattr(warming.threading, "Thread", Thread)
    monkeypatch.setattr(warming, "_short_calls", defaultdict(itertools.count))
    monkeypatch.setattr(loading, "cached", lambda family="losses": True)
    yield started
    loading.behind.clear()


@pytest.mark.parametrize("family", ["losses", "couplings", "clauses"])
def test_the_second_short_call_loads_its_own_loops_once(threads, family):
    for calls in (0, 1, 1, 1):
        warming.after_short_call(family)
        assert len(threads) == calls
    target, arguments = threads[0]
    assert arguments == (family,)
    target(*arguments)
    assert loading.loaded(family)


@pytest.mark.parametrize("family", ["losses", "couplings", "clauses"])
def test_warming_needs_the_loops(family):
    """In a process of its own: a problem that is solved at a glance would warm nothing."""
    script = (
        "from importlib import import_module\n"
        "from dcra.search import warming\n"
        "from dcra._kernels.loading import MODULES\n"
        f"warming._warm({family!r})\n"
        f"loops = vars(import_module(MODULES[{family!r}])).values()\n"
        "assert any(getattr(loop, 'signatures', None) for loop in loops)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_loops_that_are_not_compiled_are_named_once(threads, monkeypatch, recwarn):
    monkeypatch.setattr(loading, "cached", lambda family: False)
    with pytest.warns(RuntimeWarning, match="run `dcra warmup` once"):
        warming.after_short_call("losses")
    warming.after_short_call("losses")
    assert not recwarn
    assert not threads


@pytest.mark.parametrize("family", loading.MODULES)
def test_a_second_is_worth_loading_but_not_compiling(family, monkeypatch):
    """What loops find in two tenths of a second is better than what array code finds in one."""
    monkeypatch.setattr(loading, "loaded", lambda family: False)
    monkeypatch.setattr(loading, "available", lambda: True)
    for cached, seconds, worth in ((True, 1.0, True), (True, 0.5, False), (False, 1.0, False)):
        monkeypatch.setattr(loading, "cached", lambda family, answer=cached: answer)
        assert loading.affordable(seconds, family) is worth
