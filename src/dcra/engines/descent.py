"""One task of the portfolio: sweeps to a corner of the box, annealing from there, flips to the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dcra._kernels.seed import state as random_state
from dcra._kernels.store import Dense, memory
from dcra.compiled import Compiled
from dcra.engines.base import Engine, Host, Starts, State
from dcra.engines.sweep import SPREAD
from dcra.schedule import Units

KAPPA = 0.5
PATIENCE = 2.0
CAUTION = 1.0
HOT, COLD = 0.55, 0.1
"""First and last temperature, in units of what slopes of typical size change when one variable flips."""


@dataclass(frozen=True)
class Descent(Engine):
    """Sweep, anneal, flip: one start at a time, in compiled loops.

    Parameters
    ----------
    units : Units
        Smoothing of the sweeps, and the unit of temperature.
    sweeps : int
        0 leaves the start where it is.
    passes : int
        Passes of annealing from there.
    hot : float
        Its first temperature, in units.
    """

    units: Units
    sweeps: int
    passes: int
    hot: float = HOT

    name: ClassVar[str] = "descent"
    needs: ClassVar[frozenset[str]] = frozenset({"table"})

    def start(self, compiled: Compiled, starts: Starts) -> DescentState:
        return DescentState(self, compiled, starts)


class DescentState(State):
    """x, z = Ax - b and score of one start; `phase` says which loop is running."""

    def __init__(self, engine: Descent, compiled: Compiled, starts: Starts) -> None:
        from dcra._kernels.state import refresh

        self.engine, self.compiled = engine, compiled
        self.tables = compiled.tables(np.float32)
        self.b = self.tables.b
        n = compiled.n
        self.rng = random_state(starts.seed, starts.first)
        draws = np.random.default_rng((starts.seed, starts.first))
        self.columns = np.arange(n) if starts.free is None else starts.free
        if starts.points is None:
            point = np.where(draws.random(n) < 0.5, -1.0, 1.0)
        else:
            point = starts.points[0].copy()
        if engine.sweeps:
            point[self.columns] = draws.uniform(-SPREAD, SPREAD, self.columns.size)
        self.x = point.astype(np.float32)
        self.z = np.empty_like(self.b)
        self.score = np.zeros(3)
        self.model = self.tables.smoothed(engine.units.delta)
        self.swept = self.passed = 0
        self.rest = np.zeros(n, np.int64)
        self.rho = np.zeros(1)
        runs = self.columns.size if isinstance(self.model.A, Dense) else -(-self.columns.size // 64)
        self.blocks = np.arange(runs)
        self.cursor = np.zeros(2, np.int64)
        self.order = np.arange(n)
        self.work = compiled.work_per_pass
        self.sweep_work = self.cool_work = 0.0
        self._done = False
        refresh(self.model, self.b, self.x, self.z)
        self._phase = self._sweep if engine.sweeps else self._begin_cooling

    def advance(self, work: int) -> None:
        if not self._done:
            self._phase(work)

    def _sweep(self, work: int) -> None:
        from dcra._kernels.sweep import round_to_spins, sweep

        total = self.engine.sweeps
        share = self.columns.size / self.compiled.n
        count = max(1, int(work / (2 * self.compiled.work_per_pass * share)))
        last = min(total, self.swept + count)
        point = (self.model, self.x, self.z, self.columns, self.blocks, self.rest, self.rng, self.rho)
        self.sweep_work += sweep(*point, self.swept, last, total, KAPPA, PATIENCE)
        self.swept = last
        if last == total:
            round_to_spins(self.model, self.x, self.z)
            self._phase = self._begin_cooling

    def _begin_cooling(self, work: int) -> None:
        """A fresh residual and value, and a fresh memory: what the annealing starts from."""
        from dcra._kernels.state import measure, refresh

        refresh(self.model, self.b, self.x, self.z)
        measure(self.model, self.x, self.z, self.score)
        self.best = self.x.copy()
        engine = self.engine
        self.temperatures = engine.units.rho * np.linspace(engine.hot, COLD, engine.passes)
        self.memory = memory(self.compiled.n)
        self._phase = self._cool if engine.passes else self._flip

    def _cool(self, work: int) -> None:
        from dcra._kernels.anneal import anneal

        pace = self.cool_work / self.passed if self.passed else 2.0 * self.compiled.work_per_pass
        count = int(min(self.engine.passes - self.passed, max(1.0, work / max(pace, 1.0))))
        ladder = self.temperatures[self.passed : self.passed + count]
        point = (self.model, self.x, self.z, self.score, self.best)
        self.cool_work += anneal(*point, self.rng, ladder, self.memory, CAUTION)
        self.passed += count
        if self.passed >= self.engine.passes:
            self._end_cooling()

    def _end_cooling(self) -> None:
        from dcra._kernels.state import measure, refresh

        self.x[:] = self.best
        refresh(self.model, self.b, self.x, self.z)
        measure(self.model, self.x, self.z, self.score)
        self._phase = self._flip

    def _flip(self, work: int) -> None:
        from dcra._kernels.flip import flip

        trials = max(1, work * self.compiled.n // (2 * self.compiled.work_per_pass))
        self.work += flip(self.model, self.x, self.z, self.score, self.order, self.cursor, trials)
        self._done = bool(self.cursor[1] >= self.order.size)

    @property
    def done(self) -> bool:
        return self._done

    def estimate(self) -> float | None:
        return self.compiled.value_scale * float(self.score[2]) + self.compiled.offset if self._done else None

    @property
    def steps(self) -> int:
        return self.swept + self.passed

    @property
    def total_work(self) -> float:
        """Entries of A touched so far."""
        return self.work + self.sweep_work + self.cool_work + 3 * self.compiled.work_per_pass

    def candidates(self) -> Host:
        point = self.best if self._phase == self._cool else self.x
        return np.where(point >= 0, 1.0, -1.0)[None]
