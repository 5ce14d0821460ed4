"""All replicas of one problem on one device: sweeps, annealing, the best points met, and their pace."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from dcra._array import Host, to_numpy
from dcra.accelerator import annealer, device, loader, sweeper
from dcra.accelerator.annealer import Annealer
from dcra.accelerator.device import library
from dcra.accelerator.form import Form, OutOfReach
from dcra.accelerator.rows import known, rows_of, smoothing_of
from dcra.accelerator.shape import MOST_ROWS, AnnealShape, SweepShape, anneal_shape, sweep_shape
from dcra.accelerator.sweeper import Sweeper
from dcra.compiled.form import Compiled
from dcra.compiled.units import WIDENING, natural_units, units_at
from dcra.engines.base import Starts

LAUNCH_SECONDS = 0.016
"""What one launch may take: long against its overhead, short against the patience of a user."""

SWEEP_RATE, PASS_RATE = 4e13, 8e12
"""Entries of A times replicas per second, before anything is measured: an H200."""

MEMORY_SHARE = 0.8
POOLED = 256
"""Best points that are kept."""

SAME = 1e-6
"""Objectives that differ by less, relatively, are taken to be those of one point."""

WORST = float(np.finfo(np.float64).max)
"""Stands for objectives that are no numbers."""


class Shapes:
    """How a problem would be dealt out on a device."""

    def __init__(self, compiled: Compiled, number: int) -> None:
        table = not rows_of(compiled).plain
        shared = device.shared_memory(number)
        self.sweep: SweepShape = sweep_shape(compiled.n_rows, table, shared)
        self.anneal: AnnealShape = anneal_shape(compiled.n_rows, table)
        self.fit = max(self.sweep.shared_bytes, self.anneal.shared_bytes) <= shared
        self.unit = max(self.sweep.width, self.anneal.replicas)  # both are powers of two
        self.most = self.sweep.most_replicas(device.multiprocessors(number))

    def replicas(self, wanted: float) -> int:
        """As many as are wanted, in whole blocks, at most what the device holds at once."""
        units = -(-int(min(wanted, self.most)) // self.unit)
        return self.unit * max(1, min(units, self.most // self.unit))

    def kernels(self) -> list[loader.Kernel]:
        points = [sweeper.SCATTER, sweeper.SIGNS, annealer.TO_BITS, annealer.FROM_BITS]
        return [sweeper.kernel_of(self.sweep), annealer.kernel_of(self.anneal), *points]


def fits(compiled: Compiled) -> bool:
    """Whether the kernels can take a problem, on any device."""
    return known(compiled) and compiled.n_rows <= MOST_ROWS


class Replicas:
    """Replicas of a problem; `count` of them, fewer than wanted where memory is short."""

    def __init__(self, compiled: Compiled, number: int, wanted: float) -> None:
        self.compiled, self.number = compiled, number
        self.shapes = Shapes(compiled, number)
        cupy = library()
        with cupy.cuda.Device(number):
            self.form = Form(compiled, self.shapes.anneal, number)
            if not self.form.in_reach:
                raise OutOfReach
            self.annealer = Annealer(self.form, self.shapes.anneal, number)
            self.sweeper = self._sweeper(self.shapes.replicas(wanted))
        self.count = self.sweeper.count
        work = compiled.n * compiled.n_rows * self.count
        self.sweep_seconds, self.pass_seconds = work / SWEEP_RATE, work / PASS_RATE
        self.temperature = 1.0
        self.pool: Any = None  # signs (k, 4 quads)
        self.pool_values: Host = np.empty(0)
        with cupy.cuda.Device(number):
            self.set_units(None)

    def _sweeper(self, count: int) -> Sweeper:
        """The most replicas up to `count` that memory suffices for; a warning where that is fewer."""
        cupy, unit, wanted = library(), self.shapes.unit, count
        rows = self.shapes.sweep.rows + self.shapes.anneal.rows
        each = 4 * (4 * self.form.n + 2 * rows)  # bytes
        room = int(MEMORY_SHARE * device.free_memory(self.number)) // each
        count = min(count, max(unit, room // unit * unit))
        while True:
            try:
                made = Sweeper(self.form, self.shapes.sweep, self.number, count)
                break
            except cupy.cuda.memory.OutOfMemoryError:
                if count == unit:
                    raise
                count = max(unit, count // 2 // unit * unit)
        if count < wanted:
            said = f"the device has memory for {count} of {wanted} replicas; the search goes on with these"
            warnings.warn(said, RuntimeWarning, stacklevel=2)
        return made

    def set_units(self, z: Host | None) -> None:
        """Smoothing and temperature that the residuals of a good point suggest; of a random one at first."""
        form, share = self.form, 1.0
        if z is None:
            signs = np.where(np.random.default_rng(0).random((1, form.n)) < 0.5, -1.0, 1.0)
            point = library().asarray(signs.astype(np.float32))
            z, share = library().asnumpy(form.residual(point))[0], 0.5
        own = form.problem_residual(z)
        added: Host | float = 0.0
        if form.plain:
            self.sweeper.smooth(share * WIDENING * float(np.mean(np.abs(z[: form.n_rows]))))
        else:
            units = natural_units(self.compiled) if share < 1 else units_at(self.compiled, own[None])
            added = smoothing_of(self.compiled, units.delta)
            self.sweeper.smooth_rows(added)
        slopes = form.rows.slopes(own, added)
        squares = float(np.sum(slopes**2 * form.row_squares)) / form.n
        if self.compiled.c is not None:
            squares += float(np.mean(to_numpy(self.compiled.c).astype(np.float64) ** 2))
        self.temperature = float(np.sqrt(squares)) / form.scale or 1.0

    def begin(self, starts: Starts) -> None:
        self.sweeper.begin(starts)

    def sweeps_at_once(self) -> int:
        return max(1, int(LAUNCH_SECONDS / self.sweep_seconds))

    def passes_at_once(self) -> int:
        return max(1, int(LAUNCH_SECONDS / self.pass_seconds))

    def sweep(self, first: int, last: int, total: int) -> None:
        spent = timed(lambda: self.sweeper.sweep(first, last, total))
        self.sweep_seconds = spent / (last - first)

    def anneal(self, temperatures: Host, first: int, seed: int) -> None:
        spent = timed(lambda: self.annealer.anneal(temperatures, first, seed))
        self.pass_seconds = spent / len(temperatures)

    def keep(self, S: Any, E: Host) -> None:
        """Take points into the pool; units follow where the best of all is among them."""
        cupy = library()
        if self.pool is not None:
            S, E = cupy.concatenate([self.pool, S]), np.concatenate([self.pool_values, E])
        chosen, known_best = best_of(E, POOLED), min(self.pool_values, default=np.inf)
        self.pool, self.pool_values = S[cupy.asarray(chosen)], E[chosen]
        if not self.pool_values[0] < known_best:
            return
        best = self.pool[:1].astype(np.float32)
        self.set_units(cupy.asnumpy(self.form.residual(best))[0])

    def copies(self, S: Any, count: int) -> Any:
        """Points again and again, `count` in all."""
        return S[library().arange(count) % len(S)]

    def rescue(self) -> None:
        """Take where the replicas stand into the pool, after a descent: the search ends before the round."""
        self.annealer.load(self.sweeper.signs())
        self.anneal(np.zeros(1), 0, 0)
        self.keep(self.annealer.signs(), library().asnumpy(self.annealer.E).astype(np.float64))

    def best(self, count: int) -> Host:
        """The best points, spins (k, n) on the host."""
        return self.form.spins(self.pool[:count])


def timed(launch: Callable[[], None]) -> float:
    """Seconds that a launch takes on the device; the clock of the host sees it done."""
    event = library().cuda.Event
    before, after = event(), event()
    before.record()
    launch()
    after.record()
    after.synchronize()
    return max(1e-7, float(library().cuda.get_elapsed_time(before, after)) / 1000)


def best_of(E: Host, count: int) -> Host:
    """Places of the best values, one of each kind first, then their likes where there are too few."""
    E, few = np.nan_to_num(E, nan=WORST, posinf=WORST), 4 * count
    places = np.arange(len(E)) if few >= len(E) else np.flatnonzero(np.partition(E, few)[few] >= E)
    order = places[np.argsort(E[places], kind="stable")]
    steps = np.diff(E[order], prepend=-np.inf)
    new = steps > SAME * np.maximum(1e-30, np.abs(E[order]))
    return np.concatenate([order[new], order[~new]])[:count]
