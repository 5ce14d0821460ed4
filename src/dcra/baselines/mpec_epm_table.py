"""What the published MPEC-EPM column holds: one outer round of ten subgradient steps, each far too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dcra._array import Host, namespace, to_numpy
from dcra.baselines.rounding import initial_points, slope
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.model.operators import norm_estimate


@dataclass(frozen=True)
class MpecEpmTable(Engine):
    """x <- clip(x - (A'f'(Ax - b) + c) / |A|_2), ten times from x = 0, then sign(x).

    In the first round of MPEC-EPM v is 0, so that its penalty rho <x, v> vanishes.

    Parameters
    ----------
    iterations : int
        Steps.
    """

    iterations: int = 10
    name: ClassVar[str] = "mpec-epm-table"
    needs: ClassVar[frozenset[str]] = frozenset({"losses alone"})
    plan: ClassVar[str] = "once"

    def setup_work(self, compiled: Compiled) -> int:
        return 60 * compiled.work_per_pass  # the norm of A

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return TableState(self, compiled, starts)


class TableState(State):
    def __init__(self, engine: MpecEpmTable, compiled: Compiled, starts: Starts) -> None:
        self.engine, self.compiled = engine, compiled
        self.X = initial_points(compiled, starts)
        norms = [p.argument * norm_estimate(p.operator) for p in compiled.pieces]
        self.norm = float(np.linalg.norm(norms)) or 1.0
        self.taken = 0

    def advance(self, work: int) -> None:
        compiled = self.compiled
        for _ in range(max(1, work // (2 * compiled.work_per_pass * self.X.shape[0]))):
            if self.done:
                return
            G = compiled.pull(slope(compiled, compiled.residual(self.X)))
            self.X = namespace(self.X).clip(self.X - G / self.norm, -1.0, 1.0)
            self.taken += 1

    @property
    def done(self) -> bool:
        return self.taken >= self.engine.iterations

    @property
    def steps(self) -> int:
        return self.taken * int(self.X.shape[0])

    def candidates(self) -> Host:
        return np.where(to_numpy(self.X) >= 0, 1.0, -1.0)
