"""The anytime driver: tasks from a plan, the best point so far, limits, history."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from math import inf, isfinite, sqrt
from typing import Any, NamedTuple, Protocol

import numpy as np

from dcra._array import to_numpy
from dcra.certificate import DualStage, rounded_up, trivial_bound
from dcra.compiled import Compiled
from dcra.crew import Crew, Job, on_interrupt
from dcra.engines.base import Engine, Host, Starts, State
from dcra.enumeration import SEGMENTS, Enumerate
from dcra.problem import Problem
from dcra.result import Progress, Result, Status, relative_gap

DEFAULT_STARTS = 32
CHUNK_SECONDS = 0.002
MAX_CHUNK = 1 << 40
BOUND_SHARE = 0.1
"""Share of a time limit that the lower bound may take."""

LEAST_ROUNDS, ROUNDS_PER_START = 5, 3
"""Rounds of the dual stage when starts are counted: about a tenth of their work."""

SHORTEST_BOUNDED = 0.05
"""Seconds below which the search takes all the time, and the bound that is free must do."""

CALLBACK_INTERVAL = 0.05
SLACK = 1e-5
"""An estimated objective this much above the best, relatively, is not worth judging."""

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Limits:
    """When to stop, and whom to tell."""

    time_limit: float | None = None
    starts: int | None = None
    target: float | None = None
    callback: Callable[[Progress], Any] | None = None
    n_jobs: int = 1
    clock: Callable[[], float] = time.perf_counter

    @property
    def most_starts(self) -> float:
        if self.starts is None:
            return DEFAULT_STARTS if self.time_limit is None else inf
        return self.starts


class Task(NamedTuple):
    """Some starts of an engine."""

    engine: Engine
    starts: Starts


class Outcome(NamedTuple):
    """What became of a task: spins (k, n), the state they come from, seconds spent on it."""

    spins: Host
    state: State
    seconds: float


class Stage(Protocol):
    """Raises a lower bound step by step; `bound` is valid at any moment."""

    @property
    def bound(self) -> float: ...

    @property
    def rounds(self) -> int: ...

    @property
    def done(self) -> bool: ...

    def advance(self, work: int) -> None: ...


class Plan(Protocol):
    """Which task comes next."""

    exact: bool
    alone: bool  # whether only its own points count, and those of the user

    def next(self, search: Search) -> Task | None:
        """The next task; None when there is none, or none before an outcome is known."""
        ...

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        """Take note of an outcome whose best point has the objective `fun`."""


@dataclass
class Search:
    """The state of one solve; written under the crew's lock, but for `chunk`."""

    compiled: Compiled
    limits: Limits
    seed: int
    begun: float
    points: Host | None = None
    fun: float = inf
    spins: Host | None = None
    fallback: Host | None = None  # the first answer, (k, n): what is returned where there is nothing better
    lower_bound: float = -inf
    tiny: float = 0.0
    history: list[Progress] = field(default_factory=list)
    started: int = 0
    finished: int = 0
    nit: int = 0
    rate: float = 1e9
    compile_seconds: float = 0.0
    closing: float = 0.0  # seconds that judging the last answers will take
    chunk: int = 0  # the work that a task did in its last CHUNK_SECONDS: where the next may begin
    status: Status | None = None
    feasible: bool = True
    violation: float = 0.0
    weights: Host | None = None  # of the constraints' penalties
    halting: bool = False  # a plain flag: a signal handler may set it at any moment
    _told: float = -inf
    _news: bool = False

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

    def offer(self, spins: Host) -> float:
        """Judge points by the true objective and keep the best; its value."""
        values = np.atleast_1d(self.compiled.problem.objective(self.compiled.decode(np.atleast_2d(spins))))
        best = int(np.argmin(values))
        if values[best] < self.fun:
            self.fun, self.spins = float(values[best]), np.atleast_2d(spins)[best].copy()
            self._record()
        return float(values[best])

    def bound(self, value: float) -> None:
        """Take note of a lower bound."""
        if value > self.lower_bound:
            self.lower_bound = value
            self._record()

    def stop(self, status: Status) -> None:
        self.status = self.status or status
        self.halt()

    def halt(self) -> None:
        """Make all workers return what they have."""
        self.halting = True

    def _record(self) -> None:
        if self.spins is None:  # a bound before any point
            return
        row = Progress(self.seconds, self.fun, self.lower_bound)
        self.history.append(row)
        if relative_gap(self.fun, self.lower_bound, self.tiny) == 0:
            self.stop(Status.OPTIMAL)
        elif self.limits.target is not None and self.fun <= self.limits.target:
            self.stop(Status.TARGET)
        self._news = True

    def tell(self) -> None:
        """Let the callback know of improvements, not too often; called by the main thread only."""
        callback = self.limits.callback
        if callback is None or not self._news or self.seconds - self._told < CALLBACK_INTERVAL:
            return
        self._news, self._told = False, self.seconds
        if callback(self.history[-1]) is True:
            self.stop(Status.CALLBACK)


