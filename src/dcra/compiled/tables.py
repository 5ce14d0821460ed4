"""The arrays that compiled loops see: all pieces in one column store."""

from __future__ import annotations

from math import frexp, inf
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Array, Host, to_numpy
from dcra._kernels.store import CAPPED, LOGISTIC, TABLE, Dense, Model, Sparse, build, smoothed
from dcra.compiled.piece import Piece, Smoothing
from dcra.foreign import importing
from dcra.losses import CappedL1, Logistic, TableLoss
from dcra.model.operators import Operator

SAFE_FLOAT32_EXPONENT = 16
"""float32 entries between 2^-16 and 2^16 are left as they are, and in tables, those of float64 too: FAR must
be far from the slopes and curvatures of all losses."""

LANE = 32
"""Short columns of the tables are padded to a multiple of this."""

FAR = 1e30
"""Stands for infinity in tables: finite, so that 0 * FAR is 0."""

Pieces = tuple[Piece, ...]


class Tables(NamedTuple):
    """What compiled loops see: model, stacked b and, per piece, the divisor of its rows and delta's unit."""

    model: Model
    b: Host
    n_rows: int
    scales: tuple[float, ...]
    units: tuple[float, ...]

    def residual(self, z: Host) -> Host:
        """`Compiled.residual` from the loops' own z."""
        return np.asarray(z * np.repeat(self.scales, np.diff(self.model.rows.start)))[..., : self.n_rows]

    def smoothed(self, delta: Smoothing) -> Model:
        """The model smoothed as `Piece.smoothed` would be."""
        deltas = delta if isinstance(delta, tuple) else (delta,) * len(self.units)
        return smoothed(self.model, [d / unit for d, unit in zip(deltas, self.units, strict=True)])


def build_tables(pieces: Pieces, c: Array | None, n: int, dtype: np.dtype[Any], padded: bool) -> Tables:
    """Stack the pieces into one column store, each divided by a power of two of its own."""
    scales = [_table_scale(p.operator, dtype) for p in pieces]
    total = sum(p.operator.entries for p in pieces)
    dense = total > 0.1 * n * _rows(pieces)
    pad = _padding(pieces, dtype) if dense and padded else 0
    store = _dense_store(pieces, n, scales, dtype, pad) if dense else _sparse_store(pieces, n, scales, dtype)
    b = [to_numpy(p.b) / s for p, s in zip(pieces, scales, strict=True)]
    rows = [_table_row(p, s) for p, s in zip(pieces, scales, strict=True)]
    weights = None
    if any(not isinstance(p.weight, float) for p in pieces):
        sizes = [p.where.stop - p.where.start for p in pieces]
        weights = np.concatenate(
            [
                np.ones(size) if isinstance(p.weight, float) else to_numpy(p.weight)
                for p, size in zip(pieces, sizes, strict=True)
            ]
        )
        weights = np.append(weights, np.ones(pad))
    model = build(
        store,
        np.asarray([row for _, row in rows]).reshape(-1, 5),
        c=None if c is None else to_numpy(c),
        start=[0, *(p.where.stop + pad for p in pieces)],
        kind=[kind for kind, _ in rows],
        weight=weights,
        n_rows=_rows(pieces),
    )
    farthest = FAR if dtype == np.float32 else inf  # points are judged elsewhere
    stacked = np.concatenate([*b, np.zeros(pad)]).clip(-farthest, farthest).astype(dtype)
    units = tuple(
        (p.weight if isinstance(p.weight, float) and p.weight > 0 else 1.0) * s * s
        for p, s in zip(pieces, scales, strict=True)
    )
    return Tables(model, stacked, _rows(pieces), tuple(scales), units)


def _table_scale(operator: Operator, dtype: np.dtype[Any]) -> float:
    """The power of two that a table is divided by; 1 where A can be used as it lies."""
    exponent = frexp(operator.magnitude or 1.0)[1]
    as_it_lies = dtype in (np.float64, operator.A.dtype) and abs(exponent) <= SAFE_FLOAT32_EXPONENT
    return 1.0 if as_it_lies else 2.0**exponent


