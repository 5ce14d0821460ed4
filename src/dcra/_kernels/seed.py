"""Random states keyed by (seed, index), in Python; `rng.reseed` is the twin of `state` in the loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
MIX1 = 0xBF58476D1CE4E5B9
MIX2 = 0x94D049BB133111EB


def _mix(v: int) -> int:
    v = ((v ^ (v >> 30)) * MIX1) & _MASK
    v = ((v ^ (v >> 27)) * MIX2) & _MASK
    return v ^ (v >> 31)


def state(seed: int, index: int = 0) -> NDArray[np.uint64]:
    """Xoshiro256 state of stream `index` of `seed`, by splitmix64."""
    v = (_mix((seed + GOLDEN) & _MASK) + index * GOLDEN) & _MASK
    words = []
    for _ in range(4):
        v = (v + GOLDEN) & _MASK
        words.append(_mix(v ^ (index & _MASK)))
    return np.array(words, np.uint64)
