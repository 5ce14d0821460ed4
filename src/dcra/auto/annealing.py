"""Method "auto" where there are couplings: annealing runs of growing length, and children of the best.

Every run is crossed with the elite: where two points differ, the connected parts of the difference are
independent choices, and the better is taken of each. Runs start at random or, one in three, from the best
point at a gentler temperature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from dcra._array import Host
from dcra._kernels.store import Sparse
from dcra.compiled.form import Compiled
from dcra.engines.base import Starts
from dcra.polish.anneal import Anneal
from dcra.polish.quadratic import temperature_unit
from dcra.search.plans import Outcome, Plan, Task, next_starts
from dcra.search.state import Search

if TYPE_CHECKING:
    from dcra.auto.decision import Traits

HOT, GENTLE, COLD = 0.65, 0.35, 0.06
"""First temperatures of a run from a random and from a good point, and the last, in units of `Anneal`."""

FIRST_PASSES, LEAST_PASSES = 100, 20
ENOUGH, SQUARE_SHARE = 2000, 0.05
"""A run has at most this many passes, or this share of n^2 where that is more: then new starts are better."""

PASSES_PER_START = 1000
GROWTH = 1.25
SHARE = 1 / 6
"""Share of a timed search that one run may take."""

FITTING = 0.9
"""Share of the time left that the last run is given: one that does not come to its end is worth nothing."""

PASS_WORK = 3
"""Work of a pass in passes over all entries, as a guess before any run was timed."""

ELITE = 12
"""Answers of runs from random points that others are crossed with; those from the best are too alike."""

MOST_CROSSED = 2_000_000
"""Couplings beyond which crossing would take too long between two runs."""

AGAIN = 3
"""One run in so many starts from the best point."""


def anneal(traits: Traits) -> Plan:
    from dcra.auto.basins import Basins

    plan = Annealing(traits.compiled, traits.working)
    return Basins(traits.compiled) if plan.crossing else plan


class Annealing(Plan):
    """Annealing runs, crossed with each other; the tables of `working` are made as long as there is time."""

    def __init__(self, compiled: Compiled, working: Compiled | None = None) -> None:
        self.compiled = compiled
        self.unit = temperature_unit(working or compiled)
        self.passes = float(FIRST_PASSES)
        self.pace: dict[bool, float] = {}  # seconds per pass, of gentle runs and of others
        self.elite: list[tuple[float, Host]] = []
        self.best: tuple[float, Host] = (np.inf, np.ones(compiled.n))
        self.runs = 0
        C = compiled.quadratic_tables.C
        self.crossing = not compiled.pieces and isinstance(C, Sparse) and C.val.size <= MOST_CROSSED

    def next(self, search: Search) -> Task | None:
        if search.starts_left <= 0:
            return None
        starts = next_starts(search, 1)
        self.runs += 1
        if starts.points is None and self.elite and self.runs % AGAIN == 0:
            starts = Starts(starts.seed, starts.first, 1, self.best[1][None].copy())
        gentle = starts.points is not None
        return self._run(search, self._passes(search, gentle), GENTLE if gentle else HOT, starts)

    def _run(self, search: Search, passes: int, hot: float, starts: Starts) -> Task:
        recast = None if self.compiled is search.compiled else self.compiled
        return Task(Anneal(passes, hot, COLD, self.unit), starts, recast)

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        gentle = task.starts.points is not None
        self._time(task, outcome)
        spins = outcome.spins[0]
        if self.crossing and self.elite:
            child, value = self._crossed(spins, self._partners())
            if value < self.best[0]:
                search.offer(child)
                self.best = value, child
        found = self._value_of(outcome)
        if found < self.best[0]:
            self.best = found, spins.copy()
        if not gentle:
            self._admit(found, spins)

    def _time(self, task: Task, outcome: Outcome) -> None:
        """Take note of what a pass takes."""
        self.pace[task.starts.points is not None] = outcome.seconds / max(1, outcome.state.steps)

    def _value_of(self, outcome: Outcome) -> float:
        """The value of the answer, in the units of the objective but by the form that was searched."""
        found = outcome.state.estimate()
        return np.inf if found is None else found

    def adopt(self, compiled: Compiled) -> None:
        """Points of the elite have other values now."""
        self.compiled = compiled
        self.elite.clear()
        self.best = np.inf, self.best[1]

    def _passes(self, search: Search, gentle: bool) -> int:
        limit = search.limits.time_limit
        if limit is None:
            return PASSES_PER_START
        passes = self.passes
        self.passes *= GROWTH
        return int(min(passes, self._most_passes(search, gentle)))

    def _most_passes(self, search: Search, gentle: bool) -> int:
        """Of the next run: what its share of the time, the time left, and reason allow."""
        limit = search.limits.time_limit
        if limit is None:
            return PASSES_PER_START
        fitting = FITTING * max(search.seconds_left, 0.0)
        pace = self.pace.get(gentle) or self.pace.get(not gentle)
        if pace is None:  # nothing has run yet: what fits, however short, so that it comes to its end
            guess = PASS_WORK * self.compiled.work_per_pass / search.rate
            return max(1, int(fitting / guess))
        passes = min(SHARE * limit * search.limits.n_jobs, fitting) / pace
        most = max(ENOUGH, SQUARE_SHARE * self.compiled.n**2)
        return int(np.clip(passes, LEAST_PASSES, most))

    def _admit(self, value: float, spins: Host) -> None:
        """Keep the best points that differ."""
        if any(value == known and np.array_equal(spins, other) for known, other in self.elite):
            return
        self.elite.append((value, spins.copy()))
        self.elite.sort(key=lambda pair: pair[0])
        del self.elite[ELITE:]

    def _crossed(self, spins: Host, partners: Iterable[tuple[Host, float]]) -> tuple[Host, float]:
        """The child of a point and others, each with its sign, and its value."""
        compiled = self.compiled
        quadratic = compiled.quadratic_tables
        s = spins.astype(quadratic.dtype)
        g = quadratic.fields(s)
        score = np.full(2, quadratic.value(s, g))
        self._cross(s, g, score, ((other.astype(s.dtype), sign) for other, sign in partners))
        return s.astype(np.float64), compiled.value_scale * float(score[0]) + compiled.offset

    def _cross(self, s: Host, g: Host, score: Host, partners: Iterable[tuple[Host, float]]) -> None:
        """Let s take what is better in others."""
        from dcra._kernels.crossover import cross

        scratch = np.empty(s.size, np.int64), np.empty(s.size, np.int64)
        for other, sign in partners:
            cross(self.compiled.quadratic_tables.C, s, g, score, other, sign, *scratch)

    def _partners(self) -> Iterator[tuple[Host, float]]:
        """The elite."""
        for _, other in self.elite:
            yield from self._both_ways(other)

    def _both_ways(self, other: Host) -> Iterator[tuple[Host, float]]:
        """A point with its sign; where nothing tells up from down, also upside down."""
        yield other, 1.0
        if not self.compiled.quadratic_tables.field.any():
            yield other, -1.0
