"""Annealing that keeps counts: one variable of a group goes up while another goes down."""

import math

import numpy as np

from .anneal import keep
from .column import length, shift, trial
from .flip import commit
from .jit import inline, kernel
from .rng import below, uniform


@kernel
def anneal_swaps(model, x, z, score, best_x, rng, temperatures, counts, tries):
    """One pass over the columns at each of `temperatures`; best_x keeps the best point, score[2] its value.

    Column j is proposed together with one of up to `tries` partners that have the other sign: members of its
    group, or free columns for a free one. It is proposed alone where the count of its group allows that, and
    always where it is free.

    Parameters
    ----------
    counts : Counts   from `store.counts`, for this very x

    Returns the entries of A touched. To resume, pass the rest of the temperatures.
    """
    work = 0
    for temperature in temperatures:
        for _ in range(x.size):
            j = below(rng, x.size)
            work += _propose(model, x, z, score, best_x, rng, counts, j, temperature, tries)
        if score[0] + score[1] < score[2]:
            keep(x, best_x, score)
    return work


@inline
def _propose(model, x, z, score, best_x, rng, counts, j, temperature, tries):
    """Flip j alone, or with a partner, if that is accepted; one loop for both is quicker to compile."""
    size, base = length(model.A, j), score[0]
    linear = 2.0 * model.c[j] * x[j]
    lo, hi = partners(counts, x, j)
    last = min(np.int64(tries), hi - lo)
    for t in range(last + 1):
        i = j if t == 0 else counts.members[lo + below(rng, hi - lo)]
        loss = trial(model.A, i, -(x[i] + x[i]), z, model.rows, base)
        rise = loss - score[0] - linear - (0.0 if t == 0 else 2.0 * model.c[i] * x[i])
        if (t > 0 or may_change(counts, x, j)) and _accepted(rise, temperature, rng):
            if rise > 0 and score[0] + score[1] < score[2]:
                keep(x, best_x, score)
            if t > 0:
                score[1] -= linear
                x[j] = -x[j]
                moved(counts, x, j)
            commit(model, x, z, score, i, loss)
            moved(counts, x, i)
            return (t + 3) * size
        if t == 0 and last > 0:
            base = loss
            shift(model.A, j, -(x[j] + x[j]), z)
    if last > 0:
        shift(model.A, j, x[j] + x[j], z)
    return (last + 3) * size


@inline
def _accepted(rise, temperature, rng):
    return rise <= 0 or (rise < 40.0 * temperature and uniform(rng) < math.exp(-rise / temperature))


@inline
def may_change(counts, x, j):
    """Whether x_j may flip alone."""
    g = counts.group[j]
    if x[j] > 0:
        return counts.ups[g] > counts.least[g]
    return counts.ups[g] < counts.most[g]


@inline
def partners(counts, x, j):
    """Where in `members` those of j's group stand that have the other sign."""
    g = counts.group[j]
    edge = counts.start[g] + counts.ups[g]
    if x[j] > 0:
        return edge, counts.start[g + 1]
    return counts.start[g], edge


@inline
def moved(counts, x, j):
    """Note that x_j has just flipped: the members that are up stand first in their group."""
    g = counts.group[j]
    if x[j] > 0:
        edge = counts.start[g] + counts.ups[g]
        counts.ups[g] += 1
    else:
        counts.ups[g] -= 1
        edge = counts.start[g] + counts.ups[g]
    other, here = counts.members[edge], counts.place[j]
    counts.members[here], counts.members[edge] = other, j
    counts.place[other], counts.place[j] = here, edge
