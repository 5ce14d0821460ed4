"""Engine `sweep`: columns one after another, each with its own curvature.

Coordinates in a compiled loop where the losses are tabulated and A lies on the host, blocks of columns for
many starts at once otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dcra._array import Host, from_numpy, to_numpy
from dcra._kernels.seed import state as random_state
from dcra._kernels.store import Dense, Sparse
from dcra.compiled.form import Compiled
from dcra.compiled.piece import Smoothing
from dcra.compiled.units import natural_units
from dcra.engines.base import Engine, InTurn, Starts, State
from dcra.engines.blocks import WIDTH, blocks_of, convexity, first_penalty, steered
from dcra.engines.cuda_graphs import runner_for
from dcra.engines.rule import Rule

SPREAD = 0.1
"""Starts are uniform in [-SPREAD, SPREAD]."""


@dataclass(frozen=True)
class Sweep(Engine):
    """Sweeps over the columns while rho takes x from the inside of the box to its corners.

    rho is steered after every sweep so that the mean of x_j^2 follows (sweep / sweeps)^power: the penalty has
    no scale to be tuned. Columns move by a step along their slope and a share of their last move.

    Parameters
    ----------
    sweeps : int
        T, the passes over A of one start.
    smoothing : float, tuple of floats (one per term) or "auto"
        delta.
    kappa : float
        Share of the curvature bound that is used; 1/2 or more guarantees descent at fixed rho where there is
        no momentum.
    momentum : float
        The share of its last move that a column repeats; at least 0 and below 1.
    shape : float
        The penalty is rho sum(t + shape t^2 / 2), t = 1 - x_j^2; from 0 to 1/2, where it stays concave.
    power : float
        The exponent of the schedule.
    block : int, optional
        1 for the compiled coordinate loop, more for array blocks of that many columns; by default the
        former where it can run.
    """

    sweeps: int = 200
    smoothing: Smoothing | str = "auto"
    kappa: float = Rule().kappa
    momentum: float = Rule().momentum
    shape: float = Rule().shape
    power: float = Rule().power
    block: int | None = None

    name: ClassVar[str] = "sweep"

    def __post_init__(self) -> None:
        if self.sweeps < 1:
            raise ValueError(f"`sweeps` must be at least 1; got {self.sweeps}")
        if not self.kappa > 0:
            raise ValueError(f"`kappa` must be positive; got {self.kappa!r}")
        for name, fits, wanted in (
            ("momentum", 0 <= self.momentum < 1, "at least 0 and below 1"),
            ("shape", 0 <= self.shape <= 0.5, "from 0 to 1/2"),
            ("power", 0 < self.power <= 1, "above 0 and at most 1"),
        ):
            if not fits:
                raise ValueError(f"`{name}` must be {wanted}; got {getattr(self, name)!r}")
        if self.block is not None and self.block < 1:
            raise ValueError(f"`block` must be at least 1; got {self.block}")

    @property
    def rule(self) -> Rule:
        """The numbers that say how a sweep moves and how its penalty grows."""
        return Rule(float(self.kappa), float(self.momentum), float(self.shape), float(self.power))

    def compiles(self, compiled: Compiled) -> bool:
        """Whether the compiled coordinate loop serves this problem."""
        return compiled.tabulated and compiled.quadratic is None and self.block in (None, 1)

    def batch(self, compiled: Compiled) -> int:
        return 1 if self.compiles(compiled) else int(np.clip(4_000_000 // compiled.work_per_pass, 1, 16))

    def setup_work(self, compiled: Compiled) -> int:
        return 20 * compiled.work_per_pass  # units, and the norms of the blocks

    def start(self, compiled: Compiled, starts: Starts) -> State:
        alone = compiled.quadratic is not None and not compiled.pieces
        if alone and compiled.tabulated and self.block in (None, 1):
            from dcra.engines.quadratic_sweep import QuadraticSweepState

            return QuadraticSweepState(self, compiled, starts)
        engine = self
        if self.smoothing == "auto":
            engine = replace(self, smoothing=natural_units(compiled).delta)
        return (CoordinateState if self.compiles(compiled) else BlockState)(engine, compiled, starts)


def initial_points(compiled: Compiled, starts: Starts) -> Host:
    """Uniform in [-SPREAD, SPREAD]; given points are shrunk to that size: a hint, not a decision."""
    if starts.points is not None:
        return SPREAD * starts.points
    draws = [
        np.random.default_rng((starts.seed, starts.first + i)).uniform(-SPREAD, SPREAD, compiled.n)
        for i in range(starts.count)
    ]
    return np.stack(draws)


def runs_of(store: Dense | Sparse, n: int) -> Host:
    """The runs of columns that compiled loops shuffle: single columns where the matrix is dense."""
    return np.arange(n if isinstance(store, Dense) else -(-n // RUN))


class BlockState(State):
    """All starts together, one block of columns at a time."""

    def __init__(self, engine: Sweep, compiled: Compiled, starts: Starts) -> None:
        self.engine = engine
        blocks, delta = blocks_of(compiled, engine.block or WIDTH), _number(engine.smoothing)
        X = from_numpy(initial_points(compiled, starts), compiled.like)
        self.runner = runner_for(compiled, blocks, X, delta, engine.rule)
        self.cost = 2 * compiled.work_per_pass * starts.count
        self.rng = np.random.default_rng((starts.seed, starts.first, 1))
        self.n_blocks, self.count = len(blocks), starts.count
        self.first_rho = self.rho = first_penalty(compiled, blocks, delta, starts.count)
        self.convexity = convexity(compiled)
        self.done_sweeps = 0

    def advance(self, work: int) -> None:
        for _ in range(max(1, work // self.cost)):
            if self.done:
                return
            if self.done_sweeps % REFRESH == REFRESH - 1:
                self.runner.refresh()
            self.runner.sweep(self.rng.permutation(self.n_blocks), self.rho - self.convexity)
            self.done_sweeps += 1
            share = self.done_sweeps / self.engine.sweeps
            self.rho = steered(self.rho, self.first_rho, self.runner.X, share, self.engine.rule)
        to_numpy(self.rho[:1, :])  # an accelerator has only been told what to do: let the clock see it done

    @property
    def done(self) -> bool:
        return self.done_sweeps >= self.engine.sweeps

    @property
    def steps(self) -> int:
        return self.done_sweeps * self.count

    def candidates(self) -> Host:
        return np.where(to_numpy(self.runner.X) >= 0, 1.0, -1.0)


class CoordinateState(InTurn):
    """One start after another through the compiled coordinate loop."""

    def __init__(self, engine: Sweep, compiled: Compiled, starts: Starts) -> None:
        self.engine, self.compiled, self.starts = engine, compiled, starts
        table = compiled.tables(np.float32)
        self.model = table.smoothed(_number(engine.smoothing))
        self.b = table.b
        self.points = initial_points(compiled, starts).astype(np.float32)
        self.out = np.where(self.points >= 0, 1.0, -1.0)
        self.columns, self.rule = np.arange(compiled.n), np.array(engine.rule)
        super().__init__(starts.count)

    def begin(self) -> None:
        from dcra._kernels.state import refresh

        self.sweep = 0
        self.trail = np.repeat(self.points[self.current][None], 2, axis=0)
        self.z = np.empty_like(self.b)
        self.rest = np.zeros(self.compiled.n, np.int64)
        self.rho = np.zeros(1)
        self.blocks = runs_of(self.model.A, self.compiled.n)
        self.rng = random_state(self.starts.seed, self.starts.first + self.current)
        refresh(self.model, self.b, self.trail[0], self.z)
        self._work += self.compiled.work_per_pass

    def search(self, work: int) -> bool:
        from dcra._kernels import sweep as kernel

        engine = self.engine
        last = min(engine.sweeps, self.sweep + max(1, work // (2 * self.compiled.work_per_pass)))
        point = (self.model, self.trail, self.z, self.columns, self.blocks, self.rest, self.rng, self.rho)
        self._work += kernel.sweep(*point, self.sweep, last, engine.sweeps, self.rule)
        self._steps += last - self.sweep
        self.sweep = last
        return last == engine.sweeps

    def keep(self, finished: bool) -> None:
        self.out[self.current] = np.where(self.trail[0] >= 0, 1.0, -1.0)

    def candidates(self) -> Host:
        return self.out


RUN = 64
"""Columns of a sparse A that are visited in a row: neighbours in memory."""

REFRESH = 50
"""Block sweeps between two exact recomputations of the residual."""


def _number(smoothing: Smoothing | str) -> Smoothing:
    assert not isinstance(smoothing, str)
    return smoothing
