"""ShaPeak (Zhou, Li, Zhang and Luo 2025): inexact ADMM, and a penalty with a sharp peak at the centre."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dcra._array import Array, Host, namespace
from dcra.baselines.rounding import Roundings, initial_points
from dcra.compiled.form import Compiled
from dcra.compiled.units import natural_units
from dcra.engines.base import Engine, Starts, State

SLOPE = 5.0
"""The least slope of the sides of the peak."""

CONJUGATE_STEPS = 6
"""Of the linear system in x."""

PENALTY_EVERY, SIGMA_EVERY, CALM_EVERY = 10, 10, 100
"""Iterations between two changes: of the penalty, and of sigma upwards and downwards."""

SIGMA_GROWTH, SIGMA_FALL = 1.2, 1.1
LEAST_SIGMA, MOST_SIGMA = 1e-3, 1e4
SETTLED = 5
"""Binary w met before sigma may grow."""


@dataclass(frozen=True)
class ShaPeak(Engine):
    """min f(x) + penalty * peaks(w) subject to x = w, the nonsmooth parts of f as their Moreau envelopes.

    Parameters
    ----------
    sigma_init : float
        The first parameter of the augmented Lagrangian, in units of the gradient that typically reaches one
        variable.
    penalty_init : float
        The first penalty, in units of sigma.
    penalty_growth : float
        Its factor every ten iterations, as long as w is not binary.
    tol : float
        Ends at a binary w when |x - w|^2 and the squared step of w are at most `tol` sqrt(n) (4 + 2n).
    max_iterations : int
    """

    sigma_init: float = 0.05
    penalty_init: float = 0.008
    penalty_growth: float = 1.1
    tol: float = 1e-5
    max_iterations: int = 10_000
    name: ClassVar[str] = "shapeak"

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return ShaPeakState(self, compiled, starts)


class ShaPeakState(State):
    done = False

    def __init__(self, engine: ShaPeak, compiled: Compiled, starts: Starts) -> None:
        self.engine, self.compiled = engine, compiled
        self.units = natural_units(compiled)
        self.sigma = engine.sigma_init * self.units.rho
        self.penalty = engine.penalty_init * self.sigma
        self.W = initial_points(compiled, starts, centre_first=False)
        self.Y = 0 * self.W  # multipliers of x = w
        self.best = Roundings(compiled, starts.count)
        self.best.offer(self.W)
        self.taken = self.settled = 0

    def advance(self, work: int) -> None:
        passes = 3 + 2 * CONJUGATE_STEPS
        for _ in range(max(1, work // (passes * self.compiled.work_per_pass * self.W.shape[0]))):
            if self.done:
                return
            self._step()

    def _step(self) -> None:
        """x by a Newton step on the losses, w by the peaks' proximal map, and the multipliers."""
        before = self.W
        X = before - self._newton(smoothed_gradient(self.compiled, before, self.units.delta) + self.Y)
        self.W = W = peaks_prox(X + self.Y / self.sigma, self.penalty / self.sigma)
        self.Y = self.Y + self.sigma * (X - W)
        self.best.offer(W)
        self.taken += 1
        self._adapt(max(_square(X - W), _square(W - before)) <= self._tolerance)

    def _adapt(self, calm: bool) -> None:
        """The penalty until w is binary, then sigma until x is w; back where all is calm too early."""
        binary = is_binary(self.W)
        self.settled += binary
        self.done = (binary and calm) or self.taken >= self.engine.max_iterations
        if not binary and self.taken % PENALTY_EVERY == 0:
            self.penalty *= self.engine.penalty_growth
        if self.settled > SETTLED and not calm and self.taken % SIGMA_EVERY == 0:
            self.sigma = min(MOST_SIGMA * self.units.rho, SIGMA_GROWTH * self.sigma)
        elif not binary and calm and self.taken % CALM_EVERY == 0:
            self.sigma = max(LEAST_SIGMA * self.units.rho, self.sigma / SIGMA_FALL)
            self.penalty *= self.engine.penalty_growth

    @property
    def _tolerance(self) -> float:
        count, n = self.W.shape
        return float(count * self.engine.tol * n**0.5 * (4 + 2 * n))

    def _newton(self, right: Array) -> Array:
        """Conjugate gradients for (sigma I + sum_t k_t A_t'A_t) d = right, k_t the curvature of a loss."""
        if not self.compiled.pieces:
            return right / self.sigma
        xp = namespace(right)
        d, residual, direction = 0 * right, right, right
        size = xp.sum(residual * residual, axis=-1, keepdims=True)
        for _ in range(CONJUGATE_STEPS):
            image = self.sigma * direction + self._curved(direction)
            step = _ratio(size, xp.sum(direction * image, axis=-1, keepdims=True))
            d = d + step * direction
            residual = residual - step * image
            before, size = size, xp.sum(residual * residual, axis=-1, keepdims=True)
            direction = residual + _ratio(size, before) * direction
        return d

    def _curved(self, X: Array) -> Array:
        """sum_t k_t A_t'A_t x."""
        pieces = zip(self.compiled.pieces, self.units.delta, strict=True)
        return sum(p.curvature(delta) * p.operator.adjoint(p.operator.apply(X)) for p, delta in pieces)

    @property
    def steps(self) -> int:
        return self.taken * len(self.best.spins)

    def candidates(self) -> Host:
        return self.best.spins


def peaks(W: Array) -> Array:
    """sum_i ((1 + a - |w_i|)^2 - a^2) / 2, a = SLOPE: zero at binary points alone."""
    xp = namespace(W)
    return 0.5 * xp.sum((1 + SLOPE - xp.abs(W)) ** 2 - SLOPE**2, axis=-1)


def peaks_prox(Z: Array, eta: float) -> Array:
    """The w of the box that minimises |w - z|^2 / 2 + eta peaks(w): each half of the axis is convex."""
    xp = namespace(Z)
    size = xp.clip((xp.abs(Z) + eta * (1 + SLOPE)) / (1 + eta), 0.0, 1.0)
    return xp.where(Z >= 0, size, -size)


def is_binary(W: Array) -> bool:
    xp = namespace(W)
    return bool(xp.all(xp.abs(W) == 1))


def smoothed_gradient(compiled: Compiled, X: Array, delta: tuple[float, ...]) -> Array:
    """Of all parts of F at relaxed spins X (k, n), the losses as their envelopes."""
    g = compiled.pull(compiled.slopes(compiled.residual(X), delta))
    return g if compiled.quadratic is None else g + 2 * compiled.quadratic.apply(X)


def _ratio(above: Array, below: Array) -> Array:
    """Zero where there is nothing left to divide by."""
    xp = namespace(above)
    return xp.where(below > 0, above / xp.where(below > 0, below, xp.ones_like(below)), 0 * above)


def _square(X: Array) -> float:
    return float(namespace(X).sum(X * X))
