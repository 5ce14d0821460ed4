"""Loops over a sparse column. Its row indices are sorted, so they too fall into terms."""

import numpy as np

from dcra._kernels.store import CAPPED, LOGISTIC

from .dense import weigh
from .jit import inline
from .rows import (
    capped_edge,
    capped_grad,
    capped_value,
    curved_value,
    logistic_grad,
    logistic_value,
    sharp_value,
    table_grad,
)


@inline
def _segment_end(idx, p, end, rows):
    """First position at or after p whose row belongs to a later term than row idx[p]."""
    if rows.kind.size == 1:
        return end
    stop = rows.start[np.int64(rows.term[idx[p]]) + 1]
    while p < end and idx[p] < stop:
        p += 1
    return p


def grad(A, j, z, rows):
    """Column j's entry of A' w g(z)."""
    g = z.dtype.type(0)
    p, end = A.ptr[j], A.ptr[j + 1]
    while p < end:
        q = _segment_end(A.idx, p, end, rows)
        t = np.int64(rows.term[A.idx[p]])
        g += _grad(rows.kind[t], rows.table[t], A.idx[p:q], A.val[p:q], z, rows.weight)
        p = q
    return g


def trial(A, j, dx, z, rows, loss):
    """Total loss at z + dx A_j, from the `loss` at z and the rows that column j touches."""
    p, end = A.ptr[j], A.ptr[j + 1]
    while p < end:
        q = _segment_end(A.idx, p, end, rows)
        t = np.int64(rows.term[A.idx[p]])
        loss += _change(rows.kind[t], rows.table[t], A.idx[p:q], A.val[p:q], dx, z, rows.weight)
        p = q
    return loss


def length(A, j):
    return A.ptr[j + 1] - A.ptr[j]


def entry(A, j, p):
    return A.idx[A.ptr[j] + p], A.val[A.ptr[j] + p]


def shift(A, j, dx, z):
    """Z += dx A_j."""
    for p in range(A.ptr[j], A.ptr[j + 1]):
        z[A.idx[p]] += dx * A.val[p]


@inline
def _grad(kind, p, idx, a, z, w):
    g = z.dtype.type(0)
    slope, k, e, lo, hi = p[0], p[1], p[2], p[3], p[4]
    if kind == LOGISTIC:
        for i in range(a.size):
            g += weigh(w, idx[i], a[i] * logistic_grad(z[idx[i]], k, e))
    elif kind == CAPPED:
        edge = capped_edge(slope, k, hi)
        for i in range(a.size):
            g += weigh(w, idx[i], a[i] * capped_grad(z[idx[i]], slope, edge, lo, hi))
    else:
        for i in range(a.size):
            g += weigh(w, idx[i], a[i] * table_grad(z[idx[i]], slope, e, lo, hi))
    return g


@inline
def _change(kind, p, idx, a, dx, z, w):
    f = z.dtype.type(0)
    k, e, lo, hi = p[1], p[2], p[3], p[4]
    if kind == LOGISTIC:
        for i in range(a.size):
            u = z[idx[i]]
            new = logistic_value(u + dx * a[i], k, e)
            f += weigh(w, idx[i], new - logistic_value(u, k, e))
    elif kind == CAPPED:
        for i in range(a.size):
            u = z[idx[i]]
            new = capped_value(u + dx * a[i], k, hi)
            f += weigh(w, idx[i], new - capped_value(u, k, hi))
    elif k == 0:
        for i in range(a.size):
            u = z[idx[i]]
            new = sharp_value(u + dx * a[i], e, lo, hi)
            f += weigh(w, idx[i], new - sharp_value(u, e, lo, hi))
    else:
        half_k, slope = z.dtype.type(0.5) * k, z.dtype.type(1) / k
        for i in range(a.size):
            u = z[idx[i]]
            new = curved_value(u + dx * a[i], half_k, slope, e, lo, hi)
            f += weigh(w, idx[i], new - curved_value(u, half_k, slope, e, lo, hi))
    return np.float64(f)
