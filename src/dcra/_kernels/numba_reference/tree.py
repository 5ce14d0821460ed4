"""Breadth-first search behind a triangular matrix: the best few partial points are kept at each depth."""

import numpy as np

from .jit import inline, kernel


@kernel
def breadth_first(R, Z, lo, hi, q, keep, out, scratch):
    """Fill out[f], f = lo..hi, with levels of small |Z[f] - R u|^2, R upper triangular.

    scratch = (points, next points (keep, n), costs (keep,), totals (keep q,), order (keep q,) int64).
    """
    points, fresh, costs, totals, order = scratch
    n = R.shape[0]
    for f in range(lo, hi):
        size = 1
        costs[0] = 0.0
        for i in range(n - 1, -1, -1):
            bound = _branch(R[i], Z[f, i], i, q, points, costs, size, totals)
            count = 0
            for c in range(size * q):
                if size < keep or totals[c] <= bound:
                    order[count] = c
                    count += 1
            kept = min(keep, count)
            _select(totals, order, count, kept)
            for k in range(kept):
                parent = order[k] // q
                for j in range(i + 1, n):
                    fresh[k, j] = points[parent, j]
                fresh[k, i] = 2.0 * (order[k] % q) - (q - 1)
                costs[k] = totals[order[k]]
            size = kept
            points, fresh = fresh, points
        best = 0
        for k in range(1, size):
            if costs[k] < costs[best]:
                best = k
        for j in range(n):
            out[f, j] = points[best, j]


@inline
def _branch(row, z, i, q, points, costs, size, totals):
    """Costs of all levels of unknown i on all branches; the largest cost of the best level of a branch.

    No cost above it is among the `size` smallest.
    """
    bound = 0.0
    for k in range(size):
        rest = z
        for j in range(i + 1, row.size):
            rest -= row[j] * points[k, j]
        least = np.inf
        for l in range(q):
            e = rest - row[i] * (2.0 * l - (q - 1))
            total = costs[k] + e * e
            totals[k * q + l] = total
            least = min(least, total)
        bound = max(bound, least)
    return bound


@inline
def _select(values, order, size, count):
    """Bring the indices of the `count` smallest values to the front of `order`."""
    lo, hi = 0, size - 1
    while lo < hi:
        pivot = values[order[(lo + hi) // 2]]
        i, j = lo, hi
        while i <= j:
            while values[order[i]] < pivot:
                i += 1
            while values[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if count - 1 <= j:
            hi = j
        elif count - 1 >= i:
            lo = i
        else:
            break
