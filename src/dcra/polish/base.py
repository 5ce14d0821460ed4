"""What all local searches share: points to start from, and the compiled state of one of them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host
from dcra._kernels.seed import state as random_state
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, InTurn, Starts, State


def initial_spins(compiled: Compiled, starts: Starts) -> Host:
    """The given points, or random signs of each start."""
    if starts.points is not None:
        return starts.points.copy()
    draws = [
        np.random.default_rng((starts.seed, starts.first + i)).random(compiled.n) for i in range(starts.count)
    ]
    return np.where(np.stack(draws) < 0.5, -1.0, 1.0)


@dataclass(frozen=True)
class AsGiven(Engine):
    """Each start is its own answer: the points given, or random signs."""

    name: ClassVar[str] = "as-given"

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return AsGivenState(initial_spins(compiled, starts))


class AsGivenState(State):
    done = True

    def __init__(self, spins: Host) -> None:
        self.spins = spins

    def advance(self, work: int) -> None:
        """Nothing to do."""

    def candidates(self) -> Host:
        return self.spins


LOOK = 64
"""Passes of a descent between two looks at its value, computed anew."""


class PolishState(InTurn):
    """Local search, one start after another; `best` is the current answer, `out` holds all of them.

    Descents compare values that are kept up to date, and rounding may lead them in circles. They make their
    trials by `trials_until_look` and end where `stalled` says so: at every look the value has fallen.
    """

    compiled: Compiled
    starts: Starts
    best: Host
    _best_value = inf
    _trials = 0  # since the last look
    _looked = inf  # the value there

    def __init__(self, compiled: Compiled, starts: Starts) -> None:
        self.compiled, self.starts = compiled, starts
        self.out = initial_spins(compiled, starts)
        super().__init__(starts.count)

    @abstractmethod
    def place(self, spins: Host) -> None:
        """Make `spins` the current point, with everything that is kept beside it computed anew."""

    @property
    @abstractmethod
    def point(self) -> Host:
        """The current point as the loops see it."""

    @abstractmethod
    def prepare(self) -> None:
        """Set up what the search keeps besides the point."""

    @property
    @abstractmethod
    def best_value(self) -> float:
        """The objective of `best`, in the units of the compiled problem."""

    @property
    @abstractmethod
    def value(self) -> float:
        """The objective of the current point, in the units of the compiled problem."""

    def trials_until_look(self, wanted: int) -> int:
        """So many of the trials wanted of a descent as may be made before the next look."""
        count = max(1, min(wanted, LOOK * self.compiled.n - self._trials))
        self._trials += count
        return count

    def stalled(self) -> bool:
        """Whether it is time for a look, and the value has not fallen since the last one."""
        if self._trials < LOOK * self.compiled.n:
            return False
        self.place(self.point)
        before, self._looked, self._trials = self._looked, self.value, 0
        return not self._looked < before

    def begin(self) -> None:
        self._trials, self._looked = 0, inf
        self.place(self.out[self.current])
        self.best = self.point.copy()
        self.rng = random_state(self.starts.seed, self.starts.first + self.current)
        self.prepare()

    def keep(self, finished: bool) -> None:
        self.out[self.current] = self.best
        if finished:
            self._best_value = min(self._best_value, self.best_value)

    def estimate(self) -> float | None:
        compiled = self.compiled
        return compiled.value_scale * self._best_value + compiled.offset if self.done else None

    def candidates(self) -> Host:
        return self.out


class PointState(PolishState):
    """Compiled local search among losses; x, z = Ax - b and score belong to the current start."""

    def __init__(self, compiled: Compiled, starts: Starts, dtype: Any = np.float32) -> None:
        self.tables = compiled.tables(dtype)
        self.model, self.b = self.tables.model, self.tables.b
        self.z = np.empty_like(self.b)
        self.score = np.zeros(3)
        super().__init__(compiled, starts)

    def place(self, spins: Host) -> None:
        from dcra._kernels.state import measure, refresh

        self.x = spins.astype(self.b.dtype)
        refresh(self.model, self.b, self.x, self.z)
        measure(self.model, self.x, self.z, self.score)
        self._work += 1.0 * self.compiled.work_per_pass

    @property
    def point(self) -> Host:
        return self.x

    @property
    def value(self) -> float:
        return float(self.score[0] + self.score[1])

    @property
    def best_value(self) -> float:
        return float(self.score[2])
