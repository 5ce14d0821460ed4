"""Answers in all variables, where some of them were fixed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from dcra._array import Array, from_numpy, to_numpy
from dcra.model.fixing import Fixing
from dcra.model.pool import Solutions
from dcra.result import Moment, Progress, Result, Status
from dcra.search.driver import soft_report


def moved(result: Result, like: Array) -> Result:
    """The result with its points in the library of `like`."""
    pool = result.pool
    if pool is not None:
        pool = replace(pool, points=from_numpy(to_numpy(pool.points), like))
    return replace(result, x=from_numpy(to_numpy(result.x), like), pool=pool)


def completed(fixing: Fixing, error: float, result: Result) -> Result:
    """The result of the free variables as one of all; judged by the whole problem, `error` beside it."""
    whole = fixing.whole
    pool = result.pool
    if pool is not None:
        points = fixing.complete(to_numpy(pool.points).astype(np.float64))
        values = np.asarray([whole.objective(point) for point in points])  # each by itself, as `fun` is
        pool = replace(pool, points=from_numpy(points, whole.like), values=values)
    x = fixing.complete(to_numpy(result.x).astype(np.float64))
    return judged(fixing, replace(result, pool=pool, tiny=result.tiny + error), x)


def judged(fixing: Fixing, result: Result, x: Any) -> Result:
    """The result with another point, and what the whole problem says about it."""
    whole = fixing.whole
    fun, violation = whole.objective(x) + 0.0, whole.violation(x)
    feasible = violation == 0
    if feasible != result.feasible and result.status in (Status.OPTIMAL, Status.INFEASIBLE):
        if whole.constraints is None:  # hard clauses, of which no other point breaks fewer
            result = replace(result, status=Status.INFEASIBLE)
        else:  # what was taken off the rows is rounded: nothing is proven of the whole
            result = replace(result, status=Status.CONVERGED, lower_bound=-inf)
    return replace(
        result,
        x=from_numpy(x, whole.like),
        fun=fun,
        lower_bound=min(result.lower_bound, fun) if feasible else result.lower_bound,
        feasible=feasible,
        violation=violation if whole.constraints is None else max(violation, whole.constraints.furthest(x)),
        n_constraints=whole.n_constraints,
        constraint_kind=whole.constraint_kind,
        names=whole.variable_names,
        **soft_report(whole, x),
    )


def only_point(fixing: Fixing, asked: Any, seed: int | None, method: str, begun: float) -> Result:
    """The result where no variable is free."""
    whole, x = fixing.whole, fixing.values
    fun = whole.objective(x) + 0.0
    pool = None
    if asked is not None:
        pool = Solutions(from_numpy(x[None], whole.like), np.asarray([fun]), True, asked.size)
    seconds = time.perf_counter() - begun
    story = (Progress(seconds, fun, fun),)
    fine = bool(whole.violation(x) == 0)
    status = Status.OPTIMAL if fine else Status.INFEASIBLE
    result = Result(x, fun, fun, status, story, 0, 0, seconds, seed or 0, method, pool=pool, feasible=fine)
    return judged(fixing, result, x)


def of_all_variables(fixing: Fixing, callback: Callable[[Moment], Any] | None) -> Any:
    """The callback, told of points in all variables."""
    if callback is None:
        return None

    def tell(moment: Moment) -> Any:
        def copy() -> Array | None:
            x = moment.x
            if x is None:
                return None
            return from_numpy(fixing.complete(to_numpy(x).astype(np.float64)), fixing.whole.like)

        return callback(Moment.of(moment, copy))

    return tell
