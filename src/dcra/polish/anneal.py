"""Simulated annealing on the true objective; its temperatures come from the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dcra._kernels.store import memory
from dcra.compiled import Compiled
from dcra.engines.base import Engine, Starts
from dcra.polish.points import PointState
from dcra.schedule import units_at

CAUTION = 1.0


@dataclass(frozen=True)
class Anneal(Engine):
    """Metropolis flips while the temperature falls linearly.

    Parameters
    ----------
    passes : int
        Passes over the variables, each at its own temperature.
    hot, cold : float
        First and last temperature, in units of the change that slopes of typical size make when one
        variable flips.
    """

    passes: int = 1000
    hot: float = 0.6
    cold: float = 0.1

    name: ClassVar[str] = "anneal"
    needs: ClassVar[frozenset[str]] = frozenset({"table"})

    def __post_init__(self) -> None:
        if self.passes < 1:
            raise ValueError(f"`passes` must be at least 1; got {self.passes}")
        if not self.hot >= self.cold > 0:
            raise ValueError(f"`hot` >= `cold` > 0 must hold; got {self.hot!r} and {self.cold!r}")

    def start(self, compiled: Compiled, starts: Starts) -> AnnealState:
        return AnnealState(self, compiled, starts)


class AnnealState(PointState):
    def __init__(self, engine: Anneal, compiled: Compiled, starts: Starts) -> None:
        self.engine = engine
        self.pass_work = float(2 * compiled.work_per_pass)
        super().__init__(compiled, starts)

    def prepare(self) -> None:
        engine = self.engine
        unit = units_at(self.compiled, self.tables.residual(self.z)).rho
        self.temperatures = unit * np.linspace(engine.hot, engine.cold, engine.passes)
        self.memory = memory(self.compiled.n)
        self.best = self.x.copy()
        self.passed = 0
        self.cursor = np.zeros(2, np.int64)

    def search(self, work: int) -> bool:
        from dcra._kernels.anneal import anneal
        from dcra._kernels.flip import flip
        from dcra._kernels.state import measure, refresh

        point = (self.model, self.x, self.z, self.score)
        if self.passed < self.engine.passes:
            count = int(min(self.engine.passes - self.passed, max(1, work / self.pass_work)))
            ladder = self.temperatures[self.passed : self.passed + count]
            done = anneal(*point, self.best, self.rng, ladder, self.memory, CAUTION)
            self.pass_work = max(0.5 * (self.pass_work + done / count), 1.0)
            self.passed += count
            self._steps += count
            if self.passed == self.engine.passes:
                self.x[:] = self.best
                refresh(self.model, self.b, self.x, self.z)
                measure(self.model, self.x, self.z, self.score)
            return False
        flip(*point, np.arange(self.compiled.n), self.cursor, 4 * self.compiled.n)
        self.best = self.x.copy()
        return bool(self.cursor[1] >= self.compiled.n)
