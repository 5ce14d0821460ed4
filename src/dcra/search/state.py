"""What one solve knows: its limits, the best point so far, the lower bound, the history."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

import numpy as np

from dcra import costs
from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.exact.tree_proof import TreeProof
from dcra.foreign import limit_what_was_loaded
from dcra.model.rounding import error_at
from dcra.model.watch import OutOfTime, Watch
from dcra.result import Moment, Progress, Status, relative_gap
from dcra.search import journal
from dcra.search.kept import Kept
from dcra.search.workers import WINDOW, Crew

DEFAULT_STARTS = 32
CALLBACK_INTERVAL = 0.05
MOST_JUDGED = 1024
"""Points judged at a time."""

ROUNDING_SHARE = 1e-6
"""Share of the objective's scale above which a difference is not looked at for being rounding."""


@dataclass(frozen=True)
class Limits:
    """When to stop, and whom to tell."""

    time_limit: float | None = None
    starts: int | None = None
    target: float | None = None
    callback: Callable[[Moment], Any] | None = None
    n_jobs: int = 1
    clock: Callable[[], float] = time.perf_counter
    gap: float | None = None
    window: int = WINDOW
    crew: Callable[..., Crew] | None = None  # of workers elsewhere, made as `Crew` is; threads by default

    @property
    def most_starts(self) -> float:
        if self.starts is None:
            return DEFAULT_STARTS if self.time_limit is None else inf
        return self.starts

    @property
    def share_of_work(self) -> float:
        """What part of the most work there is to do was asked for, by the number of starts."""
        return 1.0 if self.starts is None else min(1.0, self.starts / DEFAULT_STARTS)


