"""Measure the numbers of `dcra.costs` here: each as the best of some tries, on one thread.

python benchmarks/costs.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from dcra import costs
from dcra.apps.maxsat import ClauseAnneal, ClauseProblem, random_clauses
from dcra.apps.qap import AssignmentProblem
from dcra.bounds.semidefinite import Relaxation
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.exact.enumeration import Enumerate
from dcra.exact.lattices import Lattice
from dcra.exact.meet_in_the_middle import SEGMENTS, Meet, quarters_of
from dcra.model.constraints import exactly
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.search.threads import one_blas_thread

TRIES = 5
rng = np.random.default_rng(0)


def best_of(run: Callable[[], object]) -> float:
    """Seconds of the quickest run."""
    seconds = []
    for _ in range(TRIES):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def losses(r: int, n: int, **parts: object) -> Problem:
    return Problem([Term("l1", rng.standard_normal((r, n)), np.ones(r))], **parts)  # type: ignore[arg-type]


def pass_rate() -> float:
    compiled = compile_problem(losses(1000, 1000))
    return 1e6 / best_of(lambda: compiled.residual(np.ones(1000)))


def layout_seconds() -> float:
    problem = losses(1500, 1500)
    return best_of(lambda: compile_problem(problem).tables(np.float32)) / 1500**2


def coupling_seconds() -> float:
    F, D = rng.standard_normal((2, 30, 30))
    return best_of(lambda: compile_problem(AssignmentProblem(F, D)).quadratic_tables) / 30**4


def points_rate(loops: bool, **parts: object) -> float:
    """Residuals of all points in a second, times n where array code visits them."""
    n, r = 14, 64
    compiled = compile_problem(losses(r, n, **parts), loops=loops)
    state = Enumerate().start(compiled, Starts(0, 0, 8))
    return 2**n * r * (1 if loops else n) / best_of(lambda: state.visit(0, 2**n))  # type: ignore[attr-defined]


def product_rate() -> float:
    A = rng.standard_normal((700, 700))
    return 2 * 700**3 / best_of(lambda: A.T @ A)


def factor_rate() -> float:
    A = rng.standard_normal((900, 900))
    A = A @ A.T + 900 * np.eye(900)
    return 900**3 / 3 / best_of(lambda: np.linalg.cholesky(A))


def relaxation_rate() -> float:
    compiled = compile_problem(Problem(quadratic=rng.standard_normal((400, 400))))
    relaxation = Relaxation(compiled.quadratic_tables)
    return relaxation.row_work * 401 / best_of(lambda: relaxation.advance(10**12))


def sum_seconds(loops: bool) -> float:
    n = 40 if loops else 32
    A = rng.integers(0, 100, (4, n)).astype(float)
    compiled = compile_problem(Problem([Term("l1", A, A.sum(axis=1) // 2)], domain="binary"), loops=loops)
    compiled.once(quarters_of)

    def segment() -> None:
        state = Meet().start(compiled, Starts(0, 0, 1))
        while not state.done:
            state.advance(10**9)

    return best_of(segment) * SEGMENTS / 2 ** (n / 2)


def node_seconds() -> float:
    lattice = Lattice(rng.integers(-50, 51, (40, 40)).astype(float))
    for _ in lattice.reduce():
        pass
    bounds = np.full(40, 2.5 * np.exp(np.mean(np.log(lattice.basis.r))))
    t = rng.random(40)
    nodes = sum(count for _, count in lattice.search(t, bounds))
    return best_of(lambda: list(lattice.search(t, bounds))) / nodes


def literal_rate() -> float:
    clauses = random_clauses(1000, 4000, 3, seed=0)
    compiled = compile_problem(ClauseProblem(clauses))
    passes = 20

    def run() -> None:
        state = ClauseAnneal(passes).start(compiled, Starts(0, 0, 1))
        while not state.done:
            state.advance(10**9)

    return clauses.literals.size * passes / best_of(run)


def probe_seconds() -> float:
    A = np.ones((costs.PROBE, costs.PROBE))
    return best_of(lambda: A @ A)


MEASURED: dict[str, Callable[[], float]] = {
    "PASS_RATE": pass_rate,
    "LAYOUT_SECONDS": layout_seconds,
    "COUPLING_SECONDS": coupling_seconds,
    "GRAY_RATE": lambda: points_rate(loops=True),
    "ARRAY_POINTS_RATE": lambda: points_rate(loops=False),
    "FEASIBLE_RATE": lambda: points_rate(loops=False, constraints=exactly(7)),
    "PRODUCT_RATE": product_rate,
    "FACTOR_RATE": factor_rate,
    "RELAXATION_RATE": relaxation_rate,
    "LITERAL_RATE": literal_rate,
    "SUM_SECONDS": lambda: sum_seconds(loops=True),
    "ARRAY_SUM_SECONDS": lambda: sum_seconds(loops=False),
    "NODE_SECONDS": node_seconds,
    "PROBE_SECONDS": probe_seconds,
}


def main() -> None:
    table = Table("number", "in dcra.costs", "here")
    with one_blas_thread():
        for name, measure in MEASURED.items():
            table.add_row(name, f"{getattr(costs, name):.3g}", f"{measure():.3g}")
    Console().print(table)


if __name__ == "__main__":
    main()
