"""Method "auto" on a device where there are couplings alone: rounds of annealing of all replicas.

Rounds double in length up to where new starts are better; every third starts from the best points, gently.
Where couplings are sparse, points are crossed after each round, in some of the time that it took.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from dcra.accelerator.device import library, memory_watched
from dcra.accelerator.rehearsal import FEW, Way, play, ready_in_time
from dcra.accelerator.spin_engine import Cooling
from dcra.accelerator.spins import Spins, SpinShape, fits
from dcra.auto.replicas import seconds_for
from dcra.compiled.form import Compiled
from dcra.engines.base import Starts
from dcra.search.plans import Outcome, Plan, Task, next_starts
from dcra.search.state import Search

if TYPE_CHECKING:
    from dcra.auto.decision import Traits

FIRST_PASSES, LEAST_PASSES, PASSES_PER_START = 200, 50, 1000
ENOUGH, SPARSE_ENOUGH = 4000, 50_000
"""Passes of a round at most: of dense couplings, and of sparse ones."""

FITTING = 0.9
"""Share of the time left that the last round is given."""

CROSS_SHARE, VAIN_SHARE, CROSSINGS = 0.25, 0.02, 1024
"""Of a round's seconds for crossings, and where these were in vain; how many where starts are counted."""

AGAIN = 3
"""One round in so many starts from the best points."""


def affordable(compiled: Compiled, number: int, seconds_left: float | None) -> bool:
    """Whether the kernels can take a problem, and are ready or can be in the time left."""
    if not fits(compiled) or not (shape := SpinShape(compiled, number)).fit:
        return False
    way = Way(tuple(shape.kernels()), number)
    return ready_in_time(way, seconds_left, lambda: rehearse(compiled, number))


def rehearse(compiled: Compiled, number: int) -> None:
    """A round from random spins and one from the best."""
    spins = Spins(compiled, number, FEW)
    for gentle in (False, True):
        play(Cooling(spins, 2, gentle, crossings=1), compiled, spins.count)


def search_spins(traits: Traits) -> Plan:
    """The plan; where the couplings find no room on the device, the one of the rows below."""
    assert traits.device is not None
    try:
        with memory_watched():
            return SpinRounds(Spins(traits.compiled, traits.device, traits.search.limits.most_starts))
    except library().cuda.memory.OutOfMemoryError:
        said = "the device has no memory for this problem; it is searched as if there were no kernels for it"
        warnings.warn(said, RuntimeWarning, stacklevel=2)
        return traits.without_device()


class SpinRounds(Plan):
    """One round at a time: there is one device."""

    def __init__(self, spins: Spins) -> None:
        self.spins = spins
        self.busy = False
        self.round, self.passes = 0, FIRST_PASSES
        self.most = SPARSE_ENOUGH if spins.shape.sparse else ENOUGH

    def next(self, search: Search) -> Task | None:
        passes = 0 if self.busy or search.starts_left <= 0 else self._passes(search)
        if passes < LEAST_PASSES:
            return None
        self.busy = True
        self.round += 1
        if self.round % AGAIN == 0:
            starts = Starts(search.seed, search.started, 0)
            engine = Cooling(self.spins, passes, gentle=True, crossings=self._crossings(search, passes))
            return Task(engine, starts, counts=False)
        count = int(min(self.spins.count, search.starts_left))
        engine = Cooling(self.spins, passes, crossings=self._crossings(search, passes))
        return Task(engine, next_starts(search, count))

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        self.busy = False
        self.passes = min(2 * self.passes, self.most)

    def _crossings(self, search: Search, passes: int) -> int:
        """Of points of a round of so many passes."""
        crossing = self.spins.crossing
        if crossing is None or search.limits.time_limit is None:
            return CROSSINGS
        return int(self._cross_share * passes * self.spins.pass_seconds / crossing.seconds)

    @property
    def _cross_share(self) -> float:
        crossing = self.spins.crossing
        if crossing is None or not crossing.able:
            return 0.0
        return CROSS_SHARE if crossing.gained else VAIN_SHARE

    def _passes(self, search: Search) -> int:
        """Of the next round: as many as planned, or all that fit where the rest would be no round."""
        if search.limits.time_limit is None:
            return PASSES_PER_START
        share = FITTING / (1 + self._cross_share)
        fitting = share * seconds_for(search) / self.spins.pass_seconds
        return int(self.passes if fitting > 1.5 * self.passes else min(fitting, self.most))
