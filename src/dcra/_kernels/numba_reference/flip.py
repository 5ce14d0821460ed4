"""Descent by single flips and by pairs of flips."""

from .column import length, shift, trial
from .jit import inline, kernel
from .state import rounding


@inline
def commit(model, x, z, score, j, loss):
    """Flip x_j; `loss` is the loss that trial found for it."""
    score[1] -= 2.0 * model.c[j] * x[j]
    x[j] = -x[j]
    shift(model.A, j, x[j] + x[j], z)
    score[0] = loss


@kernel
def flip(model, x, z, score, order, cursor, trials):
    """Flip whatever improves, cyclically along `order`, for at most `trials` trials.

    cursor = [position, trials since the last flip], int64, zeros at the start; x is one-flip optimal on
    `order` when cursor[1] >= order.size. score[2] ends as the objective. Returns the entries of A touched.
    """
    work = 0
    for _ in range(trials):
        if cursor[1] >= order.size:
            break
        j = order[cursor[0]]
        cursor[0] = (cursor[0] + 1) % order.size
        cursor[1] += 1
        size = length(model.A, j)
        loss = trial(model.A, j, -(x[j] + x[j]), z, model.rows, score[0])
        work += size
        gain = score[0] - loss + 2.0 * model.c[j] * x[j]
        if gain > rounding(z, score[0]):
            commit(model, x, z, score, j, loss)
            cursor[1] = 0
            work += size
    score[2] = score[0] + score[1]
    return work


@kernel
def pair(model, x, z, score, order, cursor, trials):
    """Flip pairs of `order` that improve together; arguments as in `flip`, one trial being one first member.

    x has no improving pair in `order` when cursor[1] >= order.size. A trial costs order.size columns.
    """
    work = 0
    for _ in range(trials):
        if cursor[1] >= order.size:
            break
        first = cursor[0]
        cursor[0] = (cursor[0] + 1) % order.size
        cursor[1] += 1
        if _improve_pair(model, x, z, score, order, first):
            cursor[1] = 0
        work += order.size * length(model.A, order[first])
    score[2] = score[0] + score[1]
    return work


@inline
def _improve_pair(model, x, z, score, order, first):
    """Flip order[first] and the best later partner if that improves; otherwise leave all as it was."""
    i = order[first]
    before, before_linear = score[0], score[1]
    commit(model, x, z, score, i, trial(model.A, i, -(x[i] + x[i]), z, model.rows, before))
    alone = score[0]
    best, best_j, best_loss = rounding(z, before), -1, alone
    for p in range(order.size):
        j = order[p]
        if p == first:
            gain, loss = before - alone + before_linear - score[1], alone
        else:
            loss = trial(model.A, j, -(x[j] + x[j]), z, model.rows, alone)
            gain = before - loss + before_linear - score[1] + 2.0 * model.c[j] * x[j]
        if gain > best:
            best, best_j, best_loss = gain, j, loss
    if best_j >= 0 and best_j != i:
        commit(model, x, z, score, best_j, best_loss)
    elif best_j < 0:
        commit(model, x, z, score, i, before)
        score[1] = before_linear
    return best_j >= 0
