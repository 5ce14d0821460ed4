"""The live line of a running search, on a terminal or below a notebook's cell."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from dcra.result import gap_text

if TYPE_CHECKING:
    from rich.console import Console

    from dcra.search.state import Search

Tick = Callable[["Search"], None]

REDRAW = 0.2
"""Seconds between two drawings in a notebook."""

SHOW_AFTER = 1.0
"""Seconds before anything is shown: quick solves stay silent."""


@contextmanager
def live(search: Search) -> Iterator[Tick]:
    """Show a search while it runs: yields a function to be called now and then.

    In a notebook it is a bar below the cell, elsewhere a line on stderr; both are wiped at the end. Where
    stderr is not a terminal nothing is shown.
    """
    display, console = notebook(), terminal()
    if display is None and console is None:
        yield lambda search: None
        return
    line: _Line | _Cell = _Line(console) if display is None else _Cell(display)  # type: ignore[arg-type]
    try:
        yield line.tick
    finally:
        line.close()


@contextmanager
def counted(total: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    """A bar of so many things, in a notebook or on a terminal: yields a function of how many are done."""
    display, console = (notebook(), terminal()) if wanted else (None, None)
    if display is not None:
        cell, begun = _Cell(display), time.perf_counter()
        try:
            yield lambda done: cell.draw(time.perf_counter() - begun, done / total, f"{done} of {total}")
        finally:
            cell.close()
        return
    if console is None:
        yield lambda done: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress

    with Progress(BarColumn(), MofNCompleteColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


def terminal() -> Console | None:
    """The terminal behind stderr, if there is one that can redraw a line."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return None
    from rich.console import Console

    return Console(stderr=True)


def notebook() -> Any:
    """IPython's `display`, where there is a notebook to show things in."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if not hasattr(shell, "kernel"):
        return None
    return import_module("IPython.display").display


def figures(search: Search) -> str:
    """Where a search stands, in words."""
    parts = [f"{search.seconds:.1f} s"]
    if isfinite(search.fun):
        parts.append(f"best {search.fun:.6g}")
    if search.lower_bound > -inf:
        parts.append(f"bound {search.lower_bound:.6g}")
        known = isfinite(search.fun)
        parts.append(gap_text(search.fun, search.lower_bound, digits=1) if known else "gap unknown")
    parts.append(f"{search.finished} starts")
    if search.proof is not None:
        parts.append(f"{search.proof.nodes} nodes, {search.proof.n_open} open")
    return "   ".join(parts)


def share_done(search: Search) -> float | None:
    """How much of the time limit, or else of the starts, is used up; None where there is no end in sight."""
    limits = search.limits
    shares = [search.finished / limits.most_starts]
    if limits.time_limit is not None:
        shares.append(search.seconds / limits.time_limit)
    return min(1.0, max(shares)) if any(shares) else None


class _Cell:
    """The same below a notebook's cell, drawn anew now and then."""

    def __init__(self, display: Any) -> None:
        self.display, self.drawn = display, -inf
        self.handle: Any = None

    def tick(self, search: Search) -> None:
        self.draw(search.seconds, share_done(search), figures(search))

    def draw(self, seconds: float, share: float | None, text: str) -> None:
        """Show how much is done, unless it is early, or was shown a moment ago."""
        if seconds < SHOW_AFTER or seconds - self.drawn < REDRAW:
            return
        self.drawn = seconds
        value = "" if share is None else f" value='{share:.3f}'"
        self._show(f"<progress{value}></progress> <code>{text}</code>")

    def close(self) -> None:
        if self.handle is not None:
            self._show("")

    def _show(self, html: str) -> None:
        bundle = {"text/html": html, "text/plain": ""}
        if self.handle is None:
            self.handle = self.display(bundle, raw=True, display_id=True)
        else:
            self.handle.update(bundle, raw=True)


class _Line:
    """A bar and figures, drawn from the first tick that comes late enough."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.bar: Any = None

    def tick(self, search: Search) -> None:
        if self.bar is None:
            if search.seconds < SHOW_AFTER:
                return
            self.bar = self._begin()
        share = share_done(search)
        self.bar.update(
            self.task, completed=share or 0.0, total=None if share is None else 1.0, text=figures(search)
        )
        self.bar.refresh()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()

    def _begin(self) -> Any:
        from rich.progress import BarColumn, Progress, TextColumn

        bar = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}", markup=False),
            console=self.console,
            auto_refresh=False,  # drawn by ticks alone: no thread of its own
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        bar.start()
        self.task = bar.add_task("", total=1.0, text="")
        return bar
