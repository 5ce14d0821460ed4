"""HiGHS, through SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host
from dcra.baselines.delegate import Exact, Order, SolverAnswer
from dcra.exact.mixed_model import MixedModel
from dcra.foreign import importing
from dcra.result import Status


@dataclass(frozen=True)
class Milp(Exact):
    """`scipy.optimize.milp` until the gap is closed.

    SciPy offers no way to hand HiGHS a point to begin with, a seed or a number of threads, to hear of its
    incumbents, or to stop it before its time limit: Ctrl-C returns at once and leaves it running behind.
    """

    name: ClassVar[str] = "milp"
    package: ClassVar[str] = "scipy.optimize"

    def solve(self, model: MixedModel, order: Order) -> SolverAnswer:
        outcome = highs(model.clean, model.integrality, order.seconds)
        points = np.empty((0, model.n)) if outcome.x is None else outcome.x[None, : model.n]
        bound = outcome.mip_dual_bound
        status = {0: Status.OPTIMAL, 2: Status.INFEASIBLE}.get(outcome.status)
        return SolverAnswer(
            points, -inf if bound is None else float(bound), status, outcome.mip_node_count or 0
        )


def highs(model: MixedModel, integrality: Host, seconds: float) -> Any:
    """SciPy's result for a model, its integrality perhaps relaxed."""
    with importing():
        from scipy.optimize import Bounds, LinearConstraint, milp

    options: Any = {"mip_rel_gap": 0.0}
    if isfinite(seconds):
        options["time_limit"] = seconds
    rows = LinearConstraint(model.rows, model.low, model.high) if model.low.size else ()
    bounds = Bounds(model.lower, model.upper)
    return milp(model.cost, integrality=integrality, bounds=bounds, constraints=rows, options=options)
