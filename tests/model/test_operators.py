"""The matrix A in every form it may arrive in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pylops
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from dcra.model import operators
from dcra.model.operators import (
    DenseMatrix,
    MatrixFree,
    SparseMatrix,
    all_finite,
    as_operator,
    has_finite_entries,
    norm_bound,
    norm_estimate,
)

FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


class Products(LinearOperator):
    """A user's operator: one vector at a time."""

    def __init__(self, A):
        super().__init__(dtype=np.float64, shape=A.shape)
        self.matrix = A

    def _matvec(self, x):
        return self.matrix @ x.ravel()

    def _rmatvec(self, y):
        return self.matrix.T @ y.ravel()


def _matrix(r=7, n=5, seed=0):
    A = np.random.default_rng(seed).integers(-3, 4, (r, n)).astype(float)
    A[:, 2] = 0
    A[4] = 0
    return A


STORAGES = {
    "C float64": np.ascontiguousarray,
    "F float64": np.asfortranarray,
    "C float32": lambda A: A.astype(np.float32),
    "F float32": lambda A: np.asfortranarray(A, np.float32),
    "float16": lambda A: A.astype(np.float16),
    "long double": lambda A: A.astype(np.longdouble),
    "big endian": lambda A: A.astype(">f8"),
    "int64": lambda A: A.astype(np.int64),
    "int8": lambda A: A.astype(np.int8),
    "strided": lambda A: np.repeat(np.repeat(A, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda A: np.ascontiguousarray(A[::-1, ::-1])[::-1, ::-1],
    "read-only": lambda A: np.broadcast_to(A, A.shape),
    "np.matrix": lambda A: A.view(np.matrix),
    "nested lists": lambda A: A.tolist(),
    **{f"{f}_matrix": lambda A, f=f: sparse.coo_matrix(A).asformat(f) for f in FORMATS},
    **{f"{f}_array": lambda A, f=f: sparse.coo_array(A).asformat(f) for f in FORMATS},
    "csr float32": lambda A: sparse.csr_array(A.astype(np.float32)),
    "csc int": lambda A: sparse.csc_array(A.astype(np.int32)),
    "LinearOperator": aslinearoperator,
    "subclass of LinearOperator": Products,
    "sum of LinearOperators": lambda A: 2 * aslinearoperator(A) - aslinearoperator(sparse.csr_array(A)),
    "PyLops": lambda A: pylops.MatrixMult(A),
}
SMALL = st.integers(1, 6)


@pytest.fixture(params=STORAGES)
def storage(request):
    return request.param


@pytest.fixture
def products_only(monkeypatch):
    """No LinearOperator is small enough to be written out."""
    monkeypatch.setattr(operators, "MATERIALIZE_ENTRIES", 0)


def test_products_and_adjoint(storage):
    A = _matrix()
    operator = as_operator(STORAGES[storage](A))
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((2, 3, 5)), rng.standard_normal((2, 3, 7))
    tol = {"rtol": 1e-5, "atol": 1e-5} if "float32" in storage else {"rtol": 1e-12, "atol": 1e-12}
    assert operator.shape == (7, 5)
    np.testing.assert_allclose(operator.apply(X), X @ A.T, **tol)
    np.testing.assert_allclose(operator.adjoint(Y), Y @ A, **tol)
    np.testing.assert_allclose(operator.apply(X[0, 0]), A @ X[0, 0], **tol)
    np.testing.assert_allclose(operator.adjoint(Y[0, 0]), A.T @ Y[0, 0], **tol)
    inner = np.sum(operator.apply(X) * Y), np.sum(X * operator.adjoint(Y))
    assert inner[0] == pytest.approx(inner[1], rel=1e-5)


def test_parts_and_norms(storage):
    A = _matrix()
    operator = as_operator(STORAGES[storage](A))
    x = np.random.default_rng(1).standard_normal(5)
    np.testing.assert_allclose(operator.columns(1, 4).apply(x[1:4]), A[:, 1:4] @ x[1:4], atol=1e-6)
    np.testing.assert_allclose(operator.rows(np.array([0, 5])).apply(x), A[[0, 5]] @ x, atol=1e-6)
    np.testing.assert_allclose(operator.scaled(0.25).apply(x), A @ x / 4, atol=1e-6)
    np.testing.assert_allclose(operator.column_norms, np.linalg.norm(A, axis=0), rtol=1e-6)
    assert operator.magnitude == np.abs(A).max()
    assert operator.has_columns


def test_float_type(storage):
    operator = as_operator(STORAGES[storage](_matrix()))
    assert operator.A.dtype == (np.float32 if "float32" in storage else np.float64)


def test_kind(storage):
    operator = as_operator(STORAGES[storage](_matrix()))
    is_sparse = storage.startswith("cs") or storage.split("_")[0] in FORMATS
    assert isinstance(operator, SparseMatrix if is_sparse else DenseMatrix)
    assert operator.entries == (np.count_nonzero(_matrix()) if is_sparse else 35)


def test_exact_residual(storage):
    A = _matrix()
    operator = as_operator(STORAGES[storage](A))
    X = np.where(np.random.default_rng(0).random((3, 5)) < 0.5, -1.0, 1.0)
    b = np.arange(7) + 0.1
    for x in (X, X[0]):
        z = operator.exact_residual(x, b)
        assert z.dtype == np.float64
        np.testing.assert_array_equal(z, x @ A.T - b)


def test_bool_matrix():
    A = _matrix() > 0
    for given_as in (A, sparse.csr_array(A)):
        operator = as_operator(given_as)
        assert operator.A.dtype == np.float64
        np.testing.assert_array_equal(operator.apply(np.ones(5)), A.sum(axis=1))


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csc_array, sparse.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_of_the_right_kind_is_not_copied(make, dtype):
    A = make(_matrix().astype(dtype))
    assert as_operator(A).A is A


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_residual_of_small_floats(dtype, xp, monkeypatch):
    """float32 entries are exact in float64; products of them must not be rounded to float32 first."""
    monkeypatch.setattr(operators, "CHUNK_ENTRIES", 40)
    A = np.random.default_rng(0).standard_normal((23, 17)).astype(dtype)
    x, b = np.ones(17), np.linspace(0, 1, 23)
    z = as_operator(xp.asarray(A, np.dtype(dtype).name)).exact_residual(xp.asarray(x), xp.asarray(b))
    assert xp.is_ours(z)
    np.testing.assert_allclose(xp.host(z), A.astype(float) @ x - b, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dense_in_any_library(xp, dtype):
    host = _matrix(9, 6)
    A = xp.asarray(host, dtype)
    operator = as_operator(A)
    assert operator.A is A or xp.name.startswith("numpy")
    x, y = np.arange(6.0), np.arange(18.0).reshape(2, 9)
    image, pulled = operator.apply(xp.asarray(x, dtype)), operator.adjoint(xp.asarray(y, dtype))
    assert xp.is_ours(image)
    assert image.dtype == A.dtype
    np.testing.assert_array_equal(xp.host(image), host @ x)
    np.testing.assert_array_equal(xp.host(pulled), y @ host)
    np.testing.assert_array_equal(xp.host(operator.columns(2, 5).A), host[:, 2:5])
    np.testing.assert_array_equal(xp.host(operator.rows(np.array([1, 3])).A), host[[1, 3]])
    np.testing.assert_array_equal(xp.host(operator.scaled(2.0).A), 2 * host)
    np.testing.assert_allclose(xp.host(operator.column_norms), np.linalg.norm(host, axis=0), rtol=1e-6)
    assert operator.magnitude == np.abs(host).max()
    true = np.linalg.norm(host, 2)
    assert 0.95 * true <= norm_estimate(operator) <= true * (1 + 1e-5)
    assert norm_bound(operator) >= true


def test_integers_of_any_library_become_float64(xp):
    operator = as_operator(xp.asarray(_matrix(), "int32"))
    np.testing.assert_array_equal(xp.host(operator.A), _matrix())
    assert xp.asarray([1.0]).dtype == operator.A.dtype


def test_complex_of_any_library_is_refused(xp):
    with pytest.raises(
        TypeError, match=r"`A` must be real; got .*complex128\. Stack the real and imaginary parts"
    ):
        as_operator(xp.asarray(np.eye(2), "complex128"))


@given(r=SMALL, n=SMALL, seed=st.integers(0, 99))
def test_norms_bracket_the_true_one(r, n, seed):
    A = np.random.default_rng(seed).standard_normal((r, n))
    true = np.linalg.norm(A, 2)
    for operator in (as_operator(A), as_operator(sparse.csr_array(A))):
        assert 0.95 * true <= norm_estimate(operator) <= true * (1 + 1e-12)
        assert true <= norm_bound(operator) * (1 + 1e-12)


def test_norm_estimate_of_a_large_matrix():
    A = np.random.default_rng(0).standard_normal((300, 200))
    true = np.linalg.norm(A, 2)
    assert 0.97 * true <= norm_estimate(as_operator(A)) <= true


@pytest.mark.parametrize("scale", [0.0, 1e-150, 1e150])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csc_array])
def test_norms_at_any_scale(scale, storage):
    A = scale * _matrix()
    operator = as_operator(storage(A))
    true = np.linalg.norm(_matrix(), 2) * scale
    assert norm_estimate(operator) == pytest.approx(true, rel=0.05)
    assert norm_bound(operator) == pytest.approx(scale * np.linalg.norm(_matrix()))


def test_products_only(products_only, storage):
    """The same matrices as operators too large to be written out."""
    A = _matrix()
    operator = as_operator(Products(np.asarray(as_operator(STORAGES[storage](A)).apply(np.eye(5)).T)))
    assert isinstance(operator, MatrixFree)
    assert not operator.has_columns
    assert operator.entries == 35
    X, Y = np.arange(30.0).reshape(3, 2, 5), np.arange(42.0).reshape(3, 2, 7)
    np.testing.assert_allclose(operator.apply(X), X @ A.T)
    np.testing.assert_allclose(operator.adjoint(Y), Y @ A)
    np.testing.assert_allclose(operator.scaled(0.5).scaled(4.0).apply(X), 2 * X @ A.T)
    np.testing.assert_allclose(operator.exact_residual(X[0, 0], np.ones(7)), A @ X[0, 0] - 1)


@pytest.mark.parametrize("make", [Products, aslinearoperator, pylops.MatrixMult])
def test_norms_from_products_only(products_only, make):
    A = np.random.default_rng(2).standard_normal((60, 40))
    operator = as_operator(make(A))
    assert isinstance(operator, MatrixFree)
    true = np.linalg.norm(A, 2)
    assert 0.95 * true <= norm_estimate(operator) <= true * (1 + 1e-12)
    assert norm_bound(operator) >= true
    np.testing.assert_allclose(operator.column_norms, np.linalg.norm(A, axis=0), rtol=0.6)
    assert 0.1 < operator.magnitude / np.abs(A).max() < 10


def test_operators_are_written_out_by_blocks(monkeypatch):
    monkeypatch.setattr(operators, "CHUNK_ENTRIES", 20)
    A = _matrix(7, 5)
    np.testing.assert_array_equal(as_operator(Products(A)).A, A)
    assert as_operator(Products(A)).A.flags.f_contiguous


def test_a_pylops_operator_that_is_not_a_matrix(products_only):
    derivative = pylops.FirstDerivative(12)
    operator = as_operator(derivative)
    x, y = np.random.default_rng(0).standard_normal((2, 12))
    np.testing.assert_allclose(operator.apply(x), derivative @ x)
    assert operator.apply(x) @ y == pytest.approx(x @ operator.adjoint(y))


def test_duplicate_entries_add_up():
    A = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    np.testing.assert_array_equal(as_operator(A).apply(np.eye(2)).T, [[0, 3], [3, 0]])
    np.testing.assert_array_equal(as_operator(A).column_norms, [3, 3])


def test_an_unsorted_matrix_with_duplicates_is_not_touched():
    data, indices, indptr = np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3, 3])
    A = sparse.csc_array((data, indices, indptr), shape=(2, 2))
    operator = as_operator(A)
    np.testing.assert_array_equal(operator.A.toarray(), [[2, 0], [5, 0]])
    np.testing.assert_array_equal(A.data, [1, 2, 4])
    np.testing.assert_array_equal(A.indices, [1, 0, 1])


