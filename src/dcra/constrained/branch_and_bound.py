"""Branch and bound on constraints, by the HiGHS of SciPy: for linear objectives, and for rescue."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host, to_numpy
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.exact.feasibility import (
    INFEASIBLE,
    faithful,
    is_infeasible,
    largest_entries,
    row_scale,
    sparse_rows,
)
from dcra.exact.mixed_model import power_of_two
from dcra.foreign import importing
from dcra.model.constraints import Constraints

MAX_NODES = 2000
"""Nodes when there is no time limit: a deterministic end."""

WAIT = 0.002
TRUST = 2e-7
"""What a bound may be off, in units of the largest cost: for each variable, twice HiGHS's own tolerance of
reduced costs, and as much of the bound itself."""


class Branching:
    """min cost't over the feasible t in {0,1}^n, in a thread of its own that ends at its time limit."""

    def __init__(self, constraints: Constraints, cost: Host, seconds: float, gap: float = 0.0) -> None:
        self.constraints, self.cost = constraints, cost
        self.options: dict[str, Any] = {"mip_rel_gap": gap}
        if seconds < inf:
            self.options["time_limit"] = max(seconds, 1e-3)
        else:
            self.options["node_limit"] = MAX_NODES
        self.point: Host | None = None
        self.bound = -inf
        self.over = threading.Event()
        threading.Thread(target=self._run).start()  # no daemon: HiGHS must not outlive the interpreter

    def _run(self) -> None:
        try:
            self._solve()
        finally:
            self.over.set()

    def _solve(self) -> None:
        with importing():
            from scipy.optimize import Bounds, LinearConstraint, milp

        rows = self.constraints
        bottom, top = rows.values
        scale = row_scale(largest_entries(rows))
        shift = bottom * np.asarray(rows.G.sum(axis=1)).ravel()
        G = sparse_rows((top - bottom) / scale, rows.G)
        limits = LinearConstraint(G, (rows.low - shift) / scale, (rows.high - shift) / scale)
        unit = power_of_two(float(np.max(np.abs(self.cost), initial=0.0)))
        options: Any = self.options
        found = milp(
            self.cost / unit,
            constraints=limits,
            integrality=np.ones(rows.n, int),
            bounds=Bounds(0, 1),
            options=options,
        )
        bound = getattr(found, "mip_dual_bound", None)
        if bound is not None and np.isfinite(bound) and faithful(rows):
            self.bound = unit * (float(bound) - TRUST * (rows.n + abs(float(bound))))
        if found.status == INFEASIBLE and is_infeasible(rows, **self._limits()):
            self.bound = inf
        if found.x is not None:
            point = bottom + (top - bottom) * np.rint(found.x)
            self.point = point if rows.violation(point) == 0 else None

    def _limits(self) -> dict[str, Any]:
        """What a second opinion may take."""
        return {"seconds": self.options.get("time_limit", inf), "nodes": self.options.get("node_limit")}

    def wait(self) -> bool:
        """Whether it is over, after a little while at most."""
        return self.over.wait(WAIT)


def nearest_feasible(constraints: Constraints, x: Host, seconds: float) -> Branching:
    """A feasible point that differs from x in few variables, as soon as it is known."""
    bottom, top = constraints.values
    return Branching(constraints, 1 - 2 * (x - bottom) / (top - bottom), seconds, gap=0.5)


def is_linear(compiled: Compiled) -> bool:
    """Whether the objective is c'x and nothing else."""
    return not compiled.pieces and getattr(compiled.problem, "quadratic", None) is None


@dataclass(frozen=True, eq=False)
class Branch(Engine):
    """The constrained minimum of a linear objective, or what is known about it after some seconds."""

    seconds: float = inf
    name: ClassVar[str] = "branch"
    travels: ClassVar[bool] = False

    def start(self, compiled: Compiled, starts: Starts) -> BranchState:
        return BranchState(self, compiled)


class BranchState(State):
    """Waits for the thread, a little at a time, so that limits hold."""

    def __init__(self, engine: Branch, compiled: Compiled) -> None:
        problem = compiled.problem
        assert problem.constraints is not None
        cost = np.zeros(compiled.n) if compiled.c is None else 2.0 * to_numpy(compiled.c).astype(np.float64)
        self.compiled = compiled
        self.scale = compiled.value_scale
        self.least = compiled.offset - 0.5 * self.scale * float(cost.sum())  # the objective at t = 0
        self.branching = Branching(problem.constraints, cost, engine.seconds)

    def advance(self, work: int) -> None:
        self.branching.wait()

    @property
    def done(self) -> bool:
        return self.branching.over.is_set()

    @property
    def bound(self) -> float:
        return self.least + self.scale * self.branching.bound

    def candidates(self) -> Host:
        point = self.branching.point
        return np.ones((1, self.compiled.n)) if point is None else self.compiled.encode(point)[None]
