"""The arrays of the compiled loops say what the pieces say: values, slopes, padding, scales."""

from __future__ import annotations

import time
from itertools import product
from math import frexp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dcra import losses
from dcra._kernels.store import CAPPED, LOGISTIC, TABLE, Dense, Sparse
from dcra.compiled.form import compile_problem
from dcra.compiled.piece import Piece
from dcra.compiled.tables import FAR, LANE, SAFE_FLOAT32_EXPONENT, build_tables
from dcra.model.operators import SparseMatrix, as_operator
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.model.watch import OutOfTime, Watch

LOSSES = {
    "l1": losses.L1(),
    "squared": losses.SquaredL2(),
    "hinge": losses.Hinge(),
    "squared_hinge": losses.SquaredHinge(),
    "huber": losses.Huber(0.7),
    "quantile": losses.Quantile(0.2),
    "epsilon_insensitive": losses.EpsilonInsensitive(0.3),
    "logistic": losses.Logistic(),
    "capped_l1": losses.CappedL1(0.8),
}
TABLES = [name for name, loss in LOSSES.items() if isinstance(loss, losses.TableLoss)]
KINDS = {"logistic": LOGISTIC, "capped_l1": CAPPED}
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
dtypes = pytest.mark.parametrize("dtype", [F32, F64], ids=str)


def stacked(parts):
    """Pieces from (loss, A, b, argument, weight), one below the other."""
    pieces, start = [], 0
    for term, (name, A, b, argument, weight) in enumerate(parts):
        where = slice(start, start + len(b))
        pieces.append(Piece(LOSSES[name], as_operator(A), b, argument, weight, where, term))
        start = where.stop
    return tuple(pieces)


def matrix_of(store, n_rows):
    """A (r, n), in float64, from a column store."""
    if isinstance(store, Dense):
        return store.cols.T.astype(np.float64)
    return (
        sparse.csc_array((store.val, store.idx, store.ptr), (n_rows, store.ptr.size - 1))
        .toarray()
        .astype(float)
    )


def row_values(rows, z):
    """Each row's value, by the definitions in `_kernels.store.Rows`."""
    values = np.zeros_like(z)
    for t, kind in enumerate(rows.kind):
        _, k, e, lo, hi = rows.table[t].astype(np.float64)
        where = slice(rows.start[t], rows.start[t + 1])
        u = z[..., where]
        if kind == TABLE:
            soft = np.sign(u) * np.maximum(np.abs(u) - e, 0)
            g = np.clip(soft / k, lo, hi) if k > 0 else np.where(soft > 0, hi, np.where(soft < 0, lo, 0.0))
            values[..., where] = soft * g - k * g * g / 2
        elif kind == LOGISTIC:
            values[..., where] = e * np.logaddexp(0, k * u)
        else:
            values[..., where] = hi * np.minimum(np.abs(u), k)
    return values * rows.weight if rows.weight.size else values


def row_slopes(rows, z):
    """Each row's slope where it has a table."""
    slopes = np.zeros_like(z)
    for t in range(rows.kind.size):
        slope, _, e, lo, hi = rows.table[t].astype(np.float64)
        where = slice(rows.start[t], rows.start[t + 1])
        soft = np.sign(z[..., where]) * np.maximum(np.abs(z[..., where]) - e, 0)
        slopes[..., where] = np.clip(soft * slope, lo, hi)
    return slopes * rows.weight if rows.weight.size else slopes


def drawn(rng, name, r, n, density=1.0, exponent=0, argument=1.0, weight=1.0, store=np.asarray, dtype=F64):
    """A piece whose numbers have few digits, so that float32 holds them exactly."""
    A = rng.integers(-16, 17, (r, n)) / 8 * 2.0**exponent * (rng.random((r, n)) < density)
    return name, store(A.astype(dtype)), rng.integers(-8, 9, r) / 4 * 2.0**exponent, argument, weight


