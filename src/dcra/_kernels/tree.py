"""Breadth-first search behind a triangular matrix: the best few partial points are kept at each depth."""

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
            for k in range(size):
                rest = Z[f, i]
                for j in range(i + 1, n):
                    rest -= R[i, j] * points[k, j]
                for l in range(q):
                    e = rest - R[i, i] * (2.0 * l - (q - 1))
                    totals[k * q + l] = costs[k] + e * e
            for c in range(size * q):
                order[c] = c
            kept = min(keep, size * q)
            _select(totals, order, size * q, kept)
            for k in range(kept):
                parent = order[k] // q
                for j in range(i + 1, n):
                    fresh[k, j] = points[parent, j]
                fresh[k, i] = 2.0 * (order[k] % q) - (q - 1)
            size = kept
            for k in range(size):
                costs[k] = totals[order[k]]
                for j in range(i, n):
                    points[k, j] = fresh[k, j]
        best = 0
        for k in range(1, size):
            if costs[k] < costs[best]:
                best = k
        for j in range(n):
            out[f, j] = points[best, j]


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
