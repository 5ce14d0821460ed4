"""Method "auto" where constraints are the rows and columns of a board and the objective has couplings.

Two rows exchange their columns, so that one of each stays up: assignments, placements, matchings. Annealing
runs of growing length as in `auto.annealing`, from random points and, one in three, from the best.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from dcra._array import Host
from dcra._kernels import exchange
from dcra._kernels.exchange import NOBODY, SHUT
from dcra.auto.annealing import Annealing
from dcra.auto.decision import Traits
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts
from dcra.model.board import Board
from dcra.polish.base import initial_spins
from dcra.polish.quadratic import QuadraticAnnealState
from dcra.search.plans import Plan, Task
from dcra.search.state import Search

HOT, GENTLE, COLD = 0.5, 0.15, 0.005
"""First temperatures of a run from a random and from a good point, and the last, in units of what exchanges
change at random points."""

DRAWN = 256
"""Exchanges that this unit is measured by."""


def anneal_on_a_board(traits: Traits) -> Plan:
    assert traits.board is not None
    return BoardAnnealing(traits.compiled, traits.board, traits.working)


class BoardAnnealing(Annealing):
    """Annealing runs by exchanges."""

    def __init__(self, compiled: Compiled, board: Board, working: Compiled | None = None) -> None:
        super().__init__(compiled, working)
        self.board = board
        self.unit = exchange_unit(compiled, board)
        self.crossing = False

    def _run(self, search: Search, passes: int, hot: float, starts: Starts) -> Task:
        hot = HOT if starts.points is None else GENTLE
        return Task(Exchange(self.board, passes, hot, COLD, self.unit), starts)


@dataclass(frozen=True, eq=False)
class Exchange(Engine):
    """Metropolis exchanges on a board while the temperature falls, then those that improve.

    Parameters
    ----------
    board : Board
    passes : int
        Passes over all pairs of rows, each at its own temperature.
    hot, cold : float
        First and last temperature, in units.
    unit : float
    """

    board: Board
    passes: int = 100
    hot: float = HOT
    cold: float = COLD
    unit: float = 1.0

    name: ClassVar[str] = "exchange"
    needs: ClassVar[frozenset[str]] = frozenset({"quadratic"})

    def start(self, compiled: Compiled, starts: Starts) -> ExchangeState:
        return ExchangeState(self, compiled, starts)


class ExchangeState(QuadraticAnnealState):
    """Exchanges at falling temperatures, then until none improves."""

    engine: Any  # an Exchange
    moves: Any = exchange

    def __init__(self, engine: Exchange, compiled: Compiled, starts: Starts) -> None:
        self.board = engine.board
        rng = np.random.default_rng((starts.seed, starts.first, 3))
        points = self.board.seated(initial_spins(compiled, starts), rng)
        super().__init__(cast(Any, engine), compiled, replace(starts, points=points))

    def place(self, spins: Host) -> None:
        super().place(spins)
        self.at = self.board.columns(self.s)

    def anneal(self, ladder: Host) -> int:
        end = (self.best, self.rng, ladder, self.thresholds, self.board.cells, self.at)
        done: int = self.moves.anneal_exchanges(*self.arrays, *end)
        return done

    def search(self, work: int) -> bool:
        return super().search(work) if self.passed < self.engine.passes else self._descend(work)

    def _descend(self, work: int) -> bool:
        trials = self.trials_until_look(1 + work // self.at.size)
        end = (self.single, self.tiny, trials, self.board.cells, self.at)
        self._work += self.moves.descend_exchanges(*self.arrays, *end)
        self._steps += 1
        over = bool(self.single[1] >= self.at.size) or self.stalled()
        self.best = self.s
        return over


def exchange_unit(compiled: Compiled, board: Board) -> float:
    """The standard deviation of what exchanges change at a random point."""
    rng = np.random.default_rng(0)
    spins = board.seated(np.where(rng.random((1, compiled.n)) < 0.5, -1.0, 1.0), rng)[0]
    quadratic, at = compiled.quadratic_tables, board.columns(spins)
    before = quadratic.value(spins.astype(quadratic.dtype), quadratic.fields(spins.astype(quadratic.dtype)))
    changes = []
    for i, j in rng.integers(0, at.size, (DRAWN, 2)):
        new, old = board.cells[[i, j], at[[j, i]]], board.cells[[i, j], at[[i, j]]]
        if i == j or np.any(new == SHUT) or np.all(np.concatenate([new, old]) == NOBODY):
            continue
        moved = spins.astype(quadratic.dtype)
        moved[old[old >= 0]], moved[new[new >= 0]] = -1.0, 1.0
        changes.append(quadratic.value(moved, quadratic.fields(moved)) - before)
    return (float(np.std(changes)) if changes else 0.0) or 1.0