def test_a_subclass_of_a_sparse_matrix():
    class Own(sparse.csr_array):
        pass

    assert isinstance(as_operator(Own(_matrix())), SparseMatrix)


def test_empty_columns_have_norm_zero():
    A = sparse.csc_array(([3.0, 4.0], ([0, 1], [2, 2])), shape=(3, 6))
    np.testing.assert_array_equal(as_operator(A).column_norms, [0, 0, 5, 0, 0, 0])


@pytest.mark.parametrize("shape", [(4,), (2, 3), (3, 2)])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("order", ["C", "F"])
def test_all_finite(shape, bad, order, xp):
    x = np.ones(shape, order=order)
    assert all_finite(xp.asarray(x))
    x.flat[-1] = bad
    assert not all_finite(xp.asarray(x))


def test_finite_numbers_whose_sum_is_not(xp):
    assert all_finite(xp.asarray([1e308, 1e308, -1e308]))
    assert all_finite(xp.asarray([3e38, 3e38], "float32"))
    assert not all_finite(xp.asarray([np.inf, -np.inf]))


@pytest.mark.parametrize(
    ("A", "error", "match"),
    [
        (np.ones(3), ValueError, r"`A` must be a matrix of shape \(r, n\); got 1 dimension"),
        (np.ones((2, 2, 2)), ValueError, "got 3 dimension"),
        (sparse.coo_array(np.ones(3)), ValueError, "got 1 dimension"),
        (3.0, ValueError, "got 0 dimension"),
        (None, TypeError, "`A` must hold real numbers; got None"),
        (
            np.array([[1, None]]),
            TypeError,
            r"`A` must hold real numbers; got dtype object; row 0, column 1 \(from 0\) is None\. Make a",
        ),
        ([["1", "b"]], TypeError, r"real numbers; got dtype <U1; row 0, column 1 \(from 0\) is 'b'"),
        ([["1", "2"]], TypeError, r"got dtype <U1\. `numpy\.asarray\(\.\.\., float\)` makes numbers of it"),
        (
            "data.csv",
            TypeError,
            r"`A` must .*; got 'data\.csv'\. A file is read by `dcra\.io\.read` or `numpy",
        ),
        (Path("data.csv"), TypeError, r"A file is read by `dcra\.io\.read` or `numpy\.loadtxt`"),
        (
            [[1, 2], [3]],
            ValueError,
            r"`A` must have rows of one length; got 2 in row 0, 1 in row 1 \(from 0\)",
        ),
        ([[[1], [2, 3]]], ValueError, "`A` must have rows of one length$"),
        (np.zeros((2, 2), "M8[s]"), TypeError, "`A` must hold real numbers; got dtype datetime64"),
        (np.eye(2) * 1j, TypeError, r"`A` must be real; got complex128. Stack the real and imaginary parts"),
        (sparse.csr_array(np.eye(2) * 1j), TypeError, "`A` must be real; got complex128"),
        (aslinearoperator(np.eye(2) * 1j), TypeError, "`A` must be real; got complex128"),
        (
            LinearOperator((2, 2), matvec=lambda x: x, dtype=float),
            TypeError,
            "LinearOperator without an adjoint; give it `rmatvec`",
        ),
    ],
)
def test_errors(A, error, match):
    with pytest.raises(error, match=match):
        as_operator(A)


