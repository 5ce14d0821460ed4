"""Sums of four lists that hit a target: the inner loop of meeting in the middle.

A list is (key, h, start): its keys (uint64) and their residues h modulo M, sorted by h; the keys of residue v
stand at start[v]:start[v+1]. A set of keys is kept as bits, in few enough words to stay in the cache.
"""

import numpy as np

from .jit import inline, kernel

_1, _6, _63 = np.uint64(1), np.uint64(6), np.uint64(63)


@kernel
def meet(first, second, third, fourth, target, residue, lo, hi, bits, few, shift, rest, hits):
    """For each c in lo..hi, whether some a + b + p + q = target (mod 2^64) can have h_a + h_b = c (mod M).

    Few sums of the last two lists are not ruled out by the bits of the first two; these are kept in `rest`,
    and the sums of the first two are looked up among their bits in turn. Chance lets a few pass both.

    Parameters
    ----------
    target, residue : uint64, int
        What keys and residues must add up to.
    bits, few : (2^(k-6),) uint64 scratch, cleared;  shift : uint64, 64 - k
    rest : (capacity,) uint64 scratch
    hits : (hi - lo,) bool, set

    Returns the sums looked at.
    """
    work, modulus = 0, second[2].size - 1
    for c in range(lo, hi):
        for i in range(bits.size):
            bits[i] = 0
        other = residue - c if residue >= c else residue - c + modulus
        work += _mark(first, second, c, bits, shift)
        count = _sift(third, fourth, other, target, bits, shift, rest)
        hits[c - lo] = count > rest.size or _any_left(first, second, c, few, shift, rest, count)
        for i in range(min(count, rest.size)):
            few[rest[i] >> (shift + _6)] = 0
    return 3 * work


@inline
def _mark(first, second, c, bits, shift):
    """Set the bits of all sums of residue c; how many there are."""
    key1, h1, _ = first
    key2, _, start2 = second
    modulus, count = start2.size - 1, 0
    for a in range(key1.size):
        v = c - h1[a]
        if v < 0:
            v += modulus
        for b in range(start2[v], start2[v + 1]):
            at = (key1[a] + key2[b]) >> shift
            bits[at >> _6] |= _1 << (at & _63)
            count += 1
    return count


@inline
def _sift(third, fourth, c, target, bits, shift, rest):
    """Keep what sums of residue c lack to the target where its bit is set; how many there are."""
    key3, h3, _ = third
    key4, _, start4 = fourth
    modulus, count = start4.size - 1, 0
    for p in range(key3.size):
        v = c - h3[p]
        if v < 0:
            v += modulus
        lack = target - key3[p]
        for q in range(start4[v], start4[v + 1]):
            at = (lack - key4[q]) >> shift
            if (bits[at >> _6] >> (at & _63)) & _1:
                if count < rest.size:
                    rest[count] = lack - key4[q]
                count += 1
    return count


@inline
def _any_left(first, second, c, few, shift, rest, count):
    """Whether a sum of residue c is equal to one of the first `count` keys in `rest`."""
    for i in range(count):
        at = rest[i] >> shift
        few[at >> _6] |= _1 << (at & _63)
    key1, h1, _ = first
    key2, _, start2 = second
    modulus, found = start2.size - 1, False
    for a in range(key1.size):
        v = c - h1[a]
        if v < 0:
            v += modulus
        for b in range(start2[v], start2[v + 1]):
            key = key1[a] + key2[b]
            at = key >> shift
            if (few[at >> _6] >> (at & _63)) & _1:
                for i in range(count):
                    found = found or rest[i] == key
    return found
