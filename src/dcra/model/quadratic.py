"""The quadratic term x'Qx: Q dense, sparse or by products only, symmetrised once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import inf
from typing import Any

import numpy as np

from dcra._array import Array, Host, in_pieces, is_array, is_jax, is_numpy, namespace, to_numpy
from dcra.foreign import importing
from dcra.messages import shown
from dcra.model.checks import LARGEST
from dcra.model.operators import (
    DenseMatrix,
    MatrixFree,
    Operator,
    SparseMatrix,
    as_operator,
    count_stored,
    refuse_huge_entries,
    require_finite,
)
from dcra.model.watch import Watch

EXACT = 2.0**52
"""Sums of whole numbers below this are exact in float64."""


@dataclass(frozen=True, eq=False)
class Quadratic:
    """x'Qx with a symmetric Q of shape (n, n).

    `kept` is Q itself, or, where it was written out here, Q with zeros on its diagonal, which is then
    `apart`: searches want it so, and a copy of a large Q takes longer than a short search. `stated` is an
    array of the float type that Q was given in, where the symmetric one needs a wider type; `home` one of the
    library that answers belong to, where Q came from JAX and passes for NumPy's.
    """

    kept: Operator
    stated: Array | None = None
    home: Array | None = None
    apart: Host | None = None

    @cached_property
    def operator(self) -> Operator:
        """Q as a whole."""
        if self.apart is None:
            return self.kept
        whole = self.kept.dense().copy()
        np.fill_diagonal(whole, self.apart)
        return DenseMatrix(whole)

    def scaled(self, factor: float) -> Quadratic:
        """factor x'Qx."""
        apart = None if self.apart is None else factor * self.apart
        return replace(self, kept=self.kept.scaled(factor), apart=apart)

    @property
    def n(self) -> int:
        return self.kept.shape[0]

    @property
    def entries(self) -> int:
        return self.kept.entries

    @property
    def like(self) -> Array | None:
        """An array of the library and float type that Q was given in; None where Q has products only."""
        if self.stated is not None:
            return self.stated
        return None if isinstance(self.kept, MatrixFree) else self.kept.A[:0, :0]

    def apply(self, x: Array) -> Array:
        """Q x in float64, for x of shape (..., n)."""
        return self.kept.exact_residual(x, 0.0 if self.apart is None else -self.apart * x)

    def value(self, x: Array) -> Array:
        """x'Qx in float64, for x of shape (..., n)."""
        xp = namespace(x)
        return xp.sum(x * self.apply(x), axis=-1)

    @property
    def row_sums(self) -> Array:
        """Q e."""
        return self.kept.row_sums if self.apart is None else self.kept.row_sums + self.apart

    @property
    def matrix_free(self) -> bool:
        """Whether Q has products only."""
        return not self.kept.has_columns

    @cached_property
    def diagonal(self) -> Host:
        """The diagonal of Q on the host; zeros where Q has products only, which then keeps its own."""
        if isinstance(self.kept, MatrixFree):
            return np.zeros(self.n)
        return np.asarray(self.kept.on_host().diagonal(), float) if self.apart is None else self.apart

    @cached_property
    def off_diagonal(self) -> Operator:
        """Q with zeros on its diagonal, in float64; itself where Q has products only."""
        operator = self.kept
        if isinstance(operator, MatrixFree) or self.apart is not None:
            return operator
        if isinstance(operator, SparseMatrix):
            with importing():
                from scipy import sparse

            rest = sparse.coo_array(operator.A.astype(np.float64))
            row, col = rest.coords
            keep = (row != col) & (rest.data != 0)
            parts = (rest.data[keep], (row[keep], col[keep]))
            return SparseMatrix(sparse.csc_array(sparse.coo_array(parts, shape=rest.shape)))
        xp = namespace(operator.A)
        if operator.A.dtype == xp.float64 and not self.diagonal.any():
            return operator
        A = xp.astype(operator.A, xp.float64, copy=True)
        if is_numpy(A):
            np.fill_diagonal(A, 0.0)
            return DenseMatrix(A)
        return DenseMatrix(A - _spread(self.diagonal, A))

    def couplings(self) -> Iterator[Host]:
        """2 Q_ij for all i != j, so each pair twice, on the host, in pieces that a cache holds."""
        rest = self.off_diagonal
        assert not isinstance(rest, MatrixFree)
        return (2.0 * piece for piece in in_pieces(to_numpy(rest.stored)))

    @cached_property
    def couplings_sum(self) -> float:
        """Sum of 2 |Q_ij| over all i != j."""
        return sum(float(np.sum(np.abs(piece))) for piece in self.couplings())


