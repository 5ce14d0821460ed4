"""Losses beyond the table: logistic, capped, and two that are not separable."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from dcra._array import Array, namespace
from dcra.losses.base import Loss, total
from dcra.losses.table import require_positive


@dataclass(frozen=True)
class Logistic(Loss):
    """sum log(1 + e^u)"""

    convex: ClassVar[bool] = True
    separable: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    lipschitz: ClassVar[float] = 1.0
    curvature: ClassVar[float] = 0.25

    def value(self, z: Array) -> Array:
        return total(self.values(z))

    def values(self, z: Array) -> Array:
        xp = namespace(z)
        return xp.clip(z, 0.0, None) + xp.log1p(xp.exp(-xp.abs(z)))

    def prox(self, z: Array, step: Array | float) -> Array:
        """Root of p + step * sigmoid(p) = z: Newton's method kept inside a shrinking bracket."""
        xp = namespace(z)
        reach = xp.log1p(step + 0 * z)  # p is this near to z if z <= 0, to z - step if z >= step, else to 0
        lo = xp.maximum(z - step, xp.clip(z, None, 0.0) - reach)
        hi = xp.minimum(z, xp.clip(z - step, 0.0, None) + reach)
        p = lo + 0.5 * (hi - lo)
        for _ in range(60):
            s = sigmoid(p)
            excess = p - z + step * s
            if bool(xp.all(xp.abs(excess) <= 4 * _eps(z) * (xp.abs(z) + step * s))):
                break
            lo, hi = xp.where(excess <= 0, p, lo), xp.where(excess >= 0, p, hi)
            newton = p - excess / (1 + step * s * (1 - s))
            quick = (newton >= lo) & (newton <= hi) & (hi - lo < 4)
            p = xp.where(quick, newton, lo + 0.5 * (hi - lo))
        return p

    def envelope_grad(self, z: Array, step: Array | float) -> Array:
        exact = isinstance(step, float | int) and step == 0
        return sigmoid(z if exact else self.prox(z, step))

    def conjugate(self, y: Array) -> Array:
        xp = namespace(y)
        inside = xp.all((y >= 0) & (y <= 1), axis=-1)
        t = xp.clip(y, 0.0, 1.0)
        finite = total(_entropy(t) + _entropy(1 - t))
        return xp.where(inside, finite, inf * xp.ones_like(finite))


@dataclass(frozen=True)
class CappedL1(Loss):
    """sum min(|u|, cap): outliers beyond `cap` cost no more. Not convex.

    Parameters
    ----------
    cap : float
        What a row costs at most.
    """

    cap: float = 1.0
    separable: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    lipschitz: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        require_positive("cap", self.cap)

    def value(self, z: Array) -> Array:
        return total(self.values(z))

    def values(self, z: Array) -> Array:
        xp = namespace(z)
        return xp.clip(xp.abs(z), None, self.cap)

    def prox(self, z: Array, step: Array | float) -> Array:
        """The better of the two branches: soft thresholding inside the cap, standing still outside."""
        xp = namespace(z)
        size = xp.abs(z)
        inside = xp.clip(size - step, 0.0, self.cap)
        outside = xp.clip(size, self.cap, None)
        cost_inside = step * inside + 0.5 * (size - inside) ** 2
        cost_outside = step * self.cap + 0.5 * (size - outside) ** 2
        return xp.sign(z) * xp.where(cost_inside <= cost_outside, inside, outside)

    def conjugate(self, y: Array) -> Array:
        xp = namespace(y)
        zero = 0 * total(y)
        return xp.where(xp.all(y == 0, axis=-1), zero, zero + inf)


@dataclass(frozen=True)
class L2Norm(Loss):
    """The Euclidean norm |u|_2 of all rows together"""

    convex: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    lipschitz: ClassVar[float] = 1.0

    def value(self, z: Array) -> Array:
        return _length(z)[..., 0]

    def prox(self, z: Array, step: Array | float) -> Array:
        return z - step * self.envelope_grad(z, step)

    def envelope_grad(self, z: Array, step: Array | float) -> Array:
        xp = namespace(z)
        size = _length(z)
        radius = xp.where(size > step, size, step + 0 * size)
        return z / xp.where(radius > 0, radius, xp.ones_like(radius))

    def conjugate(self, y: Array) -> Array:
        return _unit_ball(namespace(y).linalg.vector_norm(y, axis=-1))


@dataclass(frozen=True)
class LInf(Loss):
    """The largest residual, max |u|"""

    convex: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    lipschitz: ClassVar[float] = 1.0

    def value(self, z: Array) -> Array:
        xp = namespace(z)
        return xp.max(xp.abs(z), axis=-1)

    def prox(self, z: Array, step: Array | float) -> Array:
        return z - step * self.envelope_grad(z, step)

    def envelope_grad(self, z: Array, step: Array | float) -> Array:
        """Projection of z / step onto the l1 ball, by sorting; its limit when step = 0."""
        xp = namespace(z)
        if isinstance(step, float | int) and step == 0:
            size = xp.abs(z)
            largest = xp.astype(size == xp.max(size, axis=-1, keepdims=True), z.dtype)
            return xp.sign(z) * largest / xp.sum(largest, axis=-1, keepdims=True)
        y = z / step
        size = xp.abs(y)
        top = xp.max(size, axis=-1, keepdims=True)
        below = size - top  # measured from the top, the sum of 1 survives rounding at any size
        ranked = xp.flip(xp.sort(below, axis=-1), axis=-1)
        counts = xp.cumulative_sum(xp.ones_like(y), axis=-1)
        excess = (xp.cumulative_sum(ranked, axis=-1) - 1) / counts
        threshold = xp.max(excess, axis=-1, keepdims=True)
        return xp.sign(y) * xp.where(threshold <= -top, size, xp.clip(below - threshold, 0.0, None))

    def conjugate(self, y: Array) -> Array:
        return _unit_ball(total(namespace(y).abs(y)))


def _length(z: Array) -> Array:
    """|z| (..., 1) over the last axis, also where squares of its numbers are below the smallest ones."""
    xp = namespace(z)
    limits = xp.finfo(z.dtype)
    top = xp.max(xp.abs(z), axis=-1, keepdims=True)
    small = (top > 0) & (top < (float(limits.smallest_normal) / float(limits.eps)) ** 0.5)
    unit = xp.where(small, top, xp.ones_like(top))
    return unit * xp.linalg.vector_norm(z / unit, axis=-1, keepdims=True)


def sigmoid(z: Array) -> Array:
    xp = namespace(z)
    t = xp.exp(-xp.abs(z))
    return xp.where(z >= 0, 1 / (1 + t), t / (1 + t))


def _eps(x: Array) -> float:
    return float(namespace(x).finfo(x.dtype).eps)


def _entropy(t: Array) -> Array:
    xp = namespace(t)
    return t * xp.log(xp.where(t > 0, t, 1.0 + 0 * t))


def _unit_ball(norm: Array) -> Array:
    """0 where a dual norm is at most 1, up to the rounding of the norm itself; infinite beyond."""
    xp = namespace(norm)
    return xp.where(norm <= 1 + 8 * _eps(norm), 0 * norm, 0 * norm + inf)
