"""Constraints that no point can satisfy, found without a search: by bounds, by divisors, by comparison."""

from __future__ import annotations

from functools import reduce
from math import gcd
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.foreign import importing
from dcra.model.constraints import EPS, Constraints

PASSES = 20
"""Rounds in which rows fix variables for other rows."""

LARGEST_WHOLE = 2.0**50


class Contradiction(ValueError):
    """Constraints that plainly leave no point."""


def refuse_contradictions(constraints: Constraints) -> None:
    """Raise a Contradiction that names a row which cannot be satisfied."""
    _by_bounds(constraints)
    _by_comparison(constraints)
    _by_divisors(constraints)


def _by_bounds(constraints: Constraints) -> None:
    """Rows against the bounds of their variables; what one leaves no choice about is fixed for the others."""
    with importing():
        from scipy import sparse

    low, high, G = constraints.low, constraints.high, constraints.G
    slack = constraints.slack + constraints.rounding
    row = np.repeat(np.arange(len(constraints)), np.diff(G.indptr))
    bottom, top = (np.full(constraints.n, value) for value in constraints.values)
    up, down = sparse.csr_array(G.maximum(0)), sparse.csr_array(G.minimum(0))
    for _ in range(PASSES):
        least, most = up @ bottom + down @ top, up @ top + down @ bottom
        for i in np.flatnonzero((least > high + slack) | (most < low - slack))[:1]:
            raise Contradiction(_out_of_reach(constraints, int(i), float(least[i]), float(most[i])))
        reach = abs(G.data) * (top - bottom)[G.indices]
        must_fall = least[row] + reach > (high + slack)[row]  # the value that raises the row is too much
        must_rise = most[row] - reach < (low - slack)[row]
        moved = reach > 0
        lowered = np.where(G.data > 0, must_fall, must_rise) & moved
        raised = np.where(G.data > 0, must_rise, must_fall) & moved
        if not (lowered.any() or raised.any()):
            return
        top[G.indices[lowered]] = constraints.values[0]
        bottom[G.indices[raised]] = constraints.values[1]
        clash = np.flatnonzero(bottom > top)
        if clash.size:
            raise Contradiction(
                f"`constraints` contradict each other: they leave no value for variable {clash[0]}"
            )


def _out_of_reach(constraints: Constraints, i: int, least: float, most: float) -> str:
    wanted = f"[{constraints.low[i]:g}, {constraints.high[i]:g}]"
    return (
        f"`{constraints.names[i]}` cannot be satisfied: it asks for {wanted}, and the variables, as far as "
        f"other constraints leave them free, reach only [{least:g}, {most:g}]"
    )


def _by_comparison(constraints: Constraints) -> None:
    """Rows that are multiples of each other must have a common interval."""
    G, seen = constraints.G, {}  # type: ignore[var-annotated]
    slack = constraints.slack + constraints.rounding
    lows, highs = constraints.low - slack, constraints.high + slack
    for i in range(len(constraints)):
        lo, hi = G.indptr[i : i + 2]
        if lo == hi:
            continue
        first = G.data[lo]
        key = (G.indices[lo:hi].tobytes(), (G.data[lo:hi] / first).tobytes())
        ends = sorted((lows[i] / first, highs[i] / first))
        low, high = seen.get(key, ((-np.inf, i), (np.inf, i)))  # each with the row that it comes from
        low, high = max(low, (ends[0], i)), min(high, (ends[1], i))
        if low[0] - high[0] > _quotient_error(G.data[lo:hi], low[0], high[0]):
            j, k = sorted((low[1], high[1]))
            raise Contradiction(
                f"`{constraints.names[j]}` and `{constraints.names[k]}` contradict each other: "
                f"no value satisfies both"
            )
        seen[key] = low, high


def _quotient_error(a: Host, low: float, high: float) -> float:
    """What rounding may cost ends that were divided by the first coefficient of a row, and its quotients."""
    ends = sum(abs(end) for end in (low, high) if np.isfinite(end))
    return 4 * EPS * (float(np.sum(np.abs(a / a[0]))) + ends)


def _by_divisors(constraints: Constraints) -> None:
    """An equality of integers needs a right-hand side that the coefficients' common divisor divides."""
    bottom, top = constraints.values
    for i in np.flatnonzero(constraints.equalities):
        lo, hi = constraints.G.indptr[i : i + 2]
        a = constraints.G.data[lo:hi]
        middle = 0.5 * (constraints.low[i] + constraints.high[i])
        room = constraints.slack[i] + 0.5 * (constraints.high[i] - constraints.low[i])
        rest = (middle - bottom * a.sum()) / (top - bottom)
        if not _whole(a) or abs(rest) > LARGEST_WHOLE or a.size == 0:
            continue
        divisor = reduce(gcd, (int(v) for v in np.unique(abs(a))))
        off = abs(rest / divisor - round(rest / divisor)) * divisor * (top - bottom)
        if off > room:
            raise Contradiction(
                f"`{constraints.names[i]}` cannot be satisfied: at points of the domain its row takes only "
                f"values that differ from {bottom * a.sum():g} by multiples of {(top - bottom) * divisor:g}; "
                f"it asks for {middle:g}"
            )


def _whole(a: Host) -> bool:
    size: Any = np.max(np.abs(a), initial=0.0)
    return bool(np.all(np.rint(a) == a) and size < LARGEST_WHOLE)
