"""Method "auto" without compiled loops: one engine again and again or, on an accelerator, rounds of starts.

A kernel there takes as long for one start as for a hundred, so that all of them are swept together, in wide
blocks; the best few go on to flips. Every round has twice the sweeps of the one before, as far as the time
allows, and takes its scales from the best answer so far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dcra._array import Host, from_numpy, to_numpy
from dcra.compiled.form import Compiled
from dcra.compiled.units import Units, natural_units, units_at
from dcra.engines.base import Starts
from dcra.engines.polished import Polished, PolishedState
from dcra.engines.sweep import Sweep
from dcra.polish import recipes
from dcra.polish.flip import Flip
from dcra.search.plans import Outcome, Plan, Repeat, Task, next_starts
from dcra.search.state import Search

if TYPE_CHECKING:
    from dcra.auto.decision import Traits

STARTS, MOST_NUMBERS = 128, 1 << 28
"""Starts of a round, and what their points and residuals may come to."""

WIDTH = 256
"""Columns of a block."""

FIRST_SWEEPS, LEAST_SWEEPS, SWEEPS_PER_START = 100, 20, 1000
"""Of the first round and of the last, at least, of a timed search; of all where starts are counted."""

FITTING = 0.8
"""Share of the time left that a round may take."""

FLIPPED_ENTRIES, MOST_FLIPPED = 400_000_000, 16
"""Of the starts of a round the best are flipped: as many as have this many neighbours, in entries of A."""


def sweep_in_rounds(traits: Traits) -> Plan:
    return Rounds(traits.compiled)


def sweep_blocks(traits: Traits) -> Plan:
    return Repeat(recipes.sweep())


def take_full_steps(traits: Traits) -> Plan:
    return Repeat(recipes.dcra())


class Rounds(Plan):
    """Rounds of starts, each with more sweeps than the one before."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.units: Units = natural_units(compiled)
        self.sweeps = FIRST_SWEEPS
        self.pace = 0.0  # seconds per sweep of a round

    def next(self, search: Search) -> Task | None:
        fitting = MOST_NUMBERS // (self.compiled.n + self.compiled.n_rows)
        count = int(min(max(1, fitting), STARTS, search.starts_left))
        sweeps = self._sweeps(search)
        if count <= 0 or sweeps < LEAST_SWEEPS:
            return None
        kept = int(np.clip(FLIPPED_ENTRIES // self.compiled.work_per_pass, 1, MOST_FLIPPED))
        engine = BestPolished(Sweep(sweeps, self.units.delta, block=WIDTH), Flip(), kept)
        return Task(engine, next_starts(search, count))

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        sweeps = outcome.state.stages[0].steps / task.starts.count
        self.pace = outcome.seconds / sweeps
        if fun <= search.fun:
            z = self.compiled.residual(from_numpy(outcome.spins, self.compiled.like))
            self.units = units_at(self.compiled, to_numpy(z))

    def adopt(self, compiled: Compiled) -> None:
        self.compiled = compiled

    def _sweeps(self, search: Search) -> int:
        if search.limits.time_limit is None:
            return SWEEPS_PER_START
        sweeps = self.sweeps
        self.sweeps *= 2
        return sweeps if self.pace == 0 else int(min(sweeps, FITTING * search.seconds_left / self.pace))


@dataclass(frozen=True)
class BestPolished(Polished):
    """`first`, then `second` from the `kept` best of its answers."""

    kept: int = 1
    name: ClassVar[str] = "best-polished"

    def start(self, compiled: Compiled, starts: Starts) -> PolishedState:
        return BestPolishedState(self, compiled, starts)


class BestPolishedState(PolishedState):
    def polished_from(self, spins: Host) -> Starts:
        assert isinstance(self.engine, BestPolished)
        best = np.argsort(self.compiled.judged(spins), kind="stable")[: self.engine.kept]
        return replace(self.starts, count=len(best), points=spins[best])
