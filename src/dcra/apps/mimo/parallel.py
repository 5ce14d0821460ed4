"""Frames on threads."""

from __future__ import annotations

from collections.abc import Callable

from dcra.lockstep import Stop, in_parallel

GRAIN = 32
"""Jobs that a thread takes at a time, where there are many."""


def spread(work: Callable[[int, int], None], count: int, n_jobs: int) -> None:
    """work(lo, hi) over all of range(count), by n_jobs threads; Ctrl-C raises, for half an answer is none."""
    stop = Stop(None)
    in_parallel(work, count, n_jobs, max(1, min(GRAIN, -(-count // n_jobs))), stop)
    if stop.why is not None:
        raise KeyboardInterrupt
