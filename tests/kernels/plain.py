"""The loops over couplings and permutations once more, one line at a time, on a plain matrix C."""

import numpy as np

BITS = (1 << 64) - 1


def matrix(store, n):
    """The couplings of a store, as float64."""
    if store.variant == "dense":
        return store.cols.T.astype(float)
    C = np.zeros((n, n))
    C[store.idx, np.repeat(np.arange(n), np.diff(store.ptr))] = store.val
    return C


def draw(rng):
    """Xoshiro256++."""
    a, b, c, d = map(int, rng)
    v = (a + d) & BITS
    bits = (((v << 23) | (v >> 41)) + a) & BITS
    c, d = c ^ a, d ^ b
    rng[:] = [a ^ d, b ^ c, c ^ (b << 17) & BITS, ((d << 45) | (d >> 19)) & BITS]
    return bits


def below(rng, n):
    return int((draw(rng) >> 11) * 2.0**-53 * n)


def turn(C, s, g, score, j):
    score[0] -= s[j] * g[j]
    s[j] = -s[j]
    g += s[j] * C[:, j]


def keep(s, best, score):
    if score[0] < score[1]:
        best[:] = s
        score[1] = score[0]


def anneal(C, s, g, score, best, rng, temperatures, thresholds):
    for temperature in temperatures:
        place = draw(rng) & (thresholds.size - 1)
        for j in range(s.size):
            if -s[j] * g[j] < temperature * thresholds[(place + j) % thresholds.size]:
                turn(C, s, g, score, j)
        keep(s, best, score)


def tabu(C, s, g, score, best, until, clock, rng, moves, tenure, spread):
    for _ in range(moves):
        gain = s * g
        j = int(np.argmax(gain))
        if not score[0] - gain[j] < min(score[:2]):
            j = int(np.argmax(np.where(until <= clock[0], gain, -np.inf)))
        clock[0] += 1
        if gain[j] <= 0:
            keep(s, best, score)
        until[j] = clock[0] + tenure + below(rng, spread)
        turn(C, s, g, score, j)
    keep(s, best, score)


def cross(C, s, g, score, other, sign, part, stack):
    """Parts are found by spreading from their first spin until nothing is added."""
    left = s != sign * other
    while left.any():
        part = np.arange(s.size) == np.argmax(left)
        while (wider := part | (left & (C[:, part] != 0).any(1))).sum() > part.sum():
            part = wider
        left &= ~part
        inside = 0.5 * s[part] @ C[np.ix_(part, part)] @ s[part]
        if inside - s[part] @ g[part] < -1e-9 * abs(score[0]):
            for j in np.flatnonzero(part):
                turn(C, s, g, score, j)


def search(F, D, p, cost, best_p, change, until, clock, rng, moves):
    """Swaps judged by their definition."""
    n = p.size

    def after(i, j):
        q = p.copy()
        q[[i, j]] = q[[j, i]]
        return np.sum(F * D[np.ix_(q, q)])

    for _ in range(moves):
        clock[0] += 1
        now = np.sum(F * D[np.ix_(p, p)])
        wanted, free = [], []
        for i in range(n):
            for j in range(i + 1, n):
                lost = until[i, p[j]], until[j, p[i]]
                rise = after(i, j) - now
                if cost[0] + rise < cost[1] - 1e-9 * abs(cost[1]) or max(lost) < clock[0] - 5 * n * n:
                    wanted.append((rise, i, j))
                elif min(lost) < clock[0]:
                    free.append((rise, i, j))
        if not wanted + free:
            continue
        rise, r, s = min(wanted or free)
        cost[0] += rise
        p[[r, s]] = p[[s, r]]
        for i, a in ((r, p[s]), (s, p[r])):
            until[i, a] = clock[0] + n - n // 10 + below(rng, 1 + n // 5)
        if cost[0] < cost[1]:
            cost[1], best_p[:] = cost[0], p
    for i in range(n):
        for j in range(i + 1, n):
            change[i, j] = after(i, j) - np.sum(F * D[np.ix_(p, p)])
