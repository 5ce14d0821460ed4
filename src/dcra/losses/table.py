"""Losses that are four numbers.

A separable convex loss whose conjugate is k g^2/2 + e |g| on [lo, hi] has, with
g_d(z) = clip(soft(z, e) / (k + d), lo, hi),

    value = z g_0 - k g_0^2/2 - e |g_0|,   envelope gradient = g_d(z),   prox = z - d g_d(z).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, ClassVar, NamedTuple

from dcra._array import Array, namespace
from dcra.losses.base import Loss, total
from dcra.messages import shown


class Table(NamedTuple):
    """Conjugate k g^2/2 + e |g| for g in [lo, hi]."""

    k: float
    e: float
    lo: float
    hi: float

    def rescaled(self, weight: float, argument: float) -> Table:
        """The table of weight * f(argument * z)."""
        slope = weight * argument
        steep = slope * argument
        k = self.k / steep if steep else inf if self.k else 0.0  # squares that vanish: no curvature is left
        return Table(k, self.e / argument, slope * self.lo, slope * self.hi)


class TableLoss(Loss):
    """A loss given by its `table`."""

    convex: ClassVar[bool] = True
    separable: ClassVar[bool] = True

    @property
    def table(self) -> Table:
        """The four numbers of the conjugate."""
        raise NotImplementedError

    @property
    def lipschitz(self) -> float:
        """The largest slope."""
        return max(abs(self.table.lo), abs(self.table.hi))

    @property
    def curvature(self) -> float:
        """The largest second derivative; inf where there is a kink."""
        k, e, lo, hi = self.table
        if lo == hi:
            return 0.0
        return 1 / k if k > 0 and e == 0 else inf

    def value(self, z: Array) -> Array:
        return total(self.values(z))

    def values(self, z: Array) -> Array:
        xp = namespace(z)
        k, e, lo, hi = self.table
        if k == 0 and -lo == hi < inf:
            u = xp.abs(z)
            return hi * (u if e == 0 else xp.clip(u - e, 0.0, None))
        g = self.envelope_grad(z, 0.0)
        return z * g - (0.5 * k) * g * g - e * xp.abs(g)

    def prox(self, z: Array, step: Array | float) -> Array:
        return z - step * self.envelope_grad(z, step)

    def envelope_grad(self, z: Array, step: Array | float) -> Array:
        xp = namespace(z)
        k, e, lo, hi = self.table
        excess = z if e == 0 else xp.sign(z) * xp.clip(xp.abs(z) - e, 0.0, None)
        if k == 0 and isinstance(step, float | int) and step == 0:
            g = xp.where(excess > 0, hi * xp.ones_like(z), xp.where(excess < 0, lo * xp.ones_like(z), 0 * z))
        else:
            g = excess / (k + step)
        return xp.clip(g, lo if isfinite(lo) else None, hi if isfinite(hi) else None)

    def conjugate(self, y: Array) -> Array:
        xp = namespace(y)
        k, e, lo, hi = self.table
        inside = xp.all((y >= lo) & (y <= hi), axis=-1)
        finite = total((0.5 * k) * y * y + e * xp.abs(y))
        return xp.where(inside, finite, inf * xp.ones_like(finite))


@dataclass(frozen=True)
class L1(TableLoss):
    """sum |u|"""

    positive: ClassVar[bool] = True
    table: ClassVar[Table] = Table(0.0, 0.0, -1.0, 1.0)


@dataclass(frozen=True)
class SquaredL2(TableLoss):
    """sum u^2 (no 1/2)"""

    positive: ClassVar[bool] = True
    table: ClassVar[Table] = Table(0.5, 0.0, -inf, inf)


@dataclass(frozen=True)
class Hinge(TableLoss):
    """sum max(0, u)"""

    positive: ClassVar[bool] = True
    table: ClassVar[Table] = Table(0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class SquaredHinge(TableLoss):
    """sum max(0, u)^2"""

    positive: ClassVar[bool] = True
    table: ClassVar[Table] = Table(0.5, 0.0, 0.0, inf)


@dataclass(frozen=True)
class Linear(TableLoss):
    """sum u"""

    table: ClassVar[Table] = Table(0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class Huber(TableLoss):
    """sum of u^2/2 where |u| <= threshold, threshold (|u| - threshold/2) beyond (`scipy.special.huber`)

    Parameters
    ----------
    threshold : float
        Residuals up to this size count as noise, larger ones as errors.
    """

    threshold: float = 1.0
    positive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive("threshold", self.threshold)

    @property
    def table(self) -> Table:
        return Table(1.0, 0.0, -self.threshold, self.threshold)


@dataclass(frozen=True)
class Quantile(TableLoss):
    """sum max(q u, (q - 1) u)

    Parameters
    ----------
    q : float
        Between 0 and 1: a unit by which Ax exceeds b costs q, one by which it falls short 1 - q.
    """

    q: float = 0.5
    positive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_fraction("q", self.q)

    @property
    def table(self) -> Table:
        return Table(0.0, 0.0, self.q - 1, self.q)


@dataclass(frozen=True)
class EpsilonInsensitive(TableLoss):
    """sum max(0, |u| - epsilon)

    Parameters
    ----------
    epsilon : float
        Residuals up to this size cost nothing.
    """

    epsilon: float = 0.1
    positive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _require("epsilon", self.epsilon, lambda value: 0 <= value < inf, "be finite and not negative")

    @property
    def table(self) -> Table:
        return Table(0.0, self.epsilon, -1.0, 1.0)


def require_positive(name: str, value: float) -> None:
    _require(name, value, lambda value: 0 < value < inf, "be positive and finite")


def require_fraction(name: str, value: float) -> None:
    _require(name, value, lambda value: 0 < value < 1, "lie strictly between 0 and 1")


def _require(name: str, value: Any, fits: Callable[[Any], Any], what: str) -> None:
    try:
        good = bool(fits(value))
    except (TypeError, ValueError) as error:
        raise TypeError(f"`{name}` must be a number; got {shown(value)}") from error
    if not good:
        raise ValueError(f"`{name}` must {what}; got {value!r}")
