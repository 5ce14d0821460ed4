"""Engine `dcra`: Algorithms 1 and 2 of the paper, batched over starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dcra import lift
from dcra._array import Array, Host, device_of, from_numpy, namespace, to_numpy
from dcra.compiled.form import Compiled
from dcra.compiled.piece import Smoothing
from dcra.compiled.units import natural_units
from dcra.engines import dcra_loop
from dcra.engines.base import Engine, Starts, State
from dcra.model.operators import estimate_products, norm_estimate


class Iterate(NamedTuple):
    """All that one step of a batch of k starts reads and writes. Shapes: V (k, m, p), the rest (k,)."""

    V: Array
    z: Array  # (k, r): A W'v0 - b
    smoothed: Array  # env(z) + c'x
    rho: Array
    L: Array
    inner: Array  # steps made at this rho
    outer: Array  # values of rho used up
    leave: Array  # the inner loop has ended
    anchor: Array  # smoothed value when rho last changed
    done: Array


@dataclass(frozen=True)
class DCRA(Engine):
    """Majorisation-minimisation on the lifted, DC-penalised, smoothed problem.

    Parameters
    ----------
    rank : int
        m, the rows of the factor V; between 2 and n + 1. By default 5, or n + 1 where that is less.
    rho_init, rho_growth, rho_max : float or "auto"
        The penalty starts at `rho_init`, is multiplied by `rho_growth`, and never exceeds `rho_max`.
        "auto" is in natural units of the problem.
    smoothing : float, tuple of floats (one per term) or "auto"
        delta of the Moreau envelope. "auto" follows the residuals of a quick answer.
    curvature : float, "norm", "half norm" or "auto"
        L. A number is used as it is, "norm" is ||A||_2^2 / (2 delta), "half norm" is ||A||_2 / 2, "auto"
        backtracks on the descent inequality of the smoothed loss in x = W'v0. (The same inequality in V
        also counts the curvature of the products <v0, w_j>, which is n times larger: v0 then hardly moves,
        the columns of W align among themselves before they align with it, and the answer is random.)
    max_inner, max_outer : int
        l_max steps at one rho, k_max values of rho.
    step_tol : float
        The inner loop ends when ||V+ - V||_F <= step_tol sqrt(p).
    tol : float
        The outer loop ends when the rank gap p - ||V||_2^2 <= tol p.
    objective_tol : float, optional
        It also ends when the smoothed objective changed by less than this, relatively, over one rho.
    rank_one : bool
        Allow rank 1, for studies: every factor is binary there, so the penalty vanishes and only the steps
        at the first rho are made.
    """

    rank: int | None = None
    rho_init: float | str = "auto"
    rho_growth: float = 1.1
    rho_max: float | str = "auto"
    smoothing: Smoothing | str = "auto"
    curvature: float | str = "auto"
    max_inner: int = 10
    max_outer: int = 1000
    step_tol: float = 1e-3
    tol: float = 1e-4
    objective_tol: float | None = None
    rank_one: bool = False

    name: ClassVar[str] = "dcra"

    def __post_init__(self) -> None:
        if self.rank is not None and self.rank < (1 if self.rank_one else 2):
            raise ValueError(
                f"`rank` must be at least 2 (the penalty vanishes at 1, which `rank_one=True` allows); "
                f"got {self.rank}"
            )
        if self.rho_growth <= 1:
            raise ValueError(f"`rho_growth` must exceed 1; got {self.rho_growth!r}")
        if isinstance(self.curvature, str) and self.curvature not in ("auto", "norm", "half norm"):
            raise ValueError(
                f"`curvature` must be a number, 'norm', 'half norm' or 'auto'; got {self.curvature!r}"
            )

    @classmethod
    def paper(cls, **options: Any) -> DCRA:
        """The paper's three constants, and ours for what it leaves open.

        The paper states m = 5 (`rank`), rho = 1 (`rho_init`) and sigma = 1.2 (`rho_growth`). Ours are
        delta = 5 (`smoothing`), L = ||A||_2^2 / (2 delta) (`curvature="norm"`), rho_max = 1e6, 50 steps at
        one rho, 1000 values of rho, and the tolerances `step_tol` and `tol`.

        The paper's Algorithm 2 asks for L >= L_f, which is more than 2 (n + 1) times as large as this L:
        with L_f itself (`dcra.theory.curvature_bound`) v0 hardly moves, and answers are hardly better than
        random signs. Proposition 1's descent is therefore not guaranteed for this preset.
        """
        settings: dict[str, Any] = {
            "rho_init": 1.0,
            "rho_growth": 1.2,
            "rho_max": 1e6,
            "smoothing": 5.0,
            "curvature": "norm",
            "max_inner": 50,
        }
        return cls(**(settings | options))

    @classmethod
    def authors(cls, **options: Any) -> DCRA:
        """The constants of the authors' code.

        L = ||A||_2 / 2, five inner steps, `tol` and `objective_tol` of 1e-6; the rest as in `paper`.
        """
        settings: dict[str, Any] = {
            "max_inner": 5,
            "curvature": "half norm",
            "tol": 1e-6,
            "objective_tol": 1e-6,
        }
        return cls.paper(**(settings | options))

    def batch(self, compiled: Compiled) -> int:
        return int(np.clip(200_000 // compiled.work_per_pass, 1, 16))

    def setup_work(self, compiled: Compiled) -> int:
        passes = 4 + max((estimate_products(p.operator) for p in compiled.pieces), default=0)
        return passes * compiled.work_per_pass

    def start(self, compiled: Compiled, starts: Starts) -> State:
        V = np.stack(
            [
                lift.random_factor(self._rank(compiled), compiled.n, starts.seed, starts.first + i)
                for i in range(starts.count)
            ]
        )
        if starts.points is not None:
            V = _around(V, starts.points)
        engine = self._resolved(compiled)
        if dcra_loop.fits(engine, compiled, V.shape[1]):
            return dcra_loop.DcraLoopState(engine, compiled, V)
        return engine.start_from(compiled, V)

    def start_from(self, compiled: Compiled, V: Host) -> DcraState:
        """Start from given factors, V of shape (k, m, n+1) with unit columns, in array code."""
        return DcraState(self._resolved(compiled), compiled, from_numpy(V, compiled.like))

    def _rank(self, compiled: Compiled) -> int:
        p = compiled.n + 1
        if self.rank is not None and self.rank > p:
            raise ValueError(f"`rank` must be at most n + 1 = {p}; got {self.rank}")
        return self.rank or min(5, p)

    def _resolved(self, compiled: Compiled) -> DCRA:
        """The same options with every "auto" but the curvature's replaced by its number."""
        if "auto" not in (self.smoothing, self.rho_init, self.rho_max):
            return self
        units = natural_units(compiled)
        return replace(
            self,
            smoothing=units.delta if self.smoothing == "auto" else self.smoothing,
            rho_init=0.01 * units.rho if self.rho_init == "auto" else self.rho_init,
            rho_max=1e4 * units.rho if self.rho_max == "auto" else self.rho_max,
        )


