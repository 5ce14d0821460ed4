"""One-flip descent on the true objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dcra._array import Array, Host, device_of, from_numpy, namespace, to_numpy
from dcra.compiled import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.engines.block import WIDTH, blocks_of
from dcra.polish.points import PointState, initial_spins

PATIENCE = 16
"""Flips tried in the order of their predicted gain where A has products only."""


@dataclass(frozen=True)
class Flip(Engine):
    """Flip single variables while that improves."""

    name: ClassVar[str] = "flip"

    def start(self, compiled: Compiled, starts: Starts) -> State:
        if compiled.tabulated and compiled.quadratic is not None:
            from dcra.polish.fields import FieldFlipState

            return FieldFlipState(compiled, starts)
        if compiled.tabulated:
            return FlipState(compiled, starts)
        return ArrayFlipState(compiled, starts)


class FlipState(PointState):
    """First improvement, cyclically along a random order, in a compiled loop."""

    def prepare(self) -> None:
        index = self.starts.first + self.current
        self.order = np.random.default_rng((self.starts.seed, index, 2)).permutation(self.compiled.n)
        self.cursor = np.zeros(2, np.int64)

    def search(self, work: int) -> bool:
        from dcra._kernels.flip import flip

        trials = max(1, work * self.compiled.n // (2 * self.compiled.work_per_pass))
        self._work += flip(self.model, self.x, self.z, self.score, self.order, self.cursor, trials)
        self.best = self.x
        return bool(self.cursor[1] >= self.order.size)

    @property
    def steps(self) -> int:
        """Columns of A touched."""
        return int(self._work * self.compiled.n / self.compiled.work_per_pass)


class ArrayFlipState(State):
    """Best improvement, for any loss and library: all flips of a point are evaluated together."""

    def __init__(self, compiled: Compiled, starts: Starts) -> None:
        self.compiled = compiled
        self.out = initial_spins(compiled, starts)
        self.active = list(range(starts.count))
        self._steps = 0
        self.evaluator = _AllFlips(compiled) if compiled.has_columns else _LikelyFlips(compiled)

    def advance(self, work: int) -> None:
        for _ in range(max(1, work // (2 * self.compiled.work_per_pass))):
            if self.done:
                return
            i = self.active[0]
            j = self.evaluator.improving(self.out[i])
            self._steps += 1
            if j < 0:
                self.active.pop(0)
            else:
                self.out[i, j] *= -1

    @property
    def done(self) -> bool:
        return not self.active

    @property
    def steps(self) -> int:
        return self._steps

    def candidates(self) -> Host:
        return self.out


class _AllFlips:
    """The best flip of a point, from the values of all its neighbours, a block of columns at a time."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.blocks = blocks_of(compiled, WIDTH)

    def improving(self, spins: Host) -> int:
        compiled = self.compiled
        s = from_numpy(spins, compiled.like)
        z = compiled.residual(s)
        now = float(compiled.smoothed(z, 0.0)) if compiled.pieces else 0.0
        gains = np.empty(compiled.n)
        for block in self.blocks:
            columns = [
                operator.apply(_identity(block.hi - block.lo, s)) for operator in block.operators
            ]  # rows are columns of A
            x = s[block.lo : block.hi]
            if columns:
                stacked = columns[0] if len(columns) == 1 else namespace(s).concat(columns, axis=-1)
                values = compiled.smoothed(z - 2 * x[:, None] * stacked, 0.0)
                gains[block.lo : block.hi] = now - to_numpy(values)
            else:
                gains[block.lo : block.hi] = 0.0
        if compiled.c is not None:
            gains += 2 * to_numpy(compiled.c) * spins
        if compiled.quadratic is not None:
            gains += 4 * to_numpy(compiled.quadratic.apply(s)) * spins
        j = int(np.argmax(gains))
        return j if gains[j] > 1e-12 * abs(now) + 1e-300 else -1


class _LikelyFlips:
    """The first improving flip among those the gradient promises most: products with A only."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled

    def improving(self, spins: Host) -> int:
        compiled = self.compiled
        s = from_numpy(spins, compiled.like)
        z = compiled.residual(s)
        scale = (float(np.mean(np.abs(to_numpy(z)))) if compiled.n_rows else 0.0) or 1.0
        now = float(self._value(s))
        g = to_numpy(compiled.pull(compiled.slopes(z, 0.1 * scale)))
        if compiled.quadratic is not None:
            g = g + 2 * to_numpy(compiled.quadratic.apply(s))
        promise = spins * g
        order = np.argsort(-promise)[:PATIENCE]
        trials = np.repeat(spins[None], order.size, axis=0)
        trials[np.arange(order.size), order] *= -1
        gains = now - to_numpy(self._value(from_numpy(trials, compiled.like)))
        best = int(np.argmax(gains))
        return int(order[best]) if gains[best] > 1e-12 * abs(now) else -1

    def _value(self, S: Array) -> Any:
        compiled = self.compiled
        value = compiled.smoothed(compiled.residual(S), 0.0) + compiled.linear(S)
        return value if compiled.quadratic is None else value + compiled.quadratic.value(S)


def _identity(size: int, like: Array) -> Array:
    return namespace(like).eye(size, dtype=like.dtype, device=device_of(like))
