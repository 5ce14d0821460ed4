"""Two lists of rows, sorted by the cells of a grid, and the pair of rows that are closest to each other."""

import math

import numpy as np

from .jit import kernel


@kernel
def cells(rows, shift, scale, factors, drop, first, last, key, start):
    """The keys of rows first..last, and how often each occurs, counted one place later in `start`.

    rows : (k, m) int32;  shift, scale : (m,) float64;  factors : (m,) uint64
    key : (k,) int64      the upper bits, all but `drop`, of a sum of factors times cells
    """
    for i in range(first, last):
        mixed = np.uint64(0)
        for j in range(rows.shape[1]):
            cell = np.int64(math.floor((rows[i, j] + shift[j]) * scale[j]))
            mixed += np.uint64(cell) * factors[j]
        key[i] = np.int64(mixed >> drop)
        start[key[i] + 1] += 1


@kernel
def scatter(rows, key, place, first, last, out, origin):
    """Put rows first..last at the places of their keys, which move on; origin says whence they came."""
    for i in range(first, last):
        at = place[key[i]]
        place[key[i]] += 1
        origin[at] = i
        for j in range(rows.shape[1]):
            out[at, j] = rows[i, j]


@kernel
def closest(left, left_start, right, right_start, first, last, best):
    """Compare the rows that share a key, for the keys first..last.

    left, right : (k, m) int32, sorted by key
    left_start, right_start : (keys+1,) int64, where the rows of each key begin
    best : (3,) int64        distance (sum of absolute differences), and the two rows, of the closest so far

    Returns the pairs compared.
    """
    pairs = 0
    for key in range(first, last):
        for i in range(left_start[key], left_start[key + 1]):
            for j in range(right_start[key], right_start[key + 1]):
                pairs += 1
                distance = np.int64(0)
                for k in range(left.shape[1]):
                    distance += abs(np.int64(left[i, k]) - right[j, k])
                    if distance >= best[0]:
                        break
                if distance < best[0]:
                    best[0], best[1], best[2] = distance, i, j
    return pairs
