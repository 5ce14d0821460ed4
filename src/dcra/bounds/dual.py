"""Lower bounds on F by duality.

For convex f_t and y_t in the domain of (w_t f_t)*, with q = sum_t A_t'y_t + c,

    F(x) >= - sum_t (w_t f_t)*(y_t) - sum_t b_t'y_t + constant + min over the box of q'x,

the last being -|q|_1 for spins and sum_j min(0, q_j) for {0,1}. The slope g of the envelope at u is a
subgradient of f at p = prox(u), so f*(g) = <g, p> - f(p): no conjugate is needed, and any point x of the
box gives a bound.
"""

from __future__ import annotations

from math import ceil, inf
from typing import Any, NamedTuple, Protocol

import numpy as np

from dcra._array import Array, Host, device_of, from_numpy, namespace, to_numpy
from dcra._kernels.seed import state as random_state
from dcra.compiled.form import Compiled
from dcra.compiled.units import units_at
from dcra.engines.blocks import blocks_of
from dcra.engines.blocks import sweep as sweep_blocks
from dcra.engines.rule import PLAIN
from dcra.engines.sweep import runs_of
from dcra.losses import Linear
from dcra.model.problem import Problem
from dcra.model.quadratic import least_quadratic
from dcra.model.term import Term

EPS = float(np.finfo(np.float64).eps)


class Slopes(NamedTuple):
    """A dual point y of one term's w f, with what is known about it."""

    y: Array
    conjugate: float  # (w f)*(y)
    size: float  # of the numbers that went into it
    smoothed: float = 0.0  # w env f at the point that y comes from
    energy: float = 0.0  # step/2 * w |g|^2: the conjugate of the smoothed loss exceeds that of f by it


def trivial_bound(problem: Problem) -> float:
    """What holds without any work: losses at their infimum, the linear part at its minimum on the box."""
    if not problem.convex:
        return -inf
    if any(not (t.loss.positive or isinstance(t.loss, Linear)) for t in problem.terms):
        return -inf
    return _bound(problem, [_flat_slopes(t) for t in problem.terms])


def dual_bound(problem: Problem, x: Array, steps: list[float]) -> float:
    """The bound given by the slopes of the envelopes, one step per term, at a point x of the box."""
    if not problem.convex:
        return -inf
    return _bound(problem, [_slopes(t, t.residual(x), s) for t, s in zip(problem.terms, steps, strict=True)])


def _slopes(term: Term, u: Array, step: float) -> Slopes:
    xp = namespace(u)
    p = u if step == 0 else term.loss.prox(u, step)
    g = term.loss.envelope_grad(u, step)
    if isinstance(term.weight, float):
        value = term.weight * float(term.loss.value(p))
    else:
        value = float(xp.sum(term.weight * term.loss.values(p)))
    y = term.weight * g
    product = y * p
    energy = 0.5 * step * float(xp.sum(y * g))
    size = float(xp.sum(xp.abs(product))) + abs(value)
    return Slopes(y, float(xp.sum(product)) - value, size, value + energy, energy)


def _flat_slopes(term: Term) -> Slopes:
    """y = 0 for losses with infimum 0; the weights themselves for the linear loss."""
    zero = 0 * term.b
    return Slopes(zero + term.weight if isinstance(term.loss, Linear) else zero, 0.0, 0.0)


def _bound(problem: Problem, slopes: list[Slopes]) -> float:
    total, size = problem.constant, abs(problem.constant)
    q: Any = np.zeros(problem.n) if problem.linear is None else to_numpy(problem.linear)
    spread = float(np.sum(np.abs(q)))
    for term, s in zip(problem.terms, slopes, strict=True):
        xp = namespace(s.y)
        products = term.b * s.y
        total -= s.conjugate + float(xp.sum(products))
        size += s.size + float(xp.sum(xp.abs(products)))
        norm = float(xp.linalg.vector_norm(s.y))
        if norm > 0:
            q = q + to_numpy(term.operator.exact_adjoint(s.y))
            spread += norm * float(np.sum(to_numpy(term.operator.column_norms).astype(np.float64)))
    if problem.quadratic is not None:
        least, scale = least_quadratic(problem.quadratic, q, problem.domain)
        total, spread = total + least, spread + scale
    else:
        total += -float(np.sum(np.abs(q))) if problem.domain == "spin" else float(np.sum(np.minimum(q, 0.0)))
    allowance = EPS * (problem.n + problem.n_rows) * (size + spread)
    return total - allowance if np.isfinite(total) else -inf


def rounded_up(problem: Problem, bound: float) -> float:
    """The next value that F can take, where these are known to be integers or equally spaced."""
    if not np.isfinite(bound):
        return bound
    if problem.quadratic is None or problem.terms:
        return float(ceil(bound - 1e-6)) if problem.integer_valued else bound
    step = problem.value_step
    if step is None:
        return bound
    base = problem.value_at_ones if problem.domain == "spin" else problem.constant
    return base + step * ceil((bound - base) / step - 1e-6)


class Stage(Protocol):
    """Raises a lower bound step by step; `bound` is valid at any moment."""

    @property
    def bound(self) -> float: ...

    @property
    def rounds(self) -> int: ...

    @property
    def done(self) -> bool: ...

    def advance(self, work: int) -> None: ...


