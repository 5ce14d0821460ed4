"""Binary weights and a real intercept: minimise sum_i s_i f(x_i'w + c - y_i) over both."""

from __future__ import annotations

import time
from bisect import bisect_left
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar

from dcra import costs
from dcra._array import Host
from dcra.api import solve
from dcra.bounds.dual import DualStage
from dcra.compiled.form import compile_problem
from dcra.losses import L1, Loss
from dcra.model.operators import as_operator
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.result import Result, Status
from dcra.search.interrupts import Interruption, on_interrupt

MAX_ROUNDS = 10
"""Binary solves of one fit."""

MAX_RELAXED_ROUNDS = 200
"""Rounds of the relaxation that gives the first intercept."""

RELAXED_SHARE, WRITTEN_SHARE = 0.1, 0.3
"""Shares of a time limit that the relaxation may take, and that it may take to write out X for it."""

LEAST_SECONDS = 1e-3
"""Of a solve that comes when the time is over."""

ROUNDINGS = 8
"""Roundings of a row's residual, for which the kinks of all rows may differ where they are one."""

MAX_CANDIDATES = 1001
"""Intercepts tried for a loss that is not convex."""


EPS = float(np.finfo(np.float64).eps)


class Data(NamedTuple):
    """What is minimised: sum_i weight_i loss(x_i'w + intercept - y_i) + linear'w, under constraints on w."""

    X: Any
    y: Host
    weight: Host | None
    loss: Loss
    domain: str
    linear: Host | None = None
    constraints: Any = ()

    def problem(self, intercept: float) -> Problem:
        """The binary problem that an intercept leaves."""
        return Problem(
            [self.term(self.loss, self.X, self.y - intercept)],
            linear=self.linear,
            domain=self.domain,
            constraints=self.constraints,
        )

    def scaled(self, scale: float) -> Data:
        """The same with weights of another size: scale X, in float64, for a shorter type would round it."""
        return self._replace(X=self.X.astype(np.float64) * scale)

    def prior(self, w: Any) -> float:
        """linear'w."""
        return 0.0 if self.linear is None else float(self.linear @ np.asarray(w, np.float64))

    def term(self, loss: Loss, X: Any, b: Host) -> Term:
        return Term(loss, X, b, 1.0 if self.weight is None else self.weight)

    def value(self, u: Host) -> float:
        if self.weight is None:
            return float(self.loss.value(u))
        return float(np.sum(self.weight * self.loss.values(u)))


class Fitted(NamedTuple):
    """Weights `result.x`, intercept, a bound for all of both, and the objective step by step."""

    result: Result
    intercept: float
    lower_bound: float
    path: list[float]


class Deadline(NamedTuple):
    """When a fit began, and how many seconds it has."""

    begun: float
    limit: float

    @property
    def left(self) -> float:
        return self.begun + self.limit - time.perf_counter()

    def share(self, part: float) -> float | None:
        """The time limit of a solve that gets a part of what is left."""
        return None if self.limit == inf else max(part * self.left, LEAST_SECONDS)

    def of(self, result: Result) -> Result:
        """A result with the seconds of the whole fit."""
        return replace(result, seconds=time.perf_counter() - self.begun)


def fit_weights(data: Data, deadline: Deadline, options: dict[str, Any]) -> Fitted:
    """Weights alone."""
    result = deadline.of(solve(data.problem(0.0), time_limit=deadline.share(1.0), **options))
    return Fitted(result, 0.0, result.lower_bound, [result.fun])


def fit_both(data: Data, deadline: Deadline, options: dict[str, Any]) -> Fitted:
    """Weights and intercept. Dense columns are centred: then a flip does not call for another intercept."""
    require_growth(data.loss)
    if sp.issparse(data.X):
        return alternate(data, deadline, options)
    middle = np.average(np.asarray(data.X, np.float64), axis=0, weights=data.weight)
    fitted = alternate(data._replace(X=data.X - middle), deadline, options)
    return fitted._replace(intercept=fitted.intercept - float(middle @ fitted.result.x))


def alternate(data: Data, deadline: Deadline, options: dict[str, Any]) -> Fitted:
    """Weights for the intercept, the intercept for the weights, until the intercept stays.

    The weights of one round are a start of the next, so that no step raises the objective.
    """
    x0: Any = None
    path: list[float] = []
    with on_interrupt() as interrupted:
        if _affordable(data, deadline):
            intercept, bound = relaxed(data, RELAXED_SHARE * deadline.left, interrupted)
        else:
            intercept, bound = float(np.median(data.y)), -inf
        for _ in range(MAX_ROUNDS):
            result = solve(data.problem(intercept), x0=x0, time_limit=deadline.share(0.5), **options)
            path.append(result.fun)
            u = np.asarray(data.X @ np.asarray(result.x, np.float64)) - data.y
            better = best_intercept(data, u, intercept)
            if better == intercept or result.status is Status.INFEASIBLE:  # whatever the intercept
                result = _about_both(deadline.of(result), bound)
                return Fitted(result, intercept, result.lower_bound, path)
            path.append(data.value(u + better) + data.prior(result.x))
            x0, intercept = result.x, better
            if interrupted or deadline.left <= 0:
                break
    # The last intercept came after the last solve, whose verdict is not about it.
    status = Status.CONVERGED if deadline.left > 0 else Status.TIME_LIMIT
    status = Status.INTERRUPTED if interrupted else status
    result = _about_both(deadline.of(replace(result, fun=path[-1], status=status)), bound)
    return Fitted(result, intercept, result.lower_bound, path)


