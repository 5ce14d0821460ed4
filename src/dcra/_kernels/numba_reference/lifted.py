"""Algorithms 1 and 2 of the paper for one start, in a compiled loop.

The factor is kept by columns: V (p, m) holds v0, w_1, ..., w_n as rows. `engines.dcra` has the plain form.
"""

import math

import numpy as np

from dcra._kernels.store import LOGISTIC

from .column import grad
from .jit import inline, kernel
from .rows import clip, logistic_value
from .state import linear_at, refresh

RHO, CURVATURE, SMOOTHED, ANCHOR, INNER, OUTER, DONE = range(7)
"""Places in the progress of a start."""

GROWTH, RHO_MAX, STEP_TOL, GAP_TOL, OBJECTIVE_TOL, MAX_INNER, MAX_OUTER = range(7)
BACKTRACK, SHRINK, GROW, GRID = range(7, 11)
"""Places in the options; OBJECTIVE_TOL < 0 means none, BACKTRACK 0 or 1."""


@kernel
def advance(model, b, V, x, z, progress, options, steps, scratch):
    """At most `steps` steps of Algorithm 2, with Algorithm 1's turn whenever the inner loop has ended.

    Parameters
    ----------
    V, x, z : (p, m), (n,), (r,)   factor, x_j = <v0, w_j>, A x - b; updated
    progress, options : float64    see the names above; progress is updated
    scratch : tuple                from `scratch`

    Returns the steps made.
    """
    U, x_new, z_new, g, gram, vectors = scratch
    for step in range(steps):
        if progress[DONE]:
            return step
        _gram(V, gram)
        _jacobi(gram, vectors)
        top = _largest(gram)
        for j in range(x.size):
            g[j] = grad(model.A, j, z, model.rows) + model.c[j]
        moved = _move(V, U, g, vectors, top, progress[RHO], progress[CURVATURE], options[GRID])
        for j in range(x.size):
            x_new[j] = _dot(U[0], U[j + 1])
        refresh(model, b, x_new, z_new)
        progress[INNER] += 1
        kept = True
        if options[BACKTRACK] or options[OBJECTIVE_TOL] >= 0:
            smoothed = envelope_at(model.rows, z_new) + linear_at(model.c, x_new)
            if options[BACKTRACK]:
                kept = _promised(smoothed, g, x, x_new, progress)
                progress[CURVATURE] *= options[SHRINK] if kept else options[GROW]
            if kept:
                progress[SMOOTHED] = smoothed
        if kept:
            _take(U, x_new, z_new, V, x, z)
            if moved <= options[STEP_TOL] ** 2 * V.shape[0] or progress[INNER] >= options[MAX_INNER]:
                _raise_penalty(V, gram, vectors, progress, options)
    return steps


@inline
def _promised(smoothed, g, x, x_new, progress):
    """The descent inequality of the smoothed loss in x."""
    promise = progress[SMOOTHED]
    for j in range(x.size):
        d = x_new[j] - x[j]
        promise += g[j] * d + 0.5 * progress[CURVATURE] * d * d
    return smoothed <= promise + 1e-12 * abs(progress[SMOOTHED])


@inline
def _raise_penalty(V, gram, vectors, progress, options):
    """Stop at a small rank gap, else enlarge rho."""
    progress[OUTER] += 1
    progress[INNER] = 0
    _gram(V, gram)
    _jacobi(gram, vectors)
    k = _largest(gram)
    ended = V.shape[0] - gram[k, k] <= options[GAP_TOL] * V.shape[0] or progress[OUTER] >= options[MAX_OUTER]
    change = abs(progress[SMOOTHED] - progress[ANCHOR])
    if options[OBJECTIVE_TOL] >= 0 and change <= options[OBJECTIVE_TOL] * abs(progress[ANCHOR]):
        ended = True
    progress[ANCHOR] = progress[SMOOTHED]
    progress[RHO] = min(options[GROWTH] * progress[RHO], options[RHO_MAX])
    progress[DONE] = ended


