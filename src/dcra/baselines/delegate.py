"""Solvers that prove what they find, run in a thread of their own so that limits, callbacks and Ctrl-C work.

The solver reports incumbents and bounds through an `Order`; a `SolverSession` hands them on as news, which
the driver judges in float64, and the search ends when the solver does.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from math import inf, isfinite
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dcra._array import Host
from dcra.bounds.dual import rounded_up
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, News, Starts, State
from dcra.exact.feasibility import is_infeasible
from dcra.exact.incumbent import feasible
from dcra.exact.mixed_model import mixed_model
from dcra.messages import SolverUnavailable, missing
from dcra.result import Status
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.state import Search

BUILD_PASSES = 40
"""Passes over A that writing out the model costs, about."""

MOST_CHECKED = 10**7
"""Entries of A that trying the neighbours of an answer may touch, and theirs: some milliseconds."""

PATIENCE = 0.005
"""Seconds to wait for news from a solver before the driver looks at its limits."""

AGAIN = 0.05
"""Seconds after which a solver that was to stop, and has not, is told again."""


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
    travels: ClassVar[bool] = False
    takes_constraints: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"losses alone", "columns", "piecewise linear"})
    package: ClassVar[str] = ""
    tolerance: ClassVar[float] = 1e-6
    """To which the solver meets rows and reduced costs, by default."""
    relative: ClassVar[float] = 1e-9
    """Share of the objective that rounding inside the solver may cost a bound, besides its tolerances."""

    def load(self) -> Any:
        """The solver's package, or an error that says how to get it."""
        try:
            return import_module(self.package)
        except ImportError as error:
            name = self.package.partition(".")[0]
            raise SolverUnavailable(missing(f"method {self.name!r}", name, self.name, error)) from error

    def model_of(self, compiled: Compiled) -> Any:
        """What `solve` is given: rows and columns, or something else with a `unit` and an `offset`."""
        return mixed_model(compiled.problem)

    @abstractmethod
    def solve(self, model: Any, order: Order) -> SolverAnswer:
        """Minimise the model within the limits of the order."""

    def allowance(self, model: Any) -> float:
        """What is taken off a bound for the solver's tolerances, in units of F."""
        return float(model.allowance(self.tolerance))

    def confirms_infeasible(self, compiled: Compiled, order: Order) -> bool:
        """Whether it is certain that no point is feasible, where the solver says so."""
        constraints = compiled.problem.constraints
        return constraints is not None and is_infeasible(constraints, order.seconds)

    def setup_work(self, compiled: Compiled) -> int:
        return BUILD_PASSES * compiled.work_per_pass

    def start(self, compiled: Compiled, starts: Starts) -> State:
        raise TypeError(f"{self.name} runs once, as a plan; it has no starts to be taken one by one")


class Delegate(Plan):
    """Hand the whole problem to a solver, once."""

    def __init__(self, engine: Exact) -> None:
        engine.load()
        self.engine = engine

    def next(self, search: Search) -> Task | None:
        if search.started or not search.affords(self.engine.setup_work(search.compiled)):
            return None
        search.started = 1
        return SolverTask(self.engine, Starts(search.seed, 0, 1, search.points), counts=False)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        """The solver's last word ends the search."""
        assert isinstance(outcome.state, SolverSession)
        answer, bound = outcome.state.last_word()
        search.bound(rounded_up(search.compiled.problem, bound))
        search.finished = max(len(answer.points), int(isfinite(search.fun)))
        claimed = answer.status
        if claimed is Status.OPTIMAL and not search.gap_closed():
            claimed = Status.CONVERGED  # within its tolerances, which is no proof
        ran_out = Status.CONVERGED if search.limits.time_limit is None else Status.TIME_LIMIT
        search.stop(claimed or ran_out)