class Frame:
    """A data frame whose columns have types of their own, so that its array is one of objects."""

    columns = ("size", "city")

    def __init__(self, *rows):
        self.rows = rows

    def __array__(self, dtype=None, copy=None):
        return np.array(self.rows, dtype or object)

    def to_numpy(self, dtype):
        return np.array(self.rows, dtype)


@pytest.mark.parametrize(
    ("frame", "match"),
    [
        (Frame((1, 2.0), (3, "4")), r"got dtype object\. `to_numpy\(float\)` makes numbers of it"),
        (Frame((1, 2.0), (3, "Rome")), r"row 1, column 1 \(from 0\), of column 'city', is 'Rome'\. Make a"),
    ],
)
def test_data_frames_of_objects(frame, match):
    with pytest.raises(TypeError, match=match):
        as_operator(frame)


def test_an_array_that_cannot_be_made_keeps_its_own_words():
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise ValueError("no data here")

    with pytest.raises(ValueError, match="no data here"):
        as_operator(Broken())


OWN = {
    "dense": lambda A: DenseMatrix(A),
    "F": lambda A: DenseMatrix(np.asfortranarray(A)),
    "csc_array": lambda A: SparseMatrix(sparse.csc_array(A)),
    "csc_matrix": lambda A: SparseMatrix(sparse.csc_matrix(A)),
    "products": lambda A: MatrixFree(aslinearoperator(A)),
    "one product at a time": lambda A: MatrixFree(Products(A)),
}
WRITTEN = [name for name in OWN if "product" not in name]


