"""One-flip descent on the true objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dcra._array import Array, Host, from_numpy, to_numpy
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, InTurn, Starts, State
from dcra.polish.base import PointState, initial_spins
from dcra.polish.neighbours import Neighbours

PATIENCE = 16
"""Flips tried in the order of their predicted gain where A has products only."""


@dataclass(frozen=True)
class Flip(Engine):
    """Flip single variables while that improves."""

    name: ClassVar[str] = "flip"

    def start(self, compiled: Compiled, starts: Starts) -> State:
        if compiled.tabulated and compiled.quadratic is not None:
            from dcra.polish.quadratic import QuadraticFlipState

            return QuadraticFlipState(compiled, starts)
        if compiled.tabulated:
            return FlipState(compiled, starts)
        return (ArrayFlipState if compiled.has_columns else ProductFlipState)(compiled, starts)


class FlipState(PointState):
    """First improvement, cyclically along a random order, in a compiled loop."""

    def prepare(self) -> None:
        index = self.starts.first + self.current
        self.order = np.random.default_rng((self.starts.seed, index, 2)).permutation(self.compiled.n)
        self.cursor = np.zeros(2, np.int64)

    def search(self, work: int) -> bool:
        from dcra._kernels.flip import flip

        trials = self.trials_until_look(work * self.compiled.n // (2 * self.compiled.work_per_pass))
        self._work += flip(self.model, self.x, self.z, self.score, self.order, self.cursor, trials)
        over = bool(self.cursor[1] >= self.order.size) or self.stalled()
        self.best = self.x
        return over

    @property
    def steps(self) -> int:
        """Columns of A touched."""
        return int(self._work * self.compiled.n / self.compiled.work_per_pass)


class ArrayFlipState(State):
    """Best improvement of all points at once, for any loss and library."""

    def __init__(self, compiled: Compiled, starts: Starts) -> None:
        self.compiled = compiled
        self.out = initial_spins(compiled, starts)
        self.active = np.arange(len(self.out))
        self.neighbours = Neighbours(compiled)
        self.values = np.full(len(self.out), np.inf)
        self._steps = 0

    def advance(self, work: int) -> None:
        for _ in range(max(1, work // (2 * self.compiled.work_per_pass * len(self.out)))):
            if self.done:
                return
            spins = self.out[self.active]
            S = from_numpy(spins, self.compiled.like)
            Z = self.compiled.residual(S)
            best = self.neighbours.best(spins, Z)
            self._steps += self.active.size
            values = to_numpy(value_of(self.compiled, S, Z)).astype(np.float64)
            going = (best.gain > 0) & (values < self.values[self.active])  # else rounding leads in circles
            self.values[self.active] = values
            self.active, flipped = self.active[going], best.variable[going]
            self.out[self.active, flipped] *= -1

    @property
    def done(self) -> bool:
        return self.active.size == 0

    @property
    def steps(self) -> int:
        return self._steps

    def candidates(self) -> Host:
        return self.out


class ProductFlipState(InTurn):
    """One point after another, where A has products only: flips that the gradient promises most."""

    def __init__(self, compiled: Compiled, starts: Starts) -> None:
        self.compiled = compiled
        self.out = initial_spins(compiled, starts)
        super().__init__(starts.count)

    def begin(self) -> None:
        """The point is where it is kept."""
        self.last = np.inf

    def search(self, work: int) -> bool:
        for _ in range(max(1, work // (2 * self.compiled.work_per_pass))):
            spins = self.out[self.current]
            j = self._improving(spins)
            self._steps += 1
            if j < 0:
                return True
            spins[j] *= -1
        return False

    def candidates(self) -> Host:
        return self.out

    def _improving(self, spins: Host) -> int:
        compiled = self.compiled
        s = from_numpy(spins, compiled.like)
        z = compiled.residual(s)
        scale = (float(np.mean(np.abs(to_numpy(z)))) if compiled.n_rows else 0.0) or 1.0
        now = float(value_of(compiled, s, z))
        if not now < self.last:
            return -1
        self.last = now
        g = to_numpy(compiled.pull(compiled.slopes(z, 0.1 * scale)))
        if compiled.quadratic is not None:
            g = g + 2 * to_numpy(compiled.quadratic.apply(s))
        promise = spins * g
        order = np.argsort(-promise)[:PATIENCE]
        trials = np.repeat(spins[None], order.size, axis=0)
        trials[np.arange(order.size), order] *= -1
        T = from_numpy(trials, compiled.like)
        gains = now - to_numpy(value_of(compiled, T, compiled.residual(T)))
        best = int(np.argmax(gains))
        return int(order[best]) if gains[best] > 1e-12 * abs(now) else -1


def value_of(compiled: Compiled, S: Array, Z: Array) -> Any:
    """The objective of spins S (..., n) with residuals Z, in the units of the compiled problem."""
    value = compiled.smoothed(Z, 0.0) + compiled.linear(S)
    if not compiled.pieces and compiled.c is None:
        value = value + 0.0 * S[..., 0]
    return value if compiled.quadratic is None else value + compiled.quadratic.value(S)
