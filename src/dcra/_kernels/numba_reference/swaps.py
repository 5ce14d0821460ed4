"""Tabu search over permutations for sum_ij F_ij D_p(i)p(j): the change of every swap is at hand.

After a swap, the changes of pairs that it does not touch are corrected in O(1), the others computed anew.
"""

import numpy as np

from .jit import inline, kernel
from .rng import below


@inline
def _change(F, D, p, r, s):
    """What exchanging the places of r and s changes."""
    a, b = p[r], p[s]
    total = (F[r, r] - F[s, s]) * (D[b, b] - D[a, a]) + (F[r, s] - F[s, r]) * (D[b, a] - D[a, b])
    for k in range(p.size):
        if k != r and k != s:
            c = p[k]
            total += (F[k, r] - F[k, s]) * (D[c, b] - D[c, a]) + (F[r, k] - F[s, k]) * (D[b, c] - D[a, c])
    return total


@inline
def _corrected(F, D, p, old, i, j, r, s):
    """The change of (i, j) after r and s, neither of them i or j, have been exchanged."""
    a, b, c, d = p[r], p[s], p[i], p[j]
    return (
        old
        + (F[r, i] - F[r, j] + F[s, j] - F[s, i]) * (D[b, c] - D[b, d] + D[a, d] - D[a, c])
        + (F[i, r] - F[j, r] + F[j, s] - F[i, s]) * (D[c, b] - D[d, b] + D[d, a] - D[c, a])
    )


@kernel
def changes(F, D, p, change):
    """change[i, j] of every swap i < j."""
    for i in range(p.size):
        for j in range(i + 1, p.size):
            change[i, j] = _change(F, D, p, i, j)


@kernel
def search(F, D, p, cost, best_p, change, until, clock, rng, moves):
    """Make `moves` best swaps that are not tabu, or that beat the best permutation.

    A facility may not return to a place that it left during about the last n moves, and a swap that was not
    made for a very long time is made when it is its turn.

    Parameters
    ----------
    cost : (2,)             now and best
    until : (n, n) int64    until[i, a]: move at which facility i may be at place a again
    clock : (1,) int64      moves made so far
    """
    n = p.size
    stale = n * n * 5
    for _ in range(moves):
        clock[0] += 1
        now = clock[0]
        r, s, least, forced = -1, -1, np.inf, False
        for i in range(n):
            for j in range(i + 1, n):
                free = until[i, p[j]] < now or until[j, p[i]] < now
                old = until[i, p[j]] < now - stale and until[j, p[i]] < now - stale
                better = cost[0] + change[i, j] < cost[1] - 1e-9 * abs(cost[1])
                wanted = better or old
                if (wanted and not forced) or (
                    (wanted or not forced) and (free or wanted) and change[i, j] < least
                ):
                    r, s, least = i, j, change[i, j]
                    forced = forced or wanted
        if r < 0:
            continue
        _make(F, D, p, change, r, s)
        cost[0] += least
        until[r, p[s]] = now + n - n // 10 + below(rng, 1 + n // 5)
        until[s, p[r]] = now + n - n // 10 + below(rng, 1 + n // 5)
        if cost[0] < cost[1]:
            cost[1] = cost[0]
            for i in range(n):
                best_p[i] = p[i]


@inline
def _make(F, D, p, change, r, s):
    p[r], p[s] = p[s], p[r]
    for i in range(p.size):
        for j in range(i + 1, p.size):
            if i == r or i == s or j == r or j == s:
                change[i, j] = _change(F, D, p, i, j)
            else:
                change[i, j] = _corrected(F, D, p, change[i, j], i, j, r, s)
