"""The true best points by a method that proves its answers: each is the best of those far from all before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dcra._array import Host, from_numpy, to_numpy
from dcra.model.constraints import StatedRows
from dcra.model.pool import Pool, Solutions
from dcra.model.problem import Problem
from dcra.result import Result, Status

PROVING = ("delegate", "prove")
"""Plans of engines whose answers are proven, one at a time."""


ENDED = (Status.OPTIMAL, Status.CONVERGED)
"""Of a solver that ran to its end: what it found is the best, by our own bound or by its tolerances."""


def with_next_best(
    problem: Problem, result: Result, asked: Pool, solve_one: Callable[[Problem], Result]
) -> Result:
    """The result with the pool of a method that runs until it has the best; as it is where one was cut short.

    The pool is proven where all of its points are.
    """
    if result.status not in ENDED or result.pool is None or result.pool.proven:
        return result
    proven = result.status is Status.OPTIMAL
    points, values = [to_numpy(result.x).astype(np.float64)], [result.fun]
    while len(points) < asked.size:
        try:
            further = solve_one(apart(problem, np.stack(points), asked.distance))
        except ValueError:  # rows that plainly contradict each other: no point is left
            break
        if further.status is Status.INFEASIBLE:
            break
        if further.status not in ENDED or not further.feasible:
            return result
        proven = proven and further.status is Status.OPTIMAL
        points.append(to_numpy(further.x).astype(np.float64))
        values.append(further.fun)
    pool = Solutions(from_numpy(np.stack(points), result.x), np.asarray(values), proven=proven)
    return replace(result, pool=pool)


def apart(problem: Problem, points: Host, distance: int) -> Problem:
    """The same problem for points that differ from all of these in at least `distance` variables."""
    if problem.domain == "spin":  # p'x = n - 2 (how many differ)
        rows = StatedRows(points, -np.inf, problem.n - 2.0 * distance)
    else:  # sum over p = 1 of 1 - x, and over p = 0 of x
        rows = StatedRows(1.0 - 2.0 * points, distance - points.sum(axis=1), np.inf)
    names = [f"far from point {i} of the pool" for i in range(len(points))]
    known: dict[str, Any] = {} if problem.constraints is None else {"stated": problem.constraints.stated()}
    twin = problem.replace(constraints=known | {"pool": rows._replace(names=names)})
    twin.soft = problem.soft
    return twin
