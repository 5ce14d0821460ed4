"""The live line: figures of a search, on a terminal only."""

from __future__ import annotations

import io
import sys
import threading
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import dcra
from dcra import progress as display
from dcra.engines import Engine, Starts, State
from dcra.search.state import Limits


def search(
    seconds: float = 2.0, fun: float = 8.0, bound: float = 6.0, proof: Any = None, **limits: Any
) -> Any:
    """What the display reads of a search."""
    known = {"fun": fun, "lower_bound": bound, "tiny": 0.0, "finished": 8, "proof": proof}
    return SimpleNamespace(seconds=seconds, limits=Limits(**limits), **known)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Pretend that stderr is a terminal."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=100)
    monkeypatch.setattr(display, "terminal", lambda: console)
    return written


def test_figures():
    assert display.figures(search()) == "2.0 s   best 8   bound 6   gap 25.0%   8 starts"
    assert display.figures(search(bound=-inf)) == "2.0 s   best 8   8 starts"
    assert display.figures(search(fun=inf, bound=-inf)) == "2.0 s   8 starts"
    tree = SimpleNamespace(nodes=40, n_open=3)
    assert display.figures(search(bound=-inf, proof=tree)).endswith("8 starts   40 nodes, 3 open")


class Display:
    """What IPython's `display` and its handles do with a bundle."""

    def __init__(self):
        self.shown = []

    def __call__(self, bundle, raw, display_id):
        assert raw
        assert display_id
        self.shown.append(bundle["text/html"])
        return self

    def update(self, bundle, raw):
        assert raw
        self.shown.append(bundle["text/html"])


def test_notebooks_have_a_bar_that_is_wiped(monkeypatch):
    cell = Display()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=cell))
    with display.live(search()) as tick:
        tick(search(seconds=0.5, time_limit=4.0))
        assert cell.shown == []
        tick(search(seconds=2.0, time_limit=4.0))
        tick(search(seconds=2.1, time_limit=4.0))  # too soon to be drawn again
        tick(search(seconds=3.0, fun=7.0, time_limit=4.0))
    assert len(cell.shown) == 3
    assert cell.shown[0].startswith("<progress value='0.500'></progress> <code>2.0 s   best 8")
    assert "best 7" in cell.shown[1]
    assert cell.shown[2] == ""


def test_batches_have_a_bar_in_notebooks(monkeypatch):
    cell, clock = Display(), iter([0.0, 0.5, 2.0, 2.1, 3.0])
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=cell))
    monkeypatch.setattr(display.time, "perf_counter", lambda: next(clock))
    with display.counted(4, wanted=True) as show:
        for done in (1, 2, 3, 4):
            show(done)
    assert cell.shown == [
        "<progress value='0.500'></progress> <code>2 of 4</code>",
        "<progress value='1.000'></progress> <code>4 of 4</code>",
        "",
    ]
    with display.counted(4, wanted=False) as show:
        show(1)
    assert len(cell.shown) == 3


def test_other_shells_are_no_notebooks(monkeypatch):
    for shell in (None, object()):
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        assert display.notebook() is None
    monkeypatch.delitem(sys.modules, "IPython")
    assert display.notebook() is None


def test_share_done():
    assert display.share_done(search(time_limit=8.0)) == 0.25
    assert display.share_done(search(starts=16)) == 0.5
    assert display.share_done(search()) == 0.25  # of the 32 starts that are the default
    assert display.share_done(search(time_limit=8.0, starts=16)) == 0.5
    assert display.share_done(search(seconds=9.0, time_limit=8.0)) == 1


def test_the_line_is_drawn_and_wiped(screen):
    with display.live(search()) as tick:
        tick(search(time_limit=4.0))
        assert "best 8   bound 6   gap 25.0%" in screen.getvalue()
        tick(search(seconds=3.0, fun=7.0, time_limit=4.0))
        assert "best 7" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")


def test_quick_solves_stay_silent(screen):
    with display.live(search()) as tick:
        tick(search(seconds=0.9 * display.SHOW_AFTER))
    assert screen.getvalue() == ""


def test_the_line_is_wiped_after_an_interrupt(screen):
    def interrupted() -> None:
        with display.live(search()) as tick:
            tick(search())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert screen.getvalue().endswith("\x1b[2K")


def test_nothing_without_a_terminal(capsys, rng):
    assert display.terminal() is None
    with display.live(search()) as tick:
        tick(search())
    result = dcra.minimize(rng.standard_normal((5, 6)), np.ones(5), seed=0, progress=True)
    assert result.success
    assert capsys.readouterr().err == ""


def test_terminals(monkeypatch):
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True, write=len, flush=lambda: None))
    monkeypatch.setenv("TERM", "xterm")
    assert display.terminal() is not None
    monkeypatch.setenv("TERM", "dumb")
    assert display.terminal() is None
    monkeypatch.setattr(sys, "stderr", None)
    assert display.terminal() is None


def test_solve_draws_the_line_while_it_waits(screen, monkeypatch, rng):
    drawn = threading.Event()

    class Waiting(State):
        done = False

        def advance(self, work: int) -> None:
            self.done = drawn.wait(0.01)

        def candidates(self) -> Any:
            return np.ones((1, 6))

    class Wait(Engine):
        name = "wait"

        def start(self, compiled: Any, starts: Starts) -> State:
            return Waiting()

    def tick(self: Any, search: Any) -> None:
        original(self, search)
        drawn.set()

    original = display._Line.tick
    monkeypatch.setattr(display._Line, "tick", tick)
    monkeypatch.setattr(display, "SHOW_AFTER", 0.0)
    dcra.minimize(rng.standard_normal((5, 6)), np.ones(5), method=Wait(), starts=1, seed=0, progress=True)
    assert "0 starts" in screen.getvalue()
