"""Trees before which couplings, where there are any, become squares."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Starts
from dcra.exact.patience import Patience
from dcra.exact.squares import Squares
from dcra.exact.squaring import Squaring, SquaringState
from dcra.exact.tree_proof import TreeProof


class PreparedProof(TreeProof):
    """A tree that begins at once, or after a first task; `points` are spins, or None where none are known."""

    def __init__(self, compiled: Compiled, points: Host | None, patience: Patience) -> None:
        super().__init__(compiled, patience)
        self.points = None if points is None else np.atleast_2d(points)
        self.squaring: Squaring | None = None
        self.preparing: SquaringState | None = None
        if compiled.problem.quadratic is not None:
            self.squaring = Squaring(np.zeros(compiled.n) if self.points is None else self.points[0])

    @abstractmethod
    def begin(self, squares: Squares | None) -> None:
        """Make the form and the root of the tree."""

    @property
    def prepared(self) -> bool:
        return self.squaring is None and self.preparing is None

    def first_task(self) -> Squaring | None:
        """What is to be done before the tree begins; once."""
        first, self.squaring = self.squaring, None
        return first

    def prepare(self, work: int) -> None:
        """Go on with it here."""
        if self.squaring is not None:
            self.preparing = self.squaring.start(self.compiled, Starts(0, 0, 1))
            self.squaring = None
        assert self.preparing is not None
        self.preparing.advance(work)
        if self.preparing.done:
            squares, self.preparing = self.preparing.squares, None
            self.begin_with(squares)

    def begin_with(self, squares: Squares | None) -> None:
        """Begin, unless numbers were too large for squares, or time too short."""
        if squares is not None:
            self.begin(squares)
