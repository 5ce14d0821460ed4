"""The contract of a loss: `value` and `prox`; everything else follows from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import ClassVar

from dcra._array import Array, namespace


class Loss(ABC):
    """A function f of residuals z, given by its value and its proximal map.

    The last axis of `z` runs over rows, leading axes are a batch. `step` is a positive number or, for a
    separable loss, anything that broadcasts against `z`: a weight w on a row is a step multiplied by w.

    A subclass is a frozen dataclass of options. It declares what is known of it; engines and
    `dcra.testing.check_loss` read the declarations.
    """

    convex: ClassVar[bool] = False
    separable: ClassVar[bool] = False
    positive: ClassVar[bool] = False
    """Whether f >= 0 everywhere."""

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant: of each row's function if separable, of f in the Euclidean norm otherwise."""
        return inf

    @property
    def curvature(self) -> float:
        """Lipschitz constant of the gradient; infinite where f is not smooth."""
        return inf

    @abstractmethod
    def value(self, z: Array) -> Array:
        """f(z), summed over the last axis."""

    @abstractmethod
    def prox(self, z: Array, step: Array | float) -> Array:
        """argmin_y f(y) + |z - y|^2 / (2 step)."""

    def values(self, z: Array) -> Array:
        """Each row's share of f(z); separable losses only."""
        if not self.separable:
            raise TypeError(f"{type(self).__name__} is not separable: its rows have no value of their own")
        return self.value(z[..., None])

    def envelope(self, z: Array, step: float) -> Array:
        """The Moreau envelope min_y f(y) + |z - y|^2 / (2 step)."""
        p = self.prox(z, step)
        return self.value(p) + namespace(z).sum((z - p) ** 2, axis=-1) / (2 * step)

    def envelope_grad(self, z: Array, step: Array | float) -> Array:
        """Gradient of the envelope, (z - prox(z)) / step."""
        return (z - self.prox(z, step)) / step

    def conjugate(self, y: Array) -> Array:
        """sup_z <y, z> - f(z), infinite outside its domain."""
        raise NotImplementedError(f"{type(self).__name__} does not know its conjugate")


def total(values: Array) -> Array:
    """Sum over the last axis."""
    return namespace(values).sum(values, axis=-1)
