"""The command line of a part of the campaign: --seconds and --seed in, counts and findings out.

SIGTERM ends it before its time, and what was counted is told.
"""

from __future__ import annotations

import argparse
import signal
import time
from collections import Counter
from collections.abc import Callable
from threading import Event

asked_to_end = Event()


def listen() -> None:
    """From now on SIGTERM ends what asks `until`."""
    signal.signal(signal.SIGTERM, lambda number, frame: asked_to_end.set())


def until(seconds: float) -> Callable[[], bool]:
    """Whether to go on, from now."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end and not asked_to_end.is_set()


def main(about: str | None, run: Callable[[float, int], tuple[Counter[str], list[str]]]) -> int:
    """Run, print the counts; 1 where anything was found."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    listen()
    counts, found = run(given.seconds, given.seed)
    for what, count in sorted(counts.items()):
        print(f"{count:8d}  {what}")
    print(f"{len(found)} findings")
    return bool(found)
