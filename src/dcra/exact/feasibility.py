"""Whether no point satisfies some constraints: HiGHS asked with room for everything that it rounds.

HiGHS meets rows to a tolerance and leaves out entries that look like zeros beside others. So it is given rows
of one size, without their small entries, and widened: by what these may add up to and by ten times its
tolerance; rows of whole numbers by half, which lets no further point in. What it calls infeasible then is.
"""

from __future__ import annotations

from math import frexp, isfinite
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host
from dcra.foreign import importing
from dcra.model.constraints import Constraints

TOLERANCE = 1e-6
"""To which HiGHS meets rows, and whole numbers, at its defaults."""

WIDENING = 10 * TOLERANCE
"""Room, in units of the largest coefficient of a row."""

NEGLIGIBLE = 1e-7
"""Entries below this share of the largest one of their row are left out; HiGHS forgets those below 1e-9."""

INFEASIBLE = 2
"""SciPy's status of a problem without feasible points."""


class Widened(NamedTuple):
    """low <= rows u <= high for u in {0,1}^n, satisfied by all points that satisfy some constraints."""

    rows: Any
    low: Host
    high: Host


def is_infeasible(constraints: Constraints, seconds: float, nodes: int | None = None) -> bool:
    """Whether it is certain that no point of the domain satisfies them; False where that is not known."""
    with importing():
        from scipy.optimize import Bounds, LinearConstraint, milp

    options: Any = {} if nodes is None else {"node_limit": nodes}
    if isfinite(seconds):
        options["time_limit"] = max(seconds, 1e-3)
    n, limits = constraints.n, LinearConstraint(*widened(constraints))
    found = milp(
        np.zeros(n), constraints=limits, integrality=np.ones(n, int), bounds=Bounds(0, 1), options=options
    )
    return bool(found.status == INFEASIBLE)


def widened(constraints: Constraints) -> Widened:
    """Rows that no rounding of theirs makes stricter than the constraints."""
    with importing():
        from scipy import sparse

    bottom, top = constraints.values
    G, count = constraints.G, np.diff(constraints.G.indptr)
    row = np.repeat(np.arange(len(constraints)), count)
    largest = largest_entries(constraints)
    small = np.abs(G.data) < NEGLIGIBLE * largest[row]
    lost = np.bincount(row[small], np.abs(G.data[small]), len(constraints)) * max(abs(bottom), abs(top))
    room = np.maximum(np.where(constraints.whole, 0.5, 0.0), (top - bottom) * WIDENING * largest)
    room = room + lost + constraints.slack + constraints.rounding
    kept = sparse.csr_array((np.where(small, 0.0, G.data), G.indices, G.indptr), shape=G.shape)
    base = bottom * np.asarray(kept.sum(axis=1)).ravel()
    scale = row_scale(largest)
    rows = sparse_rows((top - bottom) / scale, kept)
    return Widened(rows, (constraints.low - room - base) / scale, (constraints.high + room - base) / scale)


def largest_entries(constraints: Constraints) -> Host:
    """The largest coefficient of each row, without its sign; 0 for empty rows."""
    return np.asarray(abs(constraints.G).max(axis=1).toarray()).ravel()


def row_scale(largest: Host) -> Host:
    """Powers of two just above the largest entries of rows; 1 for empty ones."""
    return np.asarray([2.0 ** frexp(size)[1] if size > 0 else 1.0 for size in largest.tolist()])


def sparse_rows(factors: Host, G: Any) -> Any:
    """Diag(factors) G."""
    with importing():
        from scipy import sparse

    return sparse.csr_array(sparse.diags_array(factors) @ G)


def faithful(constraints: Constraints) -> bool:
    """Whether HiGHS sees every entry: none is negligible beside the others of its row."""
    row = np.repeat(np.arange(len(constraints)), np.diff(constraints.G.indptr))
    largest = largest_entries(constraints)
    return bool(np.all(np.abs(constraints.G.data) >= NEGLIGIBLE * largest[row]))
