"""The one form that engines see: spins, terms in a row, moderate scales.

A piece is weight * f(argument * (A s - b)) with s in {-1,1}^n. The change of domain and the scale live in
`argument`, `b`, `c` and `offset`, so that A is copied only where its entries are too large or too small
to be squared safely.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property
from math import frexp, inf
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Array, device_of, from_numpy, is_numpy, namespace, to_numpy
from dcra._kernels import loading
from dcra._kernels.store import CAPPED, LOGISTIC, TABLE, Dense, Model, Sparse, build, smoothed
from dcra.fields import Couplings, SpinForm, build_couplings
from dcra.losses import CappedL1, Linear, Logistic, Loss, TableLoss
from dcra.operators import MatrixFree, Operator, SparseMatrix
from dcra.problem import Problem

SAFE_EXPONENT = {"float64": 128, "float32": 16}
"""Entries between 2^-e and 2^e are left as they are."""

SAFE_VALUE_EXPONENT = 64
"""Values of F between 2^-64 and 2^64 are left as they are: within the reach of float32 tables."""

LANE = 32
"""Short columns of the tables are padded to a multiple of this."""

FAR = 1e30
"""Stands for infinity in tables: finite, so that 0 * FAR is 0."""

Smoothing = float | tuple[float, ...]

_building = threading.Lock()


@dataclass(frozen=True, eq=False)
class Piece:
    """weight * f(argument * (A s - b)), owner of the rows `where` of the stacked residual."""

    loss: Loss
    operator: Operator
    b: Array
    argument: float
    weight: float | Array
    where: slice
    term: int  # its place in Problem.terms

    def values(self, z: Array) -> Array:
        """The piece's value for residuals z = A s - b of shape (..., rows)."""
        u = z if self.argument == 1 else self.argument * z
        if isinstance(self.weight, float):
            return self.weight * self.loss.value(u)
        return namespace(z).sum(self.weight * self.loss.values(u), axis=-1)

    def slopes(self, z: Array, delta: float) -> Array:
        """Gradient in z of the smoothed piece."""
        a = self.argument
        if a == 1:
            y = self.loss.envelope_grad(z, delta)
            return y if isinstance(self.weight, float) and self.weight == 1 else self.weight * y
        return (self.weight * a) * self.loss.envelope_grad(a * z, delta * a * a)

    def smoothed(self, z: Array, delta: float) -> Array:
        """weight * envelope of f(argument * .) with parameter delta; the loss itself when delta = 0."""
        if delta == 0:
            return self.values(z)
        a = self.argument
        if isinstance(self.weight, float):
            return self.weight * self.loss.envelope(a * z, delta * a * a)
        p = self.loss.prox(a * z, delta * a * a)
        rows = self.loss.values(p) + (a * z - p) ** 2 / (2 * delta * a * a)
        return namespace(z).sum(self.weight * rows, axis=-1)

    def curvature(self, delta: float) -> float:
        """Largest second derivative of the smoothed piece in z."""
        own = self.argument**2 * self.loss.curvature
        bound = 0.0 if own == 0 else 1 / (delta + 1 / own) if delta > 0 or own < inf else inf
        return self.heaviest * bound

    @cached_property
    def heaviest(self) -> float:
        if isinstance(self.weight, float):
            return abs(self.weight)
        return float(namespace(self.weight).max(abs(self.weight)))

    @property
    def smooth(self) -> bool:
        return self.loss.curvature < inf