class DcraState(State):
    """A batch of starts of engine `dcra`; finished starts leave the batch."""

    def __init__(self, engine: DCRA, compiled: Compiled, V: Array) -> None:
        self.engine = engine
        self.compiled = compiled
        self._steps = 0
        self.iterate = first_iterate(engine, compiled, V)
        self._alive = np.arange(V.shape[0])
        self._finished = np.zeros((V.shape[0], compiled.n))

    def advance(self, work: int) -> None:
        """Algorithm 2, and Algorithm 1's turn whenever the inner loop of a start has ended."""
        for _ in range(max(1, work // (2 * self.compiled.work_per_pass * max(1, self._alive.size)))):
            if self.done:
                return
            self.iterate = step(self.engine, self.compiled, self.iterate)
            self._steps += self._alive.size
            if bool(namespace(self.iterate.leave).any(self.iterate.leave)):
                self.iterate = raise_penalty(self.engine, self.iterate)
                self._retire()

    @property
    def done(self) -> bool:
        return self._alive.size == 0

    @property
    def steps(self) -> int:
        return self._steps

    def candidates(self) -> Host:
        if self._alive.size:
            self._finished[self._alive] = to_numpy(lift.round_factor(self.iterate.V))
        return self._finished

    def _retire(self) -> None:
        done = to_numpy(self.iterate.done)
        if not done.any():
            return
        self.candidates()
        self._alive = self._alive[~done]
        xp = namespace(self.iterate.V)
        keep = xp.asarray(np.flatnonzero(~done), device=device_of(self.iterate.V))
        self.iterate = Iterate(*(xp.take(part, keep, axis=0) for part in self.iterate))


def first_iterate(engine: DCRA, compiled: Compiled, V: Array) -> Iterate:
    """The state before the first step, for factors V of shape (k, m, p)."""
    xp = namespace(V)
    zeros = xp.zeros(V.shape[0], dtype=V.dtype, device=device_of(V))
    x = lift.relaxed(V)
    z = compiled.residual(x)
    smoothed = zeros + compiled.smoothed(z, _delta(engine)) + compiled.linear(x) + coupled_value(compiled, V)
    return Iterate(
        V=V,
        z=z,
        smoothed=smoothed,
        rho=zeros + engine.rho_init,
        L=zeros + first_curvature(engine, compiled),
        inner=zeros,
        outer=zeros,
        leave=zeros > 0,
        anchor=smoothed,
        done=zeros > 0,
    )


def first_curvature(engine: DCRA, compiled: Compiled) -> float:
    """L as given, or from the norm of A; backtracking corrects it from there."""
    if isinstance(engine.curvature, float | int):
        return float(engine.curvature)
    deltas = compiled.deltas(_delta(engine))
    norms = [norm_estimate(p.operator) for p in compiled.pieces]
    if engine.curvature == "half norm":
        return 0.5 * max(norms, default=1.0)
    bound = sum(p.curvature(d) * a**2 for p, d, a in zip(compiled.pieces, deltas, norms, strict=True))
    return 0.5 * bound or 1.0


def coupled_value(compiled: Compiled, V: Array) -> Array:
    """<J, W'W> for factors V of shape (k, m, p)."""
    if compiled.quadratic is None:
        return 0.0
    return namespace(V).sum(compiled.quadratic.value(V[..., 1:]), axis=-1)


def coupled_gradient(compiled: Compiled, V: Array) -> Array:
    """Its gradient in V: [0 | 2 W J]."""
    assert compiled.quadratic is not None
    xp = namespace(V)
    return xp.concat([0 * V[..., :1], 2 * compiled.quadratic.apply(V[..., 1:])], axis=-1)


def coupled_curvature(compiled: Compiled) -> float:
    """Largest curvature of <J, W'W>, added to L; concave directions need none."""
    return 0.0 if compiled.quadratic is None else max(0.0, CAUTION * compiled.quadratic.extremes[1])


def step(engine: DCRA, compiled: Compiled, it: Iterate) -> Iterate:
    """One step of Algorithm 2: minimise the majoriser of Phi at V over unit columns."""
    xp = namespace(it.V)
    delta = _delta(engine)
    _, u = lift.leading_direction(it.V)
    y = compiled.slopes(it.z, delta)
    g = compiled.pull(y)
    gradient = lift.gradient(it.V, g)
    if compiled.quadratic is not None:
        gradient = gradient + coupled_gradient(compiled, it.V)
    L, rho = it.L[:, None, None] + coupled_curvature(compiled), it.rho[:, None, None]
    target = L * it.V - gradient + (2 * rho) * lift.spectral_part(it.V, u)
    if compiled.quadratic is not None:
        target = v0_after_columns(it.V, target, g)
    V = lift.normalize_columns(target, it.V)
    V = lift.snap(V)  # some hundred steps can turn a rounding error into another answer
    x = lift.relaxed(V)
    move = V - it.V
    moved = xp.sum(move * move, axis=(-2, -1))
    inner = it.inner + 1
    small = ~(moved > engine.step_tol**2 * V.shape[-1])
    new = it._replace(
        V=V,
        z=compiled.residual(x),
        inner=inner,
        leave=small | (inner >= engine.max_inner),
    )
    if engine.curvature != "auto" and engine.objective_tol is None:
        return new
    smoothed = compiled.smoothed(new.z, delta) + compiled.linear(x) + coupled_value(compiled, V)
    new = new._replace(smoothed=0 * moved + smoothed)  # one per start, even where no row depends on x
    if engine.curvature != "auto":
        return new
    dx = x - lift.relaxed(it.V)
    promised = it.smoothed + xp.sum(g * dx, axis=-1) + 0.5 * it.L * xp.sum(dx * dx, axis=-1)
    if compiled.quadratic is not None:  # its curvature is known: only the losses are on trial
        promised = promised + coupled_value(compiled, V) - coupled_value(compiled, it.V)
    return backtrack(it, new, promised, small)


def v0_after_columns(V: Array, target: Array, g: Array) -> Array:
    """The same step with v0 taken after W, and by W's new columns.

    The field of a binary problem can be far larger than the curvature of its couplings. v0 and W would then
    both turn against each other's old places, and end at the worst corner.
    """
    W = lift.normalize_columns(target[..., 1:], V[..., 1:])
    first = target[..., :1] + namespace(V).matmul(V[..., 1:] - W, g[..., :, None])
    return namespace(V).concat([first, W], axis=-1)


def backtrack(it: Iterate, new: Iterate, promised: Array, small: Array) -> Iterate:
    """Keep the steps that met the descent inequality; take back the others and enlarge their curvature.

    A `small` step ends the inner loop even if it is taken back: by rounding, no step may ever be kept.
    """
    xp = namespace(it.V)
    kept = new.smoothed <= promised + 1e-12 * xp.abs(it.smoothed)
    least = float(xp.finfo(it.L.dtype).smallest_normal)  # from zero nothing grows
    return new._replace(
        V=xp.where(kept[:, None, None], new.V, it.V),
        z=xp.where(kept[:, None], new.z, it.z),
        smoothed=xp.where(kept, new.smoothed, it.smoothed),
        L=xp.where(kept, SHRINK * it.L, GROW * xp.clip(it.L, least, None)),
        leave=(new.leave & kept) | small,
    )


def raise_penalty(engine: DCRA, it: Iterate) -> Iterate:
    """Algorithm 1 for the starts whose inner loop has ended: stop at a small rank gap, else enlarge rho."""
    xp = namespace(it.V)
    outer = it.outer + xp.astype(it.leave, it.outer.dtype)
    ended = (lift.rank_gap(it.V) <= engine.tol * it.V.shape[-1]) | (outer >= engine.max_outer)
    if engine.objective_tol is not None:
        ended = ended | (xp.abs(it.smoothed - it.anchor) <= engine.objective_tol * xp.abs(it.anchor))
    return it._replace(
        rho=xp.where(it.leave, xp.clip(engine.rho_growth * it.rho, None, engine.rho_max), it.rho),
        inner=xp.where(it.leave, 0 * it.inner, it.inner),
        outer=outer,
        anchor=xp.where(it.leave, it.smoothed, it.anchor),
        done=it.leave & ended,
    )


CAUTION = 1.0
"""Curvature of the couplings in units of their largest eigenvalue."""

SHRINK, GROW = 0.98, 1.2
"""Curvature after an accepted and after a rejected step."""


def _delta(engine: DCRA) -> Smoothing:
    assert not isinstance(engine.smoothing, str)
    return engine.smoothing


def _around(V: Host, points: Host) -> Host:
    """Factors near given spins: w_j = x_j v0 plus half of the random column."""
    v0 = V[:, :, :1]
    W = points[:, None, :] * v0 + 0.5 * V[:, :, 1:]
    return np.concatenate([v0, W / np.linalg.norm(W, axis=1, keepdims=True)], axis=2)
