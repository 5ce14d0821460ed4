"""The one form that engines see: spins, terms in a row, moderate scales.

A piece is weight * f(argument * (A s - b)) with s in {-1,1}^n. The change of domain and the scale live in
`argument`, `b`, `c` and `offset`, so that A is copied only where its entries are too large or too small
to be squared safely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import frexp, inf
from typing import Any, TypeVar

import numpy as np

from dcra._array import Array, Host, device_of, from_numpy, is_numpy, namespace, on_accelerator, to_numpy
from dcra._kernels import library
from dcra.compiled.piece import Piece, Smoothing
from dcra.compiled.quadratic import QuadraticTables, SpinQuadratic, build_quadratic_tables
from dcra.compiled.tables import SAFE_FLOAT32_EXPONENT, Tables, build_tables
from dcra.foreign import Lock
from dcra.losses import CappedL1, L2Norm, Linear, LInf, Logistic, Loss, TableLoss
from dcra.model.constraints import Constraints
from dcra.model.operators import MatrixFree, Operator, SparseMatrix, watched
from dcra.model.problem import Problem
from dcra.model.watch import Watch

SAFE_EXPONENT = {"float64": 128, "float32": SAFE_FLOAT32_EXPONENT}
"""Entries between 2^-e and 2^e are left as they are."""

SAFE_VALUE_EXPONENT = 64
"""Values of F between 2^-64 and 2^64 are left as they are: within the reach of float32 tables."""

LEAST_EXPONENT = -1000
"""Of a scale: one over it must be finite, however small the numbers are."""

FARTHEST = {"float64": 2.0**500, "float32": 2.0**60}
"""Right-hand sides stay below: they are far beyond what A of moderate size can reach, and have squares."""

LOOP_LOSSES = (TableLoss, Logistic, CappedL1)
"""Losses that the compiled loops know."""

_building = Lock()

T = TypeVar("T")


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
    quadratic: SpinQuadratic | None = None  # s'Js
    made_by: tuple[Any, ...] = ()  # 'module:function' and what it takes, besides the form that a problem has

    @property
    def n(self) -> int:
        return self.problem.n

    @property
    def constraints(self) -> Constraints | None:
        return self.problem.constraints

    @property
    def forgiven(self) -> float:
        """By how much a lower bound may be above F at points that count as feasible."""
        return 0.0

    @property
    def n_rows(self) -> int:
        return self.pieces[-1].where.stop if self.pieces else 0

    @cached_property
    def work_per_pass(self) -> int:
        quadratic = 0 if self.quadratic is None else self.quadratic.entries
        return max(1, quadratic + sum(p.operator.entries for p in self.pieces), self.n)

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
        return xp.concat(parts, axis=-1) if parts else self._no_rows(S.shape[:-1])

    @property
    def residual_at_zero(self) -> Array:
        """Stacked -b: the residual at s = 0, without a pass over A."""
        parts = [-p.b for p in self.pieces]
        if len(parts) == 1:
            return parts[0]
        return namespace(self.like).concat(parts, axis=-1) if parts else self._no_rows(())

    def _no_rows(self, lead: tuple[int, ...]) -> Array:
        """The residual where there are no losses."""
        return namespace(self.like).zeros((*lead, 0), dtype=self.like.dtype, device=device_of(self.like))

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
        if self.pieces:
            return g
        return g + namespace(Y).zeros((*Y.shape[:-1], self.n), dtype=Y.dtype, device=device_of(Y))

    def linear(self, S: Array) -> Array:
        return 0.0 if self.c is None else S @ self.c

    def deltas(self, delta: Smoothing) -> tuple[float, ...]:
        """One smoothing parameter per piece."""
        return delta if isinstance(delta, tuple) else (delta,) * len(self.pieces)

    def _with(self, delta: Smoothing) -> list[tuple[Piece, float]]:
        return list(zip(self.pieces, self.deltas(delta), strict=True))

    def encode(self, x: Array) -> Host:
        """Spins, on the host, of points x of the problem's domain."""
        host = to_numpy(x).astype(np.float64)
        return host if self.problem.domain == "spin" else 2 * host - 1

    def decode(self, S: Host) -> Array:
        """Points of the problem's domain, in its array library and float type, from spins on the host."""
        return from_numpy(self.in_domain(S), self.problem.like)

    def judged(self, S: Host) -> Host:
        """The true objective of spins (k, n), by the problem itself in float64."""
        values = to_numpy(self.problem.relaxed_objective(self.exact_points(S)))
        return values if values.flags.writeable else values.copy()  # JAX's are not

    def exact_points(self, S: Host) -> Array:
        """Points of the problem's domain, in its array library and in float64, from spins on the host."""
        return from_numpy(self.in_domain(S), self.problem.like, namespace(self.problem.like).float64)

    def in_domain(self, S: Host) -> Host:
        """Points of the problem's domain, on the host, from spins."""
        return S if self.problem.domain == "spin" else (S + 1) / 2

    @property
    def tabulated(self) -> bool:
        """Whether compiled loops may be used, and can take it."""
        return self.loops and self.fits_loops

    @property
    def fits_loops(self) -> bool:
        """Whether it is what compiled loops can take: matrices on the host and losses they know."""
        return (
            is_numpy(self.like)
            and len(self.pieces) <= 255
            and (self.quadratic is None or self.quadratic.J.has_columns)
            and all(isinstance(p.loss, LOOP_LOSSES) and p.operator.has_columns for p in self.pieces)
        )

    def once(self, make: Callable[..., T], *options: Any) -> T:
        """make(self, *options), made by the first who asks and kept for the others."""
        with _building.held:
            kept: dict[Any, T] = self.__dict__.setdefault("_kept", {})
            key = make, *options
            if key not in kept:
                kept[key] = make(self, *options)
            return kept[key]

    def watched(self, watch: Watch) -> Compiled:
        """The same form with products that look at the clock, on the host."""
        if on_accelerator(self.like):
            return self
        pieces = tuple(replace(p, operator=watched(p.operator, watch)) for p in self.pieces)
        form = None if self.quadratic is None else SpinQuadratic(watched(self.quadratic.J, watch))
        twin = replace(self, pieces=pieces, quadratic=form)
        twin.__dict__["_kept"] = self.__dict__.setdefault("_kept", {})  # tables are made once for both
        return twin

    def tables(self, dtype: Any = np.float64, padded: bool = True) -> Tables:
        """The losses as compiled loops see them; short columns are padded where loops run along them."""
        return self.once(_tables, np.dtype(dtype), padded)

    @property
    def quadratic_tables(self) -> QuadraticTables:
        """J and c as compiled loops see them."""
        return self.once(_quadratic_tables)


