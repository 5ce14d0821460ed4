"""Message passing that does not believe every measurement: some have errors of another size.

The errors are a mixture, N(0, noise) of most measurements and N(0, wide) of the rest. A measurement whose
misfit is u is one of the first with probability p, by Bayes' rule; with a = 1 / (V + noise) and
b = 1 / (V + wide) its message, and the slope of that, are

    g = (p a + (1 - p) b) u,      dg/du = p a + (1 - p) b - p (1 - p) (a - b)^2 u^2

Both sizes and the share of the rest are learned on the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcra._array import Host
from dcra.apps.compressed_sensing.messages import FLOOR, Messages

FIRST_SHARE, MOST_SHARE = 0.1, 0.4
"""Share of gross errors to begin with, and the largest that is believed."""

FIRST_NOISE = 0.02
"""Of the measurements' variance, to begin with."""

WIDER = 4.0
"""Gross errors have at least so many times the variance of the others."""

LEAST_SLOPE = 0.1
"""Of the slope, in units of what it were without gross errors: message passing needs it to be positive."""


class WaryMessages(Messages):
    """Messages that learn which measurements are wrong."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        size = np.var(self.target, axis=1)
        self.noise = np.maximum(self.noise, FIRST_NOISE * size).astype(self.channel.dtype)
        self.wide = (2.0 * size).astype(self.channel.dtype)
        self.share = np.full(len(self.target), FIRST_SHARE, self.channel.dtype)

    def answer(self, misfit: Host, V: Host, pick: Any) -> tuple[Host, Host]:
        noise, wide, share = (x[pick][:, None] for x in (self.noise, self.wide, self.share))
        a, b = 1 / (V + noise), 1 / (V + wide)
        squares = misfit**2
        odds = share / (1 - share) * np.sqrt(b / a) * np.exp(np.minimum(0.5 * (a - b) * squares, 80.0))
        wrong = odds / (1 + odds)
        weight = a + wrong * (b - a)
        slopes = weight - wrong * (1 - wrong) * (a - b) ** 2 * squares
        slope = np.maximum(slopes.mean(axis=1, keepdims=True), LEAST_SLOPE * a)
        self._learn(pick, wrong, squares, V, noise, wide)
        return weight * misfit, slope

    def _learn(self, pick: Any, wrong: Host, squares: Host, V: Host, noise: Host, wide: Host) -> None:
        """What the misfits say about the errors."""
        floor = FLOOR * self.channel.spread
        sizes = []
        for size, belongs in ((noise, 1 - wrong), (wide, wrong)):
            part = size / (V + size)
            total = np.maximum(belongs.sum(axis=1, keepdims=True), 1e-6)
            sizes.append((belongs * (part**2 * squares + V * part)).sum(axis=1, keepdims=True) / total)
        self.noise[pick] = np.maximum(sizes[0], floor)[:, 0]
        self.wide[pick] = np.maximum(sizes[1], WIDER * np.maximum(sizes[0], floor))[:, 0]
        self.share[pick] = np.clip(wrong.mean(axis=1), 1e-3, MOST_SHARE)
