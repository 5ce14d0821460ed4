"""A problem on the device: its columns, in an order of their own, with rows scaled for the kernels."""

from __future__ import annotations

from math import frexp
from typing import Any

import numpy as np

from dcra._array import Array, Host, is_numpy, to_numpy
from dcra.accelerator.device import library
from dcra.accelerator.rows import Rows, rows_of
from dcra.accelerator.shape import AnnealShape
from dcra.compiled.form import Compiled

LARGEST_SUM = 4096.0
"""What the entries of a column may come to: sums of them are added up as halves."""

LARGEST_NUMBER, LARGEST_VALUE = 2.0**60, 2.0**100
"""What single precision takes: rows and slopes from the one down to its reciprocal, losses from the other."""


class OutOfReach(Exception):
    """Losses of a problem leave the range of single precision, in which kernels add them up."""


class Form:
    """F / scale = losses of (A x - b) + linear'x + a constant, over the columns `names` of the problem.

    Columns are shuffled once, so that neighbours, which tend to be alike, do not move together. Where all
    losses are sums of absolute values, rows are scaled so that the loss is sum |z|.
    """

    def __init__(self, compiled: Compiled, shape: AnnealShape, number: int) -> None:
        cupy = library()
        self.compiled, self.n, self.n_rows = compiled, compiled.n, compiled.n_rows
        self.rows: Rows = rows_of(compiled)
        self.plain = not shape.TABLE
        self.quads = max(2, -(-self.n // 4))
        self.names: Host = np.random.default_rng(0).permutation(self.n)
        b = np.concatenate([to_numpy(p.b).astype(np.float64) for p in compiled.pieces])
        c = np.zeros(self.n) if compiled.c is None else to_numpy(compiled.c).astype(np.float64)[self.names]
        self.columns = cupy.zeros((4 * self.quads, shape.rows), np.float32)
        inner = self.columns[: self.n, : self.n_rows]
        order = cupy.asarray(self.names)
        for p in compiled.pieces:
            inner[:, p.where] = on_device(p.operator.A, number).T[order]
        self.row_squares: Host = cupy.asnumpy(cupy.square(inner).sum(axis=0)).astype(np.float64)
        self.in_reach = self._in_reach(cupy.asnumpy(abs(inner).max(axis=0)).astype(np.float64), b, c)
        self.scale = 1.0
        if self.plain:
            half, middle = (self.rows.hi - self.rows.lo) / 2, (self.rows.hi + self.rows.lo) / 2
            if np.any(middle != 0):
                c = c + cupy.asnumpy(inner @ _single(middle)).astype(np.float64)
            if np.any(half != 1):
                inner *= _single(half)
            self.scale = power_of_two(float(abs(inner).sum(axis=1).max()) / LARGEST_SUM)
            inner *= np.float32(1 / self.scale)
            b, c = half * b / self.scale, c / self.scale
        self.own_linear: Host = np.zeros(4 * self.quads, np.float32)
        self.own_linear[: self.n] = c
        self.linear = cupy.asarray(self.own_linear)
        self.b = cupy.zeros(shape.rows, np.float32)
        self.b[: self.n_rows] = _single(b)

    def _in_reach(self, largest: Host, b: Host, c: Host) -> bool:
        """Whether losses stay in the range of single precision; `largest` are the largest entries of rows."""
        reach = self.n * largest + np.abs(b)
        numbers = np.abs(np.concatenate([largest, reach, self.rows.slopes(reach)]))
        numbers = numbers[numbers > 0]
        size = float(np.sum(np.abs(self.rows.values(reach))) + np.sum(np.abs(c)))
        return bool(
            np.all((numbers > 1 / LARGEST_NUMBER) & (numbers < LARGEST_NUMBER))
            and (size == 0 or 1 / LARGEST_VALUE < size < LARGEST_VALUE)
        )

    def residual(self, X: Any, targets: Any = None) -> Any:
        """A x - b in float32 for points (k, n) or wider, padding included; targets (k, rows) are b."""
        return X[:, : self.n] @ self.columns[: self.n] - (self.b if targets is None else targets)

    def targets(self, B: Any) -> Any:
        """Right-hand sides (k, n_rows) of the problem's rows on the device as float32 (k, rows) of these."""
        factor = (self.rows.hi - self.rows.lo) / (2 * self.scale) if self.plain else np.ones(self.n_rows)
        T = library().zeros((len(B), len(self.b)), np.float32)
        T[:, : self.n_rows] = B * library().asarray(factor)
        return T

    def problem_residual(self, z: Host) -> Host:
        """The residual of the problem's own rows, from one of these."""
        z = z[..., : self.n_rows].astype(np.float64)
        if not self.plain:
            return z
        half = (self.rows.hi - self.rows.lo) / 2
        return np.where(half > 0, z * self.scale / np.where(half > 0, half, 1.0), 0.0)

    def in_order(self, S: Any) -> Any:
        """Signs (k, n) on the device, in the problem's order."""
        return S[:, library().asarray(np.argsort(self.names))]

    def spins(self, S: Any) -> Host:
        """Spins (k, n) on the host, in the problem's order, from signs here."""
        host = library().asnumpy(S)[:, : self.n]
        spins = np.empty(host.shape)
        spins[:, self.names] = host
        return spins


def on_device(A: Array, number: int) -> Any:
    """A as CuPy's: moved from the host, taken as it lies elsewhere."""
    cupy = library()
    if is_numpy(A):
        return cupy.asarray(A)
    there = cupy.from_dlpack(A)
    return there if there.device.id == number else cupy.asarray(there)


def power_of_two(size: float) -> float:
    """The least power of two that is no less than a size; 1 for 0."""
    if not 0 < size < np.inf:
        return 1.0
    mantissa, exponent = frexp(size)
    return float(2.0 ** (exponent - (mantissa == 0.5)))


def _single(x: Host) -> Any:
    return library().asarray(x.astype(np.float32))