class DualStage:
    """Resumable: the box relaxation by sweeps at rho = 0 with delta falling, and the best bound met.

    The duality gap at x has two parts: what smoothing costs, at most delta (r - |y|^2)/2, and what the sweeps
    have left to do at this delta. When the second is the smaller one, delta falls.
    """

    LEVELS = 30
    FALL = 0.5
    BALANCE = 0.3  # share of the gap left to the sweeps at which delta falls
    CLOSED = 5e-3  # relative duality gap at which the relaxation counts as solved
    MATTERS = 0.01  # share of the way from the trivial bound to a known objective that is worth going on for
    NEGLIGIBLE = 1e-5  # the same as a share of the losses at the centre: the bound may be 0
    ROUNDS = 1000
    SWEEPS = 8  # per round: a bound costs about as much as three sweeps

    def __init__(self, compiled: Compiled, fun: float = -inf) -> None:
        self.compiled = compiled
        self.problem = compiled.problem
        self.bound = trivial_bound(self.problem)
        self.level = self.rounds = self.swept = 0
        self.point: Host | None = None
        self.done = not (self.problem.convex and compiled.pieces) or compiled.quadratic is not None
        if not self.done:
            self._relaxation = _LoopBox(compiled) if compiled.tabulated else _BlockBox(compiled)
            centre = compiled.residual_at_zero
            self.delta = units_at(compiled, to_numpy(centre)).delta
            losses = compiled.value_scale * abs(float(compiled.smoothed(centre, 0.0)))
            self.negligible = self.NEGLIGIBLE * losses
            self.hopeless = self.bound + self.MATTERS * (fun - self.bound) if fun > self.bound else -inf

    def advance(self, work: int) -> None:
        """Go on with the sweeps of a round, and end it with a bound; the work decides only where to pause."""
        if self.done:
            return
        sweeps = min(max(1, work // (2 * self.compiled.work_per_pass)), self.SWEEPS - self.swept)
        self.point = self._relaxation.sweep(self.delta, sweeps, refresh=self.swept == 0)
        self.swept = (self.swept + sweeps) % self.SWEEPS
        if self.swept == 0:
            self._measure(self._decoded(self.point))

    def _measure(self, x: Array) -> None:
        """The bound at x, and what it says about delta."""
        slopes = [
            _slopes(t, t.residual(x), s) for t, s in zip(self.problem.terms, self._steps(), strict=True)
        ]
        bound = _bound(self.problem, slopes)
        self.bound = max(self.bound, bound)
        linear = 0.0 if self.problem.linear is None else float(x @ self.problem.linear)
        smoothed = self.problem.constant + linear + sum(s.smoothed for s in slopes)
        left = smoothed + sum(s.energy for s in slopes) - bound  # smoothed primal minus smoothed dual
        relaxed = float(self.problem.relaxed_objective(x))  # no bound will ever exceed it
        gap = relaxed - self.bound
        if gap <= max(self.CLOSED * abs(self.bound), self.negligible) or relaxed <= self.hopeless:
            self.done = True
        elif left <= self.BALANCE * gap:
            self.level += 1
            self.delta = tuple(self.FALL * d for d in self.delta)
        self.rounds += 1
        self.done = self.done or self.level >= self.LEVELS or self.rounds >= self.ROUNDS

    def _decoded(self, x: Host) -> Array:
        like = self.problem.like
        xp = namespace(like)
        host = x if self.problem.domain == "spin" else (x + 1) / 2
        return xp.asarray(host, dtype=xp.float64, device=device_of(like))

    def _steps(self) -> list[float]:
        """Each term's step in units of its own residual; any number serves terms without rows."""
        steps = [1.0] * len(self.problem.terms)
        for piece, delta in zip(self.compiled.pieces, self.delta, strict=True):
            steps[piece.term] = delta * piece.argument**2 * piece.drawn
        return steps


class _LoopBox:
    """The box relaxation in the compiled coordinate loop."""

    def __init__(self, compiled: Compiled) -> None:
        self.tables = compiled.tables(np.float32)
        self.trail = np.zeros((2, compiled.n), np.float32)
        self.z = np.empty_like(self.tables.b)
        self.columns, self.blocks = np.arange(compiled.n), runs_of(self.tables.model.A, compiled.n)
        self.rng = random_state(0)
        self.rule = np.array(PLAIN)
        self.rest, self.rho = np.zeros(compiled.n, np.int64), np.zeros(1)
        self.delta: tuple[float, ...] = ()
        self.model = self.tables.model

    def sweep(self, delta: tuple[float, ...], sweeps: int, refresh: bool) -> Host:
        from dcra._kernels import state
        from dcra._kernels.sweep import sweep

        if delta != self.delta:
            self.delta, self.model = delta, self.tables.smoothed(delta)
        if refresh:
            state.refresh(self.model, self.tables.b, self.trail[0], self.z)
        self.rest[:] = 0
        point = (self.model, self.trail, self.z, self.columns, self.blocks, self.rest, self.rng, self.rho)
        sweep(*point, 0, sweeps, 0, self.rule)
        return np.asarray(self.trail[0], np.float64)


class _BlockBox:
    """The box relaxation by array blocks."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.blocks = blocks_of(compiled)
        self.X = from_numpy(np.zeros((1, compiled.n)), compiled.like)
        self.Z = compiled.residual(self.X)
        self.rng = np.random.default_rng(0)

    def sweep(self, delta: tuple[float, ...], sweeps: int, refresh: bool) -> Host:
        if refresh:
            self.Z = self.compiled.residual(self.X)
        for _ in range(sweeps):
            order = self.rng.permutation(len(self.blocks))
            self.X, self.Z, _ = sweep_blocks(
                self.compiled, self.blocks, order, self.X, self.Z, 0.0, delta, PLAIN
            )
        return np.asarray(to_numpy(self.X)[0], np.float64)
