"""Method "auto" on a device with kernels of our own: rounds of thousands of replicas, and a last annealing.

    scout   a few sweeps of all replicas, which measure the device and the scales of the problem
    rounds  sweeps of all replicas, descent, and annealing of copies of the best eighth
    end     annealing of copies of the best points of all rounds

A timed search gives a round up to 4,000 sweeps; longer ones gain nothing. Rounds differ in length, since long
ones of a small problem all end in the same few points.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from dcra.accelerator.device import library, memory_watched
from dcra.accelerator.engine import Finish, Round
from dcra.accelerator.form import OutOfReach
from dcra.accelerator.rehearsal import FEW, Way, play, ready_in_time
from dcra.accelerator.replicas import Replicas, Shapes, fits
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts
from dcra.search.plans import Outcome, Plan, Task, next_starts
from dcra.search.state import Search

if TYPE_CHECKING:
    from dcra.auto.decision import Traits

MOST_SWEEPS, SWEEPS_PER_START = 4000, 1000
"""Of a round of a timed search, and of every round where starts are counted."""

SCOUT_SWEEPS, SHORT_SCOUT, SHORT_LIMIT = 60, 20, 0.1
"""Sweeps of the scout, and of that of a search of so few seconds."""

PASSES, END_PASSES = 100, 200
"""Of annealing in a round, and at the end."""

ANNEAL_SHARE = 0.15
"""Of the time limit: annealing in a round, and at the end, at most."""

FITTING = 0.97
DESCENT_PASSES = 8
"""Passes of a round besides annealing, with what goes on around them."""

SMALL, CYCLE, SMALL_CYCLE = 512, (1.0, 0.5), (1.0, 0.5, 0.25, 0.125, 0.0625)
"""Lengths of rounds, one after another; up to so many variables they differ more."""

SMALL_HOT = (0.6, 0.3)
"""Temperatures at which annealing begins in rounds of a small problem; in others at the latter."""

LEAST_END = 10
"""Passes below which the end is not worth its while."""

SPARE_SECONDS, SPARE_PASSES = 0.003, 6
"""Kept for what comes after the last launch: a little, and judging the last points on the host."""


def affordable(compiled: Compiled, number: int, seconds_left: float | None) -> bool:
    """Whether the kernels can take a problem, and are ready or can be in the time left."""
    if not fits(compiled) or not (shapes := Shapes(compiled, number)).fit:
        return False
    way = Way(tuple(shapes.kernels()), number)
    return ready_in_time(way, seconds_left, lambda: rehearse(compiled, number))


def rehearse(compiled: Compiled, number: int) -> None:
    """A round of a few replicas, and the end."""
    replicas = Replicas(compiled, number, FEW)
    for engine in (Round(replicas, 2, 2), Finish(replicas, 2)):
        play(engine, compiled, replicas.count)


def search_replicas(traits: Traits) -> Plan:
    """The plan; that of the rows below where numbers are out of reach, or a few replicas find no room."""
    assert traits.device is not None
    starts = traits.search.limits.most_starts
    try:
        with memory_watched():
            return ReplicaRounds(Replicas(traits.compiled, traits.device, starts))
    except OutOfReach:
        return traits.without_device()
    except library().cuda.memory.OutOfMemoryError:
        said = "the device has no memory for this problem; it is searched as if there were no kernels for it"
        warnings.warn(said, RuntimeWarning, stacklevel=2)
        return traits.without_device()


def seconds_for(search: Search) -> float:
    """What is left for launches."""
    return search.seconds_left - SPARE_SECONDS - SPARE_PASSES * search.closing


class ReplicaRounds(Plan):
    """One task at a time: there is one device."""

    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas
        self.busy = self.ended = False
        self.round = -1  # the scout; then 0, 1, ...
        self.sweeps = self.passes = self.end_passes = 0

    def next(self, search: Search) -> Task | None:
        if self.busy or self.ended:
            return None
        engine = self._timed(search) if search.limits.time_limit is not None else self._counted(search)
        if engine is None:
            self.ended = True
            return None
        self.busy = True
        if isinstance(engine, Finish):
            self.ended = True
            return Task(engine, Starts(search.seed, search.started, 0), counts=False)
        count = int(min(self.replicas.count, search.starts_left))
        return Task(engine, next_starts(search, count))

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        self.busy = False
        self.round += 1

    def _counted(self, search: Search) -> Engine | None:
        """Rounds of one length, until all starts are used; then the end."""
        if search.starts_left > 0:
            hot = self._hot(search.started // self.replicas.count)
            return Round(self.replicas, SWEEPS_PER_START, self._more(PASSES), hot=hot)
        return Finish(self.replicas, self._more(END_PASSES), self._hot(0))

    def _timed(self, search: Search) -> Engine | None:
        limit, r = search.limits.time_limit, self.replicas
        assert limit is not None
        if self.round < 0 and search.started == 0:
            return Round(r, SHORT_SCOUT if limit <= SHORT_LIMIT else SCOUT_SWEEPS)
        if self.round <= 0:
            most = ANNEAL_SHARE * limit / r.pass_seconds
            self.passes, self.end_passes = int(min(PASSES, most)), int(min(END_PASSES, most))
        if search.starts_left > 0 and (sweeps := self._fitting(search)):
            return Round(r, sweeps, self.passes, self._share(), self._hot(self.round))
        left = int(seconds_for(search) / r.pass_seconds) - DESCENT_PASSES
        passes = min(self.end_passes, left)
        return Finish(r, passes, self._hot(0)) if passes >= LEAST_END else None

    def _fitting(self, search: Search) -> int:
        """Sweeps of the next round: of the cycle, but all that fit where the rest would be no round."""
        r = self.replicas
        end = (self.end_passes + DESCENT_PASSES) * r.pass_seconds if self.end_passes else 0.0
        annealing = (self.passes + DESCENT_PASSES) * r.pass_seconds
        fitting = FITTING * (seconds_for(search) - end - annealing) / r.sweep_seconds
        cycle = SMALL_CYCLE if self._small else CYCLE
        least = self.sweeps // (16 if self._small else 4)
        sweeps = max(SCOUT_SWEEPS, MOST_SWEEPS * cycle[max(0, self.round) % len(cycle)])
        if fitting - sweeps - annealing / r.sweep_seconds < least:
            sweeps = min(fitting, MOST_SWEEPS)
        if self.round <= 0:
            self.sweeps = int(sweeps)
        return int(sweeps) if sweeps >= max(SHORT_SCOUT, least) else 0

    def _share(self) -> int:
        """Which share of the replicas is annealed; more of every other round of a small problem."""
        return 2 if self._small and self.round % 2 else 8

    def _hot(self, number: int) -> float:
        return SMALL_HOT[number % 2 if self._small else 1]

    def _more(self, passes: int) -> int:
        """Passes of a small problem, which takes no time."""
        return passes * max(1, SMALL // self.replicas.compiled.n)

    @property
    def _small(self) -> bool:
        return self.replicas.compiled.n <= SMALL
