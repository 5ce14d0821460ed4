"""The true best points by a method that proves its answers: each is the best of those far from all before.

Solvers prove their answers up to tolerances only. But what one says of all points but some bounds these, too:
of k + 1 points, each found with those before it forbidden, the first k are the best where the value of the
last, less all that tolerances allow, is no lower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from dcra._array import Host, from_numpy, to_numpy
from dcra.model.constraints import StatedRows
from dcra.model.infeasibility import Contradiction
from dcra.model.pool import Pool, Solutions, far_enough
from dcra.model.problem import Problem
from dcra.result import Progress, Result, Status

PROVING = ("delegate", "prove")
"""Plans of engines whose answers are proven, one at a time."""

ENDED = (Status.OPTIMAL, Status.CONVERGED)
"""Of a solver that ran to its end: what it found is the best, by our own bound or by its tolerances."""

TRIES = 4
"""Points forbidden for the proof of another; where so many are as good up to tolerances, it is given up."""

Solve = Callable[[Problem], Result | None]
"""The best point of a problem; None where there is no time to look for it."""


def with_next_best(problem: Problem, result: Result, asked: Pool, solve_one: Solve) -> Result:
    """The result with the pool of a method that runs until it has the best.

    The pool is proven where all of its points are, and so is the result then. Where the time does not
    suffice, the pool holds the best of all points met.
    """
    if result.status not in ENDED or not result.feasible or result.pool is None or result.pool.proven:
        return result
    ranking = Ranking(problem, result, asked)
    while not ranking.complete:
        if not ranking.choose() and not ranking.meet(solve_one):
            return replace(result, pool=_merged(result.pool, ranking.all_met, asked))
    return _reported(result, ranking)


class Ranking:
    """Points chosen, best first, others met beside them, and what all that were not met cost at least."""

    def __init__(self, problem: Problem, first: Result, asked: Pool) -> None:
        self.problem, self.asked = problem, asked
        self.chosen: list[Result] = []
        self.proven: list[bool] = []
        self.spare = [first]  # all far enough from those chosen
        self.all_met = [first]
        self.least = _bound(first)
        self.tries = 0  # to prove the next point

    @property
    def complete(self) -> bool:
        nothing_left = not self.spare and self.least == inf
        return len(self.chosen) == self.asked.size or nothing_left

    def choose(self) -> bool:
        """Choose the next point, where it is known; False where others must be met before."""
        if not self.spare:
            return False
        best = min(self.spare, key=lambda result: result.fun)
        proven = best.fun <= self.least
        if not proven and all(self.proven) and self.tries < TRIES:
            return False
        self.chosen.append(best)
        self.proven.append(proven)
        self.spare = [other for other in self.spare if _differ(other, best) >= self.asked.distance]
        self.tries = 0
        return True

    def meet(self, solve_one: Solve) -> bool:
        """The best of all points that are far enough and were not met; False where that was cut short."""
        self.tries += 1
        try:
            further = solve_one(self._others())
        except Contradiction:  # no point is left
            self.least = inf
            return True
        if further is None:
            return False
        if further.status is Status.INFEASIBLE:
            self.least = inf
            return True
        if further.feasible:
            self.spare.append(further)
            self.all_met.append(further)
            self.least = max(self.least, _bound(further))
        return further.feasible and further.status in ENDED

    def _others(self) -> Problem:
        known = self.chosen + self.spare
        distances = [self.asked.distance] * len(self.chosen) + [1] * len(self.spare)
        return apart(self.problem, np.stack([_point(one) for one in known]), np.asarray(distances))


def apart(problem: Problem, points: Host, distances: Host) -> Problem:
    """The same problem for points that differ from each of these in at least so many variables."""
    if problem.domain == "spin":  # p'x = n - 2 (how many differ)
        rows = StatedRows(points, -np.inf, problem.n - 2.0 * distances)
    else:  # sum over p = 1 of 1 - x, and over p = 0 of x
        rows = StatedRows(1.0 - 2.0 * points, distances - points.sum(axis=1), np.inf)
    names = [f"far from point {i} of the pool" for i in range(len(points))]
    known: dict[str, Any] = {} if problem.constraints is None else {"stated": problem.constraints.stated()}
    twin = problem.replace(constraints=known | {"pool": rows._replace(names=names)})
    twin.soft = problem.soft
    return twin


def _reported(result: Result, ranking: Ranking) -> Result:
    """The result with the points chosen; the first of them may have been met last."""
    best, chosen = ranking.chosen[0], ranking.chosen
    points = np.stack([_point(one) for one in chosen])
    values = np.asarray([one.fun for one in chosen])
    pool = Solutions(from_numpy(points, result.x), values, all(ranking.proven), ranking.asked.size)
    story: dict[str, Any] = {"pool": pool, "x": from_numpy(points[0], result.x), "fun": best.fun}
    story |= {"soft_cost": best.soft_cost, "soft_violations": best.soft_violations}
    story |= {"violation": best.violation, "feasible": best.feasible}
    if ranking.proven[0] and result.status is not Status.OPTIMAL:
        story |= {"status": Status.OPTIMAL, "lower_bound": best.fun}
        story["history"] = (*result.history, Progress(result.seconds, best.fun, best.fun))
    return replace(result, **story)


def _merged(pool: Solutions, met: list[Result], asked: Pool) -> Solutions:
    """The best of some points and those of a pool."""
    points = np.stack([*(_point(one) for one in met), *to_numpy(pool.points).astype(np.float64)])
    values = np.concatenate([[one.fun for one in met], pool.values])
    order = np.argsort(values, kind="stable")
    chosen = order[far_enough(points[order], asked)]
    return Solutions(from_numpy(points[chosen], pool.points), values[chosen], asked=asked.size)


def _bound(result: Result) -> float:
    """What a solver that found this point says of all that it looked at."""
    return result.fun if result.status is Status.OPTIMAL else result.lower_bound


def _point(result: Result) -> Host:
    return to_numpy(result.x).astype(np.float64)


def _differ(one: Result, other: Result) -> int:
    return int(np.count_nonzero(_point(one) != _point(other)))
