"""CP-SAT of OR-Tools, if it is installed: the model in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import frexp, isfinite
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host
from dcra.baselines.delegate import Exact, Order, SolverAnswer
from dcra.exact.mixed_model import MixedModel
from dcra.result import Status

ROW_BITS, COST_BITS = 30, 58
"""Sizes of a row and of the objective in whole numbers: CP-SAT wants sums to stay well below 2^63."""


@dataclass(frozen=True)
class CpSat(Exact):
    """Branch and bound, local search and clause learning on rows and costs rounded to whole numbers.

    The bound is lowered by what the rounding may have changed, which is nothing where A, b and the weights
    are whole numbers of moderate size.
    """

    name: ClassVar[str] = "cpsat"
    package: ClassVar[str] = "ortools.sat.python.cp_model"

    def allowance(self, model: MixedModel) -> float:
        return WholeModel(model).allowance

    def solve(self, model: MixedModel, order: Order) -> SolverAnswer:
        cp_model = self.load()
        whole = WholeModel(model)
        program = cp_model.CpModel()
        v = _write(cp_model, program, whole)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = order.threads
        solver.parameters.random_seed = order.seed % 2**31
        solver.parameters.catch_sigint_signal = False
        if isfinite(order.seconds):
            solver.parameters.max_time_in_seconds = order.seconds
        if order.points is not None:
            for variable, value in zip(v, order.points[0], strict=False):
                program.add_hint(variable, int(value))
        order.on_stop(solver.stop_search)
        solver.best_bound_callback = lambda bound: order.bounded(bound / whole.cost_scale)
        status = solver.solve(program, _listener(cp_model, v[: model.n], order))
        found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        points = np.array([[solver.value(u) for u in v[: model.n]]]) if found else np.empty((0, model.n))
        return SolverAnswer(
            points,
            solver.best_objective_bound / whole.cost_scale if found else -np.inf,
            {cp_model.OPTIMAL: Status.OPTIMAL, cp_model.INFEASIBLE: Status.INFEASIBLE}.get(status),
            int(solver.num_branches),
        )


@dataclass(frozen=True, eq=False)
class WholeModel:
    """A model in whole numbers: rows and their columns times `row_scale`, costs times `cost_scale`."""

    model: MixedModel

    @cached_property
    def sides(self) -> Host:
        """The finite sides of each row, 0 for the others: (2, rows)."""
        both = np.stack([self.model.low, self.model.high])
        return np.where(np.isfinite(both), both, 0.0)

    @cached_property
    def matrix(self) -> Any:
        """What rows say of u."""
        return self.model.rows[:, : self.model.n]

    @cached_property
    def row_scale(self) -> float:
        sizes = abs(self.matrix).sum(axis=1) + np.abs(self.sides).max(axis=0)
        return 2.0 ** (ROW_BITS - frexp(float(np.max(sizes, initial=1.0)))[1])

    @cached_property
    def units(self) -> Host:
        """In how many parts each column is counted: u whole, the others in parts of a row."""
        return np.where(self.model.integrality == 1, 1.0, self.row_scale)

    @cached_property
    def cost_scale(self) -> float:
        m = self.model
        return 2.0 ** (COST_BITS - frexp(float(np.abs(m.cost) @ np.maximum(m.upper, -m.lower)))[1])

    @cached_property
    def cost(self) -> Host:
        return np.rint(self.cost_scale * self.model.cost / self.units)

    @cached_property
    def off(self) -> Host:
        """Most by which rounding can have changed each row."""
        data = self.row_scale * self.matrix
        data.data = np.abs(data.data - np.rint(data.data))
        sides = self.row_scale * self.sides
        return np.asarray(data.sum(axis=1) + np.abs(sides - np.rint(sides)).max(axis=0))

    @cached_property
    def room(self) -> Host:
        """By how much sides are widened: constraints must not lose points to rounding."""
        hard = np.arange(self.model.low.size) >= self.model.low.size - self.model.n_hard
        return np.where(hard, np.ceil(self.off), 0.0)

    @property
    def allowance(self) -> float:
        """Most by which rounding can have changed the objective at any point, in units of F."""
        m = self.model
        rows = float(m.prices @ self.off) / self.row_scale
        reach = np.maximum(m.upper, -m.lower)
        costs = float(np.abs(self.cost * self.units / self.cost_scale - m.cost) @ reach)
        return m.unit * (rows + costs)


def _write(cp_model: Any, program: Any, whole: WholeModel) -> list[Any]:
    m = whole.model
    reach = np.ceil(whole.units * m.upper).astype(np.int64) + (m.integrality == 0)
    v = [program.new_int_var(0, int(most), "") for most in reach]
    rows = m.rows  # whose entries outside u are +-1
    data = np.rint(np.where(rows.indices < m.n, whole.row_scale, 1.0) * rows.data).astype(np.int64)
    low, high = np.rint(whole.row_scale * m.low) - whole.room, np.rint(whole.row_scale * m.high) + whole.room
    for i in range(m.low.size):  # by hand, since expressions of the package take ten times as long
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        row = program.proto.constraints.add().linear
        row.vars.extend(rows.indices[part].tolist())
        row.coeffs.extend(data[part].tolist())
        row.domain.extend([_whole(low[i]), _whole(high[i])])
    program.minimize(cp_model.LinearExpr.weighted_sum(v, whole.cost.astype(np.int64).tolist()))
    return v


def _whole(side: float) -> int:
    return int(side) if isfinite(side) else (-1 if side < 0 else 1) * 2**62


def _listener(cp_model: Any, u: list[Any], order: Order) -> Any:
    class CpSatListener(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        def on_solution_callback(self) -> None:
            order.found(np.array([self.value(variable) for variable in u]))

    return CpSatListener()
