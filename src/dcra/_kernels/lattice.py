"""Squared loss over levels -(q-1), ..., -1, 1, ..., q-1 in Gram form: u'Gu - 2 h'u, with fields g = Gu - h.

Moving u_i by d changes the value by 2 d g_i + d^2 G_ii, and the fields by d times a row of G: what would be a
pass over a column of A in the template is one number here.
"""

import math

import numpy as np

from .jit import inline, kernel
from .rng import below, reseed, uniform


@kernel
def search_levels(G, targets, lo, hi, q, starts, seed, temperatures, U, F, scratch):
    """Anneal jobs lo..hi; job k is start k % starts of the frame k // starts, whose h is a row of targets.

    Fills U[k] and F[k] with the best point met and its value without the constant |y|^2. Start 0 of a frame
    begins at U[k] as it comes, the others at random. temperatures (T,) are in the units of G; a pass of
    exact descent follows each annealing. What is random in job k depends on (seed, k) alone.
    """
    u, g, best, rng = scratch
    moves = 0
    for k in range(lo, hi):
        h = targets[k // starts]
        reseed(rng, seed, np.uint64(k))
        for i in range(u.size):
            u[i] = U[k, i] if k % starts == 0 else 2 * below(rng, q) - (q - 1)
        value = _fields(G, h, u, g)
        lowest = value
        for i in range(u.size):
            best[i] = u[i]
        for temperature in temperatures:
            value, lowest = _pass(G, q, u, g, best, rng, temperature, value, lowest)
            moves += u.size
        if value < lowest:
            for i in range(u.size):
                best[i] = u[i]
        for i in range(u.size):
            u[i] = best[i]
        value = _fields(G, h, u, g)
        F[k] = _descend(G, q, u, g, value)
        for i in range(u.size):
            U[k, i] = u[i]
    return moves


@inline
def _fields(G, h, u, g):
    """g = Gu - h, and the value u'Gu - 2 h'u."""
    for i in range(u.size):
        g[i] = -h[i]
    for j in range(u.size):
        _add(G, j, u[j], g)
    value = 0.0
    for i in range(u.size):
        value += np.float64(u[i]) * (np.float64(g[i]) - np.float64(h[i]))
    return value


@inline
def _add(G, j, d, g):
    row = G[j]
    for i in range(g.size):
        g[i] += d * row[i]


@inline
def _pass(G, q, u, g, best, rng, temperature, value, lowest):
    """One proposal per coordinate: a step to a neighbouring level."""
    falling = False
    for i in range(u.size):
        d = u.dtype.type(2.0)
        if u[i] == q - 1 or (u[i] > 1 - q and uniform(rng) < 0.5):
            d = -d
        rise = np.float64(d * (g[i] + g[i] + d * G[i, i]))
        if rise > 0:
            if rise > 30.0 * temperature or uniform(rng) >= math.exp(-rise / temperature):
                continue
            if falling and value < lowest:
                lowest = value
                for j in range(u.size):
                    best[j] = u[j]
            falling = False
        else:
            falling = True
        u[i] += d
        value += rise
        _add(G, i, d, g)
    if falling and value < lowest:
        lowest = value
        for j in range(u.size):
            best[j] = u[j]
    return value, lowest


@inline
def _descend(G, q, u, g, value):
    """Move single coordinates to their best levels until none improves."""
    quiet, i = 0, 0
    while quiet < u.size:
        d = _best_level(q, u[i] - g[i] / G[i, i] if G[i, i] > 0 else u[i]) - u[i]
        gain = -np.float64(d * (g[i] + g[i] + d * G[i, i]))
        quiet += 1
        if gain > 1e-6 * np.float64(G[i, i]):
            u[i] += d
            value -= gain
            _add(G, i, d, g)
            quiet = 0
        i = (i + 1) % u.size
    return value


@inline
def _best_level(q, t):
    """The level nearest to t."""
    level = 2.0 * math.floor(0.5 * (t + (q - 1)) + 0.5) - (q - 1)
    return min(max(level, 1.0 - q), q - 1.0)


@kernel
def sample_levels(G, targets, lo, hi, q, seed, temperatures, burn, sweeps, U, P, E, scratch):
    """Sample exp(-value / temperature) for the frames lo..hi by heat bath, from U.

    There is a copy of the frame at each of `temperatures`, ascending; copies of neighbouring temperatures
    are exchanged by Metropolis' rule. P[k, i, l] is the mean, over `sweeps` passes after `burn` others, of
    the probability of level l of coordinate i at the lowest temperature, given all others; E[k] the mean and
    the mean square of the value there.
    scratch = (u, g (copies, n), values (copies,), order (copies,) int64, weights (q,), rng).
    """
    u, g, values, order, weights, rng = scratch
    copies, n = u.shape
    for k in range(lo, hi):
        reseed(rng, seed, np.uint64(k))
        for c in range(copies):
            order[c] = c
            for i in range(n):
                u[c, i] = U[k, i]
            values[c] = _fields(G, targets[k], u[c], g[c])
        for i in range(n):
            for l in range(q):
                P[k, i, l] = 0.0
        E[k, 0] = E[k, 1] = 0.0
        for s in range(burn + sweeps):
            for t in range(copies):
                c = order[t]
                share = 1.0 / sweeps if t == 0 and s >= burn else 0.0
                values[c] += _heat_bath(G, q, u[c], g[c], temperatures[t], share, P[k], weights, rng)
            if s >= burn:
                value = values[order[0]]
                E[k, 0] += value / sweeps
                E[k, 1] += value * value / sweeps
            for t in range(copies - 1, 0, -1):
                down, up = order[t - 1], order[t]
                gain = (1.0 / temperatures[t - 1] - 1.0 / temperatures[t]) * (values[down] - values[up])
                if gain >= 0 or uniform(rng) < math.exp(gain):
                    order[t - 1], order[t] = up, down


@inline
def _heat_bath(G, q, u, g, temperature, share, P, weights, rng):
    """Draw every coordinate anew; the change of the value. Adds `share` of the probabilities to P."""
    change = 0.0
    for i in range(u.size):
        _conditional(q, u[i], g[i], G[i, i], temperature, weights)
        if share > 0:
            for l in range(q):
                P[i, l] += share * weights[l]
        t, l = uniform(rng), 0
        while l < q - 1 and t >= weights[l]:
            t -= weights[l]
            l += 1
        d = u.dtype.type(2 * l - (q - 1)) - u[i]
        if d != 0:
            change += np.float64(d * (g[i] + g[i] + d * G[i, i]))
            u[i] += d
            _add(G, i, d, g)
    return change


@inline
def _conditional(q, now, field, curvature, temperature, weights):
    """Probabilities of the levels of one coordinate."""
    lowest = np.inf
    for l in range(q):
        d = np.float64(2 * l - (q - 1) - now)
        rise = d * (2.0 * np.float64(field) + d * np.float64(curvature))
        weights[l] = rise
        lowest = min(lowest, rise)
    total = 0.0
    for l in range(q):
        weights[l] = math.exp((lowest - weights[l]) / temperature)
        total += weights[l]
    for l in range(q):
        weights[l] /= total


@kernel
def sphere(R, z, q, u, best, radius, most, part, level, step):
    """Depth-first search for the levels with least |z - R u|^2, R upper triangular, nearest levels first.

    `best` holds a point of squared distance `radius`, and at the end the best one found. part (n+1,), level
    and step (n,) are scratch. Returns the least squared distance and the nodes visited; more than `most`
    means that the search was cut short.
    """
    n = R.shape[0]
    nodes = 0
    k = n - 1
    part[n] = 0.0
    _enter(R, z, q, u, level, step, k)
    while True:
        nodes += 1
        if nodes > most:
            return radius, nodes
        e = R[k, k] * (level[k] - u[k])
        part[k] = part[k + 1] + e * e
        if part[k] < radius:
            if k == 0:
                radius = part[0]
                for i in range(n):
                    best[i] = u[i]
            else:
                k -= 1
                _enter(R, z, q, u, level, step, k)
                continue
        k = _climb(q, u, step, k + 1)  # levels come nearest first: what is left is farther
        if k == n:
            return radius, nodes


@inline
def _enter(R, z, q, u, level, step, k):
    """The real optimum of coordinate k given those above it, and the nearest level to begin with."""
    t = z[k]
    for j in range(k + 1, R.shape[0]):
        t -= R[k, j] * u[j]
    level[k] = t / R[k, k]
    u[k] = _best_level(q, level[k])
    step[k] = 2.0 if level[k] > u[k] else -2.0


@inline
def _climb(q, u, step, k):
    """Go on to the next level of coordinate k, or of the first one above it that has any left."""
    while k < u.size:
        for _ in range(2):  # on either side in turn; beyond both ends there is none
            u[k] += step[k]
            step[k] = -step[k] - (2.0 if step[k] > 0 else -2.0)
            if abs(u[k]) < q:
                return k
        k += 1
    return k
