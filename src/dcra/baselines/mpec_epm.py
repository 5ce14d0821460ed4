"""MPEC-EPM, the exact penalty method of Yuan and Ghanem (2017)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from dcra._array import Array, Host, to_numpy
from dcra.baselines.mpec import EVERY, GROWTH, Mpec, MpecState
from dcra.compiled.form import Compiled
from dcra.compiled.piece import Piece
from dcra.engines.base import Starts, State
from dcra.model.operators import MatrixFree, norm_estimate


@dataclass(frozen=True)
class MpecEpm(Mpec):
    """min f(x) + rho (n - <x, v>), rho <- min(2L, sqrt(10) rho) every ten alternations.

    Parameters
    ----------
    rho_init : float
        The first rho. L is a Lipschitz constant of f on the box.
    """

    rho_init: float = 0.01
    name: ClassVar[str] = "mpec-epm"

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return EpmState(self, compiled, starts)


class EpmState(MpecState):
    def __init__(self, engine: MpecEpm, compiled: Compiled, starts: Starts) -> None:
        super().__init__(engine, compiled, starts)
        self.rho = engine.rho_init
        self.most = 2 * lipschitz_on_box(compiled)

    def penalty(self) -> tuple[Array, Any]:
        c = 0.0 if self.compiled.c is None else self.compiled.c
        return c - self.rho * self.v, None

    def tighten(self) -> None:
        if self.outer % EVERY == 0:
            self.rho = min(self.most, GROWTH * self.rho)


def lipschitz_on_box(compiled: Compiled) -> float:
    """An upper bound, as far as the norm of A is known, of the Lipschitz constant of F on the box."""
    linear = 0.0 if compiled.c is None else float(np.linalg.norm(to_numpy(compiled.c)))
    return linear + sum(norm_estimate(p.operator) * _steepest(p) for p in compiled.pieces)


def _steepest(p: Piece) -> float:
    """Largest norm of the slopes of a piece at residuals that the box can reach."""
    a = p.argument
    rows = p.where.stop - p.where.start
    if isfinite(p.loss.lipschitz):
        weight = to_numpy(p.weight + 0 * p.b) if p.loss.separable else np.array([p.heaviest])
        return a * p.loss.lipschitz * float(np.linalg.norm(weight))
    reach = _reach(p)
    ends = np.abs([to_numpy(p.slopes(side * reach, 1e-6 * float(np.max(reach)))) for side in (-1.0, 1.0)])
    return float(np.linalg.norm(np.broadcast_to(ends.max(axis=0), (rows,))))


def _reach(p: Piece) -> Host:
    """Largest |As - b| of each row over the box."""
    assert not isinstance(p.operator, MatrixFree)
    reach: Host = p.operator.row_sizes() + np.abs(to_numpy(p.b))
    return reach
