"""All replicas of a quadratic objective on one device, and the best points met."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.accelerator import device, loader
from dcra.accelerator.couplings import ADD_PRODUCTS, FLOATS, HALVES, SPARSE, Couplings, is_sparse
from dcra.accelerator.crossing import Crossing
from dcra.accelerator.device import library
from dcra.accelerator.loader import Macros
from dcra.accelerator.replicas import LAUNCH_SECONDS, POOLED, best_of, timed
from dcra.compiled.form import Compiled
from dcra.engines.base import Starts
from dcra.model.operators import DenseMatrix, SparseMatrix

MOST_WARPS = 16
PASS_RATE = 4e10
"""Flips tried per second by all replicas together, before anything is measured: an H200."""

REFRESH = 500
"""Passes after which fields are computed anew: sums of floats drift."""


def fits(compiled: Compiled) -> bool:
    """Whether the kernels can take a problem: couplings whose entries are known, and nothing else."""
    form = compiled.quadratic
    return form is not None and not compiled.pieces and isinstance(form.J, DenseMatrix | SparseMatrix)


class SpinShape:
    """How a problem would be dealt out on a device: a warp for a replica, as many as shared memory holds."""

    def __init__(self, compiled: Compiled, number: int) -> None:
        width = 128 * -(-compiled.n // 128)
        self.each = 4 * width + width // 8
        self.warps = min(MOST_WARPS, device.shared_memory(number) // self.each)
        self.fit = self.warps > 0
        self.most = device.multiprocessors(number) * self.warps
        self.sparse = is_sparse(compiled)

    def replicas(self, wanted: float) -> int:
        return int(min(wanted, self.most))

    def kernels(self) -> list[loader.Kernel]:
        """All that the problem may need; whether halves are exact is known on the device."""
        stores = (SPARSE,) if self.sparse else (HALVES, FLOATS)
        return [*(self.anneal(store) for store in stores), RANDOM, SPINS_OF, ADD_PRODUCTS]

    def anneal(self, store: int) -> loader.Kernel:
        macros = Macros(WARPS=self.warps, STORE=store)
        return loader.kernel("spins", "anneal_spins", macros, self.warps * self.each)


class Spins:
    """`count` replicas: bits, fields, and a pool of the best points of all rounds."""

    def __init__(self, compiled: Compiled, number: int, wanted: float) -> None:
        self.compiled, self.number = compiled, number
        self.shape = SpinShape(compiled, number)
        self.count = self.shape.replicas(wanted)
        with library().cuda.Device(number):
            self.couplings = Couplings(compiled, number)
            for kernel in self.shape.kernels():  # the other store's too, so that the next search finds it
                loader.load(kernel, number)
            self.kernel = loader.load(self.shape.anneal(self.couplings.store), number)
            self.draw, self.unpack = (loader.load(k, number) for k in (RANDOM, SPINS_OF))
            words = self.couplings.width // 32
            self.bits = library().zeros((self.count, words), np.uint32)
        self.launch_seconds = self.pass_seconds = self.hot_seconds = compiled.n * self.count / PASS_RATE
        self.pool: Any = None  # bits (k, words)
        self.pool_values: Host = np.empty(0)
        self.fresh: Any = None  # bits of the best replicas of the last round
        self.crossing = Crossing(compiled) if self.shape.sparse else None

    def begin(self, starts: Starts) -> None:
        """Put replicas at given spins, or at random ones."""
        c = self.couplings
        seeds = (np.uint32(starts.seed & 0xFFFFFFFF), np.uint32(starts.seed >> 32 & 0xFFFFFFFF))
        sizes = map(np.int32, (c.n, c.width, self.count))
        self.draw((1024,), (256,), (self.bits, *sizes, *seeds, np.int32(starts.first)))
        if starts.points is not None:
            given = _packed(starts.points[: self.count], c.width)
            self.bits[: len(given)] = library().asarray(given)
        self.refresh()

    def load_best(self, count: int) -> None:
        """Put replicas at the best points, again and again."""
        best = self.pool[: min(count, len(self.pool))]
        self.bits = best[library().arange(self.count) % len(best)]
        self.refresh()

    def refresh(self) -> None:
        self.F = self.couplings.fields(self._spins(self.bits))

    def passes_at_once(self) -> int:
        return max(1, int(LAUNCH_SECONDS / self.launch_seconds))

    def anneal(self, temperatures: Host, first: int, seed: int) -> float:
        """A pass for each temperature, in units of the couplings; the seconds they took."""
        cupy, c = library(), self.couplings
        steps = cupy.asarray((c.unit * temperatures).astype(np.float32))
        counts = (c.n, c.width, self.count, first, len(temperatures))
        arguments = (c.matrix, c.start, c.entries, self.F, self.bits, steps, *map(np.int32, counts))
        warps, shared = self.shape.warps, self.shape.warps * self.shape.each
        grid, threads, seeds = (-(-self.count // warps),), (32 * warps,), (np.uint32(seed & 0xFFFFFFFF),)
        spent = timed(lambda: self.kernel(grid, threads, (*arguments, *seeds), shared_mem=shared))
        self.launch_seconds = spent / len(temperatures)
        if first == 0:
            self.hot_seconds = max(self.hot_seconds, self.launch_seconds)
        return spent

    def keep(self) -> None:
        """Take where the replicas stand into the pool."""
        E = self._admit(self.bits)
        self.fresh = self.bits[library().asarray(best_of(E, POOLED))]

    def _admit(self, bits: Any) -> Host:
        """Take points into the pool; their values."""
        cupy, S = library(), self._spins(bits)
        values = E = self.couplings.values(S, self.couplings.fields(S))
        if self.pool is not None:
            bits, E = cupy.concatenate([self.pool, bits]), np.concatenate([self.pool_values, E])
        chosen = best_of(E, POOLED)
        self.pool, self.pool_values = bits[cupy.asarray(chosen)], E[chosen]
        return values

    def cross(self, count: int, seed: int) -> Iterator[None]:
        """Children of the pool and of the last round's best join the pool, after `count` crossings."""
        assert self.crossing is not None
        parents = self._host(library().concatenate([self.pool, self.fresh]))
        yield from self.crossing.cross(parents, count, seed)
        self._admit(library().asarray(_packed(self.crossing.children, self.couplings.width)))

    def rescue(self) -> None:
        self.keep()

    def best(self, count: int) -> Host:
        """The best points, spins (k, n) on the host."""
        return self._host(self.pool[:count])

    def _host(self, bits: Any) -> Host:
        found = library().asnumpy(self._spins(bits))
        return np.asarray(found[:, : self.couplings.n], np.float64)

    def _spins(self, bits: Any) -> Any:
        c = self.couplings
        S = library().empty((len(bits), c.width), np.float32)
        self.unpack((2048,), (256,), (bits, S, *map(np.int32, (c.n, c.width, len(bits)))))
        return S


RANDOM, SPINS_OF = (
    loader.kernel("spins", name, Macros(WARPS=1, STORE=SPARSE)) for name in ("random_spins", "spins_of")
)


def _packed(points: Host, width: int) -> Host:
    """Spins (k, n) as words (k, width / 32), the first in the lowest bit."""
    ones = np.zeros((len(points), width), np.uint8)
    ones[:, : points.shape[1]] = points > 0
    return np.packbits(ones, axis=1, bitorder="little").view(np.uint32)
