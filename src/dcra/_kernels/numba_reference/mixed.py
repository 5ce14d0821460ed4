"""The searches of `quadratic` with losses beside: f(As - b) + c's + s'Js, by residual z and local fields g.

Flipping s_j changes the losses by what a trial along column j finds, and the rest by -s_j g_j, as there.
score = [value now, value of the best point, losses now].
"""

import numpy as np

from .column import entry, length, shift, trial
from .jit import inline, kernel
from .quadratic import fields, keep
from .rng import below, draw
from .state import loss_at


@kernel
def value(model, field, s, z, g, score):
    """Set score for the point s with residual z and fields g."""
    score[2] = loss_at(model.rows, z)
    total = score[2]
    for j in range(s.size):
        total += 0.25 * np.float64(s[j]) * (np.float64(g[j]) + np.float64(field[j]))
    score[0] = score[1] = total


@inline
def _loss_after(model, s, z, score, j):
    return trial(model.A, j, -(s[j] + s[j]), z, model.rows, score[2])


@inline
def turn(model, C, s, z, g, score, j, loss):
    """Flip s_j; `loss` is what the losses will then be."""
    score[0] += loss - score[2] - s[j] * g[j]
    score[2] = loss
    s[j] = -s[j]
    shift(model.A, j, s[j] + s[j], z)
    shift(C, j, s[j], g)


@kernel
def descend(model, C, s, z, g, score, order, cursor, tiny, trials):
    """`quadratic.descend`."""
    work = 0
    for _ in range(trials):
        if cursor[1] >= order.size:
            break
        j = order[cursor[0]]
        cursor[0] = (cursor[0] + 1) % order.size
        cursor[1] += 1
        work += length(model.A, j)
        loss = _loss_after(model, s, z, score, j)
        if score[2] - loss + s[j] * g[j] > tiny:
            turn(model, C, s, z, g, score, j, loss)
            cursor[1] = 0
            work += length(model.A, j) + length(C, j)
    score[1] = score[0]
    return work


@kernel
def descend_pairs(model, C, s, z, g, score, cursor, tiny, trials):
    """`quadratic.descend_pairs`: pairs that are coupled by J."""
    work = 0
    for _ in range(trials):
        if cursor[1] >= s.size:
            break
        i = cursor[0]
        cursor[0] = (cursor[0] + 1) % s.size
        cursor[1] += 1
        before = score[0]
        turn(model, C, s, z, g, score, i, _loss_after(model, s, z, score, i))
        best, partner, best_loss = np.float64(tiny), -1, 0.0
        for p in range(length(C, i)):
            j, _ = entry(C, i, p)
            loss = _loss_after(model, s, z, score, j)
            gain = before - score[0] + score[2] - loss + s[j] * g[j]
            if j != i and gain > best:
                best, partner, best_loss = gain, j, loss
            work += length(model.A, j)
        if partner >= 0:
            turn(model, C, s, z, g, score, partner, best_loss)
            cursor[1] = 0
        else:
            turn(model, C, s, z, g, score, i, _loss_after(model, s, z, score, i))
    score[1] = score[0]
    return work


@kernel
def anneal(model, C, s, z, g, score, best_s, rng, temperatures, thresholds):
    """`quadratic.anneal`."""
    work = 0
    mask = thresholds.size - 1
    for temperature in temperatures:
        place = np.int64(draw(rng) & np.uint64(mask))
        for j in range(s.size):
            loss = _loss_after(model, s, z, score, j)
            work += length(model.A, j)
            if loss - score[2] - s[j] * g[j] < temperature * thresholds[(place + j) & mask]:
                turn(model, C, s, z, g, score, j, loss)
                work += length(model.A, j) + length(C, j)
        if score[0] < score[1]:
            keep(s, best_s, score)
    return work


@kernel
def tabu(model, C, s, z, g, score, best_s, until, clock, rng, moves, tenure, spread):
    """`quadratic.tabu`; every move looks at all columns of A."""
    work = 0
    for _ in range(moves):
        chosen, chosen_loss, chosen_rise = -1, 0.0, np.inf
        for j in range(s.size):
            loss = _loss_after(model, s, z, score, j)
            rise = loss - score[2] - s[j] * g[j]
            work += length(model.A, j)
            if rise < chosen_rise and (until[j] <= clock[0] or score[0] + rise < score[1]):
                chosen, chosen_loss, chosen_rise = j, loss, rise
        clock[0] += 1
        if chosen < 0:
            continue
        if chosen_rise > 0 and score[0] < score[1]:
            keep(s, best_s, score)
        until[chosen] = clock[0] + tenure + below(rng, spread)
        turn(model, C, s, z, g, score, chosen, chosen_loss)
    if score[0] < score[1]:
        keep(s, best_s, score)
    return work


@kernel
def gray(model, b, C, field, lo, hi, s, z, g, score):
    """Best value over positions lo..hi of the Gray sequence, and its lowest position; as in `gray.gray`.

    s, z, g and score are scratch.
    """
    best, code = np.inf, lo
    base = lo - lo % 1024
    while base < hi:
        for i in range(z.size):
            z[i] = -b[i]
        for j in range(s.size):
            s[j] = -1.0 if ((base ^ (base >> 1)) >> j) & 1 else 1.0
            shift(model.A, j, s[j], z)
        fields(C, field, s, g)
        value(model, field, s, z, g, score)
        for c in range(base, min(base + 1024, hi)):
            if c > base:
                j = 0
                while not (c >> j) & 1:
                    j += 1
                turn(model, C, s, z, g, score, j, _loss_after(model, s, z, score, j))
            if c >= lo and score[0] < best:
                best, code = score[0], c
        base += 1024
    return best, code
