"""The live line of a running search, on a terminal only."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from dcra.result import relative_gap

if TYPE_CHECKING:
    from rich.console import Console

    from dcra.search.state import Search

Tick = Callable[["Search"], None]

SHOW_AFTER = 1.0
"""Seconds before anything is shown: quick solves stay silent."""


@contextmanager
def live(search: Search) -> Iterator[Tick]:
    """Show a search while it runs: yields a function to be called now and then.

    The line goes to stderr and is wiped at the end. Where stderr is not a terminal nothing is shown.
    """
    console = terminal()
    if console is None:
        yield lambda search: None
        return
    line = _Line(console)
    try:
        yield line.tick
    finally:
        line.close()


def terminal() -> Console | None:
    """The terminal behind stderr, if there is one that can redraw a line."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return None
    from rich.console import Console

    return Console(stderr=True)


def figures(search: Search) -> str:
    """Where a search stands, in words."""
    parts = [f"{search.seconds:.1f} s"]
    if isfinite(search.fun):
        parts.append(f"best {search.fun:.6g}")
    if search.lower_bound > -inf:
        gap = relative_gap(search.fun, search.lower_bound)
        parts.append(f"bound {search.lower_bound:.6g}")
        parts.append(f"gap {gap:.1%}" if isfinite(gap) else "gap unknown")
    parts.append(f"{search.finished} starts")
    return "   ".join(parts)


def share_done(search: Search) -> float | None:
    """How much of the time limit, or else of the starts, is used up; None where there is no end in sight."""
    limits = search.limits
    shares = [search.finished / limits.most_starts]
    if limits.time_limit is not None:
        shares.append(search.seconds / limits.time_limit)
    return min(1.0, max(shares)) if any(shares) else None


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
