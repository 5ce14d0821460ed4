"""Answers in all variables, where some of them were fixed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from math import inf, isfinite
from typing import Any

import numpy as np

from dcra._array import Array, Host, from_numpy, namespace, to_numpy
from dcra.model.fixing import Fixing
from dcra.model.pool import Pool, Solutions
from dcra.model.problem import Problem
from dcra.model.rounding import error_at, largest_error, plain_floor
from dcra.result import Moment, Progress, Result, Status
from dcra.search.driver import soft_report
from dcra.search.state import ROUNDING_SHARE


def moved(result: Result, like: Array) -> Result:
    """The result with its points in the library of `like`."""
    pool = result.pool
    if pool is not None:
        pool = replace(pool, points=from_numpy(to_numpy(pool.points), like))
    return replace(result, x=from_numpy(to_numpy(result.x), like), pool=pool)


def completed(fixing: Fixing, error: float, result: Result, asked: Pool | None = None) -> Result:
    """The result of the free variables as one of all, judged by the whole problem.

    `error` is what the rounding of the parts that are fixed may cost; `asked` the pool of the whole problem.
    """
    x = fixing.complete(to_numpy(result.x).astype(np.float64))
    if result.pool is not None:
        points, pool = _whole_pool(fixing, result.pool)
        pool = pool if asked is None else replace(pool, asked=asked.size)
        if len(points) and result.feasible:
            lost = result.status is Status.OPTIMAL and not np.any(np.all(points == x, axis=1))
            x = points[0]
            if lost:  # the whole problem rules out what was proven
                result = replace(result, status=Status.CONVERGED)
        result = replace(result, pool=pool)
    fun = fixing.whole.objective(x)
    return judged(fixing, with_rounding(result, fixing.whole, x, fun, error), x)


def _whole_pool(fixing: Fixing, pool: Solutions) -> tuple[Host, Solutions]:
    """The points of a pool in all variables, best first, without those that the whole problem rules out."""
    whole = fixing.whole
    points = fixing.complete(to_numpy(pool.points).astype(np.float64))
    off = whole.violation(points)
    fine = off == np.min(off, initial=inf)
    points = points[fine]
    values = np.asarray([whole.objective(point) for point in points])  # each by itself, as `fun` is
    order = np.argsort(values, kind="stable")
    points, values = points[order], values[order]
    lost = whole.constraints is not None and not fine.all()  # others may have had to make room for them
    proven = pool.proven and not lost
    return points, replace(pool, points=from_numpy(points, whole.like), values=values, proven=proven)


def with_rounding(
    result: Result, whole: Problem, x: Host, fun: float, error: float, box: float = 1.0
) -> Result:
    """The result of a problem that was made of a whole one, whose points have |x_j| <= box.

    What that was rounded by is in `tiny`, as far as points no worse than x are concerned, where the bound is
    near; where it is far, the bound is lowered by `error`, the most that it can be.
    """
    bound = result.lower_bound
    if result.status is Status.OPTIMAL or fun - bound <= ROUNDING_SHARE * abs(fun):
        known = largest_error(whole, box, fun)
        if not isfinite(known):
            known = error_at(whole, from_numpy(x, whole.like, namespace(whole.like).float64), box)
        return replace(result, tiny=result.tiny + (2 * known if isfinite(known) else 0.0))
    return replace(result, lower_bound=min(bound, max(bound - error, plain_floor(whole))))


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
        violation=_furthest(whole, x, violation),
        n_constraints=whole.n_constraints,
        constraint_kind=whole.constraint_kind,
        names=whole.variable_names,
        **soft_report(whole, x),
    )


def _furthest(whole: Problem, x: Host, violation: float) -> float:
    """What the worst row is off by, rounded once; `violation` knows of hard clauses, too."""
    if whole.constraints is None:
        return violation
    off = whole.constraints.furthest(x)
    return off if whole.constraint_kind == "linear" else max(off, violation)


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
