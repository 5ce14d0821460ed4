"""Annealing and descent on the true loss, for all replicas at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcra._array import Host
from dcra.accelerator import loader
from dcra.accelerator.device import library
from dcra.accelerator.form import Form
from dcra.accelerator.rows import STEEP
from dcra.accelerator.shape import ANNEAL_WARPS, AnnealShape


class Annealer:
    """Bits, residuals and objectives of the replicas that were loaded last."""

    def __init__(self, form: Form, shape: AnnealShape, number: int) -> None:
        self.form, self.shape = form, shape
        self.kernel = loader.load(kernel_of(shape), number)
        self.to_bits, self.from_bits = (loader.load(k, number) for k in (TO_BITS, FROM_BITS))
        self.table = _table(form, shape)

    def load(self, S: Any, targets: Any = None) -> None:
        """Take over signs (k, 4 quads), k a multiple of what a block holds; targets (k, rows) are b."""
        cupy, form = library(), self.form
        self.count = len(S)
        relaxed = S.astype(np.float32)
        self.Z = form.residual(relaxed, targets)
        self.line = relaxed @ form.linear
        self.E = cupy.empty(self.count, np.float32)
        groups = self.count // self.shape.K
        self.bits = cupy.empty((groups, form.quads), np.uint32)
        self.to_bits((1024,), (256,), (S, self.bits, *self._sizes()))
        if self.shape.BEST:
            self.best_bits, self.best_E = self.bits.copy(), cupy.full(self.count, np.inf, np.float32)

    def anneal(self, temperatures: Host, first: int, seed: int) -> None:
        """A pass for each temperature, in the form's units; passes count from `first`."""
        cupy = library()
        arrays = (self.form.columns, self.Z, self.bits, self.E, self.line, self.form.linear, self.table)
        steps = cupy.asarray(temperatures.astype(np.float32))
        counts = map(np.int32, (self.form.quads, first, len(temperatures)))
        grid, threads = (self.count // self.shape.replicas * self.shape.PARTS,), (32 * ANNEAL_WARPS,)
        arguments: tuple[Any, ...] = (*arrays, steps, *counts, np.uint32(seed & 0xFFFFFFFF))
        if self.shape.BEST:
            arguments += (self.best_bits, self.best_E)
        self.kernel(grid, threads, arguments, shared_mem=self.shape.shared_bytes)

    def signs(self) -> Any:
        """Where the replicas stand, (k, 4 quads)."""
        return self._signs(self.bits)

    def best_signs(self) -> Any:
        """The best points after any pass, where the kernel remembers them; `best_E` are their objectives."""
        return self._signs(self.best_bits)

    def _signs(self, bits: Any) -> Any:
        S = library().empty((self.count, 4 * self.form.quads), np.int8)
        self.from_bits((1024,), (256,), (bits, S, *self._sizes()))
        return S

    def _sizes(self) -> tuple[Any, ...]:
        numbers = (self.shape.K, self.form.quads, self.count // self.shape.K)
        return tuple(map(np.int32, numbers))


def kernel_of(shape: AnnealShape) -> loader.Kernel:
    return loader.kernel("anneal", "anneal", shape, shape.shared_bytes)


TO_BITS, FROM_BITS = loader.kernel("points", "to_bits"), loader.kernel("points", "from_bits")


def _table(form: Form, shape: AnnealShape) -> Any:
    """(1/k, e, lo, hi) of each row at (part, row of the quadruple, quadruple of the lane, lane)."""
    if not shape.TABLE:
        return library().zeros(4, np.float32)
    rows = form.rows
    numbers = np.zeros((shape.rows, 4))
    numbers[:, 0] = STEEP
    inverse = 1 / np.maximum(rows.k, 1 / STEEP)
    numbers[: form.n_rows] = np.stack([inverse, rows.e, rows.lo, rows.hi], axis=1)
    laid = numbers.reshape(shape.PARTS, shape.LANE_ROWS // 4, 32, 4, 4).transpose(0, 3, 1, 2, 4)
    return library().asarray(np.ascontiguousarray(laid).astype(np.float32))
