"""Exact Max-SAT solvers of others, stopped at the same time: RC2 of python-sat, CP-SAT, HiGHS."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from threading import Timer
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcra.apps.maxsat import ClauseProblem, Clauses
from dcra.apps.maxsat.cores import Cores
from dcra.apps.maxsat.exact import installed
from dcra.bench.base import Skip
from dcra.search.threads import default_jobs


class ClauseAnswer(NamedTuple):
    """An assignment, a lower bound on the cost, and when that was known, if that is on record."""

    x: NDArray[Any]
    bound: float
    bound_at: float | None = None


def solve(name: str, problem: ClauseProblem, seconds: float) -> ClauseAnswer:
    """An assignment and a lower bound; all false where none was found."""
    if problem.clauses.weight.dtype.kind != "i":
        raise Skip("weights that are not integers")
    return RIVALS[name](problem, seconds)


def rc2(problem: ClauseProblem, seconds: float) -> ClauseAnswer:
    """Core-guided search: there is an answer only when it is the optimum."""
    if not installed():
        raise Skip("python-sat is not installed")
    run = Cores(problem.clauses)
    timer = Timer(seconds, run.stop)
    timer.start()
    try:
        answer = run.solve()
    finally:
        timer.cancel()
    x = np.zeros(problem.clauses.n, bool) if answer.x is None else answer.x
    return ClauseAnswer(x, float(answer.bound))


def cp_sat(problem: ClauseProblem, seconds: float) -> ClauseAnswer:
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise Skip("ortools is not installed") from error
    clauses = problem.clauses
    model = cp_model.CpModel()
    x = [model.new_bool_var(f"x{v}") for v in range(clauses.n)]
    cost = []
    for literals, weight, hard in _each(clauses):
        true = [x[l - 1] if l > 0 else x[-l - 1].negated() for l in literals]
        if not hard:
            false = model.new_bool_var("")
            true.append(false)
            cost.append(weight * false)
        model.add_bool_or(true)
    model.minimize(sum(cost))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = default_jobs()
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return ClauseAnswer(np.zeros(clauses.n, bool), float(solver.best_objective_bound))
    return ClauseAnswer(np.array([solver.value(v) for v in x], bool), float(solver.best_objective_bound))


def milp(problem: ClauseProblem, seconds: float) -> ClauseAnswer:
    """HiGHS: one variable per soft clause that says whether it is false."""
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint
    from scipy.optimize import milp as highs

    clauses = problem.clauses
    n, soft = clauses.n, np.flatnonzero(~clauses.hard)
    signs = np.sign(clauses.literals)
    rows = np.repeat(np.arange(clauses.m), clauses.lengths)
    A = sparse.csr_array((signs.astype(float), (rows, np.abs(clauses.literals) - 1)), shape=(clauses.m, n))
    slack = sparse.csr_array((np.ones(soft.size), (soft, np.arange(soft.size))), shape=(clauses.m, soft.size))
    least = 1.0 - np.bincount(rows, weights=signs < 0, minlength=clauses.m)
    cost = np.concatenate([np.zeros(n), clauses.weight[soft].astype(float)])
    found = highs(
        cost,
        integrality=np.repeat([1, 0], [n, soft.size]),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(sparse.hstack([A, slack]), lb=least),
        options={"time_limit": seconds},
    )
    bound = -inf if found.mip_dual_bound is None else float(found.mip_dual_bound)
    return ClauseAnswer(np.zeros(n, bool) if found.x is None else found.x[:n] > 0.5, bound)


RIVALS: dict[str, Callable[[ClauseProblem, float], ClauseAnswer]] = {
    "rc2": rc2,
    "cp-sat": cp_sat,
    "milp": milp,
}


def _each(clauses: Clauses) -> Any:
    """Literals, weight and hardness of the clauses, as plain numbers."""
    return zip(clauses.lists(), clauses.weight.tolist(), clauses.hard.tolist(), strict=True)
