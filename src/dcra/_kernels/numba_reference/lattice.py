"""Squared loss over levels -(q-1), ..., -1, 1, ..., q-1 in Gram form: u'Gu - 2 h'u, with fields g = Gu - h.

Moving u_i by d changes the value by 2 d g_i + d^2 G_ii, and the fields by d times a row of G: what would be a
pass over a column of A in the template is one number here.
"""

import math

import numpy as np

from .jit import inline, kernel
from .rng import below, reseed, uniform

FROZEN = 40.0
_LEAST = math.exp(-FROZEN)


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
def sample_levels(G, targets, lo, hi, q, seed, temperatures, least, most, tolerance, U, P, E, scratch):
    """Sample exp(-value / temperature) for the frames lo..hi by heat bath, from U.

    There is a copy of the frame at each of `temperatures`, ascending; copies of neighbouring temperatures
    are exchanged by Metropolis' rule. P[k, i, l] is the mean, over the passes after the first `least / 4`, of
    the probability of level l of coordinate i at the lowest temperature, given all others; E[k] the mean and
    the mean square of the value there. There are `least` passes, and twice as many as before, up to `most`,
    while the second half of them moves the probabilities by more than `tolerance` on average.
    scratch = (u, g (copies, n), values (copies,), order (copies,) int64, weights (q,), half (n, q), rng).
    """
    u, g, values, order, weights, half, rng = scratch
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
        done, passes = -(least // 4), least // 2
        while done < passes:
            for s in range(done, passes):
                _exchange(G, q, u, g, values, order, temperatures, s >= 0, P[k], weights, rng)
                if s >= 0:
                    value = values[order[0]]
                    E[k, 0] += value
                    E[k, 1] += value * value
            done = passes
            moved = _moved(P[k], half, done)
            if done < least or (2 * done <= most and moved > tolerance):
                passes = 2 * done
        for i in range(n):
            for l in range(q):
                P[k, i, l] = half[i, l]
        E[k, 0] /= done
        E[k, 1] /= done


@inline
def _exchange(G, q, u, g, values, order, temperatures, counts, P, weights, rng):
    """A pass over every copy, then exchanges; where that counts, P gets the coldest copy's probabilities."""
    for t in range(order.size):
        c = order[t]
        values[c] += _heat_bath(G, q, u[c], g[c], temperatures[t], counts and t == 0, P, weights, rng)
    for t in range(order.size - 1, 0, -1):
        down, up = order[t - 1], order[t]
        gain = (1.0 / temperatures[t - 1] - 1.0 / temperatures[t]) * (values[down] - values[up])
        if gain >= 0 or uniform(rng) < math.exp(gain):
            order[t - 1], order[t] = up, down


@inline
def _moved(sums, means, count):
    """Replace the means by sums / count; how far they move on average."""
    moved = 0.0
    for i in range(means.shape[0]):
        for l in range(means.shape[1]):
            now = sums[i, l] / count
            moved += abs(now - means[i, l])
            means[i, l] = now
    return moved / means.size


@inline
def _heat_bath(G, q, u, g, temperature, counts, P, weights, rng):
    """Draw every coordinate anew; the change of the value. Where that counts, P gets the probabilities."""
    change = 0.0
    for i in range(u.size):
        _conditional(q, u[i], g[i], G[i, i], temperature, weights)
        if counts:
            for l in range(q):
                P[i, l] += weights[l]
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
    """Probabilities of the levels of one coordinate, none below exp(-FROZEN) of the largest."""
    lowest = np.inf
    for l in range(q):
        d = np.float64(2 * l - (q - 1) - now)
        rise = d * (2.0 * np.float64(field) + d * np.float64(curvature))
        weights[l] = rise
        lowest = min(lowest, rise)
    total = 0.0
    for l in range(q):
        rise = (weights[l] - lowest) / temperature
        weights[l] = 1.0 if rise == 0 else _LEAST if rise > FROZEN else math.exp(-rise)
        total += weights[l]
    for l in range(q):
        weights[l] /= total


@kernel
def sphere(R, z, q, u, best, radius, most, scratch):
    """Depth-first search for the levels with least |z - R u|^2, R upper triangular, nearest levels first.

    `best` holds a point of squared distance `radius`, and at the end the best one found. Returns the least
    squared distance and the nodes visited; more than `most` means that the search was cut short.
    scratch = (part (n+1,), level, step (n,), rest (n, n+1), stale (n,) int64): rest[k, j] is what unknowns
    j, ..., n-1 leave of z_k, and stale[k] the last of them that has moved since (Ghasemmehdi and Agrell).
    """
    part, level, step, rest, stale = scratch
    n = R.shape[0]
    for k in range(n):
        rest[k, n] = z[k]
        stale[k] = n - 1
    nodes = 0
    k = n - 1
    part[n] = 0.0
    _enter(R, q, u, level, step, rest, stale, k)
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
                _enter(R, q, u, level, step, rest, stale, k)
                continue
        k = _climb(q, u, step, k + 1)  # levels come nearest first: what is left is farther
        if k == n:
            return radius, nodes
        stale[k - 1] = max(stale[k - 1], k)


@inline
def _enter(R, q, u, level, step, rest, stale, k):
    """The real optimum of coordinate k given those above it, and the nearest level to begin with."""
    for j in range(stale[k], k, -1):
        rest[k, j] = rest[k, j + 1] - R[k, j] * u[j]
    if k > 0:
        stale[k - 1] = max(stale[k - 1], stale[k])
    stale[k] = k + 1
    level[k] = rest[k, k + 1] / R[k, k]
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
