"""Answers in whole numbers, where bits were searched; and a last descent over the numbers themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dcra._array import Array, Host, from_numpy, namespace, to_numpy
from dcra.model.integers import IntegerProblem
from dcra.model.pool import Pool, Solutions, as_pool, far_enough
from dcra.result import Moment, Result, Status
from dcra.search.completed import with_rounding
from dcra.search.driver import soft_report

PASSES = 100
"""Over all variables, in the last descent."""

SPARE = 4
"""Points of bits asked for, for each of the pool: several may stand for the same numbers."""


def wider_pool(asked: Any) -> Pool | None:
    """The pool of bits that serves for one of numbers."""
    pool = as_pool(asked)
    return None if pool is None else Pool(SPARE * pool.size * pool.distance, 1)


def of_own_rows(problem: IntegerProblem, result: Result) -> Result:
    """The result without the rows that only leave every number one code."""
    rows = problem.bits.constraints
    own = 0 if rows is None else int(rows.G.shape[0])
    weights = result.penalty_weights
    return replace(
        result,
        n_constraints=own,
        penalty_weights=None if weights is None or not own else weights[:own],
    )


def decoded(
    problem: IntegerProblem,
    result: Result,
    asked: Pool | None,
    seconds_left: Callable[[], float],
    one_code: bool = False,
) -> Result:
    """The result in whole numbers; `one_code` says that no two points of bits stand for the same ones."""
    bits = np.rint(to_numpy(result.x).astype(np.float64))
    x = problem.decode(bits)
    if result.feasible and result.status not in (Status.OPTIMAL, Status.INTERRUPTED, Status.CALLBACK):
        x = descend(problem, x, seconds_left)
    fun = problem.objective(x) + 0.0
    pool = None if result.pool is None else _pool(problem, result.pool, asked, x, fun, one_code)
    report = soft_report(problem.bits, problem.encode("x", x)[0])
    reach = float(np.max(np.abs(problem.reach)))
    result = with_rounding(result, problem.model, x, fun, problem.error, reach)
    return replace(result, x=_held(problem, x), fun=fun, pool=pool, **report)


def _held(problem: IntegerProblem, x: Host) -> Array:
    """Whole numbers in the library and float type of the problem; in float64 where that type would round."""
    like = problem.model.like
    xp = namespace(like)
    largest = max(float(np.max(np.abs(problem.low))), float(np.max(np.abs(problem.high))))
    exact = largest <= 2 / float(xp.finfo(like.dtype).eps)
    return from_numpy(x, like, like.dtype if exact else xp.float64)


def descend(problem: IntegerProblem, x: Host, seconds_left: Callable[[], float]) -> Host:
    """Change one variable at a time, by powers of two, as long as that lessens the objective."""
    x, best = x.copy(), float(problem.objective(x))
    for _ in range(PASSES):
        before = best
        for j in range(problem.n):
            if seconds_left() <= 0:
                return x
            tried = _neighbours(problem, x, j)
            if not len(tried):
                continue
            fine = problem.violation(tried) == 0
            values = np.where(fine, problem.objective(tried), np.inf)
            k = int(np.argmin(values))
            if values[k] < best:
                x, best = tried[k], float(values[k])
        if not best < before:
            break
    return x


def _neighbours(problem: IntegerProblem, x: Host, j: int) -> Host:
    width = int(problem.high[j] - problem.low[j])
    steps = 2.0 ** np.arange(width.bit_length())
    values = np.unique(np.concatenate([x[j] + steps, x[j] - steps]))
    low, high = problem.reach
    values = values[(values >= low[j]) & (values <= high[j])]
    tried = np.repeat(x[None], values.size, axis=0)
    tried[:, j] = values
    return tried


def _pool(
    problem: IntegerProblem, kept: Solutions, asked: Pool | None, x: Host, fun: float, one_code: bool
) -> Solutions:
    assert asked is not None
    points = np.concatenate([x[None], problem.decode(np.rint(to_numpy(kept.points).astype(np.float64)))])
    values = np.asarray([fun, *(problem.objective(point) for point in points[1:])])  # each by itself
    order = np.argsort(values, kind="stable")
    chosen = order[far_enough(points[order], asked)]
    spare = not np.all(np.isin(problem.high - problem.low, 2.0 ** np.arange(21) - 1))
    whole = kept.proven and (len(chosen) == asked.size if asked.distance == 1 else False) and not spare
    whole = kept.proven if one_code else whole
    return Solutions(_held(problem, points[chosen]), values[chosen], whole, asked.size)


def in_numbers(problem: IntegerProblem, callback: Callable[[Moment], Any] | None) -> Any:
    """The callback, told of whole numbers."""
    if callback is None:
        return None

    def tell(moment: Moment) -> Any:
        def copy() -> Array | None:
            t = moment.x
            if t is None:
                return None
            return _held(problem, problem.decode(to_numpy(t).astype(np.float64)))

        return callback(Moment.of(moment, copy))

    return tell
