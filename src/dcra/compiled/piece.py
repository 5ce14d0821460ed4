"""One term of a problem in spin form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf

from dcra._array import Array, namespace
from dcra.losses import Loss
from dcra.model.checks import is_foreign, require_numbers
from dcra.model.operators import Operator

Smoothing = float | tuple[float, ...]
"""One delta for all pieces, or one for each."""


@dataclass(frozen=True, eq=False)
class Piece:
    """weight * f(argument * (A s - b)), owner of the rows `where` of the stacked residual.

    `drawn` is the part of the argument that a loss with f(t z) = t f(z) let into the weight.
    """

    loss: Loss
    operator: Operator
    b: Array
    argument: float
    weight: float | Array
    where: slice
    term: int  # its place in Problem.terms
    drawn: float = 1.0

    @property
    def unit(self) -> float:
        """What a unit of A s - b is in the residuals of the term itself."""
        return self.argument * self.drawn

    def values(self, z: Array) -> Array:
        """The piece's value for residuals z = A s - b of shape (..., rows)."""
        u = z if self.argument == 1 else self.argument * z
        if isinstance(self.weight, float):
            return self.weight * self.loss.value(u)
        return namespace(z).sum(self.weight * self.loss.values(u), axis=-1)

    def slopes(self, z: Array, delta: float) -> Array:
        """Gradient in z of the smoothed piece."""
        a = self.argument
        y = self.loss.envelope_grad(z, delta) if a == 1 else self.loss.envelope_grad(a * z, delta * a * a)
        if is_foreign(self.loss):
            require_numbers(self.loss, "prox", y, tuple(z.shape))
        if a == 1:
            return y if isinstance(self.weight, float) and self.weight == 1 else self.weight * y
        return (self.weight * a) * y

    def smoothed(self, z: Array, delta: float) -> Array:
        """weight * envelope of f(argument * .) with parameter delta; the loss itself when delta = 0."""
        if delta == 0:
            return self.values(z)
        a = self.argument
        if isinstance(self.weight, float):
            value = self.loss.envelope(a * z, delta * a * a)
            if is_foreign(self.loss):
                require_numbers(self.loss, "value` or `prox", value, tuple(z.shape[:-1]))
            return self.weight * value
        p = self.loss.prox(a * z, delta * a * a)
        rows = self.loss.values(p) + (a * z - p) ** 2 / (2 * delta * a * a)
        return namespace(z).sum(self.weight * rows, axis=-1)

    def curvature(self, delta: float) -> float:
        """Largest second derivative of the smoothed piece in z."""
        own = self.argument**2 * self.loss.curvature
        bound = 0.0 if own == 0 else 1 / (delta + 1 / own) if delta > 0 or own < inf else inf
        return self.heaviest * bound if self.heaviest > 0 else 0.0

    @cached_property
    def heaviest(self) -> float:
        if isinstance(self.weight, float):
            return abs(self.weight)
        return float(namespace(self.weight).max(abs(self.weight)))

    @property
    def smooth(self) -> bool:
        return self.loss.curvature < inf
