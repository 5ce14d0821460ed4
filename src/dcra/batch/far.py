"""One A, many right-hand sides, on a device: rounds as in `lockstep`, judged there in float64."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host, is_array, is_numpy, to_numpy
from dcra.accelerator.columns import Columns, Found, fits, kernels_of, shape_of
from dcra.accelerator.device import library, memory_watched, number_under
from dcra.accelerator.form import on_device
from dcra.accelerator.rehearsal import FEW, Way, ready_in_time
from dcra.auto import placement
from dcra.batch.arrays import NOT_FINITE, checked
from dcra.batch.lockstep import ENOUGH, HOT, MIN_PASSES, ROUNDS, Effort, Many, Stop, temperature_of
from dcra.compiled.form import Compiled, compile_problem
from dcra.losses import Table, TableLoss
from dcra.model.checks import most_squared, refuse_huge
from dcra.model.problem import Problem
from dcra.search.interrupts import on_interrupt

BUDGET = 350_000_000_000
"""Entries of A touched for all right-hand sides together, when nothing else is asked for."""

MOST_STARTS, PASSES = 64, 300
"""Of a round at most; passes of each where starts are counted."""

DOWNLOAD_RATE = 2e9
"""Bytes of answers that come to the host in a second, pages that are touched for the first time included."""

JUDGED_ENTRIES = 1 << 28
"""Residuals in the device's memory at once while answers are judged."""

NO_MEMORY = "the device has no memory for these right-hand sides; they are solved on the CPU"


class Answers(NamedTuple):
    """Points (n, k) of the problem's domain and their objectives (k,), on the host."""

    X: Host
    fun: Host


def affordable(problem: Problem, B: Any, number: int, stop: Stop) -> bool:
    """Whether the kernels can take the right-hand sides B (r, k), are ready in time, and it pays."""
    compiled = compile_problem(problem, keep_rows=True)
    if not fits(compiled) or not _known(problem) or B.shape[1] * problem.entries <= placement.REPLICA_ENTRIES:
        return False
    way = Way(tuple(kernels_of(shape_of(compiled))), number)

    def rehearse() -> None:
        with library().cuda.Device(number):
            _solve(problem, B[:, :FEW], 0, 1, Stop(None, 0.0), number)

    return ready_in_time(way, stop.left if stop.timed else None, rehearse)


def solve(problem: Problem, B: Any, seed: int, starts: int | None, stop: Stop, number: int) -> Answers | None:
    """Answers to right-hand sides B (r, k) of any library; None where the CPU is to find them."""
    there = is_array(B) and number_under(B) == number and len(B.shape) == 2 and B.shape[0] == problem.n_rows
    given = B if there else checked(problem, B)
    if not affordable(problem, given, number, stop):
        return None
    try:
        with library().cuda.Device(number), on_interrupt(stop.interrupt), memory_watched():
            return _solve(problem, given, seed, starts, stop, number)
    except library().cuda.memory.OutOfMemoryError:
        warnings.warn(NO_MEMORY, RuntimeWarning, stacklevel=4)
        return None


def _solve(problem: Problem, B: Any, seed: int, starts: int | None, stop: Stop, number: int) -> Answers:
    compiled = compile_problem(problem, keep_rows=True)
    distinct, inverse = unlike(_rows(problem, on_device(B, number)))
    stop.closing = problem.n * B.shape[1] * problem.like.dtype.itemsize / DOWNLOAD_RATE
    rounds = Rounds(compiled, distinct, seed, stop, number)
    if starts is None:
        rounds.run()
    else:
        rounds.take(starts)
    S = rounds.columns.form.in_order(rounds.S)
    fun = judged(problem, S, distinct)
    if inverse is not None:
        S, fun = S[inverse], fun[inverse]
    X = S.T if problem.domain == "spin" else (S.T + np.int8(1)) // np.int8(2)
    kind = problem.like.dtype if is_numpy(problem.like) else np.float64
    X = library().ascontiguousarray(X.astype(kind))
    return Answers(library().asnumpy(X), library().asnumpy(fun))


