"""SCIP, if PySCIPOpt is installed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from dcra.baselines.delegate import Exact, Order, SolverAnswer
from dcra.exact.mixed_model import MixedModel
from dcra.result import Status

INFINITE = 1e20


@dataclass(frozen=True)
class Scip(Exact):
    """Branch and bound by SCIP, on one thread, until the gap is closed."""

    name: ClassVar[str] = "scip"
    package: ClassVar[str] = "pyscipopt"

    def solve(self, model: MixedModel, order: Order) -> SolverAnswer:
        scip = self.load()
        program = scip.Model()
        program.hideOutput()
        v = _write(scip, program, model.clean, order)
        program.setParam("misc/catchctrlc", False)
        program.setParam("randomization/randomseedshift", order.seed % 2**31)
        if order.points is not None:
            _suggest(program, v, order)
        _listen(scip, program, v[: model.n], order)
        if isfinite(order.seconds):
            program.setParam("limits/time", order.seconds)
        order.on_stop(lambda: _interrupt(program))
        if order.seconds == 0:
            return SolverAnswer(np.empty((0, model.n)))
        program.optimizeNogil()
        best = program.getBestSol() if program.getNSols() else None
        points = [] if best is None else [[program.getSolVal(best, variable) for variable in v[: model.n]]]
        bound = program.getDualbound()
        return SolverAnswer(
            np.array(points).reshape(-1, model.n),
            bound if abs(bound) < INFINITE else -np.inf,
            {"optimal": Status.OPTIMAL, "infeasible": Status.INFEASIBLE}.get(program.getStatus()),
            int(program.getNTotalNodes()),
        )


def _interrupt(program: Any) -> None:
    """Between two of its stages SCIP refuses; it is asked again."""
    with suppress(Exception):
        program.interruptSolve()


def _write(scip: Any, program: Any, model: MixedModel, order: Order) -> list[Any]:
    v = [
        program.addVar(lb=low, ub=high, obj=cost, vtype="B" if whole else "C")
        for low, high, cost, whole in zip(
            model.lower, model.upper, model.cost, model.integrality, strict=True
        )
    ]
    keys = [scip.scip.Term(variable) for variable in v]
    rows = model.rows
    for i in range(model.low.size):
        if order.seconds == 0:  # not to be solved any more
            break
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        row = scip.Expr(
            dict(zip([keys[j] for j in rows.indices[part]], rows.data[part].tolist(), strict=True))
        )
        low, high = (float(side) if isfinite(side) else None for side in (model.low[i], model.high[i]))
        program.addCons(scip.scip.ExprCons(row, lhs=low, rhs=high))
    return v


def _suggest(program: Any, v: list[Any], order: Order) -> None:
    """Points to begin with; SCIP completes them."""
    assert order.points is not None
    for u in order.points:
        point = program.createPartialSol()
        for variable, value in zip(v, u, strict=False):
            program.setSolVal(point, variable, float(value))
        program.addSol(point)


def _listen(scip: Any, program: Any, u: list[Any], order: Order) -> None:
    """Pass on incumbents, and the bound that holds with each."""

    class ScipListener(scip.Eventhdlr):  # type: ignore[misc]
        def eventinit(self) -> None:
            self.model.catchEvent(scip.SCIP_EVENTTYPE.BESTSOLFOUND, self)

        def eventexit(self) -> None:
            self.model.dropEvent(scip.SCIP_EVENTTYPE.BESTSOLFOUND, self)

        def eventexec(self, event: Any) -> None:
            best = self.model.getBestSol()
            order.found(np.array([self.model.getSolVal(best, variable) for variable in u]))

    program.includeEventhdlr(ScipListener(), "incumbents", "passes on every improvement")
