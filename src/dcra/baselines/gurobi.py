"""Gurobi, if it is installed and licensed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from dcra.baselines.delegate import Exact, Order, SolverAnswer
from dcra.exact.mixed_model import MixedModel
from dcra.messages import SolverUnavailable
from dcra.result import Status

UNLICENSED = (10009, 10010, 10032)
"""Gurobi's errors for no licence, a model beyond the licence's size, a licence that is in use elsewhere."""

INFINITE = 1e100


@dataclass(frozen=True)
class Gurobi(Exact):
    """Branch and bound by Gurobi until the gap is closed; squared losses as a quadratic program."""

    name: ClassVar[str] = "gurobi"
    package: ClassVar[str] = "gurobipy"
    needs: ClassVar[frozenset[str]] = frozenset({"losses alone", "columns", "piecewise quadratic"})

    def solve(self, model: MixedModel, order: Order) -> SolverAnswer:
        grb = self.load()
        try:
            with grb.Env(params={"OutputFlag": 0}) as env, grb.Model(env=env) as program:
                return _optimize(grb, program, model, order)
        except grb.GurobiError as error:
            if error.errno not in UNLICENSED:
                raise
            size = f"{model.cost.size} columns and {model.low.size} rows"
            raise SolverUnavailable(
                f"method 'gurobi' has no licence for this model of {size}: {error.message}"
            ) from error


def _optimize(grb: Any, program: Any, model: MixedModel, order: Order) -> SolverAnswer:
    v = _write(grb, program, model.clean)
    program.Params.MIPGap = 0.0
    program.Params.Threads = order.threads
    program.Params.Seed = order.seed % 2_000_000_000
    if isfinite(order.seconds):
        program.Params.TimeLimit = order.seconds
    if order.points is not None:
        program.NumStart = len(order.points)
        for number, u in enumerate(order.points):
            program.Params.StartNumber = number
            v[: model.n].Start = u
    order.on_stop(program.terminate)
    program.optimize(_listener(grb, v, model.n, order))
    points = v.X[None, : model.n] if program.SolCount else np.empty((0, model.n))
    bound = program.ObjBound if abs(program.ObjBound) < INFINITE else -np.inf
    return SolverAnswer(points, bound, _status(grb, program.Status, order), int(program.NodeCount))


def _status(grb: Any, status: int, order: Order) -> Status | None:
    if status == grb.GRB.INTERRUPTED and not order.stopping:  # a Ctrl-C that Gurobi saw first
        return Status.INTERRUPTED
    return {grb.GRB.OPTIMAL: Status.OPTIMAL, grb.GRB.INFEASIBLE: Status.INFEASIBLE}.get(status)


def _write(grb: Any, program: Any, model: MixedModel) -> Any:
    kinds = np.where(model.integrality == 1, grb.GRB.BINARY, grb.GRB.CONTINUOUS)
    v = program.addMVar(model.cost.size, lb=model.lower, ub=model.upper, vtype=kinds)
    objective = model.cost @ v
    if model.quadratic:
        curved = np.flatnonzero(model.curvature)
        objective = objective + v[curved] @ np.diag(0.5 * model.curvature[curved]) @ v[curved]
    program.setObjective(objective)
    equal = model.low == model.high
    for chosen, sense, side in (
        (equal, "=", model.high),
        (~equal & np.isfinite(model.high), "<", model.high),
        (~equal & np.isfinite(model.low), ">", model.low),
    ):
        if chosen.any():
            program.addMConstr(model.rows[chosen], v, sense, side[chosen])
    return v


def _listener(grb: Any, v: Any, n: int, order: Order) -> Callable[[Any, int], None]:
    """Passes on incumbents and bounds, and a wish to stop that came before there was anything to stop."""
    where_found, where_bounded = grb.GRB.Callback.MIPSOL, grb.GRB.Callback.MIP

    def listen(program: Any, where: int) -> None:
        if where == where_found:
            order.found(program.cbGetSolution(v)[:n])
        elif where == where_bounded:
            bound = program.cbGet(grb.GRB.Callback.MIP_OBJBND)
            if abs(bound) < INFINITE:
                order.bounded(bound)
        if order.stopping:
            program.terminate()

    return listen
