"""Frames on threads."""

from __future__ import annotations

from collections.abc import Callable

from dcra._kernels import library
from dcra.batch.lockstep import Stop, in_parallel
from dcra.result import Status

GRAIN = 8 if library.available() else 64
"""Jobs that a thread takes at a time, where there are many; array code has them move in step."""


class Threads:
    """Several threads that share work, until Ctrl-C or a time limit: what is left then is left undone."""

    def __init__(self, n_jobs: int = 1, time_limit: float | None = None, begun: float | None = None) -> None:
        self.n_jobs = n_jobs
        self.stop = Stop(time_limit, begun)

    @property
    def why(self) -> Status | None:
        """Why work was left undone, if any was."""
        return self.stop.why

    @property
    def left(self) -> float | None:
        """Seconds left; None where they are not counted."""
        return self.left_but(0.0)

    def left_but(self, kept: float) -> float | None:
        """Seconds left if some are kept for later; None where they are not counted."""
        return max(self.stop.left - kept, 1e-3) if self.stop.timed else None

    @property
    def interrupted(self) -> bool:
        return self.stop.why is Status.INTERRUPTED

    def interrupt(self) -> None:
        self.stop.why = Status.INTERRUPTED

    def spread(self, work: Callable[[int, int], None], count: int) -> None:
        """work(lo, hi) over all of range(count), a few at a time."""
        in_parallel(work, count, self.n_jobs, max(1, min(GRAIN, -(-count // self.n_jobs))), self.stop)

    def must_have_finished(self) -> None:
        """Raise, after Ctrl-C, where half of an answer is none."""
        if self.interrupted:
            raise KeyboardInterrupt