def _about_both(result: Result, bound: float) -> Result:
    """The result with a bound for all weights and intercepts; optimal if its objective meets that.

    That the weights are best for their intercept says nothing about other intercepts.
    """
    if result.feasible:  # else its objective says nothing about points that are
        bound = min(bound, result.fun)
    closed = result.feasible and result.fun - bound <= result.tiny
    status = Status.CONVERGED if result.status is Status.OPTIMAL and not closed else result.status
    return replace(result, lower_bound=bound, status=Status.OPTIMAL if closed else status)


def best_intercept(data: Data, u: Host, current: float) -> float:
    """argmin_c f(u + c), or `current` where nothing is lower."""

    def value(c: float) -> float:
        return data.value(u + c)

    zeros = np.unique(-u)  # where a row's residual is 0: kinks of f, with the minimum between the outer ones
    if data.loss.convex:
        candidates = _convex_candidates(value, zeros)
    else:
        candidates = zeros[
            np.linspace(0, zeros.size - 1, min(zeros.size, MAX_CANDIDATES)).astype(int)
        ].tolist()
    best = min(candidates, key=value)
    lowest = value(current)
    return best if value(best) < lowest - 1e-12 * abs(lowest) else current


def _convex_candidates(value: Any, zeros: Host) -> list[float]:
    """The best of `zeros`, found by bisection, and the minimiser between its neighbours.

    Those that rounding alone has set apart are one: between them, values do not tell where it goes down.
    """
    size = float(np.max(np.abs(zeros)))
    ends = np.append(np.diff(zeros) > ROUNDINGS * zeros.size * EPS * size, True)
    zeros = zeros[ends]
    k = bisect_left(range(zeros.size - 1), True, key=lambda i: value(zeros[i + 1]) >= value(zeros[i]))
    lo, hi = float(zeros[max(k - 1, 0)]), float(zeros[min(k + 1, zeros.size - 1)])
    if lo == hi:
        return [lo]
    width = hi - lo
    inner = minimize_scalar(
        lambda t: value(lo + t), bounds=(0.0, width), method="bounded", options={"xatol": 1e-12 * width}
    )
    return [float(zeros[k]), lo + float(inner.x)]


def relaxed(data: Data, seconds: float, stopped: Interruption) -> tuple[float, float]:
    """Intercept of the problem relaxed to the box, and a lower bound for all weights and intercepts.

    The intercept is one more variable of the box, `middle` +- `reach`: wide enough for any weights' best one,
    which lies among their residuals. A loss that is not convex is replaced by l1, and not bounded.
    """
    loss = data.loss if data.loss.convex else L1()
    middle = float(np.median(data.y))
    reach = float(np.max(np.abs(data.y - middle)) + np.max(as_operator(data.X).row_sizes())) or 1.0
    low = 0.0 if data.domain == "spin" else reach
    X = _with_column(data.X, reach + low)
    linear = None if data.linear is None else np.append(data.linear, 0.0)
    term = data.term(loss, X, data.y - middle + low)
    compiled = compile_problem(Problem([term], linear=linear, domain=data.domain))
    stage = DualStage(compiled)
    end = time.perf_counter() + seconds
    while not stage.done and stage.rounds < MAX_RELAXED_ROUNDS and time.perf_counter() < end and not stopped:
        stage.advance((2 if seconds < inf else 2 * stage.SWEEPS) * compiled.work_per_pass)
    shift = 0.0 if stage.point is None else reach * float(stage.point[-1])
    least_at_zero = data.loss.positive and float(data.loss.value(np.zeros(1))) == 0
    return middle + shift, stage.bound if loss is data.loss and least_at_zero else -inf


def _affordable(data: Data, deadline: Deadline) -> bool:
    """Whether there is time to write out X twice, with one more column and for the loops."""
    if deadline.limit == inf:
        return True
    entries = as_operator(data.X).entries
    return 2 * costs.slowdown() * costs.LAYOUT_SECONDS * entries <= WRITTEN_SHARE * deadline.left


def _with_column(X: Any, value: float) -> Any:
    """X and one more column of equal entries."""
    blocks: Any = [X, np.full((X.shape[0], 1), value)]
    return sp.hstack(blocks, format="csc") if sp.issparse(X) else np.hstack(blocks)


def require_growth(loss: Loss) -> None:
    """A best intercept exists only if the loss grows on both sides."""
    least, far = float(loss.value(np.zeros(1))), np.full(1, 1e6)
    if not (float(loss.value(far)) > least and float(loss.value(-far)) > least):
        raise ValueError(
            f"`fit_intercept=True` needs a loss that grows on both sides of 0; {type(loss).__name__} does not"
        )