def same(got, want, dtype=np.float64):
    assert isinstance(got, np.ndarray)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OWN)
def test_the_matrix_written_out(name, dtype):
    A = _matrix().astype(dtype)
    operator = OWN[name](A)
    same(operator.dense(), A, np.float64 if "product" in name else dtype)
    home = operator.on_host()
    assert sparse.issparse(home) == operator.sparse
    np.testing.assert_array_equal(home @ np.arange(5.0), A @ np.arange(5.0))
    assert home.shape == operator.shape == (7, 5)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_lies_on_the_host_is_not_copied(name):
    operator = OWN[name](_matrix())
    assert operator.on_host() is operator.A
    assert operator.sparse or operator.dense() is operator.A


def test_what_is_written_out_in_any_library(xp):
    A = _matrix()
    operator = as_operator(xp.asarray(A, "float32"))
    for got in (operator.dense(), operator.on_host()):
        same(got, A, np.float32)
    same(operator.gram(), A.T @ A, np.float32)
    same(operator.row_sizes(), np.abs(A).sum(axis=1), np.float64)
    assert xp.is_ours(operator.stored)


@pytest.mark.parametrize("columns", [1, 2, 5, 7])
def test_products_are_written_out_some_columns_at_a_time(columns, monkeypatch):
    A = _matrix(5, 7)
    monkeypatch.setattr(operators, "CHUNK_ENTRIES", 7 * columns)
    widths = []

    class Watched(Products):
        def _matmat(self, X):
            widths.append(X.shape[1])
            return self.matrix @ X

    same(MatrixFree(Watched(A)).dense(), A)
    assert sum(widths) == 7
    assert max(widths) == columns


