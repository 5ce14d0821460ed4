"""What MPEC-EPM and MPEC-ADM share (Yuan and Ghanem 2017).

x in {-1,1}^n exactly when x lies in the box, |v|^2 <= n and <x, v> = n. Both alternate between x, a convex
problem over the box that is solved by ADMM to a tolerance, and v = sqrt(n) x/|x|, while they drive n - <x, v>
to zero.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dcra._array import Array, Host, namespace, to_numpy
from dcra.baselines.rounding import Roundings, initial_points
from dcra.baselines.splitting import Splitting, factor_work, natural_rho, onto_box, onto_sphere
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State

EVERY = 10
"""Outer iterations between two changes of the penalty."""

GROWTH = 10**0.5
GAMMA = 1.6
"""Step of the multipliers of the inner ADMM."""


@dataclass(frozen=True)
class Mpec(Engine):
    """Options of both methods.

    Parameters
    ----------
    max_outer : int
        Alternations between x and v.
    tol : float
        Ends when n - <x, v> is smaller, after ten alternations.
    inner_tol : float
        Relative residuals at which the problem in x counts as solved.
    max_inner : int
        Steps of ADMM for one x.
    max_steps : int
        Steps of ADMM for all of them together: on some data no x ever settles.
    """

    max_outer: int = 100
    tol: float = 0.01
    inner_tol: float = 3e-3
    max_inner: int = 200
    max_steps: int = 4000
    needs: ClassVar[frozenset[str]] = frozenset({"losses alone", "columns", "convex"})

    def __post_init__(self) -> None:
        if min(self.max_outer, self.max_inner, self.max_steps) < 1:
            raise ValueError("`max_outer`, `max_inner` and `max_steps` must be at least 1")

    def setup_work(self, compiled: Compiled) -> int:
        return factor_work(compiled)


class MpecState(State):
    """x is the copy of the ADMM that lies in the box."""

    done = False

    def __init__(self, engine: Mpec, compiled: Compiled, starts: Starts) -> None:
        self.engine, self.compiled = engine, compiled
        X = initial_points(compiled, starts)
        self.split = Splitting(compiled, X, (onto_box,), natural_rho(compiled), GAMMA)
        self.best = Roundings(compiled, starts.count)
        self.best.offer(X)
        xp = namespace(X)
        self.v = xp.where(xp.any(X != 0, axis=-1, keepdims=True), onto_sphere(X), 0 * X)
        self.gaps: Host = np.full(starts.count, float(compiled.n))
        self.outer = self.inner = self.taken = 0

    @abstractmethod
    def penalty(self) -> tuple[Array, Any]:
        """The linear part of the problem in x, and its rank-one part as `Splitting.step` wants it."""

    @abstractmethod
    def tighten(self) -> None:
        """Update the penalty after the v-step."""

    def advance(self, work: int) -> None:
        engine, split = self.engine, self.split
        for _ in range(max(1, work // (4 * self.compiled.work_per_pass))):
            if self.done:
                return
            if self.inner == 0:
                self.parts = self.penalty()
            split.step(*self.parts)
            self.inner += 1
            self.taken += 1
            last = self.inner >= engine.max_inner or self.taken >= engine.max_steps
            if max(split.primal, split.dual) <= engine.inner_tol or last:
                self._alternate()

    def _alternate(self) -> None:
        """The x-step is done: v, the penalty, and the stopping rule."""
        X = self.split.copies[0]
        self.best.offer(X)
        self.v = onto_sphere(X)
        self.gaps = self.compiled.n - np.sum(to_numpy(X * self.v).astype(np.float64), axis=-1)
        self.outer, self.inner = self.outer + 1, 0
        self.tighten()
        near = self.outer >= EVERY and bool(np.all(self.gaps < self.engine.tol))
        spent = self.outer >= self.engine.max_outer or self.taken >= self.engine.max_steps
        self.done = near or spent

    @property
    def steps(self) -> int:
        return self.taken * len(self.best.spins)

    def candidates(self) -> Host:
        return self.best.spins
