"""Exact solvers on quadratic objectives: HiGHS with a variable for each product, Gurobi as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dcra._array import Host, to_numpy
from dcra.bench.base import Skip
from dcra.bench.quadratic_rivals import Allowance, QuadraticAnswer
from dcra.model.problem import Problem

MOST_PRODUCTS = 20_000
"""Products beyond which HiGHS does not leave its presolve in time."""


def highs(problem: Problem, allowed: Allowance) -> Callable[[], QuadraticAnswer]:
    """The products as variables of their own, y <= x_i, y <= x_j, y >= x_i + x_j - 1."""
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    linear, row, col, value = _over_bits(problem)
    m, n = value.size, problem.n
    if m > MOST_PRODUCTS:
        raise Skip(f"more than {MOST_PRODUCTS} products are too many for a MILP")
    eye, one = sparse.identity(m), np.ones(m)
    first, second = (sparse.csr_array((one, (np.arange(m), ix)), shape=(m, n)) for ix in (row, col))
    A = sparse.vstack(
        [
            sparse.hstack([first, -eye]),
            sparse.hstack([second, -eye]),
            sparse.hstack([-first - second, eye]),
        ]
    )
    low = np.concatenate([np.zeros(2 * m), -np.ones(m)])
    kinds = np.concatenate([np.ones(n), np.zeros(m)])
    limits = LinearConstraint(sparse.csr_array(A), low, np.inf)
    options: Any = {"time_limit": allowed.seconds}
    costs = np.concatenate([linear, value])

    def answer() -> QuadraticAnswer:
        found = milp(costs, constraints=limits, integrality=kinds, bounds=Bounds(0, 1), options=options)
        return _answer(problem, np.zeros(n) if found.x is None else np.rint(found.x[:n]))

    return answer


def gurobi(problem: Problem, allowed: Allowance) -> Callable[[], QuadraticAnswer]:
    """Gurobi's own treatment of products."""
    try:
        import gurobipy as gp
    except ImportError:
        raise Skip("gurobipy is not installed") from None
    from scipy import sparse

    linear, row, col, value = _over_bits(problem)
    Q = sparse.csr_array((value, (row, col)), shape=(problem.n, problem.n))

    def answer() -> QuadraticAnswer:
        with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
            model.Params.TimeLimit, model.Params.Threads = allowed.seconds, allowed.threads
            model.Params.Seed = allowed.seed
            x: Any = model.addMVar(problem.n, vtype="B")
            model.setObjective(x @ Q @ x + linear @ x)
            try:
                model.optimize()
            except gp.GurobiError as error:
                raise Skip(f"Gurobi: {error}") from error
            return _answer(problem, np.rint(x.X) if model.SolCount else np.zeros(problem.n))

    return answer


def _answer(problem: Problem, bits: Host) -> QuadraticAnswer:
    return QuadraticAnswer(bits if problem.domain == "binary" else 2 * bits - 1)


def _over_bits(problem: Problem) -> tuple[Host, Host, Host, Host]:
    """c and the pairs (i, j, value) of the objective over {0,1}, up to its constant."""
    from scipy import sparse

    quadratic = problem.quadratic
    assert quadratic is not None
    upper = sparse.coo_array(sparse.triu(sparse.coo_array(quadratic.off_diagonal.A), 1))
    row, col = upper.coords
    linear = np.zeros(problem.n) if problem.linear is None else to_numpy(problem.linear)
    if problem.domain == "binary":
        return linear + quadratic.diagonal, row, col, 2.0 * upper.data
    sums = to_numpy(quadratic.row_sums) - quadratic.diagonal
    return 2.0 * linear - 4.0 * sums, row, col, 8.0 * upper.data
