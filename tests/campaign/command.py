"""The command line of a part of the campaign: --seconds and --seed in, counts and findings out.

SIGTERM ends it before its time, and what was counted is told. --rows FOLDER adds a row of it to those in a
folder, as benchmarks have them.
"""

from __future__ import annotations

import argparse
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

from dcra.bench.environment import describe_environment
from dcra.bench.rows import ROWS, line_of

asked_to_end = Event()


def listen() -> None:
    """From now on SIGTERM ends what asks `until`."""
    signal.signal(signal.SIGTERM, lambda number, frame: asked_to_end.set())


def until(seconds: float) -> Callable[[], bool]:
    """Whether to go on, from now."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end and not asked_to_end.is_set()


def publish(folder: Path | None, part: str, seed: int, **what: Any) -> None:
    """Add what a part of the campaign, or a call of its grid, came to."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    head = {"benchmark": "campaign", "instance": part, "method": "campaign", "seed": seed, "budget": None}
    with (folder / ROWS).open("ab") as file:  # one write of one line: parts may run side by side
        file.write(line_of({**head, "status": "ok", **what, "environment": describe_environment(1, 1)}))


def main(about: str | None, run: Callable[[float, int], tuple[Counter[str], list[str]]]) -> int:
    """Run, print the counts; 1 where anything was found."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=Path, help="a folder to which a row with the counts is added")
    given = parser.parse_args()
    listen()
    begin = time.monotonic()
    counts, found = run(given.seconds, given.seed)
    part, wall = Path(run.__code__.co_filename).stem, time.monotonic() - begin
    publish(given.rows, part, given.seed, wall=wall, counts=dict(counts), findings=found)
    for what, count in sorted(counts.items()):
        print(f"{count:8d}  {what}")
    print(f"{len(found)} findings")
    return bool(found)
