"""How long a tree is gone on with."""

from __future__ import annotations

from math import inf
from typing import NamedTuple


class Patience(NamedTuple):
    """Work (entries of A) after which a tree is given up, and after which it is whatever it promises.

    Between the two it goes on as long as its progress says that it will be done before the second.
    """

    least: float = inf
    most: float = inf

    def portion(self, done: int, work: int) -> int:
        """Work up to the next of the places at which it may end, whatever the pauses are."""
        if self.least == inf:
            return work
        step = max(1.0, self.least / 8)
        return int(min(work, step - done % step + 1))

    def exhausted(self, work: float, progress: float = 0.0) -> bool:
        """Whether a tree is to be given up, with so much of it done."""
        return work > self.least and work > self.most * min(1.0, progress)


ENDLESS = Patience()
