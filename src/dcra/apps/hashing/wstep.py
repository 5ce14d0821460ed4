"""The W-step: min_W sum_i s_i f(W x_i - y_i) + delta/2 |W|^2 for fixed codes x_i."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dcra._array import Host
from dcra.losses import Loss
from dcra.search.interrupts import Interruption, on_interrupt

Part = tuple[Host, Host, Host]
"""Targets (p, d), codes (p, q) and how often each occurs (p,)."""

STAGES, SHRINK = 7, 0.2
"""Values of the smoothing, each this times the one before."""
STEPS = 12
"""Accelerated steps at each of them."""


@dataclass(frozen=True, eq=False)
class Regression:
    """The problem of one W-step.

    Parameters
    ----------
    parts : callable
        Gives the samples, in parts; called once for every pass over them.
    loss : Loss
    penalty : (q,) array
        delta for each column of W, zero for an intercept.
    """

    parts: Callable[[], Iterable[Part]]
    loss: Loss
    penalty: Host

    def objective(self, W: Host) -> float:
        """The true objective at W (d, q)."""
        fit = sum(float(s @ self.loss.value(X @ W.T - Y)) for Y, X, s in self.parts())
        return fit + self.regulariser(W)

    def regulariser(self, W: Host) -> float:
        return float(0.5 * np.sum(self.penalty * W**2))

    def gradient(self, W: Host, mu: float) -> Host:
        """Of the objective with the loss replaced by its envelope: for l1 the Huber function h_mu."""
        total = self.penalty * W
        for Y, X, s in self.parts():
            slope = self.loss.envelope_grad(X @ W.T - Y, mu)
            total = total + (slope * s[:, None]).T @ X
        return total

    def gram(self) -> Host:
        total = np.zeros((len(self.penalty), len(self.penalty)))
        for _, X, s in self.parts():
            total += (X * s[:, None]).T @ X
        return total

    def scale(self) -> float:
        """The largest target."""
        return max(float(np.abs(Y).max()) for Y, _, _ in self.parts())


def accelerated(problem: Regression, W: Host) -> Host:
    """W by accelerated steps in the metric of the codes, the smoothing being reduced; never worse.

    An envelope bends at most by c = 1/(mu + 1/curvature), so that c X'X + penalty majorises its second
    derivative whatever the data: no step size is needed, and a squared loss is solved by the first step.
    """
    gram, curvature = problem.gram(), problem.loss.curvature
    smooth = curvature < inf
    found = W
    with on_interrupt() as interrupted:
        for stage in range(1 if smooth else STAGES):
            mu = 0.0 if smooth else problem.scale() * SHRINK**stage
            bend = 1 / (mu + (1 / curvature if smooth else 0.0))
            metric = cho_factor(bend * gram + np.diag(problem.penalty))
            found = _descend(problem, found, mu, metric, interrupted)
    return found if problem.objective(found) < problem.objective(W) else W


def _descend(
    problem: Regression, W: Host, mu: float, metric: tuple[Host, bool], interrupted: Interruption
) -> Host:
    """Nesterov's steps, begun again whenever they turn against the gradient."""
    ahead, t = W, 1.0
    for _ in range(STEPS):
        gradient = problem.gradient(ahead, mu)
        new = ahead - cho_solve(metric, gradient.T).T
        if np.sum(gradient * (new - W)) > 0:
            t = 1.0
        following = (1 + np.sqrt(1 + 4 * t * t)) / 2
        ahead = new + (t - 1) / following * (new - W)
        if interrupted or np.abs(new - W).max() <= 1e-9 * np.abs(new).max():
            return new
        W, t = new, following
    return W


def huber_descent(problem: Regression, W: Host, mu: float, n: int, n_steps: int) -> Host:
    """The paper's: gradient steps of length 1/(n r/mu + delta) on the smoothed objective; n samples."""
    length = 1 / (n * W.shape[1] / mu + problem.penalty.max())
    with on_interrupt() as interrupted:
        for _ in range(n_steps):
            if interrupted:
                break
            W = W - length * problem.gradient(W, mu)
    return W