def check(pieces, n, dtype, rng, padded=True):
    """The tables, after a comparison of all they say with what the pieces say."""
    c = rng.standard_normal(n)
    tables = build_tables(pieces, c, n, dtype, padded)
    model, tol = tables.model, 1e-5 if dtype == F32 else 1e-12
    S = rng.uniform(-1, 1, (7, n))
    Z = [piece.operator.apply(S) - piece.b for piece in pieces]
    A = matrix_of(model.A, tables.b.size)
    z = S @ A.T - tables.b
    want = sum(piece.values(part) for piece, part in zip(pieces, Z, strict=True))
    np.testing.assert_allclose(
        row_values(model.rows, z).sum(axis=-1), want, rtol=tol, atol=tol * np.abs(want).max()
    )
    np.testing.assert_allclose(model.c, c, rtol=tol)
    np.testing.assert_allclose(
        tables.residual(z),
        np.concatenate(Z, axis=-1),
        rtol=tol,
        atol=tol * np.abs(np.concatenate(Z, -1)).max(),
    )
    weight = model.rows.weight if model.rows.weight.size else np.ones(tables.b.size)
    assert model.rows.start[-1] == tables.b.size == len(model.rows.term)
    for t, piece in enumerate(pieces):
        block = slice(model.rows.start[t], model.rows.start[t + 1])
        np.testing.assert_allclose(model.L[t], weight[block] @ A[block] ** 2, rtol=1e-5)
        assert np.all(model.rows.term[block] == t)
        assert model.rows.kind[t] == KINDS.get(next(k for k, v in LOSSES.items() if v is piece.loss), TABLE)
    for array in (*model.A, *model.rows, model.c, model.L):
        assert array.flags.c_contiguous
        assert not array.flags.writeable
        assert np.isfinite(array).all()
    assert {a.dtype for a in (model.c, model.L, model.rows.table, model.rows.weight, tables.b)} == {dtype}
    return tables


@given(
    seed=st.integers(0, 9999),
    dtype=st.sampled_from([F32, F64]),
    names=st.lists(st.sampled_from(list(LOSSES)), min_size=1, max_size=5),
    density=st.sampled_from([0.03, 1.0]),
    row_weights=st.booleans(),
)
def test_a_stack_of_pieces(seed, dtype, names, density, row_weights):
    rng = np.random.default_rng(seed)
    parts = []
    for name in names:
        r = int(rng.integers(1, 20))
        weight = rng.uniform(0, 2, r) if row_weights and rng.random() < 0.6 else float(rng.uniform(0.1, 2))
        store = sparse.csc_array if rng.random() < 0.5 or density < 1 else np.asarray
        argument, exponent = float(rng.choice([0.5, 1.0, 3.0])), int(rng.integers(-20, 21))
        parts.append(drawn(rng, name, r, 9, density, exponent, argument, weight, store))
    tables = check(stacked(parts), 9, dtype, rng)
    assert isinstance(tables.model.A, Dense if density == 1 else (Dense, Sparse))


@dtypes
@pytest.mark.parametrize("row_weights", [False, True])
@pytest.mark.parametrize("names", [[name] for name in TABLES] + [["l1", "huber", "squared"]])
def test_slopes_of_smoothed_tables(names, row_weights, dtype, rng):
    """The gradient in s, delta being given in units of the piece; one for all pieces, or one for each."""
    parts = []
    for name, exponent in zip(names, (0, 18, -18), strict=False):
        weight = rng.uniform(0.5, 2, 6) if row_weights else 2.5
        parts.append(drawn(rng, name, 6, 4, exponent=exponent, argument=0.5, weight=weight))
    pieces = stacked(parts)
    tables, S = build_tables(pieces, None, 4, dtype, True), rng.uniform(-1, 1, (5, 4))
    A = matrix_of(tables.model.A, tables.b.size)
    sizes = [np.abs(piece.b).max() for piece in pieces]
    for delta in (0.3 * min(sizes), tuple(0.7 * size for size in sizes)):
        deltas = delta if isinstance(delta, tuple) else (delta,) * len(pieces)
        got = row_slopes(tables.smoothed(delta).rows, S @ A.T - tables.b) @ A
        want = sum(
            p.operator.adjoint(p.slopes(p.operator.apply(S) - p.b, d))
            for p, d in zip(pieces, deltas, strict=True)
        )
        tol = 1e-4 if dtype == F32 else 1e-10
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol * np.abs(want).max())


