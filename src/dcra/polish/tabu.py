"""Tabu search on the true objective: the best flip that is not forbidden, uphill too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dcra._kernels.store import Dense, Sparse
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.foreign import importing
from dcra.polish.base import PointState


@dataclass(frozen=True)
class Tabu(Engine):
    """One-flip tabu search.

    Parameters
    ----------
    moves : int, optional
        Flips of one start; 20 n by default.
    tenure : int, optional
        Moves for which a flipped variable stays; about n/50 + 10 by default.
    """

    moves: int | None = None
    tenure: int | None = None

    name: ClassVar[str] = "tabu"
    needs: ClassVar[frozenset[str]] = frozenset({"table"})

    def __post_init__(self) -> None:
        for option in ("moves", "tenure"):
            value = getattr(self, option)
            if value is not None and value < 1:
                raise ValueError(f"`{option}` must be at least 1; got {value}")

    def start(self, compiled: Compiled, starts: Starts) -> State:
        if compiled.quadratic is not None:
            from dcra.polish.quadratic import QuadraticTabuState

            return QuadraticTabuState(self, compiled, starts)
        return TabuState(self, compiled, starts)


class TabuState(PointState):
    def __init__(self, engine: Tabu, compiled: Compiled, starts: Starts) -> None:
        self.moves = engine.moves or 20 * compiled.n
        self.tenure = min(engine.tenure or 10 + compiled.n // 50, max(1, compiled.n // 4))
        self.move_work = float(compiled.work_per_pass)
        super().__init__(compiled, starts)

    def prepare(self) -> None:
        from dcra._kernels.tabu import rises_at

        self.mirror = _mirror(self.model.A, self.b.size)
        self.rises = np.empty(self.compiled.n)
        self.until = np.zeros(self.compiled.n, np.int64)
        self.clock = np.zeros(1, np.int64)
        rises_at(self.model, self.x, self.z, self.score, self.rises)

    def search(self, work: int) -> bool:
        from dcra._kernels.tabu import tabu

        count = int(min(self.moves - self.clock[0], max(1, work / self.move_work)))
        point = (self.model, self.mirror, self.x, self.z, self.score, self.best)
        done = tabu(*point, self.rises, self.until, self.clock, self.rng, count, self.tenure)
        self.move_work = max(0.5 * (self.move_work + done / count), 1.0)
        self._steps += count
        self._work += done
        return bool(self.clock[0] >= self.moves)


def _mirror(A: Dense | Sparse, rows: int) -> Dense | Sparse:
    """A by rows where it is sparse."""
    if isinstance(A, Dense):
        return A
    with importing():
        from scipy import sparse

    columns = sparse.csc_array((A.val, A.idx, A.ptr), shape=(rows, A.ptr.size - 1)).T.tocsc()
    columns.sort_indices()
    return Sparse(columns.indptr.astype(np.int64), columns.indices.astype(np.int32), columns.data)
