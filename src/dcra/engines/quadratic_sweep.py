"""Engine `sweep` for a quadratic alone: coordinates through local fields, in a compiled loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcra._array import Host
from dcra._kernels.seed import state as random_state
from dcra._kernels.store import Dense
from dcra.compiled.form import Compiled
from dcra.engines.base import Starts, State
from dcra.engines.blocks import convexity

if TYPE_CHECKING:
    from dcra.engines.sweep import Sweep

FIRST_PENALTY = 1 / 64
"""rho at the start, as a share of what makes the form convex."""

RUN = 64
"""Sparse variables that are visited in a row: neighbours in memory."""


class FieldSweepState(State):
    """One start after another."""

    def __init__(self, engine: Sweep, compiled: Compiled, starts: Starts) -> None:
        from dcra.engines.sweep import initial_points

        self.engine, self.compiled, self.starts = engine, compiled, starts
        self.couplings = compiled.couplings
        self.points = initial_points(compiled, starts)
        self.out = np.where(self.points >= 0, 1.0, -1.0)
        self.convexity = max(convexity(compiled), 1e-12)
        self.current, self._work = -1, 0.0
        self._next_start()

    def _next_start(self) -> None:
        self.current += 1
        self.sweep = 0
        if self.done:
            return
        n = self.compiled.n
        self.x = self.points[self.current].astype(self.couplings.dtype)
        self.g = self.couplings.fields(self.x)
        self.rho = np.full(1, FIRST_PENALTY * self.convexity)
        self.blocks = np.arange(n if isinstance(self.couplings.C, Dense) else -(-n // RUN))
        self.rng = random_state(self.starts.seed, self.starts.first + self.current)

    def advance(self, work: int) -> None:
        from dcra._kernels.ising_sweep import sweep

        if self.done:
            return
        total = self.engine.sweeps
        last = min(total, self.sweep + max(1, work // (2 * self.compiled.work_per_pass)))
        point = (self.couplings.C, self.x, self.g, self.blocks, self.rng, self.rho)
        self._work += sweep(*point, self.convexity, self.sweep, last, total)
        self.sweep = last
        self.out[self.current] = np.where(self.x >= 0, 1.0, -1.0)
        if last == total:
            self._next_start()

    @property
    def done(self) -> bool:
        return self.current >= self.starts.count

    @property
    def steps(self) -> int:
        return min(self.current, self.starts.count) * self.engine.sweeps + self.sweep

    @property
    def work(self) -> float:
        return self._work

    def candidates(self) -> Host:
        return self.out