class Tables(NamedTuple):
    """What compiled loops see: model, stacked b and, per piece, the divisor of its rows and delta's unit."""

    model: Model
    b: np.ndarray[Any, Any]
    n_rows: int
    scales: tuple[float, ...]
    units: tuple[float, ...]

    def residual(self, z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """`Compiled.residual` from the loops' own z."""
        return np.asarray(z * np.repeat(self.scales, np.diff(self.model.rows.start)))[..., : self.n_rows]

    def smoothed(self, delta: Smoothing) -> Model:
        """The model smoothed as `Piece.smoothed` would be."""
        deltas = delta if isinstance(delta, tuple) else (delta,) * len(self.units)
        return smoothed(self.model, [d / unit for d, unit in zip(deltas, self.units, strict=True)])


@dataclass(frozen=True, eq=False)
class Compiled:
    """F(x) = value_scale * (sum of pieces + c's + s'Js) + offset at s = the spins of x."""

    problem: Problem
    pieces: tuple[Piece, ...]
    c: Array | None
    offset: float
    value_scale: float
    like: Array
    loops: bool = True  # whether compiled loops may be used
    quadratic: SpinForm | None = None  # s'Js

    @property
    def n(self) -> int:
        return self.problem.n

    @property
    def n_rows(self) -> int:
        return self.pieces[-1].where.stop if self.pieces else 0

    @cached_property
    def work_per_pass(self) -> int:
        couplings = 0 if self.quadratic is None else self.quadratic.entries
        return max(1, couplings + sum(p.operator.entries for p in self.pieces), self.n)

    @property
    def has_columns(self) -> bool:
        coupled = self.quadratic is None or self.quadratic.J.has_columns
        return coupled and all(p.operator.has_columns for p in self.pieces)

    def residual(self, S: Array) -> Array:
        """Stacked A s - b for spins or relaxed spins S of shape (..., n): (..., n_rows)."""
        parts = [p.operator.apply(S) - p.b for p in self.pieces]
        if len(parts) == 1:
            return parts[0]
        xp = namespace(S)
        return xp.concat(parts, axis=-1) if parts else xp.zeros((*S.shape[:-1], 0), dtype=S.dtype)

    @property
    def residual_at_zero(self) -> Array:
        """Stacked -b: the residual at s = 0, without a pass over A."""
        xp = namespace(self.like)
        parts = [-p.b for p in self.pieces]
        return (
            parts[0] if len(parts) == 1 else xp.concat([*parts, xp.zeros(0, dtype=self.like.dtype)], axis=-1)
        )

    def slopes(self, Z: Array, delta: Smoothing) -> Array:
        """Gradient of the smoothed losses at residuals Z."""
        parts = [p.slopes(Z[..., p.where], d) for p, d in self._with(delta)]
        if len(parts) == 1:
            return parts[0]
        return namespace(Z).concat(parts, axis=-1) if parts else Z

    def smoothed(self, Z: Array, delta: Smoothing) -> Array:
        """Sum of the smoothed losses at residuals Z."""
        return sum(p.smoothed(Z[..., p.where], d) for p, d in self._with(delta))

    def pull(self, Y: Array) -> Array:
        """A'y + c: the gradient in s of the losses whose slopes are Y, and of the linear term."""
        g: Array = 0.0 if self.c is None else self.c
        for p in self.pieces:
            g = p.operator.adjoint(Y[..., p.where]) + g
        return g if self.pieces else g + namespace(Y).zeros((*Y.shape[:-1], self.n), dtype=Y.dtype)

    def linear(self, S: Array) -> Array:
        return 0.0 if self.c is None else S @ self.c

    def deltas(self, delta: Smoothing) -> tuple[float, ...]:
        """One smoothing parameter per piece."""
        return delta if isinstance(delta, tuple) else (delta,) * len(self.pieces)

    def _with(self, delta: Smoothing) -> list[tuple[Piece, float]]:
        return list(zip(self.pieces, self.deltas(delta), strict=True))

    def encode(self, x: Array) -> np.ndarray[Any, Any]:
        """Spins, on the host, of points x of the problem's domain."""
        host = to_numpy(x).astype(np.float64)
        return host if self.problem.domain == "spin" else 2 * host - 1

    def decode(self, S: np.ndarray[Any, Any]) -> Array:
        """Points of the problem's domain, in its array library and float type, from spins on the host."""
        host = S if self.problem.domain == "spin" else (S + 1) / 2
        return from_numpy(host, self.problem.like)

    @property
    def tabulated(self) -> bool:
        """Whether compiled loops can take it: matrices on the host and losses they know."""
        known = (TableLoss, Logistic, CappedL1)
        return (
            self.loops
            and is_numpy(self.like)
            and len(self.pieces) <= 255
            and (self.quadratic is None or self.quadratic.J.has_columns)
            and all(isinstance(p.loss, known) and p.operator.has_columns for p in self.pieces)
        )

    def tables(self, dtype: Any = np.float64, padded: bool = True) -> Tables:
        """The arrays for compiled loops, built once; short columns are padded where loops run along them."""
        key = np.dtype(dtype), padded
        with _building:
            cache: dict[Any, Tables] = self.__dict__.setdefault("_tables", {})
            if key not in cache:
                cache[key] = _build_tables(self, *key)
            return cache[key]

    @cached_property
    def couplings(self) -> Couplings:
        """J and c as compiled loops see them."""
        return build_couplings(self.quadratic, None if self.c is None else to_numpy(self.c), self.n)


def compile_problem(problem: Problem, loops: bool | None = None, keep_rows: bool = False) -> Compiled:
    """Bring a problem into spin form; `loops` says whether compiled loops may be used (if they can)."""
    pieces: list[Piece] = []
    offset = problem.constant
    linear: Any = 0.0 if problem.linear is None else problem.linear  # linear losses join it
    safe = SAFE_EXPONENT["float32" if problem.like.dtype == namespace(problem.like).float32 else "float64"]
    start = 0
    for index, term in enumerate(problem.terms):
        operator, b, weight = term.operator, term.b, term.weight
        if isinstance(term.loss, Linear):
            slope = weight + 0 * b
            linear = linear + operator.exact_adjoint(slope)
            offset -= float(namespace(b).sum(slope * b))
            continue
        argument = 1.0
        if problem.domain == "binary":  # A x - b = (A s - (2 b - A e)) / 2
            b = 2 * b - operator.row_sums
            argument = 0.5
        if term.loss.separable and not keep_rows:
            operator, b, weight, lost = _without_zero_rows(operator, b, weight, term.loss, argument)
            offset += lost
        operator, b, scale = _moderate(operator, b, safe)
        stop = start + operator.shape[0]
        if stop > start:
            where = slice(start, stop)
            pieces.append(Piece(term.loss, operator, b, argument * scale, weight, where, index))
        start = stop
    form, linear, offset = _spin_form(problem, linear, offset)
    c = None if isinstance(linear, float) else linear
    if c is not None and problem.domain == "binary":
        offset += 0.5 * float(namespace(c).sum(c))
        c = 0.5 * c
    value_scale = _value_scale(pieces, c, min(safe, SAFE_VALUE_EXPONENT), form)
    working = tuple(_in_working_type(p, value_scale, problem.like) for p in pieces)
    if c is not None:
        c = namespace(c).astype(c / value_scale, problem.like.dtype)
    if form is not None:
        J = form.J if value_scale == 1 else form.J.scaled(1 / value_scale)
        form = SpinForm(J.astype(problem.like.dtype))
    loops = loading.available() if loops is None else loops
    return Compiled(problem, working, c, offset, value_scale, problem.like, loops, form)


def _spin_form(problem: Problem, linear: Any, offset: float) -> tuple[SpinForm | None, Any, float]:
    """The quadratic term over spins, with what it adds to c (in the problem's own domain) and the offset."""
    quadratic = problem.quadratic
    if quadratic is None:
        return None, linear, offset
    trace = float(np.sum(quadratic.diagonal))
    if problem.domain == "spin":
        return SpinForm(quadratic.off_diagonal), linear, offset + trace
    sums = quadratic.row_sums  # x'Qx = s'Qs/4 + e'Qs/2 + e'Qe/4, and linear'x brings e'Qe/2 with it
    total = float(namespace(sums).sum(sums))
    return SpinForm(quadratic.off_diagonal.scaled(0.25)), linear + sums, offset + 0.25 * (trace - total)


def _without_zero_rows(
    operator: Operator, b: Array, weight: float | Array, loss: Loss, argument: float
) -> tuple[Operator, Array, float | Array, float]:
    """Drop rows that no x can change; their value is a constant."""
    if isinstance(operator, MatrixFree):
        return operator, b, weight, 0.0
    suspects = np.flatnonzero(to_numpy(operator.row_sums) == 0)
    if suspects.size == 0:
        return operator, b, weight, 0.0
    rows = operator.rows(suspects)
    size = abs(rows.A).sum(axis=1) if isinstance(rows, SparseMatrix) else to_numpy(abs(rows.A)).sum(axis=1)
    zero = suspects[np.asarray(size).ravel() == 0]
    if zero.size == 0:
        return operator, b, weight, 0.0
    keep = np.setdiff1d(np.arange(operator.shape[0]), zero)
    xp = namespace(b)
    index, kept = (xp.asarray(rows, device=device_of(b)) for rows in (zero, keep))
    values = loss.values(-argument * xp.take(b, index))
    if isinstance(weight, float):
        lost = weight * float(xp.sum(values))
    else:
        lost = float(xp.sum(xp.take(weight, index) * values))
        weight = xp.take(weight, kept)
    left = operator.without_zero_rows(keep) if isinstance(operator, SparseMatrix) else operator.rows(keep)
    return left, xp.take(b, kept), weight, lost


def _moderate(operator: Operator, b: Array, safe: int) -> tuple[Operator, Array, float]:
    """Divide A and b by a power of two where their squares could overflow or vanish."""
    size = operator.magnitude if operator.shape[0] else 0.0
    exponent = frexp(size)[1] if size > 0 else 0
    if abs(exponent) <= safe:
        return operator, b, 1.0
    scale = 2.0**exponent
    return operator.scaled(1 / scale), b / scale, scale


def _value_scale(pieces: list[Piece], c: Array | None, safe: int, form: SpinForm | None = None) -> float:
    """A power of two that brings F to moderate values, 1 where it has them already."""
    sizes = [0.0 if c is None else float(namespace(c).max(abs(c)))]
    sizes += [] if form is None else [form.J.magnitude]
    for p in pieces:
        largest = max(p.operator.magnitude, float(namespace(p.b).max(abs(p.b))))
        probe = p.argument * largest + 0 * p.b
        sizes += [p.heaviest * abs(float(p.loss.value(u))) for u in (probe, -probe)]
    size = max(size for size in sizes if size < inf)
    exponent = frexp(size)[1] if size > 0 else 0
    return 1.0 if abs(exponent) <= safe else 2.0**exponent


def _in_working_type(p: Piece, value_scale: float, like: Array) -> Piece:
    """The piece with weights divided by the value scale, and all its arrays in the working float type."""
    weight = p.weight / value_scale
    if not isinstance(weight, float):
        weight = namespace(weight).astype(weight, like.dtype)
    b = namespace(p.b).astype(p.b, like.dtype)
    return replace(p, operator=p.operator.astype(like.dtype), b=b, weight=weight)


def _build_tables(compiled: Compiled, dtype: np.dtype[Any], padded: bool) -> Tables:
    """Stack the pieces into one column store, each divided by a power of two of its own."""
    scales = [_table_scale(p.operator, dtype) for p in compiled.pieces]
    total = sum(p.operator.entries for p in compiled.pieces)
    dense = total > 0.1 * compiled.n * compiled.n_rows
    pad = _padding(compiled, dtype) if dense and padded else 0
    store = _dense_store(compiled, scales, dtype, pad) if dense else _sparse_store(compiled, scales, dtype)
    b = [to_numpy(p.b) / s for p, s in zip(compiled.pieces, scales, strict=True)]
    rows = [_table_row(p, s) for p, s in zip(compiled.pieces, scales, strict=True)]
    weights = None
    if any(not isinstance(p.weight, float) for p in compiled.pieces):
        sizes = [p.where.stop - p.where.start for p in compiled.pieces]
        weights = np.concatenate(
            [
                np.ones(size) if isinstance(p.weight, float) else to_numpy(p.weight)
                for p, size in zip(compiled.pieces, sizes, strict=True)
            ]
        )
        weights = np.append(weights, np.ones(pad))
    model = build(
        store,
        np.asarray([row for _, row in rows]).reshape(-1, 5),
        c=None if compiled.c is None else to_numpy(compiled.c),
        start=[0, *(p.where.stop + pad for p in compiled.pieces)],
        kind=[kind for kind, _ in rows],
        weight=weights,
        n_rows=compiled.n_rows,
    )
    stacked = np.concatenate([*b, np.zeros(pad)]).astype(dtype)
    units = tuple(
        (p.weight if isinstance(p.weight, float) and p.weight > 0 else 1.0) * s * s
        for p, s in zip(compiled.pieces, scales, strict=True)
    )
    return Tables(model, stacked, compiled.n_rows, tuple(scales), units)


def _table_scale(operator: Operator, dtype: np.dtype[Any]) -> float:
    """The power of two that a float32 table is divided by; 1 where A can be used as it lies."""
    exponent = frexp(operator.magnitude or 1.0)[1]
    as_it_lies = operator.A.dtype == dtype and abs(exponent) <= SAFE_EXPONENT["float32"]
    return 1.0 if dtype == np.float64 or as_it_lies else 2.0**exponent


def _padding(compiled: Compiled, dtype: np.dtype[Any]) -> int:
    """Rows of zeros that let short columns fill whole vectors of the processor; their loss is 0."""
    single = len(compiled.pieces) == 1 and isinstance(compiled.pieces[0].loss, TableLoss)
    return -compiled.n_rows % LANE if single and dtype == np.float32 and compiled.n_rows < 8 * LANE else 0


def _table_row(p: Piece, scale: float) -> tuple[int, list[float]]:
    """The five numbers of `_kernels.store.Rows` for a piece whose A and b were divided by `scale`."""
    kind, row = _exact_row(p, p.argument * scale)
    return kind, [max(-FAR, min(number, FAR)) for number in row]


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


def _dense_store(compiled: Compiled, scales: list[float], dtype: np.dtype[Any], pad: int) -> Dense:
    if len(compiled.pieces) == 1 and scales[0] == 1 and pad == 0:
        A = compiled.pieces[0].operator.A
        if isinstance(A, np.ndarray) and A.dtype == dtype and A.T.flags.c_contiguous:
            return Dense(A.T)
    cols = np.empty((compiled.n, compiled.n_rows + pad), dtype)
    cols[:, compiled.n_rows :] = 0
    for p, scale in zip(compiled.pieces, scales, strict=True):
        A = p.operator.A
        source = A.toarray() if isinstance(p.operator, SparseMatrix) else A
        tile = 256
        for i in range(0, source.shape[0], tile):  # tiles keep both sides of a transpose in cache
            for j in range(0, source.shape[1], tile):
                block = source[i : i + tile, j : j + tile].T
                target = cols[j : j + tile, p.where.start + i : p.where.start + i + block.shape[1]]
                np.multiply(block, 1 / scale, out=target, casting="same_kind")
    return Dense(cols)


def _sparse_store(compiled: Compiled, scales: list[float], dtype: np.dtype[Any]) -> Sparse:
    from scipy import sparse

    blocks = []
    for p, scale in zip(compiled.pieces, scales, strict=True):
        A = sparse.csc_array(p.operator.A)
        data = np.multiply(A.data, 1 / scale, dtype=dtype, casting="same_kind")
        blocks.append(sparse.csc_array((data, A.indices, A.indptr), shape=A.shape))
    A = (
        sparse.csc_array(blocks[0] if len(blocks) == 1 else sparse.vstack(blocks, format="csc"))
        if blocks
        else sparse.csc_array((0, compiled.n))
    )
    A.sort_indices()
    pointers, rows = A.indptr.astype(np.int64), A.indices.astype(np.int32, copy=False)
    return Sparse(pointers, rows, A.data.astype(dtype, copy=False))