class SolverTask(Task):
    """A task that knows how much time there is: solvers keep their limits themselves."""

    def begin(self, search: Search) -> State:
        assert isinstance(self.engine, Exact)
        points = self.starts.points
        order = Order(
            seconds_left=lambda: search.seconds_left - search.closing,
            threads=search.limits.n_jobs,
            seed=search.seed,
            starts=search.limits.starts,
            points=None if points is None else (points + 1) / 2,
        )
        return SolverSession(self.engine, search.compiled, order)


class SolverSession(State):
    """One run of a solver in a thread of its own."""

    def __init__(self, solver: Exact, compiled: Compiled, order: Order) -> None:
        self.solver, self.order = solver, order
        self.compiled, self.model = compiled, solver.model_of(compiled)
        self.nothing = np.empty((0, compiled.n))
        self.answer = SolverAnswer(self.nothing)
        self.error: Exception | None = None
        self.ended = threading.Event()
        if order.seconds <= 0:
            self.ended.set()
        else:
            threading.Thread(target=self._run, name=f"dcra {solver.name}", daemon=True).start()

    def _run(self) -> None:
        try:
            self.answer = self._confirmed(self.solver.solve(self.model, self.order))
        except Exception as error:
            self.error = error
        self.ended.set()

    def _confirmed(self, answer: SolverAnswer) -> SolverAnswer:
        """The answer, without a bound that is certainly wrong, or an infeasibility that is not certain."""
        if answer.status is not Status.INFEASIBLE:
            return answer._replace(bound=-inf) if self._contradicted(answer) else answer
        certain = self.solver.confirms_infeasible(self.compiled, self.order)
        return answer if certain else answer._replace(status=Status.CONVERGED)

    def _contradicted(self, answer: SolverAnswer) -> bool:
        """Whether a point near the last one lies below the bound: presolves go wrong on wide ranges."""
        compiled = self.compiled
        n, work = compiled.n, compiled.work_per_pass
        if not len(answer.points) or n * work > MOST_CHECKED:
            return False
        around = np.where(np.eye(n) > 0, -1.0, 1.0)
        if n * (n + 1) // 2 * work <= MOST_CHECKED:
            one, two = np.triu_indices(n, 1)
            around = np.concatenate([around, around[one] * around[two]])
        point = self._news(answer).spins[-1]
        near = feasible(compiled, around * point)
        return bool(np.any(compiled.judged(near) < self._news(answer).lower_bound))

    def advance(self, work: int) -> None:
        self.ended.wait(PATIENCE)

    def take_news(self) -> list[News]:
        found = []
        with suppress(Empty):
            while True:
                found.append(self._news(self.order.news.get_nowait()))
        return found

    def _news(self, answer: SolverAnswer) -> News:
        """Points as spins, and the bound in units of F, less what the solver's tolerances may have cost."""
        spins = np.where(_binary(answer.points) > 0, 1.0, -1.0) if len(answer.points) else self.nothing
        bound = self.model.unit * answer.bound + self.model.offset
        off = self.solver.allowance(self.model) + self.solver.relative * abs(bound)
        return News(spins, bound - off if answer.bound > -inf else -inf)

    def last_word(self) -> tuple[SolverAnswer, float]:
        """What the solver said at its end, and the bound in units of F."""
        return self.answer, self._news(self.answer).lower_bound

    @property
    def steps(self) -> int:
        return self.answer.nodes

    @property
    def done(self) -> bool:
        return self.ended.is_set() and self.order.news.empty()

    def candidates(self) -> Host:
        """The last answer; a solver that still runs is stopped, or left behind if it cannot be."""
        out_of_time = self.order.seconds_left() <= 0
        if not self.ended.is_set() and (self.order.stop() or out_of_time):
            while not self.ended.wait(AGAIN):
                self.order.stop()
        if self.error is not None:
            raise self.error
        return self._news(self.answer).spins


def _binary(u: Host) -> Host:
    return (np.atleast_2d(np.asarray(u, dtype=np.float64)) > 0.5).astype(np.float64)
