"""How far a run has come, on a terminal only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dcra.bench.base import Case, Row
from dcra.progress import terminal

GUESS, OVERHEAD = 1.0, 0.05
"""Seconds that a case without a budget may take, and what every case takes on top."""

Begin = Callable[[list[Case]], Callable[[Case, Row], None]]


@contextmanager
def watching(quiet: bool = False) -> Iterator[Begin]:
    """Yields the function that begins a bar for some cases and returns the one that is told each row."""
    console = None if quiet else terminal()
    if console is None:
        yield lambda cases: lambda case, row: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        BarColumn(bar_width=24),
        TextColumn("{task.fields[rows]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[text]}", markup=False),
        console=console,
        transient=True,
        speed_estimate_period=600,
    )

    def begin(cases: list[Case]) -> Callable[[Case, Row], None]:
        total, seen = len(cases), Counter[str]()
        task = bar.add_task("", total=sum(map(weight, cases)), rows=f"0/{total}", text="")

        def tell(case: Case, row: Row) -> None:
            seen[row["status"]] += 1
            rest = "".join(f"  {count} {status}" for status, count in seen.items() if status != "ok")
            text = f"{case.instance} {case.method}{rest}"
            bar.update(task, advance=weight(case), rows=f"{seen.total()}/{total}", text=text)

        return tell

    with bar:
        yield begin


def weight(case: Case) -> float:
    """The seconds that a case is expected to take."""
    return OVERHEAD + (GUESS if case.budget is None else case.budget)
