"""Spins under couplings: s'Js + c's through its local fields g = 2 c + 4 J s, with C = 8 J.

Flipping s_j raises the objective by -s_j g_j and, with the new s_j, adds s_j C_j to g. J has no diagonal.
score = [value now, value of the best point].
"""

import numpy as np

from .column import entry, length, shift
from .jit import inline, kernel
from .rng import below, draw


@kernel
def fields(C, field, s, g):
    """g = field + C s / 2."""
    for j in range(s.size):
        g[j] = field[j]
    half = s.dtype.type(0.5)
    for j in range(s.size):
        shift(C, j, half * s[j], g)


@inline
def turn(C, s, g, score, j):
    """Flip s_j."""
    score[0] -= np.float64(s[j]) * np.float64(g[j])
    s[j] = -s[j]
    shift(C, j, s[j], g)


@inline
def keep(s, best_s, score):
    """Remember the current point as the best."""
    for j in range(s.size):
        best_s[j] = s[j]
    score[1] = score[0]


@kernel
def descend(C, s, g, score, order, cursor, tiny, trials):
    """Flip whatever improves by more than `tiny`, cyclically along `order`, for at most `trials` trials.

    cursor = [position, trials since the last flip], int64, zeros at the start; s is one-flip optimal when
    cursor[1] >= order.size. Returns the couplings touched.
    """
    work = 0
    for _ in range(trials):
        if cursor[1] >= order.size:
            break
        j = order[cursor[0]]
        cursor[0] = (cursor[0] + 1) % order.size
        cursor[1] += 1
        work += 1
        if s[j] * g[j] > tiny:
            turn(C, s, g, score, j)
            cursor[1] = 0
            work += length(C, j)
    score[1] = score[0]
    return work


@kernel
def descend_pairs(C, s, g, score, cursor, tiny, trials):
    """Flip coupled pairs that improve together; one trial is one first member with all its neighbours.

    cursor as in `descend`; no coupled pair improves when cursor[1] >= s.size.
    """
    work = 0
    for _ in range(trials):
        if cursor[1] >= s.size:
            break
        i = cursor[0]
        cursor[0] = (cursor[0] + 1) % s.size
        cursor[1] += 1
        work += length(C, i)
        best, partner = np.float64(tiny), -1
        for p in range(length(C, i)):
            j, coupling = entry(C, i, p)
            gain = np.float64(s[i] * g[i] + s[j] * g[j] - s[i] * s[j] * coupling)
            if j != i and gain > best:
                best, partner = gain, j
        if partner >= 0:
            turn(C, s, g, score, i)
            turn(C, s, g, score, partner)
            cursor[1] = 0
    score[1] = score[0]
    return work


@kernel
def anneal(C, s, g, score, best_s, rng, temperatures, thresholds):
    """One pass over the spins at each of `temperatures`; best_s keeps the best point.

    A rise is accepted when it is below temperature * e, e from an exponential distribution: Metropolis' rule
    without a logarithm in the loop. The e are read from `thresholds`, whose size is a power of two, from a
    random place in each pass.

    Returns the couplings touched, spins passed over counted as one each.
    """
    work = s.size * temperatures.size
    mask = thresholds.size - 1
    for temperature in temperatures:
        place = np.int64(draw(rng) & np.uint64(mask))
        for j in range(s.size):
            if -s[j] * g[j] < temperature * thresholds[(place + j) & mask]:
                turn(C, s, g, score, j)
                work += length(C, j)
        if score[0] < score[1]:
            keep(s, best_s, score)
    return work


@kernel
def tabu(C, s, g, score, best_s, until, clock, rng, moves, tenure, spread):
    """Make `moves` best flips that are not tabu, or that beat the best point.

    Parameters
    ----------
    until : (n,) int64   zeros at the start; first move at which a spin may flip again
    clock : (1,) int64   moves made so far
    tenure, spread       moves for which a spin stays: tenure, plus up to spread - 1 at random
    """
    work = 0
    for _ in range(moves):
        j = _best_move(s, g, score, until, clock[0])
        clock[0] += 1
        if j < 0:
            continue
        if s[j] * g[j] < 0 and score[0] < score[1]:
            keep(s, best_s, score)
        until[j] = clock[0] + tenure + below(rng, spread)
        turn(C, s, g, score, j)
        work += length(C, j) + s.size
    if score[0] < score[1]:
        keep(s, best_s, score)
    return work


@inline
def _best_move(s, g, score, until, now):
    far = s.dtype.type(-3e38)
    best, chosen = far, -1
    free, spare = far, -1
    for j in range(s.size):
        gain = s[j] * g[j]
        if gain > best:
            best, chosen = gain, j
        if gain > free and until[j] <= now:
            free, spare = gain, j
    if chosen >= 0 and score[0] - best < score[1]:
        return chosen
    return spare
