"""What a solve is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

from dcra._array import Array, is_array, on_accelerator
from dcra.accelerator.device import check_device, number_under, why_not
from dcra.engines.base import Engine
from dcra.messages import suggest
from dcra.model.operators import as_operator
from dcra.model.pool import Pool
from dcra.model.problem import Problem
from dcra.model.watch import Watch
from dcra.result import Moment, Result
from dcra.search.checks import (
    check_callable,
    check_count,
    check_gap,
    check_jobs,
    check_seconds,
    check_target,
)
from dcra.search.state import Limits, Search
from dcra.search.threads import default_jobs
from dcra.search.workers import WINDOW


@dataclass(frozen=True, eq=False)
class SolveOptions:
    """What a solve is asked for, as the user gave it."""

    method: str | Engine = "auto"
    time_limit: float | None = None
    starts: int | None = None
    target: float | None = None
    seed: int | None = None
    x0: Array | Result | None = None
    callback: Callable[[Moment], Any] | None = None
    n_jobs: int | None = None
    gap: float | None = None
    pool: int | Pool | None = None
    fixed: Any = None
    executor: Any = None
    window: int | None = None
    device: str | None = None
    on_tick: Callable[[Search], None] | None = None  # called often by whoever drives the search

    def limits(self, problem: Problem) -> Limits:
        """The limits, checked; one thread drives an accelerator, with one beside it if A is on the host."""
        jobs = check_jobs("n_jobs", self.n_jobs)
        if self.device not in (None, "cpu"):
            jobs = min(jobs or default_jobs(), 2)
        limits = Limits(
            time_limit=check_seconds("time_limit", self.time_limit),
            starts=check_count("starts", self.starts),
            target=check_target(self.target),
            callback=check_callable(self.callback),
            n_jobs=1 if on_accelerator(problem.like) else jobs or default_jobs(),
            clock=time.perf_counter,
            gap=check_gap(self.gap),
            window=check_count("window", self.window) or WINDOW,
        )
        if self.executor is None:
            return limits
        from dcra.machines.hiring import with_executor

        return with_executor(limits, self.executor, problem, jobs)


KEYWORDS = (*(field.name for field in fields(SolveOptions) if field.name != "on_tick"), "progress")
"""What calls that end in **options take."""


def check_keywords(given: Iterable[str]) -> None:
    """A TypeError that names the first keyword that is none of these."""
    for name in given:
        if name not in KEYWORDS:
            raise TypeError(suggest("**options", name, KEYWORDS))


def begin(device: str | None, like: Any) -> float:
    """The moment that a call begins: devices are looked for before, which is CuPy's import the first time."""
    if is_array(like) and (number := number_under(like)) is not None:
        why_not(number)
    check_device(device)
    return time.perf_counter()


def watch_for(begun: float, time_limit: float | None) -> Watch | None:
    """The watch of a call that began then; None where its time is not limited."""
    limit = check_seconds("time_limit", time_limit)
    return None if limit is None else Watch(time.perf_counter, begun + limit)


def watched_operator(A: Any, watch: Watch | None) -> Any:
    """A, or, of a LinearOperator whose products may be slow, what the time suffices for."""
    return A if watch is None or not callable(getattr(A, "matvec", None)) else as_operator(A, watch)
