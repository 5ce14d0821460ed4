"""Goemans and Williamson's rounding: the semidefinite relaxation cut by random planes.

For graphs with weights that are not negative the mean cut is at least 0.878 of the relaxation's value, and so
of the heaviest cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dcra._array import Host
from dcra.bounds.semidefinite import Relaxation
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State


@dataclass(frozen=True)
class SdpRounding(Engine):
    """The best of some random planes through the relaxation's factor.

    Parameters
    ----------
    planes : int
        Planes of one start.
    tol : float
        Relative gain of a pass at which the relaxation counts as solved.
    """

    planes: int = 100
    tol: float = 1e-5

    name: ClassVar[str] = "sdp-rounding"
    needs: ClassVar[frozenset[str]] = frozenset({"quadratic"})

    def start(self, compiled: Compiled, starts: Starts) -> RoundingState:
        return RoundingState(self, compiled, starts)


class RoundingState(State):
    def __init__(self, engine: SdpRounding, compiled: Compiled, starts: Starts) -> None:
        self.engine, self.compiled, self.starts = engine, compiled, starts
        self.relaxation = Relaxation(compiled.quadratic_tables, starts.seed)
        self.out = np.ones((starts.count, compiled.n))
        self._done = False

    def advance(self, work: int) -> None:
        if self._done:
            return
        self.relaxation.advance(work)
        if self.relaxation.place == 0 and self.relaxation.change <= self.engine.tol:
            self._done = True
            for k in range(self.starts.count):
                self.out[k] = self.best_cut(np.random.default_rng((self.starts.seed, self.starts.first + k)))

    def best_cut(self, rng: np.random.Generator) -> Host:
        """The best of the points that random planes give."""
        cuts = self.cuts(rng)
        problem = self.compiled.problem
        return np.asarray(cuts[int(np.argmin(problem.objective(self.compiled.decode(cuts))))])

    def cuts(self, rng: np.random.Generator) -> Host:
        """Spins (planes, n): the side of each row of V, seen from that of its last row."""
        V = self.relaxation.V
        sides = rng.standard_normal((self.engine.planes, V.shape[1])) @ V.T >= 0
        return np.where(sides[:, :-1] == sides[:, -1:], 1.0, -1.0)

    @property
    def done(self) -> bool:
        return self._done

    @property
    def steps(self) -> int:
        return self.relaxation.passes

    def candidates(self) -> Host:
        return self.out
