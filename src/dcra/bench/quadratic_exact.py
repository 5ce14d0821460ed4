"""Exact solvers on quadratic objectives: a variable for each product, or, in Gurobi, as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

    linear, row, col, value = over_bits(problem)
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

    linear, row, col, value = over_bits(problem)
    Q = sparse.csr_array((value, (row, col)), shape=(problem.n, problem.n))
    env = gp.Env(params={"OutputFlag": 0})
    model: Any = gp.Model(env=env)
    model.Params.TimeLimit, model.Params.Threads = allowed.seconds, allowed.threads
    model.Params.Seed = allowed.seed
    x = model.addMVar(problem.n, vtype="B")
    model.setObjective(x @ Q @ x + linear @ x)
    if problem.constraints is not None:
        G, ends = equations_over_bits(problem)
        model.addMConstr(G, x, "=", ends)

    def answer() -> QuadraticAnswer:
        with env, model:
            try:
                model.optimize()
            except gp.GurobiError as error:
                raise Skip(f"Gurobi: {error}") from error
            return _answer(problem, np.rint(x.X) if model.SolCount else np.zeros(problem.n))

    return answer


def cpsat(problem: Problem, allowed: Allowance, alike: bool = False) -> Callable[[], QuadraticAnswer]:
    """CP-SAT, its products bounded from the side that their costs push to.

    `alike` says that a point and its opposite are alike: the first variable is down then.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise Skip("ortools is not installed") from None
    linear, row, col, value = over_bits(problem)
    if any((np.rint(part) != part).any() for part in (linear, value)):
        raise Skip("CP-SAT takes costs in whole numbers")
    model: Any = cp_model.CpModel()
    x = [model.new_bool_var("") for _ in linear]
    if alike:
        model.add(x[0] == 0)
    _write_equations(model, x, problem)
    pairs = zip(row.tolist(), col.tolist(), value.tolist(), strict=True)
    products = [_product(model, x[i], x[j], cost) for i, j, cost in pairs]
    costs = np.concatenate([linear, value]).astype(int).tolist()
    model.minimize(cp_model.LinearExpr.weighted_sum([*x, *products], costs))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.random_seed = allowed.threads, allowed.seed
    solver.parameters.max_time_in_seconds = allowed.seconds

    def answer() -> QuadraticAnswer:
        found = solver.solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        return _answer(problem, np.array([float(found and solver.value(v)) for v in x]))

    return answer


def _write_equations(model: Any, x: Sequence[Any], problem: Problem) -> None:
    if problem.constraints is None:
        return
    G, ends = equations_over_bits(problem)
    for i, end in enumerate(ends):
        part = slice(G.indptr[i], G.indptr[i + 1])
        terms = zip(G.data[part], G.indices[part], strict=True)
        model.add(sum(int(c) * x[k] for c, k in terms) == int(end))


def _product(model: Any, first: Any, second: Any, cost: float) -> Any:
    both = model.new_bool_var("")
    if cost > 0:
        model.add_bool_or(first.negated(), second.negated(), both)
    else:
        model.add_implication(both, first)
        model.add_implication(both, second)
    return both


def equations_over_bits(problem: Problem) -> tuple[Any, Host]:
    """G and e of the constraints Gu = e over {0,1}."""
    rules = problem.constraints
    assert rules is not None
    assert (rules.low == rules.high).all()
    if problem.domain == "binary":
        return rules.G, rules.low
    return rules.G, (rules.low + rules.G.sum(axis=1)) / 2


def _answer(problem: Problem, bits: Host) -> QuadraticAnswer:
    return QuadraticAnswer(bits if problem.domain == "binary" else 2 * bits - 1)


def over_bits(problem: Problem) -> tuple[Host, Host, Host, Host]:
    """c and the pairs (i, j, value) of the objective over {0,1}, up to its constant."""
    from scipy import sparse

    linear = np.zeros(problem.n) if problem.linear is None else to_numpy(problem.linear)
    quadratic, spins = problem.quadratic, problem.domain == "spin"
    if quadratic is None:
        return linear * (1 + spins), np.zeros(0, int), np.zeros(0, int), np.zeros(0)
    upper = sparse.coo_array(sparse.triu(sparse.coo_array(quadratic.off_diagonal.A), 1))
    row, col = upper.coords
    if not spins:
        return linear + quadratic.diagonal, row, col, 2.0 * upper.data
    sums = to_numpy(quadratic.row_sums) - quadratic.diagonal
    return 2.0 * linear - 4.0 * sums, row, col, 8.0 * upper.data
