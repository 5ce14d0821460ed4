"""Tabu search where each variable is one of a group's choices: colourings, schedules, labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host
from dcra._kernels import choice
from dcra.compiled.form import Compiled
from dcra.constrained.quadratic_swap import within_counts
from dcra.constrained.swap import groups_of
from dcra.engines.base import Engine, Starts
from dcra.model.constraints import Group
from dcra.polish.base import initial_spins
from dcra.polish.quadratic import QuadraticState

TENURE, GROUPS, SPREAD = 10, 8, 10
"""A choice that was left is tabu for this many moves, one more for so many groups, and up to so many more."""

DRIFT = 1000.0
"""A value that is lower by so many roundings is lower: else the best point would look better than itself."""


@dataclass(frozen=True)
class ChoiceTabu(Engine):
    """Tabu search over choices.

    Parameters
    ----------
    moves : int
    """

    moves: int = 10_000

    name: ClassVar[str] = "choices"
    needs: ClassVar[frozenset[str]] = frozenset({"quadratic"})

    def start(self, compiled: Compiled, starts: Starts) -> ChoiceTabuState:
        return ChoiceTabuState(self, compiled, starts)


class ChoiceTabuState(QuadraticState):
    """The best choice that is not tabu, again and again."""

    moves: Any = choice

    def __init__(self, engine: ChoiceTabu, compiled: Compiled, starts: Starts) -> None:
        self.engine, groups = engine, groups_of(compiled)
        self.group = np.empty(compiled.n, np.int64)
        for g, (members, _, _) in enumerate(groups):
            self.group[members] = g
        self.tenure = TENURE + len(groups) // GROUPS
        points = within_counts(compiled, initial_spins(compiled, starts), groups)
        super().__init__(compiled, replace(starts, points=points))

    def place(self, spins: Host) -> None:
        super().place(spins)
        ups = np.flatnonzero(self.s > 0)
        self.up = np.empty(ups.size, np.int64)
        self.up[self.group[ups]] = ups

    def prepare(self) -> None:
        self.until, self.clock = np.zeros(self.compiled.n, np.int64), np.zeros(1, np.int64)

    def search(self, work: int) -> bool:
        left = self.engine.moves - self.clock[0]
        count = int(min(left, self.until_refresh(work // self.compiled.n, 1)))
        memory = (self.until, self.clock, count, self.tenure, SPREAD, DRIFT * self.tiny, self.group, self.up)
        self._work += self.moves.tabu_choices(*self.arrays, self.best, self.rng, *memory)
        self._steps += count
        self.moved(count)
        return bool(self.clock[0] >= self.engine.moves)


def are_choices(compiled: Compiled, groups: Sequence[Group]) -> bool:
    """Whether every variable is in a group of which exactly one is up, and there are couplings alone."""
    covered = sum(group.members.size for group in groups) == compiled.n
    return covered and not compiled.pieces and all(g.least == g.most == 1 for g in groups)
