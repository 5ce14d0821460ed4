"""L2-box ADMM (Wu and Ghanem 2018): binary points are where the box meets the sphere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dcra._array import Host
from dcra.baselines.rounding import Roundings, initial_points
from dcra.baselines.splitting import Splitting, factor_work, natural_rho, onto_box, onto_sphere
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State


@dataclass(frozen=True)
class L2BoxAdmm(Engine):
    """ADMM on {-1,1}^n = [-1,1]^n with |x|^2 = n, the losses split off as in `dcra.baselines.splitting`.

    Parameters
    ----------
    rho_init, rho_growth : float
        The penalty, in units of the gradient that typically reaches one variable, multiplied by `rho_growth`
        every five iterations. The authors' constant is 25, 1.5 units on Gaussian instances of 300 x 300.
    gamma : float
        Step of the multipliers; falls to 1 by factors of 0.95 at the same times.
    tol : float
        Ends when max_i |x - y_i| <= tol |x|.
    max_iterations : int
    """

    rho_init: float = 1.5
    rho_growth: float = 1.01
    gamma: float = 1.6
    tol: float = 1e-4
    max_iterations: int = 1000
    name: ClassVar[str] = "l2box-admm"
    needs: ClassVar[frozenset[str]] = frozenset({"losses alone", "columns"})

    def setup_work(self, compiled: Compiled) -> int:
        return factor_work(compiled)

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return L2BoxState(self, compiled, starts)


EVERY = 5
"""Iterations between two changes of rho and gamma."""


class L2BoxState(State):
    done = False

    def __init__(self, engine: L2BoxAdmm, compiled: Compiled, starts: Starts) -> None:
        self.engine, self.compiled = engine, compiled
        X = initial_points(compiled, starts)
        sets = (onto_box, onto_sphere)
        rho = engine.rho_init * natural_rho(compiled)
        self.splitting = Splitting(compiled, X, sets, rho, engine.gamma)
        self.best = Roundings(compiled, starts.count)
        self.best.offer(X)
        self.q = 0 * X if compiled.c is None else compiled.c + 0 * X
        self.taken = 0

    def advance(self, work: int) -> None:
        compiled, engine, split = self.compiled, self.engine, self.splitting
        for _ in range(max(1, work // (6 * compiled.work_per_pass))):
            if self.done:
                return
            split.step(self.q)
            self.best.offer(split.X)
            self.taken += 1
            if self.taken % EVERY == 0:
                split.rho *= engine.rho_growth
                split.gamma = max(0.95 * split.gamma, 1.0)
            self.done = split.apart <= engine.tol or self.taken >= engine.max_iterations

    @property
    def steps(self) -> int:
        return self.taken * len(self.best.spins)

    def candidates(self) -> Host:
        return self.best.spins