def as_quadratic(Q: Any, watch: Watch | None = None) -> Quadratic:
    """Check and symmetrise Q: x'Qx is the same for (Q + Q')/2."""
    if isinstance(Q, Quadratic):
        return Q
    try:
        operator = as_operator(Q, watch)
    except (TypeError, ValueError) as error:
        if isinstance(error, TypeError) and "`A`" not in str(error):
            raise TypeError(f"`quadratic` must be a square matrix; got {shown(Q)}") from error
        raise type(error)(str(error).replace("`A`", "`quadratic`")) from error
    r, n = operator.shape
    if r != n or n == 0:
        raise ValueError(f"`quadratic` must be square, of shape (n, n); got {(r, n)}")
    require_finite("quadratic", operator)
    refuse_huge_entries("quadratic", operator, LARGEST / max(1, count_stored(operator)))
    made = _symmetric(operator)
    return replace(made, home=Q[:0, :0]) if is_array(Q) and is_jax(Q) else made


def lattice_step(quadratic: Quadratic, linear: Host | None, domain: str) -> float | None:
    """The largest step such that x'Qx + c'x takes only values a whole number of steps apart.

    Over spins a value differs from that at e by sums of 4 Q_ij and 2 c_j; over {0,1}, from that at 0 by sums
    of 2 Q_ij and Q_jj + c_j. None where these are not whole numbers, or too large to be added exactly.
    """
    if quadratic.matrix_free:
        return None
    own = np.zeros(quadratic.n) if linear is None else np.asarray(linear, np.float64)
    spin = domain == "spin"
    pairs = (2 * piece if spin else piece for piece in quadratic.couplings())
    step, total = 0, 0.0
    for part in chain([2 * own if spin else own + quadratic.diagonal], pairs):
        if not np.all(np.rint(part) == part):
            return None
        total += float(np.sum(np.abs(part)))
        if total >= EXACT:
            return None
        if step != 1:
            step = int(np.gcd(step, np.gcd.reduce(part.astype(np.int64), initial=0)))
    return float(step) if step else None


def least_quadratic(quadratic: Quadratic, q: Host, domain: str) -> tuple[float, float]:
    """A lower bound of x'Qx + q'x that needs no work, and the size of the numbers that went into it.

    Every off-diagonal term at its least. -inf where Q has products only.
    """
    if quadratic.matrix_free:
        return -inf, 0.0
    pairs, own = 0.5 * quadratic.couplings_sum, quadratic.diagonal
    if domain == "spin":
        return float(np.sum(own)) - pairs - float(np.sum(np.abs(q))), pairs + float(np.sum(np.abs(own)))
    low = float(np.sum(np.minimum(q + own, 0.0))) - pairs
    return low, pairs + float(np.sum(np.abs(own)))


TILE = 256
"""Rows and columns that are compared, or added, with their mirror image at a time: both stay in cache."""


def _symmetric(operator: Operator) -> Quadratic:
    """(Q + Q')/2 of the numbers as they are stored: in their float type where that holds it, else float64."""
    if isinstance(operator, MatrixFree):
        return Quadratic(operator.symmetric())
    A = operator.A
    if operator.sparse:
        if abs(A - A.T).nnz == 0:
            return Quadratic(operator)
        wide = A.astype(np.float64)
        wide = (0.5 * wide + 0.5 * wide.T).tocsc()
        short = wide.astype(A.dtype)
        held = np.array_equal(short.data.astype(np.float64), wide.data)
    else:
        xp = namespace(A)
        if all(bool(xp.all(here == mirrored.T)) for here, mirrored in _mirrored(A)):
            return Quadratic(operator)
        wide = _halved(xp.astype(A, xp.float64, copy=False))
        if is_numpy(wide) and A.dtype == xp.float64:
            diagonal = wide.diagonal().copy()
            np.fill_diagonal(wide, 0.0)
            return Quadratic(DenseMatrix(wide), apart=diagonal)
        if A.dtype == xp.float64:
            return Quadratic(as_operator(wide))
        short = xp.astype(wide, A.dtype)
        held = bool(xp.all(xp.astype(short, xp.float64) == wide))
    return Quadratic(as_operator(short)) if held else Quadratic(as_operator(wide), A[:0, :0])


def _mirrored(A: Array) -> Iterator[tuple[Array, Array]]:
    """Tiles on and above the diagonal, as views, and those they would equal, transposed, by symmetry."""
    n = A.shape[0]
    tile = TILE if is_numpy(A) else n
    places = [slice(lo, min(lo + tile, n)) for lo in range(0, n, tile)]
    for k, rows in enumerate(places):
        for columns in places[k:]:
            yield A[rows, columns], A[columns, rows]


def _halved(A: Array) -> Array:
    """(A + A')/2, without an overflow."""
    if not is_numpy(A):
        return 0.5 * A + 0.5 * A.T
    made = np.empty(A.shape)
    for (here, mirrored), (to, opposite) in zip(_mirrored(A), _mirrored(made), strict=True):
        to[...] = 0.5 * here + 0.5 * mirrored.T
        opposite[...] = to.T
    return made


def _spread(diagonal: Host, like: Array) -> Array:
    """Diag(d) in the library of `like`."""
    from dcra._array import from_numpy

    return from_numpy(np.diag(diagonal), like)
