"""The best points that a tree over couplings knows, where a pool is wanted: bounds must reach the last."""

from __future__ import annotations

from math import inf

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.exact.couplings_form import CouplingsForm
from dcra.exact.incumbent import STEP_DROP, Incumbent

MOST_NEIGHBOURS = 10**8
"""Numbers that judging the neighbours of a point may touch."""


class Ranked(Incumbent):
    """`count` points, or all that are known; what is not known must not fall below the last one's value."""

    def __init__(self, compiled: Compiled, form: CouplingsForm, count: int) -> None:
        super().__init__(compiled, form, form.step)
        self.count, self.alone = count, np.flatnonzero(form.vertex < 0)
        self.mirrored = not form.bordered
        self.known: dict[bytes, float] = {}

    def alike(self, spins: Host) -> Host:
        """Points (k, n), and those of the same value that they stand for: as many as are wanted."""
        if self.mirrored:
            spins = np.concatenate([spins, -spins])
        free = self.alone[: max(1, (self.count - 1).bit_length())]
        for j in free:
            turned = spins.copy()
            turned[:, j] *= -1
            spins = np.concatenate([spins, turned])
        return spins

    def around(self, spins: Host) -> Host:
        """A point (n,), and those one or two flips away, unless they are too many: to begin with."""
        n = spins.size
        flips = np.where(np.eye(n) > 0, -1.0, 1.0)
        if n * n * n * n // 2 <= MOST_NEIGHBOURS:
            one, two = np.triu_indices(n, 1)
            flips = np.concatenate([flips, flips[one] * flips[two]])
        return np.concatenate([spins[None], flips * spins])

    def _lower(self, spins: Host, values: Host) -> None:
        for packed, value in zip(np.packbits(spins > 0, axis=1), values.tolist(), strict=True):
            self.known[packed.tobytes()] = value
        ranked = sorted(self.known.items(), key=lambda item: (item[1], item[0]))[: self.count]
        self.known = dict(ranked)
        if len(ranked) == self.count and ranked[-1][1] < inf:
            drop = 0.0 if self.step is None else STEP_DROP * self.step
            self.cutoff = min(self.cutoff, self.form.in_units(ranked[-1][1] - drop))
