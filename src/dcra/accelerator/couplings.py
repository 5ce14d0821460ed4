"""A quadratic objective s'Js + c's on the device: 2 J in one of three stores, and the fields of spins."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcra._array import Host, to_numpy
from dcra.accelerator import loader
from dcra.accelerator.device import library
from dcra.accelerator.form import on_device
from dcra.compiled.form import Compiled
from dcra.compiled.quadratic import DENSE_SHARE
from dcra.model.operators import SparseMatrix

FLOATS, HALVES, SPARSE = 0, 1, 2
"""The stores of kernels/spins.cu."""


def is_sparse(compiled: Compiled) -> bool:
    """Whether the couplings are kept by their entries that are not zero."""
    assert compiled.quadratic is not None
    J = compiled.quadratic.J
    return isinstance(J, SparseMatrix) and DENSE_SHARE * compiled.n**2 >= J.entries


class Couplings:
    """2 J of shape (n, width), c (width,), and the temperature that fields of random spins are."""

    def __init__(self, compiled: Compiled, number: int) -> None:
        assert compiled.quadratic is not None
        cupy, self.n = library(), compiled.n
        self.width = 128 * -(-self.n // 128)
        c = np.zeros(self.width, np.float32)
        if compiled.c is not None:
            c[: self.n] = to_numpy(compiled.c)
        self.c = cupy.asarray(c)
        self.matrix = self.dense = cupy.zeros(1, np.float32)
        self.start, self.entries = cupy.zeros(1, np.int32), cupy.zeros(2, np.int32)
        J = compiled.quadratic.J
        if is_sparse(compiled):
            self.store, squares = SPARSE, self._fill_sparse(J.A)
            self.add_products = loader.load(ADD_PRODUCTS, number)
        else:
            self.store, squares = self._fill_dense(on_device(_dense(J), number))
        self.unit = float(np.sqrt(squares / self.n + np.mean(np.square(c[: self.n])))) or 1.0

    def _fill_sparse(self, J: Any) -> float:
        columns, cupy = J.tocsc(), library()
        pairs = np.empty((columns.nnz, 2), np.int32)
        pairs[:, 0] = columns.indices
        pairs[:, 1] = (2 * columns.data).astype(np.float32).view(np.int32)
        self.start, self.entries = cupy.asarray(columns.indptr.astype(np.int32)), cupy.asarray(pairs)
        return float(np.sum(np.square(2.0 * columns.data)))

    def _fill_dense(self, J: Any) -> tuple[int, float]:
        """As halves, where these are exact."""
        cupy = library()
        self.dense = cupy.zeros((self.n, self.width), np.float32)
        self.dense[:, : self.n] = 2 * J
        halves = self.dense.astype(np.float16)
        exact = bool((halves == self.dense).all())
        self.matrix = halves if exact else self.dense
        return (HALVES if exact else FLOATS), float(cupy.square(self.dense).sum(dtype=np.float64))

    def fields(self, S: Any) -> Any:
        """2 J s + c for spins (k, width)."""
        if self.store != SPARSE:
            return S[:, : self.n] @ self.dense + self.c
        F = library().empty_like(S)
        F[:] = self.c
        sizes = map(np.int32, (self.n, self.width, len(S)))
        self.add_products((2048,), (256,), (self.start, self.entries, S, F, *sizes))
        return F

    def values(self, S: Any, F: Any) -> Host:
        """s'Js + c's from spins and their fields, in float64 on the host."""
        return np.asarray(library().asnumpy((S * (F + self.c)).sum(axis=1, dtype=np.float64))) / 2


ADD_PRODUCTS = loader.kernel("spins", "add_products", loader.Macros(WARPS=1, STORE=SPARSE))


def _dense(J: Any) -> Any:
    return J.dense() if isinstance(J, SparseMatrix) else J.A