class Repeat:
    """One engine from fresh starts, until a limit is reached."""

    exact = False

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.alone = engine.alone

    def next(self, search: Search) -> Task | None:
        count = int(min(self.engine.batch(search.compiled), search.starts_left))
        if count <= 0 or not search.affords(self.engine.setup_work(search.compiled)):
            return None
        return Task(self.engine, next_starts(search, count))

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        """Starts do not depend on each other."""


class Once(Repeat):
    """An engine that would take every start to the same answer: the points given, or one start."""

    def next(self, search: Search) -> Task | None:
        given = 1 if search.points is None else len(search.points)
        return super().next(search) if search.started < given else None

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        if search.finished >= (1 if search.points is None else len(search.points)):
            search.stop(Status.CONVERGED)


class Exhaust:
    """Every point of the domain, once."""

    exact = True
    alone = False

    def __init__(self) -> None:
        self.segment = 0

    def next(self, search: Search) -> Task | None:
        if self.segment == SEGMENTS:
            return None
        self.segment += 1
        return Task(Enumerate(), Starts(search.seed, self.segment - 1, 1))

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        """Nothing to learn: every point is visited."""


def next_starts(search: Search, count: int) -> Starts:
    """The next starts of the seed; the first ones begin at the points the user gave."""
    first = search.started
    search.started += count
    given = search.points
    if given is None or first >= len(given):
        return Starts(search.seed, first, count)
    rng = np.random.default_rng((search.seed, first))
    points = np.where(rng.random((count, search.compiled.n)) < 0.5, -1.0, 1.0)
    known = given[first : first + count]
    points[: len(known)] = known
    return Starts(search.seed, first, count, points)


def run(search: Search, plan: Plan, method: str, on_tick: Callable[[Search], None] | None = None) -> Result:
    """Carry out a plan within the limits of a search."""
    with one_blas_thread(), on_interrupt(lambda: search.stop(Status.INTERRUPTED)):
        try:
            first_answer(search, plan.alone)
            carry_out(search, plan, on_tick)
        except KeyboardInterrupt:  # from a callback, or where signals are not ours to handle
            search.stop(Status.INTERRUPTED)
        if search.spins is None:
            search.offer(np.ones(search.compiled.n) if search.fallback is None else search.fallback)
    if search.status is None:  # a plan also ends where no further task fits into the time left
        search.status = Status.CONVERGED if search.starts_left <= 0 else Status.TIME_LIMIT
    return report(search, method)


def first_answer(search: Search, alone: bool = False) -> None:
    """A point after one pass, x = -sign(A'f'(-b) + c), the user's points, and the bound that is free."""
    compiled = search.compiled
    problem = compiled.problem
    begin = search.limits.clock()
    coupled = 0.0 if problem.quadratic is None else abs(problem.constant)  # the cut of no edges is 0
    search.tiny = rounding_share(problem) * (abs(float(problem.value_at_ones)) + coupled)
    z = compiled.residual_at_zero
    size = float(np.mean(np.abs(to_numpy(z)))) if compiled.n_rows else 1.0
    g = to_numpy(compiled.pull(compiled.slopes(z, size or 1.0)))
    down = np.where(g > 0, -1.0, 1.0)
    search.fallback = np.stack([down, -down])  # the step may overshoot so far that its opposite is better
    if not alone:
        search.offer(search.fallback)
    if search.points is not None:
        search.offer(search.points)
    passes = (1 if alone else 3) + (0 if search.points is None else len(search.points))
    pass_seconds = (search.limits.clock() - begin) / passes
    search.rate = compiled.work_per_pass / max(pass_seconds, 1e-9)
    search.closing = 0.5 * search.limits.n_jobs * pass_seconds
    search.bound(rounded_up(problem, trivial_bound(problem)))


def rounding_share(problem: Problem) -> float:
    """Differences below this share of |F(ones)| are rounding, in the objective or in the bound."""
    return min(1e-9, 8 * EPS * (problem.n + problem.n_rows) * sqrt(problem.n))


