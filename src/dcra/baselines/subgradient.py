"""Projected subgradient descent on the box, and rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dcra._array import Host, namespace
from dcra.baselines.rounding import Roundings, initial_points, slope
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State

BATCH_ENTRIES = 4_000_000


@dataclass(frozen=True)
class Subgradient(Engine):
    """x <- clip(x - step sqrt(n / (k+1)) g / |g|), g in A'f'(Ax - b) + c; the best sign(x) is the answer.

    Parameters
    ----------
    iterations : int
        Steps of one start.
    step : float
        The first step, in units of the distance sqrt(n) from the centre of the box to a corner.
    """

    iterations: int = 1000
    step: float = 1.0
    name: ClassVar[str] = "subgradient"
    needs: ClassVar[frozenset[str]] = frozenset({"losses alone"})

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise ValueError(f"`iterations` must be at least 1; got {self.iterations}")
        if not self.step > 0:
            raise ValueError(f"`step` must be positive; got {self.step!r}")

    def batch(self, compiled: Compiled) -> int:
        return int(np.clip(BATCH_ENTRIES // compiled.work_per_pass, 1, 8))

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return SubgradientState(self, compiled, starts)


class SubgradientState(State):
    def __init__(self, engine: Subgradient, compiled: Compiled, starts: Starts) -> None:
        self.engine, self.compiled = engine, compiled
        self.X = initial_points(compiled, starts)
        self.best = Roundings(compiled, starts.count)
        self.best.offer(self.X)
        self.taken = 0

    def advance(self, work: int) -> None:
        compiled, engine = self.compiled, self.engine
        xp = namespace(self.X)
        for _ in range(max(1, work // (3 * compiled.work_per_pass * self.X.shape[0]))):
            if self.done:
                return
            G = compiled.pull(slope(compiled, compiled.residual(self.X)))
            size = xp.linalg.vector_norm(G, axis=-1, keepdims=True)
            length = engine.step * (compiled.n / (self.taken + 1)) ** 0.5
            self.X = xp.clip(self.X - length * G / xp.where(size > 0, size, xp.ones_like(size)), -1.0, 1.0)
            self.best.offer(self.X)
            self.taken += 1

    @property
    def done(self) -> bool:
        return self.taken >= self.engine.iterations

    @property
    def steps(self) -> int:
        return self.taken * int(self.X.shape[0])

    def candidates(self) -> Host:
        return self.best.spins
