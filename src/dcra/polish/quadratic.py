"""Local searches where there are couplings: flips evaluated in O(1) and made in O(degree) by local fields.

Pure quadratics use the loops of `_kernels.quadratic`; with losses beside, those of the same names in
`_kernels.mixed`, which keep the residual too.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from dcra._array import Host, in_pieces
from dcra._kernels.store import Dense, tabu_memory
from dcra.compiled.form import Compiled
from dcra.compiled.quadratic import QuadraticTables, thresholds
from dcra.compiled.units import units_at
from dcra.engines.base import Starts
from dcra.polish.base import LOOK, PolishState

if TYPE_CHECKING:
    from dcra.polish.anneal import Anneal
    from dcra.polish.tabu import Tabu

UNIT = 0.6
"""The unit of temperature as a share of what the couplings of a spin add up to when all signs are random."""

LOOK_ENDS = 8
"""Ends of singles, or of rounds of pairs, between two looks whether the value has fallen."""

REFRESH = 1000
"""Passes, or moves in units of n, between two exact computations of fields that are not whole numbers."""


def temperature_unit(compiled: Compiled) -> float:
    """What flipping one spin of a random point changes, typically, scaled to the units of `Anneal`."""
    quadratic = compiled.quadratic_tables
    pieces = in_pieces(values_of(quadratic))  # squared without BLAS: no solve limits its threads yet
    square = 0.25 * float(sum(np.sum(np.square(piece, dtype=np.float64)) for piece in pieces)) / compiled.n
    if compiled.pieces:
        square += (2 * units_at(compiled, _random_residual(compiled)).rho) ** 2
    field = float(np.sqrt(np.mean(quadratic.field.astype(np.float64) ** 2)))
    return UNIT * (float(np.sqrt(square)) or field or 1.0)


def values_of(quadratic: QuadraticTables) -> Host:
    C = quadratic.C
    return C.cols if isinstance(C, Dense) else C.val


def _random_residual(compiled: Compiled) -> Host:
    from dcra._array import from_numpy, to_numpy

    signs = np.where(np.random.default_rng(0).random((1, compiled.n)) < 0.5, -1.0, 1.0)
    return to_numpy(compiled.residual(from_numpy(signs, compiled.like)))


class QuadraticState(PolishState):
    """Compiled local search with a quadratic part; s, g and score belong to the current start."""

    def __init__(self, compiled: Compiled, starts: Starts) -> None:
        from dcra._kernels import mixed, quadratic

        self.quadratic = compiled.quadratic_tables
        self.kernels: Any = mixed if compiled.pieces else quadratic
        self.tables = compiled.tables(np.float64) if compiled.pieces else None
        self.dtype = np.dtype(np.float64) if compiled.pieces else self.quadratic.dtype
        self.score = np.zeros(3)
        self._moved = 0  # trials since the fields were computed
        super().__init__(compiled, starts)

    def begin(self) -> None:
        self.score[1] = inf
        super().begin()

    @property
    def point(self) -> Host:
        return self.s

    @property
    def value(self) -> float:
        return float(self.score[0])

    @property
    def best_value(self) -> float:
        return float(self.score[1])

    def place(self, spins: Host) -> None:
        quadratic = self.quadratic
        self.s = spins.astype(self.dtype)
        self.g = quadratic.fields(self.s).astype(self.dtype, copy=False)
        if self.tables is None:
            self.score[:2] = quadratic.value(self.s, self.g)
            self.arrays: tuple[Any, ...] = (quadratic.C, self.s, self.g, self.score[:2])
        else:
            self._measure_losses()
        self._moved = 0
        self._work += 1.0 * self.compiled.work_per_pass

    def _measure_losses(self) -> None:
        from dcra._kernels.mixed import value
        from dcra._kernels.state import refresh

        assert self.tables is not None
        self.z = np.empty_like(self.tables.b)
        model = self.tables.model
        refresh(model, self.tables.b, self.s, self.z)
        value(model, self.quadratic.field.astype(self.dtype, copy=False), self.s, self.z, self.g, self.score)
        self.arrays = (model, self.quadratic.C, self.s, self.z, self.g, self.score)

    @property
    def tiny(self) -> float:
        """A gain below this is rounding."""
        return 0.0 if self.quadratic.exact and self.tables is None else 1e-12 * abs(self.score[0])

    def until_refresh(self, wanted: float, trials: int) -> int:
        """So many of the steps wanted, of `trials` each, as may be made before fields are computed anew."""
        exact = self.tables is None and self.quadratic.exact
        left = inf if exact else -(-(REFRESH * self.compiled.n - self._moved) // trials)
        return int(min(max(1.0, wanted), left))

    def moved(self, trials: int) -> None:
        """Take note of trials, and compute fields anew where `until_refresh` has ended."""
        self._moved += trials
        if self._moved >= REFRESH * self.compiled.n:
            best = self.score[1]
            self.place(self.s)
            self.score[1] = best


class QuadraticFlipState(QuadraticState):
    """Single flips along a random order, then rounds of coupled pairs, until neither improves.

    What comes next is decided where singles or a round end, never where the clock has them pause.
    """

    def prepare(self) -> None:
        index = self.starts.first + self.current
        self.order = np.random.default_rng((self.starts.seed, index, 2)).permutation(self.compiled.n)
        self.restart()

    @property
    def partners_work(self) -> int:
        """Entries touched by looking at all partners of a spin: fields alone, or columns of A, too."""
        whole = self.compiled.work_per_pass
        return max(1, whole if self.compiled.pieces else whole // self.compiled.n)

    def restart(self) -> None:
        self.single, self.pair = np.zeros(2, np.int64), np.zeros(2, np.int64)
        self.tried, self.gained = 0, False  # trials of this round of pairs, and whether any of them helped
        self.ends = 0  # of singles and rounds, so far

    def search(self, work: int) -> bool:
        self._steps += 1
        n, before = self.compiled.n, self.score[0]
        if self.single[1] < n:
            trials = self.trials_until_look(work)
            self._work += self.kernels.descend(*self.arrays, self.order, self.single, self.tiny, trials)
            ended = self.single[1] >= n
            if self.score[0] < before:
                self.pair[:] = 0
        else:
            trials = self.trials_until_look(min(1 + work // self.partners_work, n - self.tried))
            self._work += self.kernels.descend_pairs(*self.arrays, self.pair, self.tiny, trials)
            self.tried, self.gained = self.tried + trials, self.gained or self.score[0] < before
            ended = self.pair[1] >= n or self.tried >= n
            if ended:
                self.single[:] = 0 if self.gained else n
                self.tried, self.gained = 0, False
        if ended:  # with trials left that were not made: looks are counted by ends then
            self.ends += 1
            self._trials = 0 if self.ends % LOOK_ENDS else LOOK * n
        over = bool(self.single[1] >= n and self.pair[1] >= n) or self.stalled()
        self.best = self.s
        return over


class QuadraticAnnealState(QuadraticFlipState):
    """Passes at falling temperatures, then flips from the best point met."""

    def __init__(self, engine: Anneal, compiled: Compiled, starts: Starts, *, leaving: bool = False) -> None:
        self.engine, self.leaving = engine, leaving
        self.unit = engine.unit or temperature_unit(compiled)
        self.pass_work = 2.0 * compiled.work_per_pass  # entries touched by a pass
        self.passed = 0
        super().__init__(compiled, starts)

    def prepare(self) -> None:
        super().prepare()
        self.passed = 0
        if self.leaving:
            self.score[1] = inf
        ladder = np.linspace(self.engine.hot, self.engine.cold, self.engine.passes)
        self.temperatures = (self.unit * ladder).astype(self.dtype)
        self.thresholds = thresholds(self.dtype)

    def search(self, work: int) -> bool:
        if self.passed >= self.engine.passes:
            return super().search(work)
        count = self.until_refresh(work / self.pass_work, self.compiled.n)
        count = min(self.engine.passes - self.passed, count)
        ladder = self.temperatures[self.passed : self.passed + count]
        done = self.anneal(ladder)
        self.pass_work = max(1.0, 0.5 * (self.pass_work + done / count))
        self._work += done
        self._steps += count
        self.passed += count
        if self.passed == self.engine.passes:
            self.place(self.best)
        else:
            self.moved(count * self.compiled.n)
        return False

    def anneal(self, ladder: Host) -> int:
        """One pass at each temperature; the work done."""
        done: int = self.kernels.anneal(*self.arrays, self.best, self.rng, ladder, self.thresholds)
        return done


class QuadraticTabuState(QuadraticState):
    def __init__(self, engine: Tabu, compiled: Compiled, starts: Starts) -> None:
        self.moves = engine.moves or 20 * compiled.n
        self.tenure = min(engine.tenure or 10 + compiled.n // 50, max(1, compiled.n // 4))
        super().__init__(compiled, starts)

    def prepare(self) -> None:
        self.memory = tabu_memory(self.best, self.rng)

    def search(self, work: int) -> bool:
        move_work = self.compiled.n + self.compiled.work_per_pass // self.compiled.n
        count = int(min(self.moves - self.memory.clock[0], self.until_refresh(work // move_work, 1)))
        spread = max(1, 1 + self.tenure // 3)
        self._work += self.kernels.tabu(*self.arrays, self.memory, count, self.tenure, spread)
        self._steps += count
        self.moved(count)
        return bool(self.memory.clock[0] >= self.moves)
