"""The quadratic part in spin form, s'Js + c's, and what compiled loops see of it.

The entries of J are called couplings, and what they and c do to a spin its local field.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dcra._array import PIECE, Array, Host, from_numpy, in_pieces, to_numpy
from dcra._kernels.store import Dense, Sparse
from dcra.foreign import Lock
from dcra.model.operators import Operator, few

GRAIN, REACH = 2.0**-4, 2.0**18
"""Fields that are multiples of the one below the other stay exact in float32."""

DENSE_SHARE = 0.2
"""Couplings with more than this share of entries are kept dense."""

THRESHOLDS = 1 << 14

_building = Lock()


class QuadraticTables(NamedTuple):
    """C = 8 J (zero diagonal) and field = 2 c: flipping s_j costs -s_j g_j with g = field + C s / 2."""

    C: Dense | Sparse
    field: Host
    exact: bool  # sums are exact: multiples of one number that the float type holds

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.field.dtype)

    def fields(self, s: Host) -> Host:
        """g at spins s (n,)."""
        from dcra._kernels.quadratic import fields

        g = np.empty(s.size, self.dtype)
        fields(self.C, self.field, s.astype(self.dtype), g)
        return g

    def value(self, s: Host, g: Host) -> float:
        """s'Js + c's from the fields: (g + field)'s / 4."""
        return 0.25 * float(np.dot(s.astype(np.float64), g.astype(np.float64) + self.field))


@dataclass(frozen=True, eq=False)
class SpinQuadratic:
    """s'Js for spins s; J is symmetric, of zero diagonal wherever its entries are known."""

    J: Operator

    def apply(self, S: Array) -> Array:
        """J s for S of shape (..., n)."""
        return self.J.apply(S)

    def fields(self, S: Array) -> Array:
        """The entries of J s that these columns of J belong to."""
        return self.J.adjoint(S)

    def value(self, S: Array) -> Array:
        from dcra._array import namespace

        return namespace(S).sum(S * self.apply(S), axis=-1)

    def turned(self, s: Host, g: Host, like: Array) -> Host:
        """Spins s after two halves of them, drawn at random, were turned to where s'Js + g's is less.

        From a random point where g is zero, for all equal is the worst cut.
        """
        rng = np.random.default_rng(0)
        if not g.any():
            s = np.where(rng.random(s.size) < 0.5, -1.0, 1.0)
        first = rng.random(s.size) < 0.5
        for half in (first, ~first):
            fields = 2.0 * to_numpy(self.apply(from_numpy(s, like, like.dtype))) + g
            s = np.where(half & (s * fields > 0), -s, s)
        return s

    def columns(self, lo: int, hi: int) -> SpinQuadratic:
        return SpinQuadratic(self.J.columns(lo, hi))

    @property
    def entries(self) -> int:
        return self.J.entries

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """Estimates of the smallest and the largest eigenvalue of J, by power iteration on both sides."""
        n = self.J.shape[0]
        like = self.J.like
        top = self._power(n, like, 0.0)
        if top == 0:
            return 0.0, 0.0
        other = self._power(n, like, top) + top
        return min(top, other), max(top, other)

    def _power(self, n: int, like: Array, shift: float) -> float:
        """The eigenvalue of J - shift I of largest size."""
        x = np.random.default_rng(0).standard_normal(n)
        size = 0.0
        for _ in range(few(self.J, 0.02, 4, 50)):
            x /= np.linalg.norm(x)
            image = to_numpy(self.apply(from_numpy(x, like, like.dtype))).astype(np.float64) - shift * x
            size = float(x @ image)
            if not np.any(image):
                return 0.0
            x = image
        return size


def build_quadratic_tables(form: SpinQuadratic | None, c: Host | None, n: int) -> QuadraticTables:
    """The arrays for compiled loops, in float32 where that is exact and in float64 otherwise."""
    field = np.zeros(n) if c is None else 2.0 * np.asarray(c, np.float64)
    C: Dense | Sparse
    if form is None:
        C = Sparse(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        reach = np.abs(field)
        values = C.val
    elif _kept_sparse(form, n):
        A = form.J.A
        values = 8.0 * A.data.astype(np.float64)
        C = Sparse(A.indptr.astype(np.int64), A.indices.astype(np.int32), values)
        reach = np.abs(field) + 0.5 * np.asarray(abs(A).sum(axis=0)).ravel() * 8.0
    else:
        values, sums = _laid_out(form.J)
        C = Dense(values)
        reach = np.abs(field) + 0.5 * sums
    whole = _whole(values) and _whole(field) and float(np.max(reach, initial=0.0)) < REACH
    dtype = np.float32 if whole else np.float64
    kept = np.ascontiguousarray(values, dtype)
    store = Dense(_frozen(kept)) if isinstance(C, Dense) else Sparse(*map(_frozen, (C.ptr, C.idx, kept)))
    return QuadraticTables(store, _frozen(field.astype(dtype)), whole)


def stored_couplings(form: SpinQuadratic | None, n: int) -> int:
    """How many entries C has, before it is built."""
    if form is None:
        return 0
    return form.J.entries if _kept_sparse(form, n) else n * n


def _kept_sparse(form: SpinQuadratic, n: int) -> bool:
    return form.J.sparse and form.J.entries <= DENSE_SHARE * n * n


def _laid_out(J: Operator) -> tuple[Host, Host]:
    """8 J with zeros on its diagonal, and what its columns add up to in size; as long as there is time."""
    A = J.dense()
    n = len(A)
    values, sums = np.empty((n, n)), np.zeros(n)
    step = max(1, PIECE // n)
    for lo in range(0, n, step):
        if J.watch is not None:
            J.watch.check()
        part = np.multiply(A[lo : lo + step], 8.0, out=values[lo : lo + step])
        np.fill_diagonal(part[:, lo:], 0.0)
        sums += np.abs(part).sum(axis=0)
    return values, sums


def thresholds(dtype: Any) -> Host:
    """Draws from the exponential distribution that annealing compares with; the same everywhere."""
    with _building.held:
        if dtype not in _THRESHOLDS:
            _THRESHOLDS[dtype] = _frozen(np.random.default_rng(0).exponential(size=THRESHOLDS).astype(dtype))
        return _THRESHOLDS[dtype]


_THRESHOLDS: dict[Any, Host] = {}


def _whole(x: Host) -> bool:
    """Whether all numbers are multiples of GRAIN."""
    return all(np.all(np.rint(grains) == grains) for grains in (piece / GRAIN for piece in in_pieces(x)))


def _frozen(x: Host) -> Host:
    view = np.ascontiguousarray(x).view()
    view.flags.writeable = False
    return view
