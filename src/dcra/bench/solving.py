"""Solving for the record: the clock runs only while the method does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dcra.bench.base import Row, Skip
from dcra.model.problem import Problem
from dcra.result import Result

MOST_POINTS = 40
"""Points of a history that a row keeps."""


class Solved(NamedTuple):
    """An answer, and the wall and CPU seconds of getting it."""

    result: Result
    wall: float
    cpu: float


def timed(problem: Problem, method: Any, **options: Any) -> Solved:
    """`dcra.solve`, with the clock around it; a method that is not to be had here is a `Skip`."""
    from dcra.api import solve
    from dcra.methods import is_method

    if isinstance(method, str) and not is_method(method):
        raise Skip(f"dcra has no method {method!r}")
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        result = solve(problem, method=method, **options)
    except Exception as error:
        if is_unavailable(error):
            raise Skip(str(error)) from error
        raise
    return Solved(result, time.perf_counter() - wall, time.process_time() - cpu)


def is_unavailable(error: BaseException) -> bool:
    """Whether an error says that a method is missing here: a package, or a licence for this size."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"ImportError", "Unavailable"})


def judged(problem: Problem, x: Any) -> float:
    """The objective of a point in float64; ValueError if it is not in the domain."""
    return float(problem.objective(problem.check_point("x", x)))


def summarise_solve(problem: Problem, solved: Solved) -> Row:
    """What every row of a solve says."""
    result = solved.result
    return {
        "fun": judged(problem, result.x),
        "wall": solved.wall,
        "cpu": solved.cpu,
        "bound": result.lower_bound,
        "ended": result.status.value,
        "starts": result.n_starts,
        "history": thinned([(row.seconds, row.fun) for row in result.history]),
    }


def thinned(history: Sequence[tuple[float, float]], most: int = MOST_POINTS) -> list[list[float]]:
    """The improvements of a history, at most so many: evenly in log time, with the first and the last."""
    better: list[list[float]] = []
    for seconds, fun in history:
        if not better or fun < better[-1][1]:
            better.append([float(f"{seconds:.4g}"), fun])
    if len(better) <= most:
        return better
    times = np.asarray([max(row[0], 1e-6) for row in better])
    grid = np.geomspace(times[0], times[-1], most)
    grid[[0, -1]] = times[[0, -1]]  # geomspace rounds
    kept = np.unique(np.searchsorted(times, grid, side="right") - 1)
    return [better[i] for i in kept]


def warm(method: str) -> None:
    """Import what a method needs by tiny solves, dense and sparse; other names are left alone.

    Exact methods get a problem that they finish in no time.
    """
    from scipy import sparse

    from dcra.api import minimize
    from dcra.methods import METHODS

    if method not in METHODS:
        return
    rng = np.random.default_rng(0)
    few = method in ("enumerate", "exact") or METHODS[method].startswith("dcra.baselines")
    n = 12 if few else 48
    A, b = rng.standard_normal((20, n)), rng.standard_normal(20)
    for form in (A, sparse.csc_array(np.where(rng.random(A.shape) < 0.1, A, 0.0))):
        minimize(form, b, method=method, starts=1, seed=0, n_jobs=1)