@dataclass
class Search:
    """The state of one solve; written under the crew's lock, but for `chunk`."""

    compiled: Compiled
    limits: Limits
    seed: int
    begun: float
    points: Host | None = None
    method: str = "auto"
    device: str | None = None  # where "auto" was asked to search, or found the arrays
    alone: bool = False  # whether only the method's own points count, and those of the user
    fun: float = inf
    spins: Host | None = None
    fallback: Host | None = None  # the first answer, (k, n): what is returned where there is nothing better
    lower_bound: float = -inf
    scale: float = 0.0  # of the objective: its largest value so far
    history: list[Progress] = field(default_factory=list)
    started: int = 0
    finished: int = 0
    nit: int = 0
    rate: float = costs.PASS_RATE
    closing: float = 0.0  # seconds that judging the last answers will take
    chunk: int = 0  # the work that a task did in its last CHUNK_SECONDS: where the next may begin
    status: Status | None = None
    feasible: bool = True
    violation: float = 0.0
    violated: tuple[str, ...] = ()  # names of rows that the answer violates
    conflict: tuple[str, ...] = ()  # names of rows that no point satisfies together
    penalty_weights: Host | None = None  # one for each row of linear constraints
    proof: TreeProof | None = None  # the tree that proves, where there is one
    watch: Watch | None = None
    working: Compiled | None = None  # the problem for tasks, whose products end when the search does
    pool: Kept | None = None  # the points met, where several are asked for
    proven_pool: bool = False  # whether no others are better
    patient: bool = False  # whether to go on for the pool's sake when the best point is proven
    halting: bool = False  # a plain flag: a signal handler may set it at any moment
    _told: float = -inf
    _news: bool = True  # at first: that there is no point yet

    def look_at(self, watch: Watch) -> None:
        """Let the products of tasks look whether the search is over; `watch` is that of slow operators."""
        self.watch = watch
        self.working = self.compiled.watched(watch.within(self.halted))

    @property
    def seconds(self) -> float:
        return self.limits.clock() - self.begun

    @property
    def seconds_left(self) -> float:
        limit = self.limits.time_limit
        return inf if limit is None else limit - self.seconds

    @property
    def starts_left(self) -> float:
        return self.limits.most_starts - self.started

    @property
    def on_device(self) -> bool:
        """Whether the search may have the kernels of a device."""
        return self.device not in (None, "cpu")

    @property
    def relaxation(self) -> Compiled:
        """The problem whose lower bounds are ours."""
        return self.compiled

    def settle(self) -> None:
        """Make sure that there is an answer to report, and that it says whether it is feasible."""
        assert self.spins is not None
        self.violation = float(self.compiled.problem.violation(self.compiled.decode(self.spins)))
        self.feasible = self.violation == 0
        if not self.feasible and self.status is Status.OPTIMAL:
            self.status = Status.INFEASIBLE  # what no point avoids

    def halted(self) -> bool:
        """Whether workers should return what they have. Read by all threads."""
        return self.halting or self.seconds_left <= self.closing

    def affords(self, work: int) -> bool:
        """Whether this many entries of A can be touched in the time left."""
        return work <= self.rate * self.seconds_left

    def judged(self, spins: Host) -> Host:
        """What `offer` would find the values of points (k, n) to be. Called by all threads."""
        return self._values(spins)

    def _values(self, spins: Host) -> Host:
        """True objectives, many at a time but not all."""
        parts = [self.compiled.judged(spins[i : i + MOST_JUDGED]) for i in range(0, len(spins), MOST_JUDGED)]
        return np.concatenate(parts) if parts else np.empty(0)

    def offer(self, spins: Host, values: Host | None = None) -> float:
        """Judge points by the true objective, if nobody has, and keep the best; its value."""
        points = np.atleast_2d(spins)
        if not len(points):
            return inf
        values = self._values(points) if values is None else values
        best = int(np.argmin(values))
        self.scale = max(self.scale, float(np.max(np.abs(values))))
        value = float(values[best])
        if value < self.fun and len(points) > 1:  # products of many points round in another way than of one
            value = values[best] = float(self.compiled.judged(points[best : best + 1])[0])
        if self.pool is not None:
            self.pool.add(points, values)
        if value < self.fun:
            self.fun, self.spins = value, points[best].copy()
            self._record()
        return value

    def take_ones(self) -> None:
        """Where there is no time to judge any point: e, whose value needs no further product."""
        if self.spins is None:
            self.fun, self.spins = float(self.compiled.problem.value_at_ones), np.ones(self.compiled.n)
            self._record()

    def bound(self, value: float) -> None:
        """Take note of a lower bound."""
        if value > self.lower_bound:
            self.lower_bound = value
            self._record()

    def prove(self, least: float) -> None:
        """Take note that no feasible point falls below `least`; of the best, where only rounding differs."""
        closed = self.spins is not None and self.fun - least <= self._rounding()
        self.bound(self.fun if closed else least)

    def stop(self, status: Status) -> None:
        self.status = self.status or status
        self.halt()

    def finish(self) -> None:
        """The best point is proven: stop, unless others are wanted that this plan would find."""
        if not self.patient:
            self.stop(Status.OPTIMAL)

    def halt(self) -> None:
        """Make all workers return what they have."""
        self.halting = True

    def _record(self) -> None:
        if self.spins is None:  # a bound before any point
            return
        row = Progress(self.seconds, self.fun, self.lower_bound)
        self.history.append(row)
        journal.improved(row)
        if self.gap_closed():
            self.finish()
        elif self.limits.gap is not None and relative_gap(self.fun, self.lower_bound) <= self.limits.gap:
            self.stop(Status.GAP)
        elif self.limits.target is not None and self.fun <= self.limits.target:
            self.stop(Status.TARGET)
        self._news = True

    def gap_closed(self) -> bool:
        """Whether what the best point lacks to the bound is no more than rounding may have cost the two."""
        lack = self.fun - self.lower_bound
        return lack <= 0 or (lack <= ROUNDING_SHARE * self.scale and lack <= self.rounding())

    def rounding(self) -> float:
        """What rounding may have cost the best value and a bound that equals it; 0 where they are far.

        Of losses whose slopes have no known bound it is not known, and no gap is taken for it.
        """
        if not self.fun - self.lower_bound <= ROUNDING_SHARE * self.scale or self.spins is None:
            return 0.0
        found = self._rounding()
        return found if isfinite(found) else 0.0

    def _rounding(self) -> float:
        assert self.spins is not None
        try:
            return 2 * error_at(self.compiled.problem, self.compiled.exact_points(self.spins))
        except OutOfTime:
            return 0.0

    def tell(self) -> None:
        """Let the callback know of improvements, not too often; called by the main thread only."""
        callback = self.limits.callback
        if callback is None or not self._news or self.seconds - self._told < CALLBACK_INTERVAL:
            return
        self._news, self._told = False, self.seconds
        row = self.history[-1] if self.history else Progress(self.seconds, self.fun, self.lower_bound)
        limit_what_was_loaded()
        try:
            stop = bool(callback(Moment.of(row, self._point())))
        except StopIteration:
            stop = True
        if stop:
            self.stop(Status.CALLBACK)

    def _point(self) -> Callable[[], Any]:
        """What makes a copy of the best point of this moment."""
        spins = self.spins
        return lambda: None if spins is None else self.compiled.decode(spins.copy())
