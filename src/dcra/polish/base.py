"""What all local searches share: points to start from, and the compiled state of one of them."""

from __future__ import annotations

from abc import abstractmethod
from math import inf
from typing import Any

import numpy as np

from dcra._array import Host
from dcra._kernels.seed import state as random_state
from dcra.compiled.form import Compiled
from dcra.engines.base import Starts, State


def initial_spins(compiled: Compiled, starts: Starts) -> Host:
    """The given points, or random signs of each start."""
    if starts.points is not None:
        return starts.points.copy()
    draws = [
        np.random.default_rng((starts.seed, starts.first + i)).random(compiled.n) for i in range(starts.count)
    ]
    return np.where(np.stack(draws) < 0.5, -1.0, 1.0)


class InTurn(State):
    """Local search, one start after another: `current` is at work, `out` holds the answers so far."""

    compiled: Compiled
    starts: Starts
    out: Host
    current = -1
    _steps = 0
    _work = 0.0
    _best_value = inf

    @abstractmethod
    def prepare(self) -> None:
        """Set up what the search keeps besides the point."""

    @abstractmethod
    def search(self, work: int) -> bool:
        """Go on for about `work` entries; True when this start is finished. `self.best` holds its answer."""

    @property
    def done(self) -> bool:
        return self.current >= self.starts.count

    @property
    def steps(self) -> int:
        return self._steps

    @property
    def work(self) -> float:
        return self._work

    def estimate(self) -> float | None:
        compiled = self.compiled
        return compiled.value_scale * self._best_value + compiled.offset if self.done else None

    def candidates(self) -> Host:
        return self.out


class PointState(InTurn):
    """Compiled local search, one start after another; x, z = Ax - b and score belong to the current one."""

    def __init__(self, compiled: Compiled, starts: Starts, dtype: Any = np.float32) -> None:
        self.compiled, self.starts = compiled, starts
        self.tables = compiled.tables(dtype)
        self.model, self.b = self.tables.model, self.tables.b
        self.out = initial_spins(compiled, starts)
        self.z = np.empty_like(self.b)
        self.score = np.zeros(3)
        self._next_start()

    def _next_start(self) -> None:
        self.current += 1
        if self.done:
            return
        self.place(self.out[self.current])
        self.best = self.x.copy()
        self.rng = random_state(self.starts.seed, self.starts.first + self.current)
        self.prepare()

    def place(self, spins: Host) -> None:
        """Make `spins` the current point, with a fresh residual and value."""
        from dcra._kernels.state import measure, refresh

        self.x = spins.astype(self.b.dtype)
        refresh(self.model, self.b, self.x, self.z)
        measure(self.model, self.x, self.z, self.score)
        self._work += 1.0 * self.compiled.work_per_pass

    def advance(self, work: int) -> None:
        if self.done:
            return
        finished = self.search(work)
        self.out[self.current] = self.best
        if finished:
            self._best_value = min(self._best_value, float(self.score[2]))
            self._next_start()
