"""The searches of `ising` under counts: swaps, which keep them, and flips that are charged for leaving them.

For spins of opposite signs a swap raises the objective by -s_i g_i - s_j g_j - C_ij.
"""

import numpy as np

from .column import entry, length
from .ising import keep, turn
from .jit import inline, kernel
from .rng import below, draw
from .swap import may_change, moved, partners

TRIES = 4  # partners looked at for one spin


@inline
def coupling(C, j, i):
    """C_ij: rows are sorted, so row i stands at place i or before; just there where C is dense."""
    lo, hi = 0, min(np.int64(i), length(C, j) - 1)
    place = hi
    while lo <= hi:
        row, value = entry(C, j, place)
        if row == i:
            return np.float64(value)
        if row < i:
            lo = place + 1
        else:
            hi = place - 1
        place = (lo + hi) // 2
    return 0.0


@inline
def turn_counted(C, s, g, score, counts, j):
    turn(C, s, g, score, j)
    moved(counts, s, j)
    return length(C, j)


@kernel
def anneal_swaps(C, s, g, score, best_s, rng, temperatures, thresholds, counts):
    """One pass over the spins at each of `temperatures`; best_s keeps the best point; see `ising.anneal`.

    Spin j flips alone where the count of its group allows that, and otherwise together with one of up to
    TRIES partners of its group that have the other sign.

    Parameters
    ----------
    counts : Counts   from `store.counts`, for this very s
    """
    work = s.size * temperatures.size
    mask = thresholds.size - 1
    for temperature in temperatures:
        place = np.int64(draw(rng) & np.uint64(mask))
        for j in range(s.size):
            work += _propose(C, s, g, score, rng, counts, j, temperature * thresholds[(place + j) & mask])
        if score[0] < score[1]:
            keep(s, best_s, score)
    return work


@inline
def _propose(C, s, g, score, rng, counts, j, most):
    """Flip j, alone or with a partner, if that rises by less than `most`."""
    own = np.float64(-s[j] * g[j])
    if own < most and may_change(counts, s, j):
        return turn_counted(C, s, g, score, counts, j)
    lo, hi = partners(counts, s, j)
    tries = min(TRIES, hi - lo)
    for _ in range(tries):
        i = counts.members[lo + below(rng, hi - lo)]
        if own - s[i] * g[i] - coupling(C, j, i) < most:
            work = turn_counted(C, s, g, score, counts, j)
            return work + tries + turn_counted(C, s, g, score, counts, i)
    return tries


@kernel
def descend_swaps(C, s, g, score, cursor, tiny, trials, counts, reach):
    """Flip or swap whatever improves by more than `tiny`; one trial is one spin with its best partner.

    cursor as in `ising.descend`; no flip that counts allow and no swap improves when cursor[1] >= s.size.
    `reach` is the largest coupling: swaps that would not improve even with it are passed over quickly.
    """
    work = 0
    for _ in range(trials):
        if cursor[1] >= s.size:
            break
        j = cursor[0]
        cursor[0] = (cursor[0] + 1) % s.size
        cursor[1] += 1
        best, partner = _best_swap(C, s, g, counts, j, np.float64(tiny), reach)
        lo, hi = partners(counts, s, j)
        work += 1 + hi - lo
        if best > tiny:
            cursor[1] = 0
            work += turn_counted(C, s, g, score, counts, j)
            if partner != j:
                work += turn_counted(C, s, g, score, counts, partner)
    score[1] = score[0]
    return work


@inline
def _best_swap(C, s, g, counts, j, best, reach):
    """The largest gain above `best` of flipping j, and with whom: j itself where alone."""
    own, partner = np.float64(s[j] * g[j]), j
    if own > best and may_change(counts, s, j):
        best = own
    lo, hi = partners(counts, s, j)
    for p in range(lo, hi):
        i = counts.members[p]
        gain = own + np.float64(s[i] * g[i])
        if gain + reach > best:
            gain += coupling(C, j, i)
            if gain > best:
                best, partner = gain, i
    return best, partner


@kernel
def anneal_charged(C, s, g, score, best_s, rng, temperatures, thresholds, tally):
    """Single flips as in `ising.anneal`, charged rate[g] e^2 where the count of group g is off by e.

    A pass is several times quicker than one of swaps, and passes between points that swaps keep apart. best_s
    keeps the best point that is within all counts at the end of a pass.

    Parameters
    ----------
    tally : Tally   from `store.tally`, for this very s
    """
    work = s.size * temperatures.size
    mask = thresholds.size - 1
    for temperature in temperatures:
        place = np.int64(draw(rng) & np.uint64(mask))
        for j in range(s.size):
            up = np.int64(s[j] < 0)
            if tally.charge[tally.group[j], up] - s[j] * g[j] < temperature * thresholds[(place + j) & mask]:
                turn(C, s, g, score, j)
                _count(tally, tally.group[j], up)
                work += length(C, j)
        if score[0] < score[1] and _within(tally):
            keep(s, best_s, score)
    return work


@inline
def _count(tally, group, up):
    """Note that a spin of a group went up (1) or down (0), and what the next one will be charged."""
    tally.ups[group] += up + up - 1
    now = _excess(tally, group, tally.ups[group])
    for side in range(2):
        then = _excess(tally, group, tally.ups[group] + side + side - 1)
        tally.charge[group, side] = tally.rate[group] * (then * then - now * now)


@inline
def _excess(tally, group, ups):
    """By how much a count is off."""
    return max(0, max(ups - tally.most[group], tally.least[group] - ups))


@inline
def _within(tally):
    for group in range(tally.ups.size):
        if _excess(tally, group, tally.ups[group]) > 0:
            return False
    return True


@kernel
def settle(C, s, g, score, best_s, tally):
    """Bring all counts within their bounds, by the flips that cost least; best_s keeps the point if best."""
    work = 0
    for group in range(tally.ups.size):
        while _excess(tally, group, tally.ups[group]) > 0:
            sign = 1 if tally.ups[group] > tally.most[group] else -1
            turn(C, s, g, score, _cheapest(s, g, tally, group, sign))
            tally.ups[group] -= sign
            work += s.size
    if score[0] < score[1]:
        keep(s, best_s, score)
    return work


@inline
def _cheapest(s, g, tally, group, sign):
    """The member of a group, of this sign, that flips at the lowest rise."""
    best, chosen = -np.inf, -1
    for j in range(s.size):
        if tally.group[j] == group and s[j] * sign > 0 and s[j] * g[j] > best:
            best, chosen = np.float64(s[j] * g[j]), j
    return chosen
