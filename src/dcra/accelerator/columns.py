"""Right-hand sides of one A on a device: each annealed from starts of its own, by the kernels of one search.

A replica is a start of a right-hand side. The kernels know b by the residuals alone, so that replicas of one
launch may belong to different ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host, to_numpy
from dcra.accelerator import device, loader
from dcra.accelerator.annealer import FROM_BITS, TO_BITS, Annealer, kernel_of
from dcra.accelerator.device import library
from dcra.accelerator.engine import DESCENT
from dcra.accelerator.form import Form
from dcra.accelerator.replicas import LAUNCH_SECONDS, PASS_RATE, timed
from dcra.accelerator.rows import known, rows_of
from dcra.accelerator.shape import MOST_ROWS, AnnealShape, anneal_shape
from dcra.compiled.form import Compiled

AT_ONCE = 1 << 20
"""Replicas of one launch at most; fewer where memory is short."""

RESIDENT_WARPS = 8
"""Warps of a block, of which a processor holds one at a time."""

FARTHEST = 2.0**60
"""Right-hand sides stay below, as on the CPU: their squares stay in the range of float32."""

RANDOM_SIGNS = loader.kernel("points", "random_signs")


class Found(NamedTuple):
    """Signs (k, 4 quads) and objectives (k,) of the best start of each right-hand side."""

    S: Any
    E: Any


def fits(compiled: Compiled) -> bool:
    """Whether the kernels can take the right-hand sides of a problem, on any device."""
    return known(compiled) and len(compiled.pieces) == 1 and compiled.n_rows <= MOST_ROWS


def shape_of(compiled: Compiled) -> AnnealShape:
    return anneal_shape(compiled.n_rows, not rows_of(compiled).plain)._replace(BEST=1)


def kernels_of(shape: AnnealShape) -> list[loader.Kernel]:
    return [kernel_of(shape), TO_BITS, FROM_BITS, RANDOM_SIGNS]


class Columns:
    """Right-hand sides B (k, n_rows), on the device and in the problem's own units."""

    def __init__(self, compiled: Compiled, B: Any, number: int) -> None:
        self.number, self.shape, self.at_once = number, shape_of(compiled), AT_ONCE
        self.form = Form(compiled, self.shape, number)
        self.annealer = Annealer(self.form, self.shape, number)
        self.random_signs = loader.load(RANDOM_SIGNS, number)
        piece = compiled.pieces[0]
        self.shift = library().asarray(to_numpy(piece.b).astype(np.float64))
        self.B, self.unit = B, piece.unit
        self.work = compiled.n * compiled.n_rows
        self.rate = PASS_RATE

    @property
    def resident(self) -> int:
        """Replicas that the device anneals at one time."""
        return device.multiprocessors(self.number) * RESIDENT_WARPS * self.shape.K // self.shape.PARTS

    def targets(self, places: Any) -> Any:
        """Some right-hand sides as the kernels see them, (k, rows)."""
        own = self.B[places] / self.unit + self.shift
        return self.form.targets(library().clip(own, -FARTHEST, FARTHEST))

    def first(self, places: Any) -> Any:
        """Signs of A'b - c."""
        pull = self.targets(places) @ self.form.columns.T - self.form.linear
        S = library().where(pull < 0, np.int8(-1), np.int8(1)).astype(np.int8)
        S[:, self.form.n :] = 1
        return S

    def random(self, places: Any, starts: int, seed: int) -> Any:
        """Signs of `starts` starts for each of some right-hand sides."""
        count, quads = len(places) * starts, self.form.quads
        S = library().empty((count, 4 * quads), np.int8)
        sizes = map(np.int32, (self.form.n, quads, count, starts))
        seeds = (np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32 & 0xFFFFFFFF))
        self.random_signs((1024,), (256,), (places.astype(np.int32), S, *sizes, *seeds))
        return S

    def anneal(self, places: Any, S: Any, heat: Host, seed: int, over: Callable[[], bool]) -> Found:
        """The best that starts S come to, those of a right-hand side beside each other.

        `heat` is a temperature for each pass, in the problem's units; a descent follows, unless it is `over`.
        """
        cupy, starts, count = library(), len(S) // len(places), len(S)
        lacking = -count % self.shape.replicas  # blocks are whole: the last start again
        rows = cupy.minimum(cupy.arange(count + lacking), count - 1)
        self.annealer.load(S[rows], self.targets(places[rows // starts]))
        temperatures = np.concatenate([heat / self.form.scale, DESCENT])
        done = 0
        while done < len(temperatures) and not (done and over()):
            last = min(len(temperatures), done + self._passes_at_once())
            self._launch(temperatures[done:last], done, seed)
            done = last
        found, E = self.annealer.best_signs()[:count], self.annealer.best_E[:count].reshape(-1, starts)
        best = E.argmin(axis=1)
        own = cupy.arange(len(places))
        return Found(found[own * starts + best], E[own, best])

    def _passes_at_once(self) -> int:
        return max(1, int(LAUNCH_SECONDS * self.rate / (self.work * self.annealer.count)))

    def _launch(self, temperatures: Host, first: int, seed: int) -> None:
        spent = timed(lambda: self.annealer.anneal(temperatures, first, seed))
        self.rate = len(temperatures) * self.work * self.annealer.count / spent

    def with_less_memory(self) -> None:
        """Half as many replicas at once, and a warning; an error where there are none left."""
        if self.at_once <= self.shape.replicas:
            raise library().cuda.memory.OutOfMemoryError(0, 0, 0)
        self.at_once //= 2
        library().get_default_memory_pool().free_all_blocks()
        said = f"the device is short of memory; {self.at_once} replicas at once from here on"
        warnings.warn(said, RuntimeWarning, stacklevel=2)
