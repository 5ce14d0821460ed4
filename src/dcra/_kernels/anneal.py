"""Metropolis annealing by single flips."""

import math

from .column import length, trial
from .flip import commit
from .jit import inline, kernel
from .rng import uniform


@kernel
def anneal(model, x, z, score, best_x, rng, temperatures):
    """One pass over the columns at each of `temperatures`; best_x keeps the best point, score[2] its objective.

    Returns the entries of A touched. To resume, pass the rest of the temperatures.
    """
    work = 0
    for temperature in temperatures:
        for j in range(x.size):
            work += _propose(model, x, z, score, best_x, rng, j, temperature)
        if score[0] + score[1] < score[2]:
            keep(x, best_x, score)
    return work


@inline
def _propose(model, x, z, score, best_x, rng, j, temperature):
    size = length(model.A, j)
    loss = trial(model.A, j, -(x[j] + x[j]), z, model.rows, score[0])
    rise = loss - score[0] - 2.0 * model.c[j] * x[j]
    if rise > 0 and uniform(rng) >= math.exp(-rise / temperature):
        return size
    if rise > 0 and score[0] + score[1] < score[2]:
        keep(x, best_x, score)  # only on the way up: a descent would copy x at every flip
    commit(model, x, z, score, j, loss)
    return size + size


@inline
def keep(x, best_x, score):
    """Remember the current point as the best."""
    for j in range(x.size):
        best_x[j] = x[j]
    score[2] = score[0] + score[1]
