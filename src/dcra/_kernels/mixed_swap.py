"""`ising_swap.anneal_swaps` with losses beside: f(As - b) + c's + s'Js under counts; score as in `mixed`."""

import numpy as np

from .column import length, shift, trial
from .ising import keep
from .ising_swap import TRIES, coupling
from .jit import inline, kernel
from .mixed import turn
from .rng import below, draw
from .swap import may_change, moved, partners


@kernel
def anneal_swaps(model, C, s, z, g, score, best_s, rng, temperatures, thresholds, counts):
    """`ising_swap.anneal_swaps`; every partner costs a look at its column of A."""
    work = s.size * temperatures.size
    mask = thresholds.size - 1
    for temperature in temperatures:
        place = np.int64(draw(rng) & np.uint64(mask))
        for j in range(s.size):
            most = temperature * thresholds[(place + j) & mask]
            work += _propose(model, C, s, z, g, score, rng, counts, j, most)
        if score[0] < score[1]:
            keep(s, best_s, score)
    return work


@inline
def _propose(model, C, s, z, g, score, rng, counts, j, most):
    """Flip j, alone or with a partner, if that rises by less than `most`."""
    size = length(model.A, j)
    alone = trial(model.A, j, -(s[j] + s[j]), z, model.rows, score[2])
    own = -s[j] * g[j] - score[2]
    if own + alone < most and may_change(counts, s, j):
        turn(model, C, s, z, g, score, j, alone)
        moved(counts, s, j)
        return 2 * size + length(C, j)
    lo, hi = partners(counts, s, j)
    tries = min(TRIES, hi - lo)
    if tries > 0:
        shift(model.A, j, -(s[j] + s[j]), z)
    for t in range(tries):
        i = counts.members[lo + below(rng, hi - lo)]
        loss = trial(model.A, i, -(s[i] + s[i]), z, model.rows, alone)
        if own + loss - s[i] * g[i] - coupling(C, j, i) < most:
            _turn_shifted(C, s, g, score, j)
            moved(counts, s, j)
            turn(model, C, s, z, g, score, i, loss)
            moved(counts, s, i)
            return (t + 4) * size + length(C, j) + length(C, i)
    if tries > 0:
        shift(model.A, j, s[j] + s[j], z)
    return (tries + 3) * size


@inline
def _turn_shifted(C, s, g, score, j):
    """Flip s_j where z knows of it already; the losses follow with the partner."""
    score[0] -= s[j] * g[j]
    s[j] = -s[j]
    shift(C, j, s[j], g)
