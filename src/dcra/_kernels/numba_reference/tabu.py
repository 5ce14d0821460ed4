"""One-flip tabu search with the rise of every flip at hand."""

import numpy as np
from numba.extending import overload

from dcra._kernels.store import Dense

from .anneal import keep
from .column import length, trial
from .flip import commit
from .jit import OPTIONS, inline, kernel
from .rng import below
from .state import row_value


@kernel
def rises_at(model, x, z, score, rises):
    """rises[j] = change of the objective when x_j flips. Returns the entries of A touched."""
    work = 0
    for j in range(x.size):
        loss = trial(model.A, j, -(x[j] + x[j]), z, model.rows, score[0])
        rises[j] = loss - score[0] - 2.0 * model.c[j] * x[j]
        work += length(model.A, j)
    return work


@kernel
def tabu(model, mirror, x, z, score, best_x, rises, until, clock, rng, moves, tenure):
    """Make `moves` best flips that are not tabu, or that beat the best point.

    A move costs the columns that share a row with the flipped one: little for sparse A, all of A when dense.

    Parameters
    ----------
    mirror : Sparse       A by rows (the CSC form of A'); for dense A, A itself
    rises : (n,) float64  from `rises_at`, updated
    until : (n,) int64    zeros at the start; first move at which a column may flip again
    clock : (1,) int64    moves made so far
    tenure : int          moves for which a column stays, plus up to a third more at random
    """
    work = 0
    for _ in range(moves):
        j = _best_move(score, rises, until, clock[0])
        clock[0] += 1
        if j < 0:
            continue
        if rises[j] > 0 and score[0] + score[1] < score[2]:
            keep(x, best_x, score)
        until[j] = clock[0] + tenure + below(rng, 1 + tenure // 3)
        work += _move(model, mirror, x, z, score, rises, j)
    if score[0] + score[1] < score[2]:
        keep(x, best_x, score)
    return work


@inline
def _best_move(score, rises, until, now):
    best, rise = -1, np.inf
    now_at = score[0] + score[1]
    room = min(score[2], now_at) - now_at
    for j in range(rises.size):
        if rises[j] < rise and (until[j] <= now or rises[j] < room):
            best, rise = j, rises[j]
    return best


def _move(model, mirror, x, z, score, rises, j):
    move = _dense_move if isinstance(model.A, Dense) else _sparse_move
    return move(model, mirror, x, z, score, rises, j)


@overload(_move, jit_options=OPTIONS)
def _pick_move(model, mirror, x, z, score, rises, j):
    return _dense_move if model.types[0].instance_class is Dense else _sparse_move


def _dense_move(model, mirror, x, z, score, rises, j):
    commit(model, x, z, score, j, trial(model.A, j, -(x[j] + x[j]), z, model.rows, score[0]))
    return rises_at(model, x, z, score, rises)


def _sparse_move(model, mirror, x, z, score, rises, j):
    """Flip x_j and redo, in the rises, the rows it touches."""
    A, rise, work = model.A, rises[j], 0
    loss = score[0] + rise + 2.0 * model.c[j] * x[j]
    for p in range(A.ptr[j], A.ptr[j + 1]):
        i = A.idx[p]
        work += _redo_row(model.rows, mirror, x, rises, i, z[i], z[i] - (x[j] + x[j]) * A.val[p])
    commit(model, x, z, score, j, loss)
    rises[j] = -rise
    return work + length(A, j)


@inline
def _redo_row(rows, mirror, x, rises, i, old, new):
    t, w = rows.term[i], np.float64(rows.weight[i]) if rows.weight.size else 1.0
    kind, p = rows.kind[t], rows.table[t]
    base = row_value(kind, p, np.float64(new)) - row_value(kind, p, np.float64(old))
    for q in range(mirror.ptr[i], mirror.ptr[i + 1]):
        k = mirror.idx[q]
        step = -np.float64((x[k] + x[k]) * mirror.val[q])
        rises[k] += w * (row_value(kind, p, new + step) - row_value(kind, p, old + step) - base)
    return mirror.ptr[i + 1] - mirror.ptr[i]
