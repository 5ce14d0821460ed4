"""The points of a search that may end up in its pool."""

from __future__ import annotations

from math import comb, inf

import numpy as np

from dcra._array import Host
from dcra.model.pool import Pool

MOST_POINTS, MOST_BYTES = 1 << 16, 1 << 26
"""Points kept at a time, and what they may take."""


class Kept:
    """The best points met, as many as a pool could need.

    A point keeps at most V others out of the pool, V being the points that are too near to it; so the best
    (size - 1) V + 1 hold all that there are to choose from. Where that is too many, the best of them are
    kept, and those that would be chosen now: `complete` says whether any were lost.
    """

    def __init__(self, asked: Pool, n: int) -> None:
        self.asked, self.n = asked, n
        near = sum(comb(n, d) for d in range(min(asked.distance - 1, n) + 1))
        needed = (asked.size - 1) * near + 1
        room = min(MOST_POINTS, MOST_BYTES // max(1, n // 8))
        self.reserve = max(asked.size, min(needed, room))
        self.complete = self.reserve >= min(needed, 2**n if n < 64 else needed)
        self.values: dict[bytes, float] = {}
        self.bar = inf  # points at or above it are not worth keeping

    def add(self, spins: Host, values: Host) -> None:
        """Take note of points (k, n) and their objectives."""
        worth = np.flatnonzero(values < self.bar)
        for packed, value in zip(np.packbits(spins[worth] > 0, axis=1), values[worth].tolist(), strict=True):
            self.values[packed.tobytes()] = value
        if len(self.values) > 2 * self.reserve:
            self._thin_out()

    def _thin_out(self) -> None:
        ranked = self._ranked()
        kept = {key: self.values[key] for key in ranked[: self.reserve]}
        if not self.complete:
            kept |= {key: self.values[key] for key in self._chosen(ranked)}
        else:
            self.bar = self.values[ranked[self.reserve - 1]]
        self.values = kept

    def _ranked(self, first: bytes = b"") -> list[bytes]:
        return sorted(self.values, key=lambda key: (key != first, self.values[key], key))

    def _chosen(self, ranked: list[bytes]) -> list[bytes]:
        """Each that is far from all that were chosen before, as `far_enough` has it, from bits in words."""
        packed = np.frombuffer(b"".join(ranked), np.uint8).reshape(len(ranked), -1)
        words = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
        left = np.arange(len(ranked))
        chosen: list[bytes] = []
        while left.size and len(chosen) < self.asked.size:
            first = left[0]
            chosen.append(ranked[first])
            apart = np.bitwise_count(words[left] ^ words[first]).sum(axis=1, dtype=np.int64)
            left = left[apart >= self.asked.distance]
        return chosen

    def best(self, first: Host | None = None) -> tuple[Host, Host]:
        """The pool: spins (k, n) and values (k,), best first, and of those that are as good `first` (n,)."""
        key = b""
        if first is not None:
            key = np.packbits(first > 0).tobytes()
            self.values.setdefault(key, min(self.values.values(), default=inf))
        chosen = self._chosen(self._ranked(key)) if self.values else []
        if not chosen:
            return np.empty((0, self.n)), np.empty(0)
        packed = np.frombuffer(b"".join(chosen), np.uint8).reshape(len(chosen), -1)
        bits = np.unpackbits(packed, axis=1)[:, : self.n]
        return np.where(bits > 0, 1.0, -1.0), np.asarray([self.values[key] for key in chosen])
