"""A scale beside binary weights: minimise f(s X w + c - y) + linear'w over w, s > 0 and, if asked for, c."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from dcra.apps._intercept import Data, Deadline, Fitted
from dcra.result import Status

FIRST = (0.25, 0.5, 1.0, 2.0, 4.0)
"""First scales, in units of a rough guess: one short fit from each."""

FIRST_SHARE = 0.3
"""Share of the time limit for them."""

ROUNDS = 10


class Scaled(NamedTuple):
    """A fit, and the scale of its weights."""

    fitted: Fitted
    scale: float


def fit_scale(data: Data, deadline: Deadline, options: dict[str, Any], fit: Any) -> Scaled:
    """Weights for the scale, the scale for the weights, until neither changes; from several first scales.

    The bound is none: it would have to hold for all scales.
    """
    guess = rough_scale(data)
    short = options | {"starts": 1}
    part = FIRST_SHARE / len(FIRST)
    found = [_fitted(data, guess * first, _within(deadline, part), short, fit) for first in FIRST]
    best = min(found, key=_rank)
    for _ in range(ROUNDS):
        if deadline.left <= 0:
            break
        again = _fitted(data, best.scale, deadline, options, fit)
        if not again.fitted.path[-1] < best.fitted.path[-1] * (1 - 1e-12):
            best = min((best, again), key=_rank)
            break
        best = again
    return best


def _rank(one: Scaled) -> tuple[bool, float]:
    """What is infeasible comes last, however well it fits."""
    return not one.fitted.result.feasible, one.fitted.path[-1]


def _within(deadline: Deadline, part: float) -> Deadline:
    """A deadline for a part of the time."""
    import time

    return Deadline(time.perf_counter(), part * deadline.limit) if deadline.limit < inf else deadline


def _fitted(data: Data, scale: float, deadline: Deadline, options: dict[str, Any], fit: Any) -> Scaled:
    """A fit at one scale, then the scale that is best for it."""
    one = fit(data.scaled(scale), deadline, options)
    p = np.asarray(data.X @ np.asarray(one.result.x, np.float64))
    better = best_scale(data, p, one.intercept, scale)
    value = data.value(better * p + one.intercept - data.y) + data.prior(one.result.x)
    status = Status.CONVERGED if one.result.status is Status.OPTIMAL else one.result.status
    result = replace(one.result, fun=value, lower_bound=-inf, status=status)
    return Scaled(Fitted(result, one.intercept, -inf, [*one.path, value]), better)


def best_scale(data: Data, p: Any, intercept: float, current: float) -> float:
    """argmin_s f(s p + c - y) over s > 0, or `current` where nothing is lower."""

    def value(s: float) -> float:
        return data.value(s * p + intercept - data.y)

    known = np.abs(p) > 1e-9 * np.max(np.abs(p), initial=0.0)
    kinks = np.unique(((data.y - intercept)[known] / p[known]) if known.any() else np.empty(0))
    kinks = kinks[kinks > 0]
    if kinks.size == 0:
        return current
    k = int(np.argmin([value(s) for s in kinks])) if kinks.size <= 64 else _bisected(value, kinks)
    lo, hi = float(kinks[max(k - 1, 0)]), float(kinks[min(k + 1, kinks.size - 1)])
    candidates = [float(kinks[k])]
    if hi > lo:
        inner = minimize_scalar(value, bounds=(lo, hi), method="bounded", options={"xatol": 1e-12 * hi})
        candidates.append(float(inner.x))
    best = min(candidates, key=value)
    return best if value(best) < value(current) else current


def _bisected(value: Any, kinks: Any) -> int:
    """Where a convex function is least, among sorted points."""
    lo, hi = 0, kinks.size - 1
    while lo < hi:
        middle = (lo + hi) // 2
        if value(kinks[middle + 1]) >= value(kinks[middle]):
            hi = middle
        else:
            lo = middle + 1
    return lo


def rough_scale(data: Data) -> float:
    """The spread of y over that of X w for random weights, both robust."""
    rng = np.random.default_rng(0)
    W = rng.choice([-1.0, 1.0] if data.domain == "spin" else [0.0, 1.0], (data.X.shape[1], 8))
    return (_spread(data.y) / (_spread(np.asarray(data.X @ W)) or 1.0)) or 1.0


def _spread(u: Any) -> float:
    return float(np.median(np.abs(u - np.median(u, axis=0))))
