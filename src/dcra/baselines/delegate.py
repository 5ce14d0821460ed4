"""Solvers that prove what they find, run in a thread of their own so that limits, callbacks and Ctrl-C work.

The solver reports incumbents and bounds through an `Order`; a `Session` judges them in float64 between two
ticks of the driver, and ends the search when the solver does.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from math import inf
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dcra._array import Host
from dcra.bounds.dual import rounded_up
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.exact.mixed_model import MixedModel, mixed_model
from dcra.messages import SolverUnavailable, missing
from dcra.result import Status
from dcra.search.plans import Outcome, Task
from dcra.search.state import Search

BUILD_PASSES = 40
"""Passes over A that writing out the model costs, about."""

PATIENCE = 0.005
"""Seconds to wait for news from a solver before the driver looks at its limits."""

RELATIVE = 1e-9
"""Share of the objective that rounding inside a solver may cost a bound, besides its tolerances."""


class SolverAnswer(NamedTuple):
    """What a solver has found: points u in {0,1} (k, n), a lower bound in the model's units, why it ended.

    `status` is None where it still runs, or ended for lack of time.
    """

    points: Host
    bound: float = -inf
    status: Status | None = None
    nodes: int = 0


@dataclass
class Order:
    """What a solver is asked for, and where it sends what it finds. Made by one thread, used by two."""

    seconds_left: Callable[[], float]
    threads: int
    seed: int
    starts: int | None
    points: Host | None  # u in {0,1} (k, n) to begin with
    news: SimpleQueue[SolverAnswer] = field(default_factory=SimpleQueue)
    stopping: bool = False
    _stop: Callable[[], None] | None = None

    @property
    def seconds(self) -> float:
        """What a solver may still take, infinite without a time limit; 0 once it is to stop."""
        return 0.0 if self.stopping else max(self.seconds_left(), 0.0)

    def found(self, u: Host) -> None:
        """Report an incumbent."""
        self.news.put(SolverAnswer(_binary(u)))

    def bounded(self, value: float) -> None:
        """Report a lower bound."""
        self.news.put(SolverAnswer(np.empty((0, 0)), value))

    def on_stop(self, stop: Callable[[], None]) -> None:
        """Say how to stop the solver from another thread."""
        self._stop = stop
        if self.stopping:
            stop()

    def stop(self) -> bool:
        """Ask the solver to stop; whether it can be asked."""
        self.stopping = True
        if self._stop is not None:
            self._stop()
        return self._stop is not None


class Exact(Engine):
    """A solver for the whole problem: `solve` runs once, until its proof or the end of its time."""

    plan: ClassVar[str] = "delegate"
    alone: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"losses alone", "columns", "piecewise linear"})
    package: ClassVar[str] = ""
    tolerance: ClassVar[float] = 1e-6
    """To which the solver meets rows and reduced costs, by default."""

    def load(self) -> Any:
        """The solver's package, or an error that says how to get it."""
        try:
            return import_module(self.package)
        except ImportError as error:
            name = self.package.partition(".")[0]
            raise SolverUnavailable(missing(f"method {self.name!r}", name, self.name, error)) from error

    @abstractmethod
    def solve(self, model: MixedModel, order: Order) -> SolverAnswer:
        """Minimise the model within the limits of the order."""

    def allowance(self, model: MixedModel) -> float:
        """What is taken off a bound for the solver's tolerances, in units of F."""
        return model.allowance(self.tolerance)

    def setup_work(self, compiled: Compiled) -> int:
        return BUILD_PASSES * compiled.work_per_pass

    def start(self, compiled: Compiled, starts: Starts) -> State:
        raise TypeError(f"{self.name} runs once, as a plan; it has no starts to be taken one by one")


class Delegate:
    """Hand the whole problem to a solver, once."""

    exact = False
    alone = True

    def __init__(self, engine: Exact) -> None:
        engine.load()
        self.engine = engine

    def next(self, search: Search) -> Task | None:
        if search.started or not search.affords(self.engine.setup_work(search.compiled)):
            return None
        search.started = 1
        return Task(_Bound(self.engine, search), Starts(search.seed, 0, 1))

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        """The session has told the search all there is."""


@dataclass(frozen=True)
class _Bound(Engine):
    """A solver tied to one search."""

    solver: Exact
    search: Search
    name: ClassVar[str] = "exact"

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return SolverSession(self.solver, self.search)


class SolverSession(State):
    """One run of a solver in a thread of its own."""

    def __init__(self, solver: Exact, search: Search) -> None:
        self.solver, self.search = solver, search
        self.model = mixed_model(search.compiled.problem)
        self.answer: SolverAnswer | None = None
        self.error: Exception | None = None
        self.ended = threading.Event()
        self._settled = False
        points = search.points
        self.order = Order(
            seconds_left=lambda: search.seconds_left - search.closing,
            threads=search.limits.n_jobs,
            seed=search.seed,
            starts=search.limits.starts,
            points=None if points is None else (points + 1) / 2,
        )
        if search.halted():
            self.answer = SolverAnswer(np.empty((0, search.compiled.n)))
            self.ended.set()
        else:
            threading.Thread(target=self._run, name=f"dcra {solver.name}", daemon=True).start()

    def _run(self) -> None:
        try:
            self.answer = self.solver.solve(self.model, self.order)
        except Exception as error:
            self.error = error
        self.ended.set()

    def advance(self, work: int) -> None:
        if not self.ended.wait(PATIENCE):
            self._read_news()
        elif not self._settled:
            self._settle()

    def _read_news(self) -> None:
        while True:
            try:
                news = self.order.news.get_nowait()
            except Empty:
                return
            self._take(news)

    def _take(self, news: SolverAnswer) -> None:
        search = self.search
        if len(news.points):
            search.offer(np.where(_binary(news.points) > 0, 1.0, -1.0))
            search.finished = max(search.finished, len(news.points))
        if news.bound > -inf:
            bound = self.model.unit * news.bound + self.model.offset
            safe = bound - self.solver.allowance(self.model) - RELATIVE * abs(bound)
            search.bound(rounded_up(search.compiled.problem, safe))

    def _settle(self) -> None:
        """Judge the solver's last word, and end the search."""
        self._settled = True
        self._read_news()
        if self.error is not None:
            raise self.error
        answer, search = self.answer, self.search
        assert answer is not None
        self._take(answer)
        search.nit += answer.nodes
        search.stop(self._status(answer.status))

    def _status(self, claimed: Status | None) -> Status:
        """A proof counts where the judged objective agrees with the solver's own, up to its tolerances."""
        search = self.search
        slack = 4 * (self.solver.allowance(self.model) + RELATIVE * abs(search.fun))
        if claimed is Status.OPTIMAL and not search.fun - search.lower_bound <= slack:
            claimed = Status.CONVERGED
        ran_out = Status.CONVERGED if search.limits.time_limit is None else Status.TIME_LIMIT
        return claimed or ran_out

    @property
    def done(self) -> bool:
        return self._settled

    def candidates(self) -> Host:
        """The best point so far; a solver that still runs is stopped, or left behind if it cannot be."""
        out_of_time = self.search.status is None
        if not self._settled:
            if self.order.stop() or out_of_time:
                self.ended.wait()
            if self.ended.is_set():
                self._settle()
            else:
                self._read_news()
        best = self.search.fallback if self.search.spins is None else self.search.spins
        assert best is not None
        return np.atleast_2d(best)


def _binary(u: Host) -> Host:
    return (np.atleast_2d(np.asarray(u, dtype=np.float64)) > 0.5).astype(np.float64)
