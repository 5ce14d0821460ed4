"""Rounds of replicas as engines: sweeps, descent, and annealing of copies of the best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from dcra._array import Host
from dcra.accelerator.device import library
from dcra.accelerator.replicas import SAME, Replicas, best_of
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, News, Starts, State

DESCENT = np.zeros(3)
"""Passes at temperature 0 that end every search: later ones rarely move anything."""

HOT, COLD = 0.3, 0.1
"""First and last temperature of annealing, in units of what slopes send to one variable."""

SHOWN = 2
"""Best points that are judged in float64."""


@dataclass(frozen=True, eq=False)
class Round(Engine):
    """Sweeps of all replicas, descent; then the best share of them, copied, annealed."""

    replicas: Replicas
    sweeps: int
    passes: int = 0
    share: int = 8
    hot: float = HOT
    name: ClassVar[str] = "replicas"

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return ReplicaState(self.replicas, self.flow(starts), self.sweeps * starts.count)

    def flow(self, starts: Starts) -> Iterator[None]:
        """The round, launch by launch."""
        r = self.replicas
        r.begin(starts)
        first = 0
        while first < self.sweeps:
            last = min(self.sweeps, first + r.sweeps_at_once())
            r.sweep(first, last, self.sweeps)
            first = last
            yield
        S = r.sweeper.signs()
        yield from annealed(r, S, DESCENT, seed_of(starts, 0))
        S, E = r.annealer.signs(), library().asnumpy(r.annealer.E).astype(np.float64)
        r.keep(S, E)
        if self.passes:
            best = S[library().asarray(best_of(E, max(1, r.count // self.share)))]
            yield from anneal_copies(r, best, self.passes, self.hot, seed_of(starts, 1))


@dataclass(frozen=True, eq=False)
class Finish(Engine):
    """Copies of the best points of all rounds, annealed once more."""

    replicas: Replicas
    passes: int
    hot: float = HOT
    best: int = 32
    name: ClassVar[str] = "replicas-finish"

    def start(self, compiled: Compiled, starts: Starts) -> State:
        r = self.replicas
        flow = anneal_copies(r, r.pool[: self.best], self.passes, self.hot, seed_of(starts, 2))
        return ReplicaState(r, flow, 0)


def anneal_copies(r: Replicas, S: Any, passes: int, hot: float, seed: int) -> Iterator[None]:
    """Copies of points through falling temperatures and a descent; what comes of them joins the pool."""
    temperatures = r.temperature * np.linspace(hot, COLD, passes)
    yield from annealed(r, r.copies(S, r.count), np.concatenate([temperatures, DESCENT]), seed)
    r.keep(r.annealer.signs(), library().asnumpy(r.annealer.E).astype(np.float64))


def annealed(r: Replicas, S: Any, temperatures: Host, seed: int) -> Iterator[None]:
    r.annealer.load(S)
    first = 0
    while first < len(temperatures):
        last = min(len(temperatures), first + r.passes_at_once())
        r.anneal(temperatures[first:last], first, seed)
        first = last
        yield


def seed_of(starts: Starts, stage: int) -> int:
    return int(np.random.default_rng((starts.seed, starts.first, stage)).integers(1 << 32))


class Machine(Protocol):
    """Replicas on a device: the best points met, and a way to have some where a round ends early."""

    number: int
    pool: Any
    pool_values: Host

    def rescue(self) -> None: ...

    def best(self, count: int) -> Host: ...


class ReplicaState(State):
    """One launch after another."""

    def __init__(self, machine: Machine, flow: Iterator[None], steps: int) -> None:
        self.machine, self.flow, self.all_steps = machine, flow, steps
        self.over = False
        self.told = np.inf if machine.pool is None else float(machine.pool_values[0])

    def advance(self, work: int) -> None:
        if self.over:
            return
        with library().cuda.Device(self.machine.number):
            try:
                next(self.flow)
            except StopIteration:
                self.over = True

    @property
    def done(self) -> bool:
        return self.over

    @property
    def steps(self) -> int:
        return self.all_steps if self.over else 0

    def take_news(self) -> list[News]:
        """The best point, where it is better than when this was last asked."""
        values = self.machine.pool_values
        if not len(values) or not values[0] < self.told - SAME * abs(self.told):
            return []
        self.told = float(values[0])
        return [News(self._best(1))]

    def candidates(self) -> Host:
        """The best points of all rounds; where there are none yet, where the replicas stand."""
        if self.machine.pool is None:
            with library().cuda.Device(self.machine.number):
                self.machine.rescue()
        return self._best(SHOWN)

    def _best(self, count: int) -> Host:
        with library().cuda.Device(self.machine.number):
            return self.machine.best(count)
