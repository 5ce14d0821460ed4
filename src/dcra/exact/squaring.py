"""What is done before a tree where couplings stand beside losses: multipliers, and squares by them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, News, Starts, State
from dcra.exact.multipliers import least_multipliers, multipliers
from dcra.exact.squares import Squares, squares_of


@dataclass(frozen=True, eq=False)
class Squaring(Engine):
    """The work before a tree, from a good point (n,), spins."""

    point: Host

    name: ClassVar[str] = "exact"

    def start(self, compiled: Compiled, starts: Starts) -> SquaringState:
        return SquaringState(compiled, np.asarray(compiled.in_domain(self.point), np.float64))


class SquaringState(State):
    """A few passes at a time; `squares` is None before the end, and where there are none."""

    def __init__(self, compiled: Compiled, x: Host) -> None:
        self.compiled, self.x = compiled, x
        self.squares: Squares | None = None
        self.done_work, self._done = 0, False
        self.news = list[News]()
        self._run = self._prepare()

    def advance(self, work: int) -> None:
        end = self.done_work + work
        while not self._done and self.done_work < end:
            try:
                self.done_work += next(self._run)
            except StopIteration:
                self._done = True

    def _prepare(self) -> Iterator[int]:
        problem = self.compiled.problem.on_host()
        d = least_multipliers(problem)
        if self.compiled.loops:
            d = yield from multipliers(problem)
        self.squares = yield from squares_of(problem, d, self.x)
        if self.squares is not None:
            self.news.append(News(self.candidates(), self.squares.bound))

    def take_news(self) -> list[News]:
        news, self.news = self.news, []
        return news

    @property
    def done(self) -> bool:
        return self._done

    @property
    def facts(self) -> dict[str, Any]:
        return {"taken": self.squares}

    @property
    def work(self) -> float:
        return self.done_work

    def candidates(self) -> Host:
        return np.empty((0, self.compiled.n))

    def estimate(self) -> float | None:
        return inf

    @property
    def steps(self) -> int:
        return 0
