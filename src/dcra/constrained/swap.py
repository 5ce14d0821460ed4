"""Annealing by swaps, which keep the number of variables that are up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dcra._array import Host
from dcra._kernels.store import counts
from dcra.compiled.form import Compiled
from dcra.compiled.units import units_at
from dcra.engines.base import Engine, Starts, State
from dcra.model.constraints import Group
from dcra.polish.base import PointState

TRIES = 4
"""Partners looked at for one variable."""


@dataclass(frozen=True)
class Swap(Engine):
    """Metropolis swaps, within groups whose counts are constrained, while the temperature falls to zero.

    Parameters
    ----------
    passes : int
        Passes over the variables, each at its own temperature.
    hot : float
        First temperature, in units of what slopes of typical size change when one variable flips.
    unit : float, optional
        That unit; measured at the start by default.
    """

    passes: int = 100
    hot: float = 0.3
    unit: float | None = None

    cold: ClassVar[float] = 0.0
    name: ClassVar[str] = "swap"
    needs: ClassVar[frozenset[str]] = frozenset({"table"})

    def start(self, compiled: Compiled, starts: Starts) -> State:
        if compiled.quadratic is not None:
            from dcra.constrained.quadratic_swap import QuadraticSwapState

            return QuadraticSwapState(self, compiled, starts)
        return SwapState(self, compiled, starts)


class SwapState(PointState):
    """Swaps within the groups whose counts hold at the given points; other variables flip alone."""

    def __init__(self, engine: Swap, compiled: Compiled, starts: Starts) -> None:
        self.engine = engine
        self.pass_work = (TRIES + 3.0) * compiled.work_per_pass
        super().__init__(compiled, starts)

    def prepare(self) -> None:
        unit = self.engine.unit or units_at(self.compiled, self.tables.residual(self.z)).rho
        steps = np.arange(self.engine.passes, 0, -1) - 1
        self.temperatures = unit * self.engine.hot * steps / max(1, self.engine.passes - 1) + 1e-9 * unit
        groups = [g for g in groups_of(self.compiled) if holds(g, self.x)]
        self.counts = counts(self.x, groups)
        self.passed = 0

    def search(self, work: int) -> bool:
        from dcra._kernels.swap import anneal_swaps

        count = int(min(self.engine.passes - self.passed, max(1.0, work / self.pass_work)))
        ladder = self.temperatures[self.passed : self.passed + count]
        point = (self.model, self.x, self.z, self.score, self.best)
        done = anneal_swaps(*point, self.rng, ladder, self.counts, TRIES)
        self.pass_work = max(1.0, done / count)
        self._work += done
        self._steps += count
        self.passed += count
        return self.passed >= self.engine.passes


def groups_of(compiled: Compiled) -> list[Group]:
    """Disjoint sets of variables whose counts are constrained."""
    constraints = compiled.constraints
    return [] if constraints is None else constraints.groups


def holds(group: Group, spins: Host) -> bool:
    """Whether spins (n,) satisfy the count of a group."""
    ups = np.count_nonzero(spins[group.members] > 0)
    return bool(group.least <= ups <= group.most)
