"""Multipliers that make couplings convex, from the semidefinite relaxation of a problem with losses.

For slopes y of the losses at a point of the box, couplings and fields A'y + c are the matrix M of one more
spin. The relaxation of z'Mz has multipliers d with M + Diag(d) positive semidefinite; the point moves
towards each of its answers, as Frank and Wolfe do. Rows of constraints have prices, which rise with what
they are violated by. Any d serves a proof; these make residuals small at good points.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from dcra._array import Host, to_numpy
from dcra._kernels.triangles import mix
from dcra.exact.squares import couplings_of
from dcra.exact.triangle_bound import cold
from dcra.model.problem import Problem

ROUNDS, PASSES, SETTLING = 40, 6, 60
"""Rounds, passes of the factor in each of them, and in the last."""

SMOOTHEST, FALL = 1.0, 0.9
"""Where losses have kinks: the step of their envelopes in units of residuals at first, and how it falls."""

PRICING = 0.1
"""How far prices of violated rows rise in a round, in units of what couplings pull."""

TINY = 1e-300


def least_multipliers(problem: Problem) -> Host:
    """d (n,), all alike, by the least eigenvalue."""
    J = couplings_of(problem)
    if not np.all(np.isfinite(J)):
        return np.zeros(problem.n)
    return np.full(problem.n, max(0.0, -float(np.linalg.eigvalsh(J)[0])))


def multipliers(problem: Problem) -> Generator[int, None, Host]:
    """d (n,) by the semidefinite relaxation; needs the compiled loops. Yields its work."""
    J, n = couplings_of(problem), problem.n
    if not np.all(np.isfinite(J)) or not np.any(J):
        return least_multipliers(problem)
    spin = problem.domain == "spin"
    scale, unit = (1.0 if spin else 0.25), float(np.abs(J).sum())
    M = np.zeros((n + 1, n + 1))
    M[1:, 1:] = scale * J
    V, y = cold(n + 1).V, np.zeros(n + 1)
    s, prices = np.zeros(n), Prices(problem, PRICING * unit)
    for k in range(ROUNDS):
        x = s if spin else 0.5 * (s + 1.0)
        with np.errstate(all="ignore"):
            pull = _pull(problem, x, SMOOTHEST * FALL**k) + prices.pull(x)
            fields = pull if spin else 0.5 * (pull + J.sum(axis=1))
        if not np.all(np.isfinite(fields)):
            return least_multipliers(problem)
        M[0, 1:] = M[1:, 0] = 0.5 * fields
        for _ in range(PASSES if k < ROUNDS - 1 else SETTLING):
            mix(M, V, y, 1)
            yield 2 * M.size * V.shape[1]
        s = s + 2.0 / (k + 2.0) * (V[1:] @ V[0] - s)
    found = y[1:] / scale
    return found if np.all(np.isfinite(found)) else least_multipliers(problem)


class Prices:
    """What rows of constraints cost; they rise by `rate` times what rows are violated by."""

    def __init__(self, problem: Problem, rate: float) -> None:
        self.rows, self.rate = problem.constraints, rate
        if self.rows is not None:
            self.reach = np.maximum(np.asarray(abs(self.rows.G).sum(axis=1)).ravel(), TINY)
            self.prices = np.zeros(len(self.rows))

    def pull(self, x: Host) -> Host | float:
        """What they send to each variable at x (n,), after they have risen."""
        if self.rows is None:
            return 0.0
        value = self.rows.activity(x)
        self.prices += self.rate * (value - np.clip(value, self.rows.low, self.rows.high)) / self.reach
        return np.asarray(self.rows.G.T @ (self.prices / self.reach)).ravel()


def _pull(problem: Problem, x: Host, share: float) -> Host:
    """What losses and the linear part send to each variable."""
    pull = np.zeros(problem.n) if problem.linear is None else to_numpy(problem.linear).astype(np.float64)
    if problem.domain == "binary" and problem.quadratic is not None:
        pull = pull + problem.quadratic.diagonal
    for term in problem.terms:
        A = np.asarray(term.operator.dense(), np.float64)
        z = A @ x - to_numpy(term.b)
        step = 0.0 if np.isfinite(term.loss.curvature) else share * float(np.sqrt(np.mean(z * z)))
        pull = pull + A.T @ (to_numpy(term.weight) * np.asarray(term.loss.envelope_grad(z, step)))
    return np.asarray(pull)