@pytest.mark.parametrize("row_weights", [False, True])
@pytest.mark.parametrize("r", [1, LANE - 1, LANE, LANE + 1, 8 * LANE - 1, 8 * LANE])
@pytest.mark.parametrize("name", LOSSES)
def test_short_columns_fill_whole_lanes(name, r, row_weights, rng):
    """Rows of zeros, in float32 and for one piece with a table: others are left as they are."""
    weight = rng.uniform(0.1, 2, r) if row_weights else 1.5
    pieces = stacked([drawn(rng, name, r, 5, weight=weight)])
    tables = check(pieces, 5, F32, rng)
    pad = -r % LANE if name in TABLES and r < 8 * LANE else 0
    assert tables.b.size == r + pad
    assert tables.n_rows == r
    assert not tables.b[r:].any()
    assert not tables.model.A.cols[:, r:].any()
    if row_weights:
        np.testing.assert_allclose(tables.model.rows.weight, np.append(weight, np.ones(pad)), rtol=1e-6)
    assert not row_values(tables.model.rows, np.zeros(r + pad))[r:].any()
    assert check(pieces, 5, F32, rng, padded=False).b.size == r
    assert check(pieces, 5, F64, rng).b.size == r


def test_several_pieces_and_sparse_ones_are_not_padded(rng):
    two = stacked([drawn(rng, "l1", 3, 5), drawn(rng, "huber", 4, 5)])
    assert check(two, 5, F32, rng).b.size == 7
    thin = stacked([drawn(rng, "l1", 40, 60, 0.02, store=sparse.csc_array)])
    tables = check(thin, 60, F32, rng)
    assert isinstance(tables.model.A, Sparse)
    assert tables.b.size == 40


@dtypes
@pytest.mark.parametrize("given_as", [F32, F64], ids=str)
@pytest.mark.parametrize("exponent", [-100, -SAFE_FLOAT32_EXPONENT - 4, 0, SAFE_FLOAT32_EXPONENT + 4, 100])
def test_scales_are_powers_of_two(exponent, given_as, dtype, rng):
    """What is of moderate size is left as it lies where no digit is lost; the rest comes down to 1."""
    argument = 2.0**-exponent
    parts = [drawn(rng, "l1", 6, 5, exponent=exponent, argument=argument, dtype=given_as) for _ in range(2)]
    pieces = stacked(parts)
    tables = check(pieces, 5, dtype, rng)
    for piece, scale, unit in zip(pieces, tables.scales, tables.units, strict=True):
        exact = 2.0 ** frexp(piece.operator.magnitude)[1]
        assert scale == (1.0 if exponent == 0 and dtype in (given_as, F64) else exact)
        assert unit == scale**2
    assert np.abs(tables.model.A.cols).max() <= 2.0


@pytest.mark.parametrize("exponent", [-120, -100, -40, 40, 100, 120])
@pytest.mark.parametrize("name", LOSSES)
def test_exact_tables_at_sizes_that_a_piece_is_left_at(name, exponent, rng):
    """Numbers that stand for infinity must not be taken for slopes: enumeration relies on these tables."""
    A, b = rng.standard_normal((2, 8, 6)) * 2.0**exponent, rng.standard_normal((2, 8)) * 2.0**exponent
    problem = Problem([Term(LOSSES[name], A[0], b[0]), Term(LOSSES[name], A[1], b[1], 0.3)])
    compiled = compile_problem(problem, loops=True)
    tables = compiled.tables(np.float64)
    S = np.array(list(product((-1.0, 1.0), repeat=6)))
    z = S @ matrix_of(tables.model.A, 16).T - tables.b
    got = compiled.value_scale * row_values(tables.model.rows, z).sum(axis=-1) + compiled.offset
    np.testing.assert_allclose(got, problem.objective(S), rtol=1e-9)


@pytest.mark.parametrize(("weight", "unit"), [(2.5, 2.5), (0.0, 1.0), (np.array([1.0, 2.0, 3.0]), 1.0)])
def test_units_are_the_weights_that_stand_in_the_table(weight, unit, rng):
    pieces = stacked([drawn(rng, "l1", 3, 4, weight=weight)])
    assert check(pieces, 4, F64, rng).units == (unit,)