def _tables(compiled: Compiled, dtype: np.dtype[Any], padded: bool) -> Tables:
    return build_tables(compiled.pieces, compiled.c, compiled.n, dtype, padded)


def _quadratic_tables(compiled: Compiled) -> QuadraticTables:
    c = None if compiled.c is None else to_numpy(compiled.c)
    return build_quadratic_tables(compiled.quadratic, c, compiled.n)


def compile_problem(problem: Problem, loops: bool | None = None, keep_rows: bool = False) -> Compiled:
    """Bring a problem into spin form; `loops` says whether compiled loops may be used (if they can)."""
    pieces: list[Piece] = []
    offset = problem.constant
    linear: Any = 0.0 if problem.linear is None else problem.linear  # linear losses join it
    safe = SAFE_EXPONENT[_float_name(problem.like)]
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
        argument, drawn = argument * scale, 1.0
        if scale < 1 and _homogeneous(term.loss):  # weights, unlike arguments, are not squared
            argument, weight, drawn = 1.0, argument * weight, argument
        stop = start + operator.shape[0]
        if stop > start:
            where = slice(start, stop)
            pieces.append(Piece(term.loss, operator, b, argument, weight, where, index, drawn))
        start = stop
    form, linear, offset = _spin_quadratic(problem, linear, offset)
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
        form = SpinQuadratic(J.astype(problem.like.dtype))
    loops = library.available() if loops is None else loops
    return Compiled(problem, working, c, offset, value_scale, problem.like, loops, form)


def _spin_quadratic(problem: Problem, linear: Any, offset: float) -> tuple[SpinQuadratic | None, Any, float]:
    """The quadratic term over spins, with what it adds to c (in the problem's own domain) and the offset."""
    quadratic = problem.quadratic
    if quadratic is None:
        return None, linear, offset
    trace = float(np.sum(quadratic.diagonal))
    if problem.domain == "spin":
        return SpinQuadratic(quadratic.off_diagonal), linear, offset + trace
    sums = quadratic.row_sums  # x'Qx = s'Qs/4 + e'Qs/2 + e'Qe/4, and linear'x brings e'Qe/2 with it
    total = float(namespace(sums).sum(sums))
    return SpinQuadratic(quadratic.off_diagonal.scaled(0.25)), linear + sums, offset + 0.25 * (trace - total)


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
    zero = suspects[rows.row_sizes() == 0]
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
    scale = 2.0 ** max(exponent, LEAST_EXPONENT)
    return operator.scaled(1 / scale), b / scale, scale


def _homogeneous(loss: Loss) -> bool:
    """Whether f(t z) = t f(z) for positive t."""
    if isinstance(loss, TableLoss):
        return loss.table.k == 0 == loss.table.e
    return isinstance(loss, L2Norm | LInf)


def _value_scale(pieces: list[Piece], c: Array | None, safe: int, form: SpinQuadratic | None = None) -> float:
    """A power of two that brings F to moderate values, 1 where it has them already."""
    sizes = [0.0 if c is None else float(namespace(c).max(abs(c)))]
    sizes += [] if form is None else [form.J.magnitude]
    for p in pieces:
        largest = max(p.operator.magnitude, float(namespace(p.b).max(abs(p.b))))
        probe = p.argument * largest + 0 * p.b
        sizes += [p.heaviest * abs(float(p.loss.value(u))) for u in (probe, -probe)]
    size = max(size for size in sizes if size < inf)
    exponent = frexp(size)[1] if size > 0 else 0
    return 1.0 if abs(exponent) <= safe else 2.0 ** max(exponent, LEAST_EXPONENT)


def _float_name(like: Array) -> str:
    return "float32" if like.dtype == namespace(like).float32 else "float64"


def _in_working_type(p: Piece, value_scale: float, like: Array) -> Piece:
    """The piece with weights divided by the value scale, and all its arrays in the working float type."""
    weight = p.weight / value_scale
    if not isinstance(weight, float):
        weight = namespace(weight).astype(weight, like.dtype)
    xp = namespace(p.b)
    farthest = FARTHEST[_float_name(like)]
    b = xp.astype(xp.clip(p.b, -farthest, farthest), like.dtype)
    return replace(p, operator=p.operator.astype(like.dtype), b=b, weight=weight)
