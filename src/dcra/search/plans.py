"""Which task comes next: the contract of a plan, and the plain ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.exact.enumeration import SEGMENTS, Enumerate
from dcra.search.state import Search


@dataclass(frozen=True, eq=False)
class Task:
    """Some starts of an engine."""

    engine: Engine
    starts: Starts
    compiled: Compiled | None = None  # what it works on, where that is not the problem as it was given
    counts: bool = True  # whether its starts count as starts
    inner: Task | None = None  # what another plan made this task of
    owner: Plan | None = None  # that plan, which the outcome is for

    def begin(self, search: Search) -> State:
        return self.engine.start(self.compiled or search.working or search.compiled, self.starts)

    def within(self, owner: Plan) -> Task:
        """The same task in the hands of a plan that has it from `owner`."""
        return replace(self, inner=self, owner=owner)


class Outcome(NamedTuple):
    """What became of a task: spins (k, n), the state they come from, seconds spent on it.

    `values` (k,) are their true objectives, where the worker has judged them.
    """

    spins: Host
    state: State
    seconds: float
    values: Host | None = None


class Plan(ABC):
    """Which task comes next. Called under the workers' lock."""

    exact = False
    """Whether its tasks, all done, have looked at every point."""

    least = -inf
    """What no feasible point falls below, once they are done; inf where there is none."""

    whole_pool = False
    """Whether, where a pool is asked for, its tasks hand in all points that could belong to it."""

    def hands_in_pool(self, search: Search) -> bool:
        """The same for a search that asks for one."""
        return self.whole_pool

    @abstractmethod
    def next(self, search: Search) -> Task | None:
        """The next task; None when there is none, or none before an outcome is known."""

    def complete(self, search: Search) -> bool:
        """Whether there was nothing left to do, however much time there is."""
        return search.finished >= search.limits.most_starts

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:  # noqa: B027
        """Take note of an outcome whose best point has the objective `fun`; by default there is no need."""

    def adopt(self, compiled: Compiled) -> None:  # noqa: B027
        """Go on with a problem that has changed, because penalties have grown."""


class Repeat(Plan):
    """One engine from fresh starts, until a limit is reached."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def next(self, search: Search) -> Task | None:
        compiled = search.working or search.compiled
        count = int(min(self.engine.batch(compiled), search.starts_left))
        if count <= 0 or not search.affords(self.engine.setup_work(compiled)):
            return None
        return Task(self.engine, next_starts(search, count))


class Once(Repeat):
    """An engine that would take every start to the same answer: the points given, or one start."""

    def next(self, search: Search) -> Task | None:
        return super().next(search) if search.started < self._all(search) else None

    def complete(self, search: Search) -> bool:
        return search.finished >= self._all(search)

    def _all(self, search: Search) -> float:
        return min(1 if search.points is None else len(search.points), search.limits.most_starts)


class Nothing(Plan):
    """Where there was no time to make a plan."""

    def next(self, search: Search) -> Task | None:
        return None


class Exhaust(Plan):
    """Every point of the domain, once."""

    exact = True
    whole_pool = True

    def __init__(self, engine: Enumerate | None = None) -> None:
        self.engine = engine or Enumerate()
        self.segment = 0
        self.least = inf

    def next(self, search: Search) -> Task | None:
        if self.segment == SEGMENTS:
            return None
        self.segment += 1
        engine = self.engine if search.pool is None else replace(self.engine, keep=search.pool.reserve)
        return Task(engine, Starts(search.seed, self.segment - 1, 1))

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        self.least = min(self.least, outcome.state.facts["least"])


def start_at_best(search: Search) -> Starts:
    """One start, which is none of those that are counted, at the best point if there is one."""
    points = None if search.spins is None else search.spins[None].copy()
    return Starts(search.seed, search.started, 1, points)


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
