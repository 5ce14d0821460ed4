"""Metropolis annealing by single flips that remembers what flips would cost."""

import math

import numpy as np

from .column import length, trial
from .flip import commit
from .jit import inline, kernel
from .rng import uniform

MARGIN = 3.0  # a rise of this many temperatures is worth watching closely
RECENT = 100.0  # looks over which the drift is averaged


@kernel
def anneal(model, x, z, score, best_x, rng, temperatures, memory, caution):
    """One pass over the columns at each of `temperatures`; best_x keeps the best point, score[2] its value.

    Most proposals at a good point are hopeless, and evaluating them is all the work. The rise of a flip
    changes only when another column flips, by a random step whose variance `memory.drift` learns. So a rise
    is reused while nothing has flipped, and a column whose rise exceeds three temperatures by v is not looked
    at for (v / caution)^2 / drift flips. caution = inf gives plain Metropolis; 1 saves most of the work.

    Parameters
    ----------
    memory : Memory   from `store.memory`; fresh whenever (x, z) was changed by anyone else

    Returns the entries of A touched. To resume, pass the rest of the temperatures.
    """
    work = 0
    for temperature in temperatures:
        for j in range(x.size):
            if memory.due[j] <= memory.flips[0]:
                work += _propose(model, x, z, score, best_x, rng, memory, j, temperature, caution)
        if score[0] + score[1] < score[2]:
            keep(x, best_x, score)
    return work


@inline
def _propose(model, x, z, score, best_x, rng, memory, j, temperature, caution):
    size, work = length(model.A, j), 0
    if memory.stamp[j] != memory.flips[0]:
        loss = trial(model.A, j, -(x[j] + x[j]), z, model.rows, score[0])
        _remember(memory, j, loss - score[0] - 2.0 * model.c[j] * x[j], temperature, caution)
        work = size
    rise = memory.rise[j]
    if rise > 0:
        if rise > 40.0 * temperature or uniform(rng) >= math.exp(-rise / temperature):
            return work
        if score[0] + score[1] < score[2]:
            keep(x, best_x, score)  # only on the way up: a descent would copy x at every flip
    commit(model, x, z, score, j, score[0] + rise + 2.0 * model.c[j] * x[j])
    memory.flips[0] += 1
    memory.rise[j], memory.stamp[j] = -rise, memory.flips[0]
    return work + size


@inline
def _remember(memory, j, rise, temperature, caution):
    now = memory.flips[0]
    if memory.stamp[j] >= 0:
        step = rise - memory.rise[j]
        memory.looks[0] += 1
        fresh = step * step / (now - memory.stamp[j])
        memory.drift[0] += (fresh - memory.drift[0]) / min(RECENT, np.float64(memory.looks[0]))
    memory.rise[j], memory.stamp[j] = rise, now
    away = (rise - MARGIN * temperature) / caution
    if away > 0 and memory.looks[0] > memory.rise.size and memory.drift[0] > 0:
        memory.due[j] = now + np.int64(min(away * away / memory.drift[0], 1e6))


@inline
def keep(x, best_x, score):
    """Remember the current point as the best."""
    for j in range(x.size):
        best_x[j] = x[j]
    score[2] = score[0] + score[1]
