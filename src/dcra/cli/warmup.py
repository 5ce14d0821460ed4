"""`dcra warmup`: compile the loops before they are needed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np

LARGE, SMALL, ROWS = 48, 21, 20
"""Variables: more than enumeration takes, and few enough for it. Rows of either."""


@click.command()
@click.option("--quiet", is_flag=True, help="Print nothing.")
def warmup(quiet: bool) -> None:
    """Compile the inner loops ahead, once per installation.

    A first solve otherwise spends some seconds on it; under a short time limit it would rather do without
    compiled loops.
    """
    begin = time.perf_counter()
    groups = {storage: tasks(storage) for storage in ("dense", "sparse")} | {"apps": applications()}
    for group, calls in groups.items():
        for name, solve in calls.items():
            start = time.perf_counter()
            solve()
            if not quiet:
                click.echo(f"{group:<8}{name:<14}{time.perf_counter() - start:6.1f} s")
    if not quiet:
        click.echo(f"compiled loops are ready ({time.perf_counter() - begin:.1f} s)")


def tasks(storage: str) -> dict[str, Callable[[], Any]]:
    """Small solves that need every loop between them: our methods, constraints, a batch, quadratic terms."""
    from dcra import api
    from dcra.apps.qap import qap
    from dcra.methods import METHODS
    from dcra.model.constraints import exactly
    from dcra.model.problem import Problem
    from dcra.model.term import Term

    def one(method: str) -> Callable[[], Any]:
        A = matrix(storage, SMALL if method in ("enumerate", "meet") else LARGE)
        A = A.astype(int) if method == "meet" else A
        return lambda: api.minimize(A, np.ones(ROWS), method=method, starts=1, seed=0, n_jobs=1)

    def constrained() -> Any:
        A, up = matrix(storage, LARGE), exactly(LARGE // 2)
        return api.minimize(A, np.ones(ROWS), method="auto", constraints=up, starts=1, seed=0, n_jobs=1)

    def batch() -> Any:
        return api.minimize_batch(matrix(storage, LARGE), np.eye(ROWS), starts=1, seed=0)

    def quadratic(method: str, losses: bool) -> Callable[[], Any]:
        n = SMALL if method == "enumerate" else LARGE
        terms = [Term("l1", matrix(storage, n), np.ones(ROWS))] if losses else []
        problem = Problem(terms, quadratic=small_quadratic(storage, n))
        return lambda: api.solve(problem, method=method, starts=2, seed=0, n_jobs=1)

    def assignment() -> Any:
        return qap(np.eye(5), np.ones((5, 5)), starts=1, seed=0)

    ours = [name for name, source in METHODS.items() if not source.startswith("dcra.baselines")]
    found = {method: one(method) for method in ours} | {"constraints": constrained, "batch": batch}
    found |= {f"{method} Q": quadratic(method, False) for method in QUADRATIC}
    return (
        found
        | {f"{method} f+Q": quadratic(method, True) for method in QUADRATIC}
        | {"assignment": assignment}
    )


QUADRATIC = ("auto", "flip", "anneal", "tabu", "sweep", "enumerate")
"""Methods with loops of their own where there is a quadratic term."""


def small_quadratic(storage: str, n: int) -> Any:
    """A small Q of whole numbers whose storage the loops keep."""
    Q = np.random.default_rng(1).integers(-3, 4, (n, n))
    if storage == "dense":
        return Q
    from scipy import sparse

    return sparse.csc_array(np.where(np.abs(np.subtract.outer(np.arange(n), np.arange(n))) == 1, Q, 0))


def applications() -> dict[str, Callable[[], Any]]:
    """Small solves that need the loops of the applications."""
    from dcra import api
    from dcra.apps import maxsat, mimo
    from dcra.exact.closest_pairs import Closest

    def clauses() -> Any:
        return maxsat.solve([[v] for v in range(1, LARGE)], hard=[[-1, -2], [1, 2, 3]], starts=3, seed=0)

    def frames(n: int) -> Callable[[], Any]:
        H = np.ones((n, n)) + np.eye(n) + 0j  # hard enough that every stage is needed
        return lambda: mimo.detect(H, np.ones((n, 2)), 0.1, "qpsk", soft=True, seed=0)

    def equations() -> Any:
        A = matrix("dense", SMALL).astype(int)
        return api.minimize(A, np.ones(ROWS), method=Closest(half=6, grids=1), starts=1, seed=0)

    return {"maxsat": clauses, "equations": equations, "mimo": frames(16), "mimo, large": frames(300)}


def matrix(storage: str, n: int) -> Any:
    """A small matrix whose storage the loops keep."""
    A = np.random.default_rng(0).standard_normal((ROWS, n))
    if storage == "dense":
        return A
    from scipy import sparse

    return sparse.csc_array(np.where(np.arange(n) % ROWS == np.arange(ROWS)[:, None], A, 0.0))
