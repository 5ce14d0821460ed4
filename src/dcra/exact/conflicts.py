"""Constraints that cannot hold together: which of them, and the point that violates them least."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf, isfinite
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.exact.feasibility import is_infeasible, largest_entries, row_scale, sparse_rows
from dcra.foreign import importing
from dcra.model.constraints import Constraints, StatedRows

MAX_NODES = 2000
"""Nodes of a branch and bound that has no time limit: a deterministic end."""

LEAST_SECONDS = 1e-3


def contradictory_rows(constraints: Constraints, seconds: float = inf) -> list[int]:
    """Rows that no point satisfies together, none of which can be spared; empty where that is not known.

    A deletion filter: rows are left out, first many at a time, where the rest is still infeasible by HiGHS.
    Where the time does not suffice, the rows that are left contradict each other, but there may be more of
    them than need be.
    """
    end = time.perf_counter() + seconds
    kept = list(range(len(constraints)))
    if not _contradictory(constraints, kept, end):
        return []
    size = max(1, len(kept) // 2)
    while size:
        at = 0
        while at < len(kept):
            rest = kept[:at] + kept[at + size :]
            if rest and _contradictory(constraints, rest, end):
                kept = rest
            else:
                at += size
        size //= 2
    return kept


def conflict_names(constraints: Constraints, seconds: float = inf) -> tuple[str, ...]:
    """The names of rows that no point satisfies together."""
    return tuple(constraints.names[i] for i in contradictory_rows(constraints, seconds))


def _contradictory(constraints: Constraints, rows: Sequence[int], end: float) -> bool:
    left = end - time.perf_counter()
    if left <= 0:
        return False
    return is_infeasible(subset(constraints, rows), left, None if isfinite(end) else MAX_NODES)


def subset(constraints: Constraints, rows: Sequence[int]) -> Constraints:
    """Some of the rows."""
    index = np.asarray(rows, np.int64)
    names = [constraints.names[i] for i in rows]
    ends = constraints.low[index], constraints.high[index]
    stated = StatedRows(constraints.G[index], *ends, names, constraints.slack[index])
    return Constraints(stated, constraints.n, constraints.values)


def least_violating(constraints: Constraints, seconds: float = inf) -> Host | None:
    """A point that lacks least in all rows together, as `Constraints.lack` measures it; None without one.

    min sum_i s_i / (largest coefficient of row i)  over  low - s <= G x <= high + s,  s >= 0, by HiGHS.
    """
    with importing():
        from scipy import sparse
        from scipy.optimize import Bounds, LinearConstraint, milp

    rows, (bottom, top) = constraints, constraints.values
    scale = row_scale(largest_entries(rows))
    G = sparse_rows((top - bottom) / scale, rows.G)
    shift = bottom * np.asarray(rows.G.sum(axis=1)).ravel()
    room = sparse.eye_array(len(rows), format="csr")
    limits = [
        LinearConstraint(sparse.hstack([G, -room], format="csr"), -inf, (rows.high - shift) / scale),
        LinearConstraint(sparse.hstack([G, room], format="csr"), (rows.low - shift) / scale, inf),
    ]
    options: Any = {"node_limit": MAX_NODES}
    if isfinite(seconds):
        options = {"time_limit": max(seconds, LEAST_SECONDS)}
    found = milp(
        np.concatenate([np.zeros(rows.n), scale / rows.sizes]),
        constraints=limits,
        integrality=np.concatenate([np.ones(rows.n, int), np.zeros(len(rows), int)]),
        bounds=Bounds(0, np.concatenate([np.ones(rows.n), np.full(len(rows), inf)])),
        options=options,
    )
    return None if found.x is None else bottom + (top - bottom) * np.rint(found.x[: rows.n])
