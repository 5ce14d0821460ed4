"""Xoshiro256++ on a uint64[4] state owned by the caller."""

import numpy as np

from dcra._kernels.seed import GOLDEN, MIX1, MIX2

from .jit import inline, kernel

_GOLDEN, _MIX1, _MIX2 = np.uint64(GOLDEN), np.uint64(MIX1), np.uint64(MIX2)
_11, _17, _19, _23 = np.uint64(11), np.uint64(17), np.uint64(19), np.uint64(23)
_27, _30, _31, _41, _45 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(41), np.uint64(45)
_UNIT = 2.0**-53


@inline
def _mix(v):
    v = (v ^ (v >> _30)) * _MIX1
    v = (v ^ (v >> _27)) * _MIX2
    return v ^ (v >> _31)


@kernel
def reseed(rng, seed, index):
    """Set `rng` to `seed.state(seed, index)`; both arguments uint64."""
    v = _mix(seed + _GOLDEN) + index * _GOLDEN
    for i in range(4):
        v = v + _GOLDEN
        rng[i] = _mix(v ^ index)


@inline
def draw(rng):
    """Next 64 random bits."""
    s0, s1, s2, s3 = rng[0], rng[1], rng[2], rng[3]
    v = s0 + s3
    bits = ((v << _23) | (v >> _41)) + s0
    s2 ^= s0
    s3 ^= s1
    rng[0] = s0 ^ s3
    rng[1] = s1 ^ s2
    rng[2] = s2 ^ (s1 << _17)
    rng[3] = (s3 << _45) | (s3 >> _19)
    return bits


@inline
def uniform(rng):
    """A float64 in [0, 1)."""
    return np.int64(draw(rng) >> _11) * _UNIT


@inline
def below(rng, n):
    """An integer in [0, n)."""
    return np.int64(uniform(rng) * n)


@inline
def shuffle(rng, order):
    """Fisher-Yates, in place."""
    for i in range(order.size - 1, 0, -1):
        j = below(rng, i + 1)
        order[i], order[j] = order[j], order[i]