class Rounds:
    """The best signs (k, 4 quads) and objectives so far, and rounds that improve them."""

    def __init__(self, compiled: Compiled, rows: Any, seed: int, stop: Stop, number: int) -> None:
        cupy, k = library(), len(rows)
        self.seed, self.stop, self.columns = seed, stop, Columns(compiled, rows, number)
        some = np.random.default_rng(0).choice(k, min(16, k), replace=False)
        sample = cupy.asnumpy(rows[cupy.asarray(some)]).astype(np.float64)
        self.temperature = temperature_of(Many.of(compiled, sample))
        self.rank = min(compiled.n, compiled.n_rows)
        self.S = cupy.ones((k, 4 * self.columns.form.quads), np.int8)
        self.E = cupy.full(k, np.inf, np.float32)
        self.times = cupy.zeros(k, np.int32)  # that the best point was found
        self.open = cupy.arange(k)
        self.rounds = 0
        self._round(lambda places, seed: self.columns.first(places), 1, np.empty(0))

    def run(self) -> None:
        """Rounds until all have settled, or the time is up, or the budget is spent if there is no limit."""
        k, entries, timed = len(self.S), self.columns.work, self.stop.timed
        whole = max(BUDGET, k * ROUNDS * entries * Effort.of(1, self.rank, 1).passes)
        spent = 0
        while len(self.open) and not self.stop() and (timed or spent < whole):
            work = self.columns.rate * max(self.stop.left, 0.0) if timed else whole / ROUNDS
            passes = min(work / (len(self.open) * entries), MIN_PASSES * 2.0 ** (self.rounds - 1))
            effort = Effort.of(passes, self.rank, MOST_STARTS)
            spent += len(self.open) * effort.total * entries
            self._anneal(self.filled(effort))

    def filled(self, effort: Effort) -> Effort:
        """With no fewer starts than the device has room for: they take no longer."""
        room = 2 ** int(np.log2(max(1, self.columns.resident // len(self.open))))
        return effort._replace(starts=max(effort.starts, min(room, MOST_STARTS)))

    def take(self, starts: int) -> None:
        """As many starts as were asked for, for every right-hand side."""
        for first in range(0, starts, MOST_STARTS):
            if not self.stop():
                self.open = library().arange(len(self.S))
                self._anneal(Effort(min(MOST_STARTS, starts - first), PASSES))

    def _anneal(self, effort: Effort) -> None:
        def begin(places: Any, seed: int) -> Any:
            return self.columns.random(places, effort.starts, seed)

        heat = self.temperature * np.append(np.linspace(HOT, 0.0, effort.passes - 1), 0.0)
        self._round(begin, effort.starts, heat)

    def _round(self, begin: Callable[[Any, int], Any], starts: int, heat: Host) -> None:
        """Starts for all that is open; what has come to its best point often enough is open no longer."""
        at, every, columns = 0, self.open, self.columns
        while at < len(every) and not (self.rounds and self.stop()):
            places = every[at : at + max(1, columns.at_once // starts)]
            sequence = np.random.SeedSequence((self.seed, self.rounds, at))
            seed = int(sequence.generate_state(1, np.uint64)[0])
            try:
                found = columns.anneal(places, begin(places, seed), heat, seed, self.stop)
            except library().cuda.memory.OutOfMemoryError:
                columns.with_less_memory()
                continue
            self._keep(places, found)
            at += len(places)
        self.rounds += 1
        self.open = library().flatnonzero(self.times < ENOUGH)

    def _keep(self, places: Any, found: Found) -> None:
        cupy, n = library(), self.columns.form.n  # columns beyond move freely
        again = (self.S[places][:, :n] == found.S[:, :n]).all(axis=1)
        better = self.E[places] > found.E
        times = self.times[places]
        self.times[places] = cupy.where(again, times + 1, cupy.where(better, 1, times))
        self.S[places[better]] = found.S[better]
        self.E[places[better]] = found.E[better]


def _rows(problem: Problem, B: Any) -> Any:
    """B (r, k) as rows (k, r) of floats on the device, or an error."""
    kind = np.float32 if B.dtype == np.float32 else np.float64
    rows = library().ascontiguousarray(B.T.astype(kind)) + kind(0)  # -0 is 0
    size, most = float(abs(rows).max()), most_squared(problem.n_rows, problem.n)
    if not np.isfinite(size):
        raise ValueError(NOT_FINITE)
    if size > most:
        refuse_huge("B", library().asnumpy(rows), most)
    return rows


def unlike(rows: Any) -> tuple[Any, Any]:
    """Those of some rows that differ, and which of them each row is; None where all do.

    Rows are told apart by a hash of 64 bits, and what it takes for equal is compared.
    """
    cupy, (k, r) = library(), rows.shape
    words = rows.view(np.uint32 if rows.dtype == np.float32 else np.uint64)
    factors = cupy.asarray(np.random.default_rng(0).integers(1, 1 << 63, r, np.uint64) | np.uint64(1))
    keys = cupy.empty(k, np.uint64)
    step = max(1, JUDGED_ENTRIES // r)
    for at in range(0, k, step):
        keys[at : at + step] = (words[at : at + step].astype(np.uint64) * factors).sum(axis=1)
    _, index, inverse = cupy.unique(keys, return_index=True, return_inverse=True)
    if len(index) == k:
        return rows, None
    distinct = rows[index]
    same = all(
        bool((distinct[inverse[at : at + step]] == rows[at : at + step]).all()) for at in range(0, k, step)
    )
    return (distinct, inverse) if same else (rows, None)


def judged(problem: Problem, S: Any, rows: Any) -> Any:
    """F of spins (k, n) in the problem's order, each for its own row of (k, r), in float64 on the device."""
    cupy, term = library(), problem.terms[0]
    A = cupy.asarray(on_device(term.operator.A, cupy.cuda.Device().id), np.float64)
    weight = np.float64(term.weight) if isinstance(term.weight, float) else _double(term.weight)
    linear = None if problem.linear is None else _double(problem.linear)
    fun = cupy.empty(len(S), np.float64)
    step = max(1, JUDGED_ENTRIES // (rows.shape[1] + problem.n))
    for at in range(0, len(S), step):
        x = S[at : at + step].astype(np.float64)
        x = x if problem.domain == "spin" else (x + 1) / 2
        losses = _values(x @ A.T - rows[at : at + step], term.loss.table)
        fun[at : at + step] = (losses * weight).sum(axis=1) + (0.0 if linear is None else x @ linear)
    return fun + problem.constant


def _double(x: Any) -> Any:
    return library().asarray(to_numpy(x), np.float64)


def _values(z: Any, table: Table) -> Any:
    """The loss of each residual, from its table."""
    k, e, lo, hi = table
    above, below = library().maximum(z - e, 0.0), library().minimum(z + e, 0.0)
    if k == 0:
        return hi * above + lo * below
    g = library().clip((above + below) / k, lo, hi)
    return (above + below) * g - 0.5 * k * g * g


def _known(problem: Problem) -> bool:
    """Whether `_values` has the loss: its table ends, or bends, and 0 is among its slopes."""
    loss = problem.terms[0].loss
    if not isinstance(loss, TableLoss):
        return False
    k, _, lo, hi = loss.table
    return lo <= 0 <= hi and bool(k > 0 or np.isfinite(hi - lo))
