"""Engine `dcra` in a compiled loop, one start after another: where A is small, array calls are overhead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import InTurn
from dcra.lift import GRID
from dcra.losses import TableLoss

if TYPE_CHECKING:
    from dcra.engines.dcra import DCRA

MAX_RANK = 16
MAX_ENTRIES = 2_000_000
"""Beyond this the products with A are the work, and BLAS does them as well."""


def fits(engine: DCRA, compiled: Compiled, rank: int) -> bool:
    """Whether the compiled loop serves a problem; it has no envelopes of the losses outside the table."""
    assert not isinstance(engine.smoothing, str)
    deltas = compiled.deltas(engine.smoothing)
    return (
        compiled.tabulated
        and compiled.quadratic is None
        and rank <= MAX_RANK
        and compiled.work_per_pass <= MAX_ENTRIES
        and all(isinstance(p.loss, TableLoss) or d == 0 for p, d in zip(compiled.pieces, deltas, strict=True))
    )


class DcraLoopState(InTurn):
    """Starts from factors V of shape (k, m, p)."""

    def __init__(self, engine: DCRA, compiled: Compiled, V: Host) -> None:
        from dcra._kernels.lifted import scratch
        from dcra.engines.dcra import GROW, SHRINK, first_curvature

        self.compiled = compiled
        tables = compiled.tables(np.float64)
        assert not isinstance(engine.smoothing, str)
        self.model, self.b = tables.smoothed(engine.smoothing), tables.b
        self.factors = np.ascontiguousarray(np.swapaxes(V, 1, 2), np.float64)
        self.x = np.empty(compiled.n)
        self.z = np.empty_like(self.b)
        self.scratch = scratch(compiled.n, V.shape[1], self.b.size)
        tol = -1.0 if engine.objective_tol is None else engine.objective_tol
        numbers = (engine.rho_growth, engine.rho_max, engine.step_tol, engine.tol, tol)
        limits = (engine.max_inner, engine.max_outer, engine.curvature == "auto", SHRINK, GROW, GRID)
        self.options = np.asarray([*numbers, *limits], np.float64)
        self.first = np.asarray(
            [engine.rho_init, first_curvature(engine, compiled), 0, 0, 0, 0, 0], np.float64
        )
        super().__init__(len(V))

    def begin(self) -> None:
        from dcra._kernels.lifted import ANCHOR, SMOOTHED, smoothed_value
        from dcra._kernels.state import refresh

        V = self.factors[self.current]
        self.x[:] = V[1:] @ V[0]
        refresh(self.model, self.b, self.x, self.z)
        self.progress = self.first.copy()
        self.progress[[SMOOTHED, ANCHOR]] = smoothed_value(self.model, self.x, self.z)

    def search(self, work: int) -> bool:
        from dcra._kernels.lifted import DONE, advance

        steps = max(1, work // (2 * self.compiled.work_per_pass))
        point = (self.model, self.b, self.factors[self.current], self.x, self.z)
        self._steps += advance(*point, self.progress, self.options, steps, self.scratch)
        return bool(self.progress[DONE])

    def candidates(self) -> Host:
        from dcra.lift import round_factor

        return np.asarray(round_factor(np.swapaxes(self.factors, 1, 2)))
