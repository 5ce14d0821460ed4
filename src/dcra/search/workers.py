"""The workers of a search. The calling thread is one of them: with as many threads as cores, a separate
dispatcher would have to wait for a core whenever a task ends.

Each worker takes a job, does it, and hands in the outcome under one lock. Without a time limit outcomes count
in the order of their jobs, and job k + window is chosen just after the outcome of job k was taken note of:
what was known when a job was chosen does not depend on the number of workers, nor on where they are.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from typing import Any

WINDOW = 8
"""Jobs open at a time when outcomes count in order, by default: the same at any number of workers."""

PATIENCE = 0.05
"""Seconds after which a waiting worker looks again whether the search has ended."""


@dataclass
class Job:
    """Something to do outside the lock, and what to make of its outcome inside.

    `task` says the same as `run` to workers on other machines; None where it must be done here.
    """

    run: Callable[[Callable[[], None]], Any]
    absorb: Callable[[Any], None]
    task: Any = None
    outcome: Any = None
    finished: bool = field(default=False)


class NobodyLeft(RuntimeError):
    """The workers are gone, and their engine brings no others; the message says how."""


class Crew:
    """Carries out jobs until there are none.

    Parameters
    ----------
    next_job : callable
        Gives a job, or None when there is none at present; called under the lock.
    halted : callable
        Whether to end now; called by all.
    tick : callable
        Called by the main thread every few milliseconds.
    in_order : bool
        Whether outcomes count in the order of their jobs.
    window : int
        How many jobs are open at most where they do.
    """

    def __init__(
        self,
        next_job: Callable[[], Job | None],
        halted: Callable[[], bool],
        tick: Callable[[], None],
        in_order: bool,
        window: int = WINDOW,
    ) -> None:
        self.next_job, self.halted, self.tick = next_job, halted, tick
        self.in_order, self.window = in_order, window
        self.open: deque[Job] = deque()  # chosen, but not yet taken note of
        self.ready: deque[Job] = deque()  # chosen, but not yet begun
        self.lock = threading.Condition()
        self.error: BaseException | None = None
        self.halt: Callable[[], None] = _end_soon

    def run(self, n_workers: int, halt: Callable[[], None]) -> None:
        """Work with `n_workers` threads, this one included; `halt` makes all of them end."""
        self.halt = halt
        self._fill()
        others: list[Future[None]] = [workers().submit(self._help) for _ in range(n_workers - 1)]
        try:
            self._work(self.tick)
            while wait(others, timeout=PATIENCE).not_done:
                self.tick()
        except BaseException:
            halt()
            wait(others)
            raise
        if self.error is not None:
            raise self.error

    def _help(self) -> None:
        """What another thread does; no error of its own gets lost, or leaves the others waiting."""
        try:
            self._work(_nothing)
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Keep an error for the caller, and let the others end."""
        with self.lock:
            self.error = self.error or error
            self.lock.notify_all()
        self.halt()

    def is_next(self, job: Job) -> bool:
        """Whether what a job tells on its way counts now: those before it are all absorbed."""
        return not self.in_order or (bool(self.open) and self.open[0] is job)

    def _work(self, tick: Callable[[], None]) -> None:
        while (job := self._take(tick)) is not None:
            try:
                outcome = job.run(tick)
            except Exception as error:
                self._fail(error)
                return
            self._hand_in(job, outcome)

    def _take(self, tick: Callable[[], None]) -> Job | None:
        while True:
            with self.lock:
                if self.halted() or self.error is not None:
                    return None
                if not self.in_order:
                    self._choose()
                if self.ready:
                    return self.ready.popleft()
                if not self.open:
                    return None
                self.lock.wait(PATIENCE)
            tick()

    def _choose(self) -> bool:
        job = self.next_job()
        if job is None:
            return False
        self.open.append(job)
        self.ready.append(job)
        return True

    def _fill(self) -> None:
        """Where outcomes count in order, choose jobs until the window is full."""
        while self.in_order and len(self.open) < self.window and not self.halted() and self._choose():
            pass

    def _hand_in(self, job: Job, outcome: Any) -> None:
        with self.lock:
            job.outcome, job.finished = outcome, True
            if self.in_order:
                while self.open and self.open[0].finished:
                    first = self.open.popleft()
                    first.absorb(first.outcome)
                    self._fill()
            else:
                self.open.remove(job)
                job.absorb(outcome)
            self.lock.notify_all()


def _nothing() -> None:
    """The tick of all workers but the main one."""


def _end_soon() -> None:
    """What ends the others before anybody works."""


@cache
def workers() -> ThreadPoolExecutor:
    """Threads that outlive a solve: starting them takes as long as a small problem."""
    return ThreadPoolExecutor(256, thread_name_prefix="dcra")


if hasattr(os, "register_at_fork"):  # a forked child has none of its parent's threads
    os.register_at_fork(after_in_child=workers.cache_clear)
