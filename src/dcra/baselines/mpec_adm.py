"""MPEC-ADM, the alternating direction method of Yuan and Ghanem (2017)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from dcra._array import Array, from_numpy
from dcra.baselines.mpec import EVERY, GROWTH, Mpec, MpecState
from dcra.compiled.form import Compiled
from dcra.engines.base import Starts, State


@dataclass(frozen=True)
class MpecAdm(Mpec):
    """min f(x) + mu (n - <x, v>) + alpha/2 (n - <x, v>)^2, mu <- mu + alpha (n - <x, v>).

    Since mu >= 0, the v of norm at most sqrt(n) that is best for a given x is sqrt(n) x/|x|.

    Parameters
    ----------
    alpha_init : float
        The first alpha; it grows by sqrt(10) every ten alternations.
    max_multiplier : float
        Cap on mu.
    """

    alpha_init: float = 1e-3
    max_multiplier: float = inf
    name: ClassVar[str] = "mpec-adm"

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return AdmState(self, compiled, starts)


class AdmState(MpecState):
    def __init__(self, engine: MpecAdm, compiled: Compiled, starts: Starts) -> None:
        super().__init__(engine, compiled, starts)
        self.alpha, self.cap = engine.alpha_init, engine.max_multiplier
        self.mu = np.zeros(starts.count)

    def penalty(self) -> tuple[Array, Any]:
        compiled = self.compiled
        slope = from_numpy((self.mu + self.alpha * compiled.n)[:, None], compiled.like)
        c = 0.0 if compiled.c is None else compiled.c
        return c - slope * self.v, (self.v, self.split.system(self.v), self.alpha)

    def tighten(self) -> None:
        self.mu = np.minimum(self.mu + self.alpha * self.gaps, self.cap)
        if self.outer % EVERY == 0:
            self.alpha *= GROWTH
