"""Rounds of annealing of a quadratic objective as an engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dcra.accelerator.engine import DESCENT, ReplicaState, seed_of
from dcra.accelerator.spins import REFRESH, Spins
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State

HOT, GENTLE, COLD = 0.7, 0.35, 0.05
"""First temperatures from random and from good points, and the last, in units of fields of random spins."""

COPIED = 64
"""Best points that a gentle round starts from."""


@dataclass(frozen=True, eq=False)
class Cooling(Engine):
    """All replicas from random spins, or `gentle`, from the best, through falling temperatures.

    On sparse couplings so many `crossings` follow.
    """

    spins: Spins
    passes: int
    gentle: bool = False
    crossings: int = 0
    name: ClassVar[str] = "replica-annealing"

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return ReplicaState(self.spins, self.flow(starts), self.passes * max(1, starts.count))

    def flow(self, starts: Starts) -> Iterator[None]:
        """The round, launch by launch."""
        r = self.spins
        if self.gentle:
            r.load_best(COPIED)
        else:
            r.begin(starts)
        falling = np.linspace(GENTLE if self.gentle else HOT, COLD, self.passes)
        temperatures, seed = np.concatenate([falling, DESCENT]), seed_of(starts, 3)
        first, spent = 0, 0.0
        r.launch_seconds = r.hot_seconds  # what cold passes took says nothing of these
        while first < len(temperatures):
            last = min(first + r.passes_at_once(), REFRESH * (first // REFRESH + 1), len(temperatures))
            spent += r.anneal(temperatures[first:last], first, seed)
            first = last
            if first % REFRESH == 0:
                r.refresh()
            yield
        r.pass_seconds = spent / len(temperatures)
        r.keep()
        if self.crossings and r.crossing is not None and r.crossing.able:
            yield from r.cross(self.crossings, seed_of(starts, 4))