def test_losses_without_rows_or_linear_term():
    tables = build_tables((), None, 3, F64, True)
    assert isinstance(tables.model.A, Sparse)
    assert tables.model.A.ptr.tolist() == [0, 0, 0, 0]
    assert tables.model.c.tolist() == [0, 0, 0]
    assert tables.model.L.shape == (0, 3)
    assert tables.n_rows == tables.b.size == 0
    assert tables.scales == tables.units == ()
    assert tables.smoothed(0.3).rows.table.shape == (0, 5)
    assert tables.residual(np.empty((4, 0))).shape == (4, 0)


def test_infinite_entries_of_a_table_are_far(rng):
    (row,) = build_tables(stacked([drawn(rng, "squared", 3, 4)]), None, 4, F64, True).model.rows.table
    assert row.tolist() == [2.0, 0.5, 0.0, -FAR, FAR]
    (row,) = build_tables(stacked([drawn(rng, "l1", 3, 4)]), None, 4, F64, True).model.rows.table
    assert row.tolist() == [FAR, 0.0, 0.0, -1.0, 1.0]


def test_a_matrix_in_columns_is_shared_and_others_are_copied(rng):
    name, A, b, argument, weight = drawn(rng, "l1", 6, 5)
    for given_as, shared in ((np.asfortranarray(A), True), (A, False)):
        store = build_tables(stacked([(name, given_as, b, argument, weight)]), None, 5, F64, True).model.A
        assert np.shares_memory(store.cols, given_as) == shared
    large = rng.integers(-3, 4, (300, 270)).astype(float)  # more than one tile either way
    store = build_tables(stacked([(name, large, np.zeros(300), 1.0, 1.0)]), None, 270, F64, True).model.A
    np.testing.assert_array_equal(store.cols, large.T)


@dtypes
def test_a_sparse_matrix_in_any_order_stays_as_it_was(dtype, rng):
    """The store needs its rows in order, and must not order those of the piece behind its back."""
    A = sparse.csc_array(
        (np.array([1.0, 2.0, 3.0, 4.0]), np.array([30, 2, 7, 1]), np.array([0] + [3] * 24 + [4] * 16)),
        shape=(40, 40),
    ).astype(dtype)
    before = A.toarray()
    pieces = (Piece(LOSSES["l1"], SparseMatrix(A), np.zeros(40), 1.0, 1.0, slice(0, 40), 0),)
    tables = build_tables(pieces, None, 40, dtype, True)
    assert isinstance(tables.model.A, Sparse)
    np.testing.assert_array_equal(tables.model.A.idx, [2, 7, 30, 1])
    np.testing.assert_array_equal(matrix_of(tables.model.A, 40), before)
    np.testing.assert_array_equal(A.toarray(), before)


def test_zeros_that_are_stored_do_no_harm(rng):
    """A row of stored zeros is dropped; the residual must be the same after the tables are built."""
    rows, columns = np.r_[np.arange(40), 3, 5], np.r_[np.arange(40), 10, 10]
    values = np.r_[np.arange(1.0, 41.0), 2.0, 0.0]
    values[5] = 0.0
    A = sparse.csc_array((values, (rows, columns)), shape=(40, 40))
    problem = Problem([Term("l1", A, np.arange(40.0))])
    compiled = compile_problem(problem, loops=True)
    S = np.where(rng.random((5, 40)) < 0.5, -1.0, 1.0)
    before = compiled.residual(S)
    tables = compiled.tables(np.float64)
    assert isinstance(tables.model.A, Sparse)
    np.testing.assert_array_equal(compiled.residual(S), before)
    np.testing.assert_array_equal(S @ matrix_of(tables.model.A, 39).T - tables.b, before)


def test_a_layout_looks_at_the_clock_before_it_touches_more_memory(rng):
    """Of what was made: huge pages are touched by the first entry that lies in them."""
    looks = []

    def ended():
        looks.append(1)
        return len(looks) > 2

    compiled = compile_problem(Problem([Term("l1", rng.standard_normal((5, 1000)), np.zeros(5))]))
    with pytest.raises(OutOfTime):
        compiled.watched(Watch(time.perf_counter, ended=ended)).tables(np.float32)
    assert len(looks) == 3  # of four pieces of 256 columns
