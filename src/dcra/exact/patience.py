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

    @property
    def _step(self) -> int:
        """Work from one of the places at which it may end to the next, whatever the pauses are."""
        return max(1, int(self.least) // 8)

    def portion(self, done: int, work: int) -> int:
        """Work up to the next of these places."""
        return work if self.least == inf else min(work, self._step - done % self._step)

    def may_end(self, before: int, after: int) -> bool:
        """Whether one of these places lies between."""
        return self.least < inf and before // self._step < after // self._step

    def exhausted(self, work: float, progress: float = 0.0) -> bool:
        """Whether a tree is to be given up, with so much of it done."""
        return work > self.least and work > self.most * min(1.0, progress)


ENDLESS = Patience()
