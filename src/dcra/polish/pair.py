"""Descent by single flips, then by pairs of flips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.polish.flip import FlipState


@dataclass(frozen=True)
class PairFlip(Engine):
    """Flip variables, one or two at a time, while that improves.

    To see that no pair does takes n passes over A: worth it up to about a hundred variables. Of a quadratic
    objective only coupled pairs are tried, at O(degree) each.
    """

    name: ClassVar[str] = "pair-flip"
    needs: ClassVar[frozenset[str]] = frozenset({"table"})

    def start(self, compiled: Compiled, starts: Starts) -> State:
        if compiled.quadratic is not None:
            from dcra.polish.quadratic import QuadraticFlipState

            return QuadraticFlipState(compiled, starts)
        return PairFlipState(compiled, starts)


class PairFlipState(FlipState):
    """Single flips to their end, then each variable with its best partner, or alone, until none improves."""

    def prepare(self) -> None:
        super().prepare()
        self.pair_cursor = np.zeros(2, np.int64)
        self.paired = False

    def search(self, work: int) -> bool:
        from dcra._kernels.flip import pair

        if not self.paired:
            self.paired = super().search(work)
            self._trials = 0 if self.paired else self._trials  # trials not made are not counted
            return False
        trials = self.trials_until_look(1 + work // self.compiled.work_per_pass)
        self._work += pair(self.model, self.x, self.z, self.score, self.order, self.pair_cursor, trials)
        over = bool(self.pair_cursor[1] >= self.order.size) or self.stalled()
        self.best = self.x
        return over
