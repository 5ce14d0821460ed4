"""Loops over a dense column, cut into terms; the loss is chosen once per term, never per row."""

import numpy as np

from dcra._kernels.store import CAPPED, LOGISTIC, TABLE

from .jit import inline
from .rows import (
    capped_edge,
    capped_grad,
    capped_value,
    clip,
    curved_value,
    logistic_grad,
    logistic_value,
    sharp_value,
    table_grad,
)


def grad(A, j, z, rows):
    g = z.dtype.type(0)
    for t in range(rows.kind.size):
        lo, hi = rows.start[t], rows.start[t + 1]
        a, w = A.cols[j, lo:hi], rows.weight[lo:hi]
        g += _term_grad(rows.kind[t], rows.table[t], a, z[lo:hi], w)
    return g


def trial(A, j, dx, z, rows, loss):
    loss = 0.0
    for t in range(rows.kind.size):
        lo, hi = rows.start[t], rows.start[t + 1]
        a, w = A.cols[j, lo:hi], rows.weight[lo:hi]
        loss += _term_value(rows.kind[t], rows.table[t], a, dx, z[lo:hi], w)
    return loss


def shift(A, j, dx, z):
    a = A.cols[j]
    for i in range(z.size):
        z[i] += dx * a[i]


def move_grad(A, j, dx, k, z, rows):
    g = z.dtype.type(0)
    for t in range(rows.kind.size):
        lo, hi = rows.start[t], rows.start[t + 1]
        a, c, w = A.cols[j, lo:hi], A.cols[k, lo:hi], rows.weight[lo:hi]
        g += _term_move_grad(rows.kind[t], rows.table[t], a, dx, c, z[lo:hi], w)
    return g


def length(A, j):
    return A.cols.shape[1]


def entry(A, j, p):
    return p, A.cols[j, p]


@inline
def _term_grad(kind, p, a, z, w):
    g = z.dtype.type(0)
    slope, k, e, lo, hi = p[0], p[1], p[2], p[3], p[4]
    if kind == LOGISTIC:
        for i in range(z.size):
            g += weigh(w, i, a[i] * logistic_grad(z[i], k, e))
    elif kind == CAPPED:
        edge = capped_edge(slope, k, hi)
        for i in range(z.size):
            g += weigh(w, i, a[i] * capped_grad(z[i], slope, edge, lo, hi))
    elif e == 0:
        for i in range(z.size):
            g += weigh(w, i, a[i] * clip(z[i] * slope, lo, hi))
    else:
        for i in range(z.size):
            g += weigh(w, i, a[i] * table_grad(z[i], slope, e, lo, hi))
    return g


@inline
def _term_move_grad(kind, p, a, dx, c, z, w):
    g = z.dtype.type(0)
    slope, e, lo, hi = p[0], p[2], p[3], p[4]
    if kind == TABLE and e == 0:
        for i in range(z.size):
            u = z[i] + dx * a[i]
            z[i] = u
            g += weigh(w, i, c[i] * clip(u * slope, lo, hi))
        return g
    for i in range(z.size):
        z[i] += dx * a[i]
    return _term_grad(kind, p, c, z, w)


@inline
def _term_value(kind, p, a, dx, z, w):
    f = z.dtype.type(0)
    k, e, lo, hi = p[1], p[2], p[3], p[4]
    if kind == LOGISTIC:
        for i in range(z.size):
            f += weigh(w, i, logistic_value(z[i] + dx * a[i], k, e))
    elif kind == CAPPED:
        for i in range(z.size):
            f += weigh(w, i, capped_value(z[i] + dx * a[i], k, hi))
    elif k > 0:
        half_k, slope = z.dtype.type(0.5) * k, z.dtype.type(1) / k
        for i in range(z.size):
            f += weigh(w, i, curved_value(z[i] + dx * a[i], half_k, slope, e, lo, hi))
    elif e > 0:
        for i in range(z.size):
            f += weigh(w, i, sharp_value(z[i] + dx * a[i], e, lo, hi))
    else:
        for i in range(z.size):
            u = z[i] + dx * a[i]
            f += weigh(w, i, max(lo * u, hi * u))
    return np.float64(f)


@inline
def weigh(w, i, v):
    """The weighted row; the test is the same for all rows, so the compiler moves it out of the loop."""
    return w[i] * v if w.size else v
