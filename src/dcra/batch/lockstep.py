"""One A, many right-hand sides: annealing in lockstep, in rounds.

Every round takes each right-hand side from fresh starts to local answers. Where several rounds have come to
the same best point, it is taken for the answer and rests; what is left of the work goes to the others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host, from_numpy, to_numpy
from dcra.compiled.form import Compiled
from dcra.compiled.units import ANSWER_SHARE, units_at
from dcra.model.watch import OutOfTime
from dcra.result import Status
from dcra.search.interrupts import on_interrupt
from dcra.search.workers import Crew, Job

BUDGET = 3_500_000_000
"""Entries of A touched for all right-hand sides together, when nothing else is asked for."""

SHARE, PASSES = BUDGET // 32, 4800
"""At most this much of it for a single one: entries of A, or passes over A where these are more."""

TIMED_WORK = 20_000_000
"""Entries of A touched between two looks at the clock, where that is long enough for a descent."""

ROUNDS = 8
"""Rounds that share the budget equally: the fewer right-hand sides are left, the more each of them gets.
Where that is much, the first rounds are shorter."""

ENOUGH = 6
"""Rounds that must come to a best point before it is taken for the answer."""

FEWEST, MIN_PASSES, SHORT_PASSES = 8, 20, 300
HOT = 0.75
MAX_GRAIN, GRAIN_WORK = 16, 4_000_000
"""Groups that a thread takes at a time: at most so many, and about so many entries of A."""

FIRST_CHUNK, CHUNK_SECONDS = 1_000_000, 0.002
"""Entries of A, each once for every lane, up to the first look at the clock; seconds up to the others."""

FIRST_WORK = 20_000_000
"""Entries of A touched between two looks at the clock while first answers are made."""

PER_PASS = 1.5
"""Work of a pass, in entries of A for every lane: moves that are made count twice."""


@dataclass(frozen=True, eq=False)
class Many:
    """A compiled problem whose b is zero, and right-hand sides B (k, r) in the units of its pieces."""

    compiled: Compiled
    B: Host

    @classmethod
    def of(cls, compiled: Compiled, B: Host) -> Many:
        """B (k, r) in the problem's own units; the change of domain and scale is the piece's."""
        piece = compiled.pieces[0]
        shift = to_numpy(piece.b)
        return cls(compiled, B / piece.unit + shift)

    def parts(self, stop: Stop) -> Iterator[slice]:
        """Right-hand sides, some at a time, until the clock says stop; the first ones in any case."""
        step = max(1, FIRST_WORK // self.compiled.work_per_pass)
        for lo in range(0, len(self.B), step):
            if lo > 0 and stop():
                return
            yield slice(lo, lo + step)


class Stop:
    """Whether to end early; called by all threads, it remembers why."""

    def __init__(self, time_limit: float | None, begun: float | None = None) -> None:
        self.begun = time.perf_counter() if begun is None else begun
        self.end = inf if time_limit is None else self.begun + time_limit
        self.closing = 0.0  # seconds that judging the answers will take
        self.why: Status | None = None

    @property
    def timed(self) -> bool:
        return self.end < inf

    def __call__(self) -> bool:
        if self.why is None and self.left <= 0:
            self.why = Status.TIME_LIMIT
        return self.why is not None

    @property
    def left(self) -> float:
        """Seconds until answers must be judged."""
        return self.end - self.closing - time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begun

    def interrupt(self) -> None:
        self.why = self.why or Status.INTERRUPTED


class Effort(NamedTuple):
    """What a round spends on each right-hand side."""

    starts: int
    passes: int

    @classmethod
    def of(cls, passes: float, rank: int, most_starts: int) -> Effort:
        """Many short descents find more than few long ones, as long as they are not too short.

        How long that is grows with `rank`, the lesser of rows and columns of A.
        """
        short = int(np.clip(rank, FEWEST, SHORT_PASSES))
        starts = 2 ** int(np.log2(np.clip(passes / short, 1, most_starts)))
        return cls(starts, int(max(passes / starts, min(short, MIN_PASSES))))

    @property
    def total(self) -> int:
        return self.starts * self.passes


def solve_loops(many: Many, seed: int, starts: int | None, n_jobs: int, stop: Stop) -> Host:
    """Spins (k, n) by annealing in lockstep, groups of right-hand sides on threads."""
    from dcra._kernels.batch import LANES

    search = Lockstep(many, seed, n_jobs, stop)
    if starts is None:
        search.run(LANES)
    else:
        search.take(starts, LANES)
    return search.X.astype(np.float64)


class Lockstep:
    """The best points so far, and rounds that improve them."""

    def __init__(self, many: Many, seed: int, n_jobs: int, stop: Stop) -> None:
        compiled = many.compiled
        self.seed, self.n_jobs, self.stop = seed, n_jobs, stop
        self.tables = compiled.tables(np.float32, padded=False)
        self.entries = compiled.work_per_pass
        self.rank = min(compiled.n, compiled.n_rows)
        self.temperature = temperature_of(many)
        self.B = np.zeros((len(many.B), self.tables.b.size), np.float32)
        self.B[:, : self.tables.n_rows] = many.B / self.tables.scales[0]
        self.X = first_answers(many, stop).astype(np.float32)
        self.F = np.full(len(self.B), np.inf, np.float32)
        if stop.timed and not stop():  # a round that is cut short may end at something worse
            evaluate(many, self.X, self.F, stop)
        self.pace = Pace()
        self.times = np.zeros(len(self.B), int)  # that the best point was found
        self.open = np.arange(len(self.B))
        self.rounds = 0

    def run(self, lanes: int) -> None:
        """Rounds until all have settled, or the time is up, or the budget spent if there is no limit to time.

        Where the budget is too small for all rounds, they are made as short as may be, and go beyond it,
        unless the second fails to come back to the points of the first.
        """
        k, timed, most = len(self.B), self.stop.timed, max(SHARE, PASSES * self.entries)
        budget = inf if timed else float(min(BUDGET, k * most))
        whole = max(budget, k * ROUNDS * self.entries * Effort.of(1, self.rank, 1).passes)
        longest = TIMED_WORK if timed else most / ROUNDS
        spent = 0
        while self.open.size and not self.stop():
            before = self.open.size
            grant = min(whole / (ROUNDS * before), longest) / self.entries
            effort = Effort.of(min(grant, MIN_PASSES * 2.0**self.rounds), self.rank, lanes)
            again = self.round(effort)
            spent += before * effort.total * self.entries
            hopeless = self.rounds == 2 and 2 * again < before
            if spent >= (budget if hopeless else whole):
                break

    def take(self, starts: int, lanes: int) -> None:
        """As many starts as were asked for, for every right-hand side."""
        every = self.open
        passes = int(np.clip(BUDGET / (len(self.B) * self.entries * starts), MIN_PASSES, SHORT_PASSES))
        for first in range(0, starts, lanes):
            if not self.stop():
                self.open = every
                self.round(Effort(min(lanes, starts - first), passes))

    def round(self, effort: Effort) -> int:
        """Fresh starts for all that is open; how many come to their best point again.

        What has done so often enough is open no longer.
        """
        from dcra._kernels.batch import LANES, scratch

        rows = self.open
        B = self.B if rows.size == len(self.B) else self.B[rows]
        X, F = np.ones((rows.size, self.X.shape[1]), np.float32), np.full(rows.size, np.inf, np.float32)
        seed = np.random.SeedSequence((self.seed, self.rounds)).generate_state(1, np.uint64)[0]
        groups = -(-rows.size // (LANES // effort.starts))
        local = threading.local()

        def work(lo: int, hi: int) -> None:
            if not hasattr(local, "scratch"):
                local.scratch = scratch(X.shape[1], B.shape[1], np.float32)
            if not self.stop():
                passes = self._passes(effort, groups - lo)
                self._anneal(B, (lo, hi), seed, effort._replace(passes=passes), (X, F), local.scratch)

        grain = GRAIN_WORK // (LANES * effort.passes * self.entries)
        in_parallel(work, groups, self.n_jobs, int(np.clip(grain, 1, MAX_GRAIN)), self.stop)
        again = np.isfinite(F) & np.all(self.X[rows] == X, axis=1)
        better = np.less(F, self.F[rows])
        self.X[rows[better]], self.F[rows[better]] = X[better], F[better]
        self.times[rows] = np.where(again, self.times[rows] + 1, np.where(better, 1, self.times[rows]))
        self.open = rows[self.times[rows] < ENOUGH]
        self.rounds += 1
        return int(np.sum(again))

    def _anneal(
        self,
        B: Host,
        groups: tuple[int, int],
        seed: Any,
        effort: Effort,
        found: tuple[Host, Host],
        scratch: Any,
    ) -> None:
        """Some groups, with a look at the clock every few milliseconds; what is cut short has its best."""
        from dcra._kernels import batch

        lo, hi = groups
        heat = self.temperature * np.append(np.linspace(HOT, 0.0, effort.passes - 1), 0.0)
        batch.begin(scratch, lo)
        while scratch.at[0] < hi:
            begin = time.perf_counter()
            model, most = self.tables.model, self.pace.work
            done = batch.batch(model, B, hi, seed, effort.starts, heat, *found, scratch, most)
            self.pace.learn(done, time.perf_counter() - begin)
            if scratch.at[0] < hi and self.stop():
                batch.cut(effort.starts, *found, scratch)
                return

    def _passes(self, effort: Effort, groups_left: int) -> int:
        """Passes of a group: as many as were meant for it, unless the time left is too short for that."""
        from dcra._kernels.batch import LANES

        if not self.stop.timed or self.pace.speed is None:
            return effort.passes
        share = self.pace.speed * self.n_jobs * max(self.stop.left, 0.0) / groups_left
        return int(np.clip(share / (PER_PASS * LANES * self.entries) - 1, 1, effort.passes))


class Pace:
    """How much work takes as long as limits may be off; written by all threads, each of them right."""

    def __init__(self) -> None:
        self.work = FIRST_CHUNK
        self.speed: float | None = None  # entries per second and thread

    def learn(self, done: int, seconds: float) -> None:
        """Take note of some work; of less than a chunk only where it took as long."""
        if done >= self.work or seconds >= CHUNK_SECONDS:
            self.speed = max(done, 1) / max(seconds, 1e-6)
            self.work = int(np.clip(self.speed * CHUNK_SECONDS, self.work // 2, 2 * self.work)) or 1


def in_parallel(work: Callable[[int, int], Any], count: int, n_jobs: int, grain: int, stop: Stop) -> None:
    """work(lo, hi) over ranges of `grain`, by a crew; Ctrl-C ends it early."""
    ranges = iter([(lo, min(lo + grain, count)) for lo in range(0, count, grain)])

    def next_job() -> Job | None:
        part = next(ranges, None)
        return None if part is None else Job(lambda tick: work(*part), lambda outcome: None)

    with on_interrupt(stop.interrupt):
        Crew(next_job, stop, lambda: None, in_order=False).run(n_jobs, stop.interrupt)


def first_answers(many: Many, stop: Stop) -> Host:
    """Signs of A'b - c (k, n), some right-hand sides at a time: what one without any round is left with."""
    piece, c = many.compiled.pieces[0], many.compiled.c
    linear = 0.0 if c is None else to_numpy(c)
    answers = np.ones((len(many.B), many.compiled.n))
    for some in many.parts(stop):
        try:
            adjoint = to_numpy(piece.operator.adjoint(from_numpy(many.B[some], many.compiled.like)))
        except OutOfTime:
            break
        answers[some] = np.where(adjoint - linear < 0, -1.0, 1.0)
    return answers


def evaluate(many: Many, X: Host, F: Host, stop: Stop) -> None:
    """Fill F (k,) with the values of spins X (k, n), and let `stop` know how long judging them will take."""
    compiled = many.compiled
    begin = time.perf_counter()
    for some in many.parts(stop):
        points = from_numpy(X[some].astype(np.float64), compiled.like)
        Z = compiled.pieces[0].operator.apply(points) - from_numpy(many.B[some], compiled.like)
        F[some] = to_numpy(compiled.smoothed(Z, 0.0) + compiled.linear(points))
        stop.closing = (time.perf_counter() - begin) * len(F) / min(some.stop, len(F))


def temperature_of(many: Many) -> float:
    """The unit of temperature: what a flip changes near good answers to some right-hand sides, as a guess."""
    rng = np.random.default_rng(0)
    rows = rng.choice(len(many.B), min(16, len(many.B)), replace=False)
    signs = np.where(rng.random((rows.size, many.compiled.n)) < 0.5, -1.0, 1.0)
    Z = many.compiled.pieces[0].operator.apply(from_numpy(signs, many.compiled.like))
    return units_at(many.compiled, ANSWER_SHARE * (to_numpy(Z) - many.B[rows])).rho
