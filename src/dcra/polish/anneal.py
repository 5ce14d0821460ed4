"""Simulated annealing on the true objective; its temperatures come from the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dcra._kernels.store import memory
from dcra.compiled.form import Compiled
from dcra.compiled.units import units_at
from dcra.engines.base import Engine, Starts, State
from dcra.polish.base import PointState

CAUTION = 1.0
"""How soon a hopeless flip is looked at again; infinite for plain Metropolis."""

SKIPPING = 8
"""Passing over a variable without looking takes as long as touching this many entries of A."""


@dataclass(frozen=True)
class Anneal(Engine):
    """Metropolis flips while the temperature falls linearly, then one-flip descent.

    Parameters
    ----------
    passes : int
        Passes over the variables, each at its own temperature.
    hot, cold : float
        First and last temperature, in units of what slopes of typical size change when one variable flips.
    unit : float, optional
        That unit; measured at the start by default.
    leaving : bool
        Among couplings, whether the point it starts from is no answer: the best that comes after it is.
    """

    passes: int = 1000
    hot: float = 0.6
    cold: float = 0.1
    unit: float | None = None
    leaving: bool = False

    name: ClassVar[str] = "anneal"
    needs: ClassVar[frozenset[str]] = frozenset({"table"})

    def __post_init__(self) -> None:
        if self.passes < 1:
            raise ValueError(f"`passes` must be at least 1; got {self.passes}")
        if not self.hot >= self.cold > 0:
            raise ValueError(f"`hot` >= `cold` > 0 must hold; got {self.hot!r} and {self.cold!r}")
        if self.unit is not None and not self.unit > 0:
            raise ValueError(f"`unit` must be positive; got {self.unit!r}")

    def start(self, compiled: Compiled, starts: Starts) -> State:
        if compiled.quadratic is not None:
            from dcra.polish.quadratic import QuadraticAnnealState

            return QuadraticAnnealState(self, compiled, starts, leaving=self.leaving)
        return AnnealState(self, compiled, starts)


class AnnealState(PointState):
    def __init__(self, engine: Anneal, compiled: Compiled, starts: Starts) -> None:
        self.engine = engine
        self.passed = 0  # of the current start
        self.annealing_work = 0.0  # of all starts, flips at the end apart
        super().__init__(compiled, starts)

    def prepare(self) -> None:
        engine = self.engine
        unit = engine.unit or units_at(self.compiled, self.tables.residual(self.z)).rho
        self.temperatures = unit * np.linspace(engine.hot, engine.cold, engine.passes)
        self.memory = memory(self.compiled.n)
        self.order = np.arange(self.compiled.n)
        self.cursor = np.zeros(2, np.int64)
        self.passed = 0

    @property
    def pace(self) -> float:
        """Entries of A that a pass has touched so far, in the mean."""
        known = self._steps > 0
        return max(1.0, self.annealing_work / self._steps) if known else 2.0 * self.compiled.work_per_pass

    def search(self, work: int) -> bool:
        if self.passed < self.engine.passes:
            self._anneal(work)
            return False
        return self._flip(work)

    def _anneal(self, work: int) -> None:
        from dcra._kernels.anneal import anneal

        count = int(min(self.engine.passes - self.passed, max(1.0, work / self.pace)))
        ladder = self.temperatures[self.passed : self.passed + count]
        point = (self.model, self.x, self.z, self.score, self.best)
        done = anneal(*point, self.rng, ladder, self.memory, CAUTION) + SKIPPING * self.x.size * count
        self.annealing_work += done
        self._work += done
        self._steps += count
        self.passed += count
        if self.passed == self.engine.passes:
            self.place(self.best)

    def _flip(self, work: int) -> bool:
        from dcra._kernels.flip import flip

        trials = self.trials_until_look(work * self.compiled.n // (2 * self.compiled.work_per_pass))
        self._work += flip(self.model, self.x, self.z, self.score, self.order, self.cursor, trials)
        over = bool(self.cursor[1] >= self.order.size) or self.stalled()
        self.best = self.x
        return over