def carry_out(search: Search, plan: Plan, on_tick: Callable[[Search], None] | None) -> None:
    """Let a crew carry out the plan's tasks, and the bound as soon as there is a first answer."""
    timed = search.limits.time_limit is not None
    bounded = plan.exact or search.seconds_left < SHORTEST_BOUNDED

    def next_job() -> Job | None:
        nonlocal bounded
        if not bounded and search.finished > 0:
            bounded = True
            fun = search.fun
            return Job(lambda tick: raise_bound(search, fun, tick), search.bound)
        task = plan.next(search)
        if task is None:
            return None
        return Job(
            lambda tick: carry_out_task(search, task, tick),
            lambda outcome: absorb(search, plan, task, outcome),
        )

    def tick() -> None:
        search.tell()
        if on_tick is not None:
            on_tick(search)

    try:
        crew = Crew(next_job, search.halted, tick, in_order=not timed)
        crew.run(search.limits.n_jobs, search.halt)
        if not bounded and not search.halted():
            search.bound(raise_bound(search, search.fun, tick))
        if plan.exact and not search.halted():
            search.bound(search.fun)
        search.tell()
    finally:
        search.halt()


def carry_out_task(search: Search, task: Task, tick: Callable[[], None]) -> Outcome:
    """Advance a task in steps of about two milliseconds, so that limits hold."""
    clock = search.limits.clock
    entered = clock()
    state = task.engine.start(search.compiled, task.starts)
    work = search.chunk or search.compiled.work_per_pass
    while not state.done and not search.halted():
        begin = clock()
        state.advance(work)
        work = paced(work, clock() - begin)
        tick()
    search.chunk = work
    return Outcome(state.candidates(), state, clock() - entered)


def paced(work: int, seconds: float) -> int:
    """The work that would have taken CHUNK_SECONDS, changing by a factor of two at most."""
    factor = CHUNK_SECONDS / max(seconds, 1e-6)
    return min(MAX_CHUNK, max(1, int(work * min(2.0, max(0.5, factor)))))


def raise_bound(search: Search, fun: float, tick: Callable[[], None]) -> float:
    """The dual stage, within its share of the time; `fun` is the objective of a known point."""
    clock = search.limits.clock
    limit = search.limits.time_limit
    known = fun if isfinite(fun) else -inf
    stage = dual_stage(search.relaxation, known, inf if limit is None else BOUND_SHARE * limit)
    end = inf if limit is None else clock() + BOUND_SHARE * limit
    rounds = inf if limit is not None else LEAST_ROUNDS + ROUNDS_PER_START * search.limits.most_starts
    work = search.compiled.work_per_pass
    while not stage.done and not search.halted() and clock() < end and stage.rounds < rounds:
        begin = clock()
        stage.advance(work)
        work = paced(work, clock() - begin)
        tick()
    return rounded_up(search.compiled.problem, stage.bound)


def dual_stage(compiled: Compiled, fun: float, seconds: float) -> Stage:
    """The stage that raises the bound of a problem, given the objective of a point and the time there is."""
    special = compiled.problem.dual_stage(compiled, fun, seconds)
    if special is not None:
        return special
    if compiled.quadratic is None:
        return DualStage(compiled, fun)
    from dcra.sdp import SdpStage
    from dcra.sdp_mixed import MixedStage

    return (MixedStage if compiled.pieces else SdpStage)(compiled, fun, seconds)


def absorb(search: Search, plan: Plan, task: Task, outcome: Outcome) -> None:
    state = outcome.state
    if search.status not in (None, Status.INTERRUPTED):
        return  # outcomes after the end depend on the number of workers; after Ctrl-C, every point counts
    fun = state.estimate()
    if fun is None or fun <= search.fun + SLACK * abs(search.fun):  # worth a judgement in float64
        fun = search.offer(outcome.spins)
    search.nit += state.steps
    if state.done:
        search.finished += task.starts.count
        plan.learn(search, task, outcome, fun)


def report(search: Search, method: str) -> Result:
    compiled = search.compiled
    search.settle()
    assert search.spins is not None
    assert search.status is not None
    return Result(
        x=compiled.decode(search.spins),
        fun=search.fun,
        lower_bound=min(search.lower_bound, search.fun) if search.feasible else search.lower_bound,
        status=search.status,
        history=tuple(search.history),
        n_starts=search.finished,
        nit=search.nit,
        seconds=search.seconds,
        seed=search.seed,
        method=method,
        tiny=search.tiny,
        compile_seconds=search.compile_seconds,
        feasible=search.feasible,
        violation=search.violation,
        weights=search.weights,
    )


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Parallel work is ours: BLAS inside it stays on one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def default_jobs() -> int:
    """Cores this process may use, or DCRA_NUM_THREADS where that is set."""
    chosen = os.environ.get("DCRA_NUM_THREADS", "")
    if chosen.isdigit() and int(chosen) > 0:
        return int(chosen)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
