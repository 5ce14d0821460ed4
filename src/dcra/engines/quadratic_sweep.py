"""Engine `sweep` for a quadratic alone: coordinates through local fields, in a compiled loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcra._array import Host
from dcra._kernels.seed import state as random_state
from dcra.compiled.form import Compiled
from dcra.engines.base import InTurn, Starts
from dcra.engines.blocks import convexity

if TYPE_CHECKING:
    from dcra.engines.sweep import Sweep

FIRST_PENALTY = 1 / 64
"""rho at the start, as a share of what makes the form convex."""


class QuadraticSweepState(InTurn):
    """One start after another."""

    def __init__(self, engine: Sweep, compiled: Compiled, starts: Starts) -> None:
        from dcra.engines.sweep import initial_points

        self.engine, self.compiled, self.starts = engine, compiled, starts
        self.quadratic = compiled.quadratic_tables
        self.points = initial_points(compiled, starts)
        self.out = np.where(self.points >= 0, 1.0, -1.0)
        self.convexity = max(convexity(compiled), 1e-12)
        super().__init__(starts.count)

    def begin(self) -> None:
        from dcra.engines.sweep import runs_of

        self.sweep = 0
        self.x = self.points[self.current].astype(self.quadratic.dtype)
        self.g = self.quadratic.fields(self.x)
        self.rho = np.full(1, FIRST_PENALTY * self.convexity)
        self.blocks = runs_of(self.quadratic.C, self.compiled.n)
        self.rng = random_state(self.starts.seed, self.starts.first + self.current)

    def search(self, work: int) -> bool:
        from dcra._kernels.quadratic_sweep import sweep

        total = self.engine.sweeps
        last = min(total, self.sweep + max(1, work // (2 * self.compiled.work_per_pass)))
        point = (self.quadratic.C, self.x, self.g, self.blocks, self.rng, self.rho)
        self._work += sweep(*point, self.convexity, self.sweep, last, total)
        self._steps += last - self.sweep
        self.sweep = last
        return last == total

    def keep(self, finished: bool) -> None:
        self.out[self.current] = np.where(self.x >= 0, 1.0, -1.0)

    def candidates(self) -> Host:
        return self.out
