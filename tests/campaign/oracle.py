"""Brute force in long double: what a result may say about a case, and what it may not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

import dcra
from dcra._array import to_numpy
from dcra.model.rounding import error_at
from tests.campaign.cases import Case, Rows

LONG = np.longdouble
EPS = float(np.finfo(LONG).eps)


def _huber(z):
    u = np.abs(z)
    return np.where(u <= 1, z * z / 2, u - LONG(0.5))


VALUES = {
    "l1": np.abs,
    "squared": lambda z: z * z,
    "hinge": lambda z: np.maximum(z, 0),
    "squared_hinge": lambda z: np.maximum(z, 0) ** 2,
    "linear": lambda z: z,
    "huber": _huber,
    "quantile": lambda z: np.maximum(LONG(0.5) * z, LONG(-0.5) * z),
    "epsilon_insensitive": lambda z: np.maximum(np.abs(z) - LONG(0.1), 0),
    "logistic": lambda z: np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z))),
    "capped_l1": lambda z: np.minimum(np.abs(z), 1),
}
"""Separable losses at their default options."""


class Truth(NamedTuple):
    """Of all points X: their values, what long double may have cost these, and by how much rows are off."""

    X: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    off: np.ndarray  # (points, rows)
    slack: np.ndarray  # (rows,), as documented
    rounding: np.ndarray  # (points, rows), of `off`
    allowed: np.ndarray  # which points the documented slack lets pass, perhaps

    @property
    def strict(self) -> np.ndarray:
        """Which points satisfy every row without any slack."""
        return np.all(self.off <= 0, axis=1)

    @property
    def certain(self) -> np.ndarray:
        """Which points the documented slack lets pass, whatever rounding was."""
        return np.all(self.off <= np.maximum(self.slack - self.rounding, 0.0), axis=1)

    def of(self, x: np.ndarray) -> int:
        return int(np.flatnonzero(np.all(x == self.X, axis=1))[0])


def truth_of(case: Case) -> Truth:
    X = np.array(list(product(case.values, repeat=case.n))).astype(LONG)
    values, size = np.full(len(X), LONG(case.constant)), np.full(len(X), abs(LONG(case.constant)))
    for part in case.parts:
        z, reach = _residual(case, part, X)
        w = part.weight.astype(LONG)
        if part.loss in VALUES:
            f = VALUES[part.loss](z) * w
            slope = np.abs(VALUES[part.loss](np.abs(z) + reach * 1e-3) - VALUES[part.loss](np.abs(z))) * 1e3
            size = size + (np.abs(f) + np.abs(w) * (slope + np.abs(f))).sum(axis=1)
            values = values + f.sum(axis=1)
        else:
            f = w * (np.sqrt((z * z).sum(axis=1)) if part.loss == "l2" else np.abs(z).max(axis=1))
            values, size = values + f, size + f + w * reach.sum()
    if case.linear is not None:
        c = case.linear.astype(LONG)
        values, size = values + X @ c, size + np.abs(c).sum()
    if case.quadratic is not None:
        Q = case.stored(case.quadratic).astype(LONG)
        values, size = values + ((X @ Q) * X).sum(axis=1), size + np.abs(Q).sum()
    off, slack, rounding = _rows(case, X)
    allowed = np.all(off <= slack + rounding, axis=1)
    left = np.all([X[:, j] == value for j, value in case.fixed], axis=0) & np.ones(len(X), bool)
    errors = 64 * EPS * size[left]
    return Truth(X[left].astype(float), values[left], errors, off[left], slack, rounding[left], allowed[left])


def _residual(case: Case, part, X):
    A, b = case.stored(part.A).astype(LONG), part.b.astype(LONG)
    return X @ A.T - b, np.abs(A).sum(axis=1) + np.abs(b)


def _rows(case: Case, X):
    """By how much each row is off at each point, the slack that docs/constraints.md states, and rounding."""
    offs, slacks, roundings = [np.zeros((len(X), 0))], [np.zeros(0)], [np.zeros((len(X), 0))]
    for rows in case.rows:
        value = X @ rows.G.astype(LONG).T
        beyond = np.maximum(rows.low - value, value - rows.high)
        ends = [np.where(np.isinf(end), 0.0, end) for end in (rows.low, rows.high)]
        reach, count = np.abs(rows.G).sum(axis=1), np.count_nonzero(rows.G, axis=1)
        whole = np.all(np.rint(rows.G) == rows.G, axis=1) & (reach < 2**53)
        whole &= np.all([np.rint(end) == end for end in ends], axis=0)
        unit = np.min(np.where(rows.G == 0, np.inf, np.abs(rows.G)), axis=1)
        unit = np.where(np.isinf(unit), 0.0, unit)
        slack = np.minimum(1e-9 * unit + (count + 2) * 2.0**-52 * reach, unit / 4)
        slacks.append(np.where(whole, 0.0, slack))
        at = np.abs(X) @ np.abs(rows.G).T + np.max(np.abs(ends), axis=0)
        rounding = np.where(whole, 0.0, 2 * (count + 2) * EPS * at)
        for point, i in np.argwhere((np.abs(beyond) <= rounding) & ~whole):  # one big entry hides small ones
            beyond[point, i] = _exactly_beyond(rows, X[point], int(i))
        offs.append(np.maximum(beyond, 0))
        roundings.append(rounding)
    return np.concatenate(offs, axis=1), np.concatenate(slacks), np.concatenate(roundings, axis=1)


def _exactly_beyond(rows: Rows, x: np.ndarray, i: int) -> float:
    """By how much a point lies beyond the nearer end of row i, without rounding."""
    value = sum(Fraction(g) * int(u) for g, u in zip(rows.G[i].tolist(), x, strict=True))
    lacks = [Fraction(rows.low[i]) - value] if np.isfinite(rows.low[i]) else []
    lacks += [value - Fraction(rows.high[i])] if np.isfinite(rows.high[i]) else []
    return float(max(lacks))


def findings(case: Case, result: dcra.Result, truth: Truth) -> list[str]:
    """What is wrong with a result, in words that begin with its kind."""
    x = np.asarray(to_numpy(result.x), float)
    low, high = case.values
    if x.shape != (case.n,) or not np.all((x == low) | (x == high)):
        return [f"point: {x} is none of the domain"]
    if any(x[j] != value for j, value in case.fixed):
        return [f"fixed: {x} has other values than {dict(case.fixed)}"]
    at, problem = truth.of(x), replace(case, torch=False).problem()
    wrong = []
    error = error_at(problem, problem.check_point("x", x)) + (result.tiny if case.fixed else 0.0)
    if not abs(result.fun - truth.values[at]) <= error + truth.errors[at]:
        wrong.append(f"fun: {result.fun!r} at x, where F is {truth.values[at]!r}; stated error {error:.3g}")
    wrong += _about_rows(result, truth, at)
    if result.feasible and truth.certain.any():
        wrong += _about_bounds(problem, result, truth, at)
    return wrong + (_about_pool(case, problem, result, truth) if case.pool else [])


def _about_pool(case: Case, problem: dcra.Problem, result: dcra.Result, truth: Truth) -> list[str]:
    """What is wrong with several answers; that a proven pool has the best only where no row is in doubt."""
    points = np.asarray(to_numpy(result.pool.points), float)
    if any(np.any(points[:, j] != value) for j, value in case.fixed):
        return [f"pool: points have other values than {dict(case.fixed)}"]
    at = [truth.of(x) for x in points]
    if len(set(at)) < len(at):
        return ["pool: a point is there twice"]
    if result.feasible and not truth.allowed[at].all():
        return [f"pool: rows are off by {truth.off[at]}, slack {truth.slack}"]
    fine = np.flatnonzero(truth.strict)
    if not result.pool.proven or not result.feasible or np.any(truth.allowed & ~truth.strict):
        return []
    least, chosen = np.sort(truth.values[fine])[: case.pool], np.sort(truth.values[at])
    if len(chosen) != len(least):
        return [f"pool: {len(chosen)} points are proven, and there are {len(least)}"]
    error = max(error_at(problem, problem.check_point("x", x)) for x in truth.X[fine])
    room = 2 * error + result.tiny + np.max(truth.errors[fine])
    return [] if np.all(chosen <= least + room) else [f"pool: {chosen} are proven, and the best are {least}"]


def _about_rows(result: dcra.Result, truth: Truth, at: int) -> list[str]:
    wrong = []
    if result.feasible and not truth.allowed[at]:
        wrong.append(f"feasible: rows are off by {truth.off[at]}, slack {truth.slack}")
    if not result.feasible and truth.strict[at]:
        wrong.append("feasible: x satisfies every row, and is called infeasible")
    most = float(np.max(truth.off[at], initial=0.0))
    if not abs(result.violation - most) <= 1e-12 * most + np.max(truth.rounding[at], initial=0.0):
        wrong.append(f"violation: {result.violation!r}, and the worst row is off by {most!r}")
    if result.status == "infeasible" and truth.strict.any():
        wrong.append("status: infeasible, and there are feasible points")
    return wrong


def _about_bounds(problem: dcra.Problem, result: dcra.Result, truth: Truth, at: int) -> list[str]:
    fine = np.flatnonzero(truth.strict if truth.strict.any() else truth.certain)
    best = int(fine[np.argmin(truth.values[fine])])
    error = max(error_at(problem, problem.check_point("x", truth.X[best])), result.tiny)
    room = error + truth.errors[best] + truth.errors[at]
    wrong, least = [], truth.values[best]
    if not result.lower_bound <= least + room:
        wrong.append(f"bound: {result.lower_bound!r} above the optimum {least!r}, error {error:.3g}")
    if result.status == "optimal" and not truth.values[at] <= least + room:
        wrong.append(f"status: optimal at {truth.values[at]!r}, and not at {least!r}, error {error:.3g}")
    if result.status == "optimal" and result.gap != 0:
        wrong.append(f"status: optimal with a gap of {result.gap:.3g}")
    return wrong
