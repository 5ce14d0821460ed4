"""Algorithm 3 of the paper: W, the hash function and the codes in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from dcra._array import Host
from dcra.apps.hashing.blocks import SPAN, ranges
from dcra.apps.hashing.features import Features
from dcra.apps.hashing.ridge import Ridge
from dcra.apps.hashing.targets import Targets, TargetTable, distinct_pairs
from dcra.apps.hashing.wstep import Part, Regression, accelerated, huber_descent
from dcra.apps.hashing.xstep import XStep
from dcra.losses import Loss
from dcra.search.interrupts import Interruption, on_interrupt

Report = Callable[[int, float, int], None]


def make_regression(targets: Targets, X: Host, loss: Loss, delta: float, intercept: bool) -> Regression:
    """The W-step for codes X; where targets come from a table, equal pairs of target and code are one."""
    penalty = np.concatenate([np.full(X.shape[1], delta), np.zeros(int(intercept))])

    def widened(codes: Host) -> Host:
        return np.concatenate([codes.astype(np.float64), np.ones((len(codes), int(intercept)))], axis=1)

    if isinstance(targets, TargetTable):
        pairs = distinct_pairs(targets.index, X)
        Y, codes = targets.values[targets.index[pairs.first]], widened(X[pairs.first])
        whole = (Y, codes, pairs.counts.astype(np.float64))
        return Regression(lambda: [whole], loss, penalty)

    def parts() -> Iterator[Part]:
        for lo, hi in ranges(targets.n):
            yield targets.read(lo, hi).astype(np.float64), widened(X[lo:hi]), np.ones(hi - lo)

    return Regression(parts, loss, penalty)


@dataclass(frozen=True, eq=False)
class HashingModel:
    """minimise sum_i f(W x_i + w - y_i) + delta/2 |W|^2 + nu (|X - Phi P|^2 + ridge |P|^2).

    Over W (d, r), the intercept w where there is one, P (m, r) and signs X (n, r).
    """

    targets: Targets
    features: Features
    x_step: XStep
    delta: float
    ridge: float
    intercept: bool

    @property
    def nu(self) -> float:
        return self.x_step.nu

    def make_regression(self, X: Host) -> Regression:
        """The W-step for codes X."""
        return make_regression(self.targets, X, self.x_step.loss, self.delta, self.intercept)

    def split(self, W: Host) -> tuple[Host, Host]:
        """The coefficients of the bits, and the intercept."""
        return (W[:, :-1], W[:, -1]) if self.intercept else (W, np.zeros(len(W)))

    def improve(self, W: Host, X: Host, P: Host | None) -> tuple[Host, int]:
        """The X-step."""
        V, w = self.split(W)
        if isinstance(self.targets, TargetTable) and P is None:
            pairs = distinct_pairs(self.targets.index, X)
            Y = self.targets.values[self.targets.index[pairs.first]] - w
            codes, changed = self.x_step.improve(V, Y, X[pairs.first])
            return codes[pairs.inverse], changed
        new, changed = np.empty_like(X), 0
        for lo, hi in ranges(len(X), SPAN):
            H = None if P is None else self.features.project(P, lo, hi)
            Y = self.targets.read(lo, hi) - w
            new[lo:hi], count = self.x_step.improve(V, Y, X[lo:hi], H)
            changed += count
        return new, changed


@dataclass(eq=False)
class FittedCodes:
    """Where the rounds ended."""

    X: Host
    W: Host
    P: Host
    path: list[float] = field(default_factory=list)
    n_rounds: int = 0
    converged: bool = False


@dataclass(frozen=True)
class Alternation:
    """How often, and how W is updated: smoothing > 0 asks for the paper's Huber descent.

    Parameters
    ----------
    max_rounds : int
    tol : float
        End when a round lowers the objective by less than this share.
    smoothing : float
        mu of the Huber descent; 0 for accelerated steps.
    descent_steps : int
    """

    max_rounds: int
    tol: float
    smoothing: float = 0.0
    descent_steps: int = 100

    def w_step(self, problem: Regression, W: Host, n: int) -> Host:
        if self.smoothing > 0:
            return huber_descent(problem, W, self.smoothing, n, self.descent_steps)
        return accelerated(problem, W)

    def run(self, model: HashingModel, X: Host, W: Host | None, report: Report) -> FittedCodes:
        """Alternate from codes X, improved for a given W, until they no longer change, or until Ctrl-C."""
        with on_interrupt() as interrupted:
            return self._alternate(model, X, W, report, interrupted)

    def _alternate(
        self, model: HashingModel, X: Host, W: Host | None, report: Report, interrupted: Interruption
    ) -> FittedCodes:
        n = len(X)
        if W is None:
            W = np.zeros((model.targets.d, X.shape[1] + int(model.intercept)))
        else:
            X, _ = model.improve(W, X, None)
        gram, cross = model.features.statistics(X)
        hash_function = Ridge(gram, model.ridge)
        fitted = FittedCodes(X, W, hash_function.solve(cross))

        def objective(problem: Regression) -> float:
            tied = model.nu * hash_function.value(fitted.P, cross, n) if model.nu > 0 else 0.0
            return problem.objective(fitted.W) + tied

        problem = model.make_regression(X)
        for k in range(self.max_rounds):
            fitted.W = self.w_step(problem, fitted.W, n)
            fitted.path.append(objective(problem))
            P = fitted.P if model.nu > 0 else None
            improved, changed = model.improve(fitted.W, fitted.X, P)
            fitted.n_rounds = k + 1
            if changed == 0:
                fitted.converged = not interrupted
                break
            fitted.X = improved
            cross = model.features.cross(fitted.X) if model.nu > 0 else cross
            problem = model.make_regression(fitted.X)
            fitted.path.append(objective(problem))
            if model.nu > 0:
                fitted.P = hash_function.solve(cross)
            report(k + 1, fitted.path[-1], changed)
            if len(fitted.path) > 3 and fitted.path[-3] - fitted.path[-1] <= self.tol * abs(fitted.path[-1]):
                fitted.converged = True
                break
            if interrupted:
                break
        if model.nu == 0 and fitted.X is not X:
            fitted.P = hash_function.solve(model.features.cross(fitted.X))
        return fitted
