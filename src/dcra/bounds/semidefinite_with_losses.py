"""Bounds where losses and couplings stand together.

For slopes y of the losses at any point, with prox point p, f(As - b) >= f(p) + y'(As - b - p): what remains
is s'Js + (c + A'y)'s, whose least value the semidefinite relaxation bounds. Good y come from the relaxation
itself: its x = <v_j, v_0> is moved towards each new answer, as Frank and Wolfe do, and y is read off there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from dcra._array import to_numpy
from dcra.bounds.dual import trivial_bound
from dcra.bounds.semidefinite import EPS, MOST_DENSE, Relaxation, proof_seconds
from dcra.compiled.form import Compiled
from dcra.compiled.units import units_at
from dcra.model.rounding import smooth_size


@dataclass
class MixedStage:
    """The dual stage of problems with losses and a quadratic term: rounds of passes, some with a proof."""

    compiled: Compiled
    fun: float = inf
    seconds: float = inf

    ROUNDS = 48
    PASSES = 6  # of the relaxation in a round
    PROOF = 6  # rounds between two proofs
    SMOOTHEST, SHARPEST, FALL = 1.0, 0.01, 0.85  # delta in natural units

    def __post_init__(self) -> None:
        compiled = self.compiled
        self.bound = trivial_bound(compiled.problem)
        self.rounds = 0
        exact = compiled.tabulated and compiled.like.dtype == np.float64 and compiled.problem.convex
        quick = proof_seconds(compiled.n) * self.ROUNDS / self.PROOF <= min(self.seconds, 10.0)
        self.done = not (exact and quick and compiled.n <= MOST_DENSE)
        if not self.done:
            self.x = np.zeros(compiled.n)
            self.delta = units_at(compiled, to_numpy(compiled.residual_at_zero)).delta
            self.relaxation = Relaxation(compiled.quadratic_tables)
            self._aim()

    def advance(self, work: int) -> None:
        """Go on with the passes of a round; the work decides only where to pause."""
        if self.done:
            return
        relaxation = self.relaxation
        relaxation.advance(work)
        if relaxation.place or relaxation.passes % self.PASSES:
            return
        self.rounds += 1
        if self.rounds % self.PROOF == 0:
            self._prove()
        answer = relaxation.V[:-1] @ relaxation.V[-1]
        self.x += 2.0 / (self.rounds + 2.0) * (answer - self.x)
        self.done = self.rounds >= self.ROUNDS
        self._aim()

    def _aim(self) -> None:
        """Slopes at x, and the couplings with what these slopes send to each spin."""
        compiled = self.compiled
        share = max(self.SHARPEST, self.SMOOTHEST * self.FALL**self.rounds)
        deltas = [share * d for d in self.delta]
        z = compiled.residual(self.x)
        self.losses, self.size, parts = 0.0, 0.0, []
        for piece, delta in zip(compiled.pieces, deltas, strict=True):
            u = z[piece.where]
            y = piece.slopes(u, delta)
            weight = np.where(np.asarray(piece.weight) == 0, 1.0, piece.weight)
            p = u - delta * y / weight
            value = float(piece.values(p))
            self.losses += value - float(y @ (p + piece.b))
            reach = piece.operator.row_sizes() + np.abs(piece.b)  # b may be what is left of larger numbers
            self.size += abs(value) + float(np.abs(y) @ (np.abs(p) + 3 * reach))
            parts.append(y)
        q = np.asarray(compiled.pull(np.concatenate(parts)), np.float64)
        self.relaxation.quadratic = compiled.quadratic_tables._replace(field=2.0 * q)

    def _prove(self) -> None:
        compiled = self.compiled
        own = self.losses + self.relaxation.lower_bound()
        rows, columns = compiled.n_rows, compiled.n
        field = float(np.sum(np.abs(self.relaxation.quadratic.field)))
        allowance = EPS * (rows + columns) * (self.size + field)
        bound = compiled.value_scale * (own - allowance) + compiled.offset
        summed = (columns + 4) * EPS * smooth_size(compiled.problem)
        self.bound = max(self.bound, bound - summed - 8 * EPS * abs(compiled.offset))
