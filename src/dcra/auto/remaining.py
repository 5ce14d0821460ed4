"""Descents on what the root of a proof has left free: all else is the same in any better point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host, from_numpy, to_numpy
from dcra.auto.descents import Portfolio
from dcra.compiled.form import Compiled, compile_problem
from dcra.compiled.units import units_at
from dcra.engines.base import Engine, News, Starts, State
from dcra.model.problem import DOMAINS
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.state import Search

WORTHWHILE = 0.05
"""Share of the variables that must be fixed for a problem of its own."""


def remaining(compiled: Compiled, sides: Host) -> Compiled:
    """The problem of the variables whose side (n,), -1 or 1, is not known: 0."""
    from dcra.model.fixing import Fixing

    low, high = DOMAINS[compiled.problem.domain]
    values = np.select([sides < 0, sides > 0], [low, high], np.nan)
    own = compile_problem(Fixing(compiled.problem, values).problem, compiled.loops)
    return replace(own, made_by=(f"{__name__}:remaining", sides))


@dataclass(frozen=True, eq=False)
class Rest(Engine):
    """An engine on the variables that are free; its answers have all of them."""

    engine: Engine
    sides: Host

    name: ClassVar[str] = "rest"

    def start(self, compiled: Compiled, starts: Starts) -> RestState:
        return RestState(self.engine.start(compiled, starts), self.sides)


class RestState(State):
    """A state on the variables that are free."""

    def __init__(self, inner: State, sides: Host) -> None:
        self.inner, self.sides = inner, sides

    def advance(self, work: int) -> None:
        self.inner.advance(work)

    @property
    def done(self) -> bool:
        return self.inner.done

    def candidates(self) -> Host:
        return self._whole(self.inner.candidates())

    def _whole(self, spins: Host) -> Host:
        whole = np.tile(self.sides.astype(np.float64), (len(spins), 1))
        whole[:, self.sides == 0] = spins
        return whole

    @property
    def steps(self) -> int:
        return self.inner.steps

    @property
    def work(self) -> float:
        return self.inner.work

    @property
    def pace(self) -> float:
        return self.inner.pace

    @property
    def stages(self) -> tuple[State, ...]:
        return self.inner.stages

    @property
    def facts(self) -> dict[str, Any]:
        return self.inner.facts

    def take_news(self) -> list[News]:
        return [News(self._whole(news.spins)) for news in self.inner.take_news() if len(news.spins)]


class Remaining(Plan):
    """Descents on what is free, which go on where those on everything have ended.

    Parameters
    ----------
    before : Portfolio
    sides : (n,) array
        Where variables are fixed: -1 or 1; 0 for those that are free.
    spins : (n,) array
        The best point, by whose residuals scales are set.
    """

    def __init__(self, before: Portfolio, sides: Host, spins: Host) -> None:
        self.sides, self.free = sides, sides == 0
        self.compiled = remaining(before.compiled, sides)
        self.own = Portfolio(self.compiled)
        self.own.grant, self.own.speed = before.grant, before.speed
        z = self.compiled.residual(from_numpy(spins[self.free], self.compiled.like))
        self.own.units = units_at(self.compiled, to_numpy(z)[None])

    def next(self, search: Search) -> Task | None:
        task = self.own.next(search)
        if task is None:
            return None
        points = task.starts.points
        starts = task.starts if points is None else replace(task.starts, points=points[:, self.free])
        return replace(task, engine=Rest(task.engine, self.sides), starts=starts, compiled=self.compiled)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        self.own.learn(search, task, outcome._replace(spins=outcome.spins[:, self.free]), fun)


def worthwhile(sides: Host) -> bool:
    """Whether so much is fixed that the rest should be a problem of its own."""
    fixed = np.count_nonzero(sides)
    return bool(max(1.0, WORTHWHILE * sides.size) <= fixed < sides.size)
