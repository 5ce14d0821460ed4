"""LP relaxation and rounding."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from dcra._array import Host
from dcra.baselines.delegate import Exact, Order, SolverAnswer
from dcra.baselines.milp import highs
from dcra.exact.mixed_model import MixedModel
from dcra.result import Status


@dataclass(frozen=True)
class LpRounding(Exact):
    """The box relaxation by HiGHS, rounded to the nearest point and, for all starts but the first, at random.

    The relaxed u in [0,1]^n is read as probabilities: u_j = 1 with probability u_j. The optimum of the
    relaxation is the lower bound.

    Parameters
    ----------
    roundings : int
        Points when `starts` says nothing.
    """

    roundings: int = 32
    name: ClassVar[str] = "lp-rounding"
    package: ClassVar[str] = "scipy.optimize"

    def solve(self, model: MixedModel, order: Order) -> SolverAnswer:
        outcome = highs(model, 0 * model.integrality, order.seconds)
        if outcome.x is None:
            return SolverAnswer(np.empty((0, model.n)))
        points = rounded(outcome.x[: model.n], order.seed, order.starts or self.roundings)
        solved = outcome.status == 0
        return SolverAnswer(
            points, float(outcome.fun) if solved else -inf, Status.CONVERGED if solved else None
        )


def rounded(u: Host, seed: int, count: int) -> Host:
    """The nearest point and random ones, (count, n)."""
    draws = [np.random.default_rng((seed, i)).random(u.size) for i in range(1, count)]
    return (u > np.stack([np.full(u.size, 0.5), *draws])).astype(np.float64)
