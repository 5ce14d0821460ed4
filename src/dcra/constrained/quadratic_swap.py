"""Searches under counts where there are couplings, through their local fields.

Swaps keep the counts. Where groups are large, single flips that are charged for leaving the counts are
quicker and pass between points that swaps keep apart; their end is settled within the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host
from dcra._kernels.store import counts, tally
from dcra.compiled.form import Compiled
from dcra.compiled.quadratic import QuadraticTables
from dcra.compiled.units import units_at
from dcra.constrained.repair import rises
from dcra.constrained.swap import Swap, groups_of
from dcra.engines.base import Starts
from dcra.model.constraints import Group
from dcra.polish.base import initial_spins
from dcra.polish.quadratic import QuadraticAnnealState, temperature_unit, values_of

COLD = 0.06
"""Last temperature of charged flips; swaps go on from there."""

RATE = 40.0
"""What leaving the count of a group costs beyond that, in units of temperature over the group's size."""


class QuadraticSwapState(QuadraticAnnealState):
    """Swaps at falling temperatures; without losses beside, then until none improves."""

    engine: Any  # a Swap

    def __init__(self, engine: Swap, compiled: Compiled, starts: Starts) -> None:
        from dcra._kernels import mixed_swap, quadratic_swap

        self.swaps: Any = mixed_swap if compiled.pieces else quadratic_swap
        self.reach = float(np.max(values_of(compiled.quadratic_tables), initial=0.0))
        self.groups = groups_of(compiled)
        points = within_counts(compiled, initial_spins(compiled, starts), self.groups)
        self.engine = engine
        super().__init__(self.engine, compiled, replace(starts, points=points))

    def place(self, spins: Host) -> None:
        super().place(spins)
        self.counts = counts(self.s, self.groups)

    def prepare(self) -> None:
        if self.engine.unit is None and self.tables is not None:
            self.unit = units_at(self.compiled, self.tables.residual(self.z)).rho
        super().prepare()

    def anneal(self, ladder: Host) -> int:
        run = self.swaps.anneal_swaps
        done: int = run(*self.arrays, self.best, self.rng, ladder, self.thresholds, self.counts)
        return done

    def search(self, work: int) -> bool:
        if self.passed < self.engine.passes:
            return super().search(work)
        return self.tables is not None or self._descend(work)

    def _descend(self, work: int) -> bool:
        trials = self.trials_until_look(1 + work // self.compiled.n)
        cursor, run = self.single, self.swaps.descend_swaps
        self._work += run(*self.arrays, cursor, self.tiny, trials, self.counts, self.reach)
        self._steps += 1
        over = bool(cursor[1] >= self.compiled.n) or self.stalled()
        self.best = self.s
        return over


@dataclass(frozen=True)
class ChargedFlips(Swap):
    """Metropolis flips, charged for leaving the counts; options as those of `Swap`."""

    cold: ClassVar[float] = COLD
    name: ClassVar[str] = "charged"

    def start(self, compiled: Compiled, starts: Starts) -> ChargedState:
        return ChargedState(self, compiled, starts)


class ChargedState(QuadraticSwapState):
    """Charged flips at falling temperatures, then swaps until none improves; for couplings alone."""

    def __init__(self, engine: ChargedFlips, compiled: Compiled, starts: Starts) -> None:
        self.rate = rates(
            compiled.quadratic_tables, groups_of(compiled), engine.unit or temperature_unit(compiled)
        )
        super().__init__(engine, compiled, starts)

    def place(self, spins: Host) -> None:
        super().place(spins)
        self.tally = tally(self.s, self.groups, self.rate)

    def anneal(self, ladder: Host) -> int:
        end = (self.best, self.rng, ladder, self.thresholds, self.tally)
        done: int = self.swaps.anneal_charged(*self.arrays, *end)
        if self.passed + ladder.size == self.engine.passes:
            done += self.swaps.settle(*self.arrays, self.best, self.tally)
        return done


def rates(quadratic: QuadraticTables, groups: Sequence[Group], unit: float) -> Host:
    """What leaving a count by one costs: what members gain by turning to one side together, and more."""
    pull = quadratic.field - quadratic.fields(np.ones(quadratic.field.size))  # -C e / 2
    sizes = np.array([members.size for members, _, _ in groups])
    together = np.array([np.sum(pull[members], dtype=np.float64) for members, _, _ in groups])
    return np.asarray(np.maximum(together, 0.0) / (sizes * np.maximum(sizes - 1, 1)) + RATE * unit / sizes)


def within_counts(compiled: Compiled, points: Host, groups: Sequence[Group]) -> Host:
    """The points (k, n) with as few flips as bring all groups within their counts, the cheapest ones."""
    points = points.copy()
    for spins in points:
        slopes = -spins * rises(compiled, spins)  # what going up costs, or what going down saves
        for members, least, most in groups:
            order = members[np.lexsort((slopes[members], -spins[members]))]
            ups = int(np.clip(np.count_nonzero(spins[members] > 0), least, most))
            spins[order[:ups]], spins[order[ups:]] = 1.0, -1.0
    return points