@inline
def _move(V, U, g, vectors, top, rho, L, grid):
    """U = normalised columns of L V - gradient + 2 rho u u'V, snapped to `grid`; returns |U - V|_F^2."""
    p, m = V.shape
    for i in range(m):
        U[0, i] = 0.0
    for j in range(1, p):
        for i in range(m):
            U[0, i] -= g[j - 1] * V[j, i]
            U[j, i] = -g[j - 1] * V[0, i]
    moved = 0.0
    for j in range(p):
        along = 0.0
        for i in range(m):
            along += vectors[i, top] * V[j, i]
        for i in range(m):
            U[j, i] += L * V[j, i] + 2.0 * rho * along * vectors[i, top]
        _normalize(U[j], V[j])
        for i in range(m):
            U[j, i] = math.floor(U[j, i] * grid + 0.5)
        _normalize(U[j], V[j])
        for i in range(m):
            moved += (U[j, i] - V[j, i]) ** 2
    return moved


@inline
def _normalize(u, old):
    """Scale u to unit length; a zero u becomes `old`."""
    size = math.sqrt(_dot(u, u))
    for i in range(u.size):
        u[i] = u[i] / size if size > 0 else old[i]


@inline
def _gram(V, gram):
    p, m = V.shape
    for a in range(m):
        for c in range(a + 1):
            gram[a, c] = 0.0
    for j in range(p):
        for a in range(m):
            for c in range(a + 1):
                gram[a, c] += V[j, a] * V[j, c]
    for a in range(m):
        for c in range(a):
            gram[c, a] = gram[a, c]


@inline
def _jacobi(S, vectors):
    """Diagonalise the symmetric S in place; eigenvectors are the columns of `vectors`."""
    m = S.shape[0]
    for a in range(m):
        for c in range(m):
            vectors[a, c] = 1.0 if a == c else 0.0
    for _ in range(30):
        off = total = 0.0
        for a in range(m):
            total += S[a, a] * S[a, a]
            for c in range(a):
                off += S[a, c] * S[a, c]
        if off <= 1e-32 * total:
            break
        for a in range(m - 1):
            for c in range(a + 1, m):
                _rotate(S, vectors, a, c)


@inline
def _rotate(S, vectors, a, c):
    if S[a, c] == 0:
        return
    theta = (S[c, c] - S[a, a]) / (2.0 * S[a, c])
    t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
    t = t if theta >= 0 else -t
    cosine = 1.0 / math.sqrt(t * t + 1.0)
    sine = t * cosine
    for k in range(S.shape[0]):
        left, right = S[k, a], S[k, c]
        S[k, a], S[k, c] = cosine * left - sine * right, sine * left + cosine * right
    for k in range(S.shape[0]):
        left, right = S[a, k], S[c, k]
        S[a, k], S[c, k] = cosine * left - sine * right, sine * left + cosine * right
        left, right = vectors[k, a], vectors[k, c]
        vectors[k, a], vectors[k, c] = cosine * left - sine * right, sine * left + cosine * right


@inline
def _largest(S):
    best = 0
    for k in range(1, S.shape[0]):
        if S[k, k] > S[best, best]:
            best = k
    return best


@inline
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@inline
def _take(U, x_new, z_new, V, x, z):
    for j in range(V.shape[0]):
        for i in range(V.shape[1]):
            V[j, i] = U[j, i]
    for j in range(x.size):
        x[j] = x_new[j]
    for i in range(z.size):
        z[i] = z_new[i]


@inline
def envelope_at(rows, z):
    """The smoothed losses at residuals z: the table family's conjugate gains delta g^2/2."""
    total = 0.0
    for t in range(rows.kind.size):
        slope, k, e = rows.table[t, 0], rows.table[t, 1], rows.table[t, 2]
        lo, hi = rows.table[t, 3], rows.table[t, 4]
        for i in range(rows.start[t], rows.start[t + 1]):
            if rows.kind[t] == LOGISTIC:
                f = logistic_value(z[i], k, e)
            else:
                s = z[i] - clip(z[i], -e, e)
                v = clip(s * slope, lo, hi)
                f = v * (s - 0.5 * v / slope)
            total += rows.weight[i] * f if rows.weight.size else f
    return total


@kernel
def smoothed_value(model, x, z):
    """The smoothed objective at (x, z)."""
    return envelope_at(model.rows, z) + linear_at(model.c, x)


def scratch(n: int, m: int, r: int) -> tuple[np.ndarray, ...]:
    """Work space of one start."""
    return (
        np.empty((n + 1, m)),
        np.empty(n),
        np.empty(r),
        np.empty(n),
        np.empty((m, m)),
        np.empty((m, m)),
    )
