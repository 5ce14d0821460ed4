"""The matrix A: dense in any array library, scipy.sparse, or a LinearOperator.

All three take a batch: `apply` maps (..., n) to (..., r), `adjoint` maps (..., r) to (..., n).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import prod, sqrt
from typing import Any

import numpy as np

from dcra._array import Array, Host, device_of, from_numpy, is_array, is_jax, is_numpy, namespace, to_numpy
from dcra._kernels.store import segment_sums
from dcra._kernels.widened import widened_product
from dcra.foreign import importing, is_sparse
from dcra.model.checks import refuse_huge, refuse_masked, require_indices, require_norms
from dcra.model.numbers import as_numbers, no_numbers, not_finite, spot
from dcra.model.watch import OutOfTime, Watch

MATERIALIZE_ENTRIES = 50_000_000
"""A LinearOperator with at most this many entries is turned into a dense matrix, once."""

WRITING_SHARE = 0.5
"""Share of the time left that writing it out may take."""

POWER_ITERATIONS, POWER_SHARE = 30, 0.05
"""Of the power iteration for |A|, two products each; fewer where they would exceed this share of the products
that the time left allows."""

COLUMN_SIGNS, COLUMN_SHARE = 32, 0.1
"""The same for the norms of columns that are known by products only."""

SAMPLE = 256
"""Rows and columns looked at to learn the size of the entries of a large A."""

CHUNK_ENTRIES = 1 << 18
"""Entries converted or checked at a time, so that no temporary is as large as A."""


@dataclass(frozen=True, eq=False)
class DenseMatrix:
    """A dense A of shape (r, n) in any array library."""

    A: Array
    watch: Watch | None = None
    has_columns = True
    sparse = False

    @property
    def shape(self) -> tuple[int, int]:
        r, n = self.A.shape
        return int(r), int(n)

    @property
    def entries(self) -> int:
        return self.shape[0] * self.shape[1]

    def apply(self, X: Array) -> Array:
        return _watched(self.watch, lambda M: M @ self.A.T, X)

    def adjoint(self, Y: Array) -> Array:
        return _watched(self.watch, lambda M: M @ self.A, Y)

    @property
    def stored(self) -> Array:
        """The entries that are kept, in any shape."""
        return self.A

    @property
    def like(self) -> Array:
        """An array of the library that vectors must have."""
        return self.A

    def dense(self) -> Host:
        """A as a NumPy matrix of its own float type."""
        return to_numpy(self.A)

    def on_host(self) -> Any:
        """A as a matrix that NumPy and SciPy can multiply: dense or sparse, as it is."""
        return to_numpy(self.A)

    def columns(self, lo: int, hi: int) -> DenseMatrix:
        return DenseMatrix(self.A[:, lo:hi], self.watch)

    def gram(self) -> Host:
        """A'A, for narrow A."""
        return to_numpy(self.A.T @ self.A)

    def row_sizes(self) -> Host:
        """Sums of the absolute values of each row, in float64."""
        xp = namespace(self.A)
        parts = [xp.sum(xp.abs(self.A[i:j, :]), axis=1, dtype=xp.float64) for i, j in _chunks(self.shape)]
        return to_numpy(xp.concat(parts))

    def rows(self, keep: Host) -> DenseMatrix:
        xp = namespace(self.A)
        return DenseMatrix(xp.take(self.A, xp.asarray(keep, device=device_of(self.A)), axis=0), self.watch)

    def scaled(self, factor: float) -> DenseMatrix:
        return DenseMatrix(self.A * factor, self.watch)

    def astype(self, dtype: Any) -> DenseMatrix:
        if self.A.dtype == dtype:
            return self
        return DenseMatrix(namespace(self.A).astype(self.A, dtype), self.watch)

    @cached_property
    def magnitude(self) -> float:
        """The largest entry of an even sample, and of A itself where that is small."""
        xp = namespace(self.A)
        i, j = (max(1, size // SAMPLE) for size in self.shape)
        return float(xp.max(xp.abs(self.A[::i, ::j])))

    @cached_property
    def row_sums(self) -> Array:
        """A e in float64: one pass that also finds entries that are not finite, and rows of zeros."""
        xp = namespace(self.A)
        ones = xp.ones(self.shape[1], dtype=xp.float64, device=device_of(self.A))
        with np.errstate(over="ignore", invalid="ignore"):
            return self.exact_residual(ones, 0.0)

    @cached_property
    def column_norms(self) -> Array:
        """Euclidean norms of the columns."""
        xp = namespace(self.A)
        if is_numpy(self.A):
            with np.errstate(over="ignore"):
                return require_norms(np.sqrt(np.einsum("ij,ij->j", self.A, self.A)))
        return require_norms(xp.linalg.vector_norm(self.A, axis=0))

    def exact_residual(self, x: Array, b: Array) -> Array:
        """A x - b in float64."""
        xp = namespace(self.A)
        if self.A.dtype == xp.float64:
            return x @ self.A.T - b
        return _wide_product(self.A, x) - b

    def exact_adjoint(self, y: Array) -> Array:
        """A'y in float64."""
        if self.A.dtype == namespace(self.A).float64:
            return y @ self.A
        return _wide_product(self.A.T, y)


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A scipy.sparse A, kept in CSC form."""

    A: Any
    watch: Watch | None = None
    has_columns = True
    sparse = True

    @property
    def shape(self) -> tuple[int, int]:
        r, n = self.A.shape
        return int(r), int(n)

    @property
    def entries(self) -> int:
        return int(self.A.nnz)

    def apply(self, X: Array) -> Array:
        return _watched(self.watch, lambda M: _batched(lambda T: self.A @ T, M), X)

    def adjoint(self, Y: Array) -> Array:
        return _watched(self.watch, lambda M: _batched(lambda T: self.A.T @ T, M), Y)

    @property
    def stored(self) -> Array:
        return self.A.data

    @property
    def like(self) -> Array:
        return np.empty(0)

    def dense(self) -> Host:
        return np.asarray(self.A.toarray())

    def on_host(self) -> Any:
        return self.A

    def columns(self, lo: int, hi: int) -> SparseMatrix:
        return SparseMatrix(self.A[:, lo:hi], self.watch)

    def gram(self) -> Host:
        return np.asarray((self.A.T @ self.A).toarray())

    def row_sizes(self) -> Host:
        sums = np.bincount(self.A.indices, np.abs(self.A.data), minlength=self.shape[0])
        return sums.astype(np.float64)  # of no entries they are integers

    def rows(self, keep: Host) -> SparseMatrix:
        return SparseMatrix(self.A[keep, :], self.watch)

    def without_zero_rows(self, keep: Host) -> SparseMatrix:
        """`rows(keep)` where all other rows are zero: rows are numbered anew, and the values shared.

        A zero that is stored moves to the first row, where it does no harm.
        """
        number = np.zeros(self.shape[0], self.A.indices.dtype)
        number[keep] = np.arange(keep.size)
        parts = (self.A.data, number[self.A.indices], self.A.indptr)
        return SparseMatrix(type(self.A)(parts, shape=(keep.size, self.shape[1])), self.watch)

    def scaled(self, factor: float) -> SparseMatrix:
        return SparseMatrix(self.A * factor, self.watch)

    def astype(self, dtype: Any) -> SparseMatrix:
        return self if self.A.dtype == dtype else SparseMatrix(self.A.astype(dtype), self.watch)

    @cached_property
    def magnitude(self) -> float:
        return float(np.max(np.abs(self.A.data), initial=0.0))

    @cached_property
    def row_sums(self) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.exact_residual(np.ones(self.shape[1]), 0.0)

    @cached_property
    def column_norms(self) -> Array:
        with np.errstate(over="ignore"):
            squares = segment_sums(np.square(self.A.data, dtype=np.float64), self.A.indptr)
            return require_norms(np.sqrt(squares).astype(self.A.dtype))

    def exact_residual(self, x: Array, b: Array) -> Array:
        return _batched(lambda M: self.A @ M, np.asarray(x, np.float64)) - b

    def exact_adjoint(self, y: Array) -> Array:
        return self.adjoint(np.asarray(y, np.float64))


@dataclass(frozen=True, eq=False)
class MatrixFree:
    """A LinearOperator too large to be written out: products only."""

    A: Any
    watch: Watch | None = None
    has_columns = False
    sparse = False

    @property
    def shape(self) -> tuple[int, int]:
        r, n = self.A.shape
        return int(r), int(n)

    @property
    def entries(self) -> int:
        return self.shape[0] * self.shape[1]

    def apply(self, X: Array) -> Array:
        return _watched(self.watch, lambda M: _batched(lambda T: self.A.matmat(T), M), X)

    def adjoint(self, Y: Array) -> Array:
        return _watched(self.watch, lambda M: _batched(lambda T: self.A.rmatmat(T), M), Y)

    @property
    def like(self) -> Array:
        return np.empty(0)

    def dense(self) -> Host:
        """A written out by products, some columns at a time."""
        r, n = self.shape
        transposed = np.empty((n, r))
        step = max(1, CHUNK_ENTRIES // max(1, r, n))
        for j in range(0, n, step):
            transposed[j : j + step] = self.apply(np.eye(n, min(step, n - j), -j).T)
        return transposed.T

    def on_host(self) -> Any:
        return self.dense()

    def row_sizes(self) -> Host:
        """A bound by norms: |A_i|_1 <= sqrt(n) |A|."""
        return np.full(self.shape[0], sqrt(self.shape[1]) * self.norm)

    @cached_property
    def norm(self) -> float:
        """An upper bound of |A| that is likely, not certain."""
        return norm_bound(self)

    def columns(self, lo: int, hi: int) -> MatrixFree:
        """Itself, as all columns; it has no others."""
        assert (lo, hi) == (0, self.shape[1])
        return self

    def symmetric(self) -> MatrixFree:
        """(A + A')/2."""
        twin = MatrixFree(0.5 * (self.A + self.A.T), self.watch)
        if "row_sums" in self.__dict__:
            other = _batched(lambda T: self.A.rmatmat(T), np.ones(self.shape[0]))
            twin.__dict__["row_sums"] = 0.5 * (self.row_sums + other)
        return twin

    def scaled(self, factor: float) -> MatrixFree:
        return MatrixFree(factor * self.A, self.watch)

    def astype(self, dtype: Any) -> MatrixFree:
        """Itself: a product has the float type that the operator gives it."""
        return self

    @cached_property
    def row_sums(self) -> Array:
        """A e: the one product that is never refused, for it is the image of an answer."""
        return _batched(lambda T: self.A.matmat(T), np.ones(self.shape[1]))

    @cached_property
    def magnitude(self) -> float:
        """A size that entries do not exceed by much: the largest entry of A times a few random signs."""
        signs = np.where(np.random.default_rng(0).random((4, self.shape[1])) < 0.5, -1.0, 1.0)
        try:
            images = self.apply(signs[: few(self, 0.05, 1, 4)])
        except OutOfTime:
            images = self.row_sums
        return float(np.max(np.abs(images)) / np.sqrt(self.shape[1]))

    @cached_property
    def column_norms(self) -> Array:
        """Estimated from products with random signs: E (A' s)_j^2 = ||A_j||^2."""
        signs = np.where(np.random.default_rng(0).random((COLUMN_SIGNS, self.shape[0])) < 0.5, -1.0, 1.0)
        count = few(self, COLUMN_SHARE, 2, COLUMN_SIGNS)
        return np.sqrt(np.mean(self.adjoint(signs[:count]) ** 2, axis=0))

    def exact_residual(self, x: Array, b: Array) -> Array:
        return self.apply(np.asarray(x, np.float64)) - b

    def exact_adjoint(self, y: Array) -> Array:
        return self.adjoint(np.asarray(y, np.float64))


Operator = DenseMatrix | SparseMatrix | MatrixFree


def as_operator(A: Any, watch: Watch | None = None) -> Operator:
    """Wrap A, converting integers to float64 and small LinearOperators to matrices.

    Where a watch is given and there is no time for that, a LinearOperator is known by its products.
    """
    if isinstance(A, Operator):
        return A
    if is_sparse(A):
        return _sparse(A)
    if is_array(A):
        _refuse_sparse_tensor(A)
        return _dense(to_numpy(A) if is_jax(A) else A)
    if callable(getattr(A, "matvec", None)) and hasattr(A, "shape"):
        return _linear_operator(A, watch)
    if callable(getattr(A, "todense", None)):  # sparse arrays of JAX and others
        raise TypeError(
            f"`A` must be a dense array or a scipy.sparse matrix; got {type(A).__name__}. Take "
            f"`A.todense()`, or a scipy.sparse matrix of its indices and values"
        )
    return _dense(as_numbers("A", A))


def _refuse_sparse_tensor(A: Any) -> None:
    """torch's sparse layouts have few of the operations that are needed."""
    layout = str(getattr(A, "layout", ""))
    if "sparse" in layout:
        raise TypeError(
            f"`A` must be a dense tensor or a scipy.sparse matrix; got one of layout {layout}. Take "
            f"`A.to_dense()`, or a scipy.sparse matrix of its indices and values"
        )


def norm_estimate(operator: Operator, iterations: int = POWER_ITERATIONS) -> float:
    """||A||_2 by power iteration from a fixed start: a lower estimate, tight to a few per cent."""
    n = operator.shape[1]
    x = np.random.default_rng(0).standard_normal(n)
    x = from_numpy(x, operator.like) if isinstance(operator, DenseMatrix) else x
    xp = namespace(x)
    size = 0.0
    for _ in range(few(operator, POWER_SHARE, 2, iterations)):
        x = x / xp.linalg.vector_norm(x)
        image = operator.apply(x)
        size = float(xp.linalg.vector_norm(image))
        if size == 0:
            return float(np.max(to_numpy(operator.column_norms), initial=0.0))
        x = operator.adjoint(image / size)
        if float(xp.linalg.vector_norm(x)) == 0:
            break
    return size


def norm_bound(operator: Operator) -> float:
    """An upper bound of ||A||_2 without a decomposition: the Frobenius norm.

    Of products only, that norm is estimated: the bound is likely, not certain.
    """
    norms = operator.column_norms
    frobenius = float(namespace(norms).linalg.vector_norm(norms))
    return max(frobenius, norm_estimate(operator)) if isinstance(operator, MatrixFree) else frobenius


def has_finite_entries(operator: Operator) -> bool:
    """Whether every entry of A is finite; of products only, whether A e is."""
    if all_finite(operator.row_sums):
        return True
    return not isinstance(operator, MatrixFree) and all_finite(operator.stored)


def require_finite(name: str, operator: Operator) -> None:
    if has_finite_entries(operator):
        return
    if isinstance(operator, MatrixFree):
        k = int(np.argmin(np.isfinite(operator.row_sums)))
        raise ValueError(
            f"`{name}` must be finite; {spot((k,))} of its product with ones is {operator.row_sums[k]:g}"
        )
    raise not_finite(name, *_first_not_finite(operator))


def _first_not_finite(operator: DenseMatrix | SparseMatrix) -> tuple[tuple[int, int], float]:
    """Place and value of an entry that is not finite, where there is one."""
    if isinstance(operator, SparseMatrix):
        A = operator.A
        k = int(np.argmin(np.isfinite(A.data)))
        return (int(A.indices[k]), int(np.searchsorted(A.indptr, k, side="right")) - 1), float(A.data[k])
    pieces = ((lo, to_numpy(operator.A[lo:hi, :])) for lo, hi in _chunks(operator.shape))
    lo, piece = next((lo, piece) for lo, piece in pieces if not np.all(np.isfinite(piece)))
    i, j = np.argwhere(~np.isfinite(piece))[0].tolist()
    return (lo + i, j), float(piece[i, j])


def refuse_huge_entries(name: str, operator: Operator, most: float) -> float:
    """Refuse entries beyond `most` in size; a size that the others do not exceed.

    All entries are looked at only where a sample or a row sum is large: a pass over A takes its time. What
    escapes that, huge entries that cancel each other in a row, `require_norms` finds where norms are needed.
    """
    xp = namespace(operator.row_sums)
    size = max(operator.magnitude, float(xp.max(xp.abs(operator.row_sums))))
    if size <= most:
        return size
    refuse_huge(name, operator.row_sums if isinstance(operator, MatrixFree) else operator.stored, most)
    return most


def count_stored(operator: Operator) -> int:
    """How many entries of A there are."""
    return prod(operator.shape if isinstance(operator, MatrixFree) else operator.stored.shape)


def all_finite(x: Array) -> bool:
    """Whether every entry is finite, without a temporary of the size of `x`."""
    xp = namespace(x)
    with np.errstate(over="ignore", invalid="ignore"):
        if bool(xp.isfinite(xp.sum(x))):
            return True
    flat = x if x.ndim == 1 else x.T if is_numpy(x) and not x.flags.c_contiguous else x
    return all(bool(xp.all(xp.isfinite(flat[i:j, ...]))) for i, j in _chunks(flat.shape))


def _wide_product(A: Array, X: Array) -> Array:
    """X A' in float64 where A is stored in less: by a loop, or some rows of A at a time."""
    found = widened_product(A, X) if is_numpy(A) else None
    if found is not None:
        return found
    xp = namespace(A)
    return xp.concat([X @ xp.astype(A[i:j, :], xp.float64).T for i, j in _chunks(A.shape)], axis=-1)


def _chunks(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """Ranges of the first axis of `shape`, of at most `CHUNK_ENTRIES` entries each."""
    step = max(1, CHUNK_ENTRIES // max(1, prod(shape[1:])))
    return [(i, min(i + step, shape[0])) for i in range(0, shape[0], step)]


def _dense(A: Array) -> DenseMatrix:
    refuse_masked("A", A)
    A = np.asarray(A) if is_numpy(A) else A  # np.matrix has products of its own
    if is_numpy(A) and A.dtype.kind not in "fiubc":
        raise no_numbers("A", A)
    if A.ndim != 2:
        raise ValueError(f"`A` must be a matrix of shape (r, n); got {A.ndim} dimension(s)")
    return DenseMatrix(_real(A))


def _sparse(A: Any) -> SparseMatrix:
    if A.ndim != 2:
        raise ValueError(f"`A` must be a matrix of shape (r, n); got {A.ndim} dimension(s)")
    _refuse_complex(A.dtype)
    require_indices("A", A)
    dtype = A.dtype if A.dtype in (np.float32, np.float64) else np.float64
    compressed = A.astype(dtype, copy=False).tocsc()  # entries that stand twice are added in that type
    if not compressed.has_canonical_format:
        compressed = compressed.copy() if compressed is A else compressed
        compressed.sum_duplicates()
    return SparseMatrix(compressed)


def _linear_operator(A: Any, watch: Watch | None) -> Operator:
    with importing():
        from scipy.sparse.linalg import aslinearoperator

    operator = aslinearoperator(A)
    r, n = operator.shape
    if operator.dtype is not None:
        _refuse_complex(operator.dtype)
    products = MatrixFree(operator, watch)
    if watch is None:
        _need_adjoint(operator)
        return products if r * n > MATERIALIZE_ENTRIES else DenseMatrix(products.dense())
    begin = watch.clock()
    _ = products.row_sums
    watch.known.pace = watch.clock() - begin
    if watch.over:
        return products
    _need_adjoint(operator)
    if r * n > MATERIALIZE_ENTRIES or n > WRITING_SHARE * watch.products_left:
        return products
    try:
        return DenseMatrix(products.dense())
    except OutOfTime:
        return products


def _need_adjoint(operator: Any) -> None:
    try:
        operator.rmatvec(np.zeros(operator.shape[0]))
    except (NotImplementedError, TypeError, AttributeError) as error:
        raise TypeError(
            "`A` is a LinearOperator without an adjoint; give it `rmatvec` (for real A: its transpose)"
        ) from error


def _real(x: Array) -> Array:
    """`x` in float32 or float64; anything else becomes float64."""
    xp = namespace(x)
    if xp.isdtype(x.dtype, "complex floating"):
        _refuse_complex(x.dtype)
    return x if x.dtype in (xp.float32, xp.float64) else xp.astype(x, xp.float64)


def _refuse_complex(dtype: Any) -> None:
    if np.dtype(dtype).kind == "c" if isinstance(dtype, np.dtype | type) else True:
        raise TypeError(
            f"`A` must be real; got {dtype}. Stack the real and imaginary parts of its rows, [[Re], [Im]], "
            f"and those of b: the unknowns are real"
        )


def few(operator: Operator, share: float, least: int, most: int) -> int:
    """How many products an estimate may take: `most`, or a share of what the time left allows."""
    return most if operator.watch is None else operator.watch.few(share, least, most)


def estimate_products(operator: Operator) -> int:
    """How many products the norm of A and, where it has no columns to look at, their norms take."""
    columns = 0 if operator.has_columns else few(operator, COLUMN_SHARE, 2, COLUMN_SIGNS)
    return 2 * few(operator, POWER_SHARE, 2, POWER_ITERATIONS) + columns


def watched(operator: Operator, watch: Watch) -> Operator:
    """The same operator with products that look at the clock; what is known of it is kept."""
    twin = copy(operator)
    object.__setattr__(twin, "watch", watch)
    return twin


def _watched(watch: Watch | None, product: Callable[[Array], Array], X: Array) -> Array:
    return product(X) if watch is None else watch.multiply(product, X)


def _batched(product: Any, X: Array) -> Array:
    """Row-batched form of a product that takes columns."""
    flat = np.asarray(X).reshape(-1, X.shape[-1])
    image = np.asarray(product(flat.T)).T
    return np.ascontiguousarray(image).reshape(*X.shape[:-1], image.shape[-1])