@pytest.mark.parametrize("name", WRITTEN)
def test_stored_entries(name):
    A = _matrix()
    stored = OWN[name](A).stored
    assert np.sum(np.abs(stored)) == np.sum(np.abs(A))
    assert stored.size == OWN[name](A).entries


def test_products_alone_store_nothing():
    assert not hasattr(OWN["products"](_matrix()), "stored")


@given(r=SMALL, n=SMALL, seed=st.integers(0, 99), name=st.sampled_from(WRITTEN))
def test_products_of_columns_and_sizes_of_rows(r, n, seed, name):
    A = np.random.default_rng(seed).integers(-3, 4, (r, n)).astype(float)
    operator = OWN[name](A)
    same(operator.gram(), A.T @ A)
    same(operator.row_sizes(), np.abs(A).sum(axis=1))


@given(n=SMALL, seed=st.integers(0, 99), name=st.sampled_from(["products", "one product at a time"]))
def test_the_symmetric_part_of_products(n, seed, name):
    A, X = np.random.default_rng(seed).integers(-4, 5, (2, n, n)).astype(float)
    operator = OWN[name](A).symmetric()
    assert isinstance(operator, MatrixFree)
    same(operator.dense(), (A + A.T) / 2)
    np.testing.assert_array_equal(operator.apply(X), operator.adjoint(X))


def test_the_symmetric_part_of_a_pylops_operator():
    derivative = pylops.FirstDerivative(6)
    A = MatrixFree(aslinearoperator(derivative)).dense()
    same(MatrixFree(aslinearoperator(derivative)).symmetric().dense(), (A + A.T) / 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OWN)
def test_entries_that_are_not_finite(name, dtype, bad):
    A = _matrix().astype(dtype)
    assert has_finite_entries(OWN[name](A))
    A[3, 1] = bad
    with np.errstate(invalid="ignore"):
        assert not has_finite_entries(OWN[name](A))


def test_infinities_that_cancel_are_found(xp):
    A = np.zeros((3, 4))
    A[1, :2] = np.inf, -np.inf
    assert not has_finite_entries(as_operator(xp.asarray(A)))
    assert not has_finite_entries(as_operator(sparse.csr_array(A)))


@pytest.mark.parametrize("name", WRITTEN)
def test_finite_entries_whose_row_sums_are_not(name):
    A = np.full((2, 3), 1e308)
    assert has_finite_entries(OWN[name](A))


def test_large_entries_in_small_floats(xp):
    assert has_finite_entries(as_operator(xp.asarray(np.full((2, 3), 3e38), "float32")))


def test_sparse_tensors_get_a_sentence():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"got one of layout torch\.sparse_coo\. Take `A\.to_dense\(\)`"):
        as_operator(torch.eye(3).to_sparse())


def test_entries_that_stand_twice_are_added_in_float64():
    """Where small integers or truth values are meant, their own sums would wrap around."""
    rows, columns = [0, 0, 0], [0, 0, 1]
    for kind, value in ((np.int8, 100), (np.uint8, 200), (np.bool_, 1)):
        A = sparse.coo_array((np.array([value, value, 1], kind), (rows, columns)), shape=(1, 2))
        np.testing.assert_array_equal(as_operator(A).apply(np.ones(2)), [2.0 * value + 1])
