"""The best child of two points: where they differ, each connected part is taken from the better parent."""

import numpy as np

from .column import entry, length
from .jit import inline, kernel
from .quadratic import turn


@kernel
def cross(C, s, g, score, other, sign, part, stack):
    """Give s those parts of sign * other, connected by couplings, that lower its value.

    Parts do not touch each other, so what remains is at least as good as either parent.

    Parameters
    ----------
    s, g, score : the first parent, which becomes the child
    other, sign : the second parent, times 1 or -1
    part, stack : (n,) int64, scratch

    Returns the spins that were changed.
    """
    changed, parts = 0, 0
    for j in range(s.size):
        part[j] = -1
    for j in range(s.size):
        if part[j] >= 0 or s[j] == sign * other[j]:
            continue
        size = _grow(C, s, other, sign, part, stack, j, parts)
        if _rise(C, s, g, part, stack, size) < -1e-9 * abs(score[0]):
            for p in range(size):
                turn(C, s, g, score, stack[p])
            changed += size
        parts += 1
    return changed


@inline
def _grow(C, s, other, sign, part, stack, first, name):
    """The connected part of disagreement that holds `first`, listed in `stack`; its size."""
    stack[0], part[first], size, done = first, name, 1, 0
    while done < size:
        i = stack[done]
        done += 1
        for p in range(length(C, i)):
            j = np.int64(entry(C, i, p)[0])
            if part[j] < 0 and s[j] != sign * other[j]:
                part[j] = name
                stack[size] = j
                size += 1
    return size


@inline
def _rise(C, s, g, part, stack, size):
    """Change of the value when all of a part flips: couplings inside it do not change."""
    total = 0.0
    for p in range(size):
        i = stack[p]
        total -= np.float64(s[i] * g[i])
        for q in range(length(C, i)):
            j, coupling = entry(C, i, q)
            if part[j] == part[i]:
                total += 0.5 * np.float64(s[i] * s[j] * coupling)
    return total