def _padding(pieces: Pieces, dtype: np.dtype[Any]) -> int:
    """Rows of zeros that let short columns fill whole vectors of the processor; their loss is 0."""
    single = len(pieces) == 1 and isinstance(pieces[0].loss, TableLoss)
    return -_rows(pieces) % LANE if single and dtype == np.float32 and _rows(pieces) < 8 * LANE else 0


def _table_row(p: Piece, scale: float) -> tuple[int, list[float]]:
    """The five numbers of `_kernels.store.Rows` for a piece whose A and b were divided by `scale`."""
    kind, row = _exact_row(p, p.argument * scale)
    return kind, [max(-FAR, min(number, FAR)) for number in row]


def is_cut_off(p: Piece, scale: float, reach: float) -> bool:
    """Whether the loops see another loss at residuals up to `reach`: FAR stands for infinity in tables."""
    kind, (slope, k, e, *ends) = _exact_row(p, p.argument * scale)
    if kind != TABLE:
        return bool(max(p.argument * scale, k, e, *map(abs, ends)) >= FAR)
    steepest = slope * max(1.0, reach / scale) if k > 0 else 0.0
    finite = [abs(end) for end in ends if abs(end) < inf]
    return bool(max(steepest, k, e, *finite) >= FAR)


def _exact_row(p: Piece, a: float) -> tuple[int, list[float]]:
    w = p.weight if isinstance(p.weight, float) else 1.0
    if isinstance(p.loss, Logistic):
        steep = min(a, FAR)  # where it is a hinge, only the slope s a counts
        return LOGISTIC, [w * a * steep / 4, steep, w * (a / steep), 0.0, 0.0]
    if isinstance(p.loss, CappedL1):
        steep = min(a, FAR)
        return CAPPED, [FAR, p.loss.cap / steep, 0.0, -w * steep, w * steep]
    assert isinstance(p.loss, TableLoss)
    if w == 0:
        return TABLE, [FAR, 0.0, 0.0, 0.0, 0.0]
    k, e, lo, hi = p.loss.table.rescaled(w, a)
    if w < 0:  # only linear losses have a negative weight
        lo, hi = hi, lo
    return TABLE, [1 / k if k > 0 else FAR, k, e, lo, hi]


def _dense_store(pieces: Pieces, n: int, scales: list[float], dtype: np.dtype[Any], pad: int) -> Dense:
    if len(pieces) == 1 and scales[0] == 1 and pad == 0:
        A = pieces[0].operator.A
        if isinstance(A, np.ndarray) and A.dtype == dtype and A.T.flags.c_contiguous:
            return Dense(A.T)
    cols = np.empty((n, _rows(pieces) + pad), dtype)
    cols[:, _rows(pieces) :] = 0
    for p, scale in zip(pieces, scales, strict=True):
        source = p.operator.dense()
        tile = 256
        for j in range(0, source.shape[1], tile):  # new memory is touched piece by piece: that takes longest
            if p.operator.watch is not None:
                p.operator.watch.check()
            for i in range(0, source.shape[0], tile):  # tiles keep both sides of a transpose in cache
                block = source[i : i + tile, j : j + tile].T
                target = cols[j : j + tile, p.where.start + i : p.where.start + i + block.shape[1]]
                np.multiply(block, 1 / scale, out=target, casting="same_kind")
    return Dense(cols)


def _sparse_store(pieces: Pieces, n: int, scales: list[float], dtype: np.dtype[Any]) -> Sparse:
    with importing():
        from scipy import sparse

    blocks = []
    for p, scale in zip(pieces, scales, strict=True):
        A = sparse.csc_array(p.operator.A)
        data = np.multiply(A.data, 1 / scale, dtype=dtype, casting="same_kind")
        blocks.append(sparse.csc_array((data, A.indices, A.indptr), shape=A.shape))
    A = (
        sparse.csc_array(blocks[0] if len(blocks) == 1 else sparse.vstack(blocks, format="csc"))
        if blocks
        else sparse.csc_array((0, n))
    )
    A = A if A.has_sorted_indices else A.sorted_indices()  # a copy: the piece may share its arrays
    pointers, rows = (
        A.indptr.astype(np.int64),
        np.require(A.indices, np.int32, ["C", "A"]),
    )  # an array that has travelled may lie at any address
    return Sparse(pointers, rows, A.data.astype(dtype, copy=False))


def _rows(pieces: Pieces) -> int:
    return pieces[-1].where.stop if pieces else 0
