"""The internal form: equal to the problem at every point, and its tables equal to its pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from dcra import losses, minimize, minimize_batch, solve
from dcra._kernels.store import CAPPED, LOGISTIC, TABLE, Dense, Sparse
from dcra.compiled.form import compile_problem
from dcra.losses import NAMES
from dcra.model import operators
from dcra.model.problem import Problem
from dcra.model.term import Term

ROWS = [name for name in NAMES if name != "linear"]  # linear losses join the linear term
SEPARABLE = [name for name in ROWS if NAMES[name].separable]
CONVEX = [name for name in NAMES if NAMES[name].convex]
STORAGES = {
    "dense": np.asarray,
    "F": np.asfortranarray,
    "float32": lambda A: A.astype(np.float32),
    "sparse": sparse.csr_array,
    "sparse float32": lambda A: sparse.csc_matrix(A.astype(np.float32)),
    "operator": aslinearoperator,
}
SCALES = [1e-150, 1e-40, 1e-12, 1.0, 1e12, 1e40, 1e150]
domains = pytest.mark.parametrize("domain", ["spin", "binary"])


def matrix(rng, r, n, density=0.7):
    """Entries with few digits, so that float32 holds them exactly; one zero row and one zero column."""
    A = np.round(rng.standard_normal((r, n)) * 16) / 16 * (rng.random((r, n)) < density)
    A[r // 2] = 0
    A[:, n // 2] = 0
    return A


def points(rng, n, domain, k=6):
    return np.where(rng.random((k, n)) < 0.5, -1.0 if domain == "spin" else 0.0, 1.0)


def value(compiled, x):
    """F as the internal form has it."""
    S = compiled.encode(x)
    S = S if not compiled.pieces else _like(compiled, S)
    inner = compiled.smoothed(compiled.residual(S), 0.0) + compiled.linear(S)
    return compiled.value_scale * np.asarray(operators.to_numpy(inner), np.float64) + compiled.offset


def _like(compiled, S):
    return operators.from_numpy(S, compiled.like)


def close(got, want, rtol=1e-11):
    want = np.asarray(want)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * np.abs(want).max())


def random_problem(seed, domain, store, names, row_weights=False):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    terms = []
    for name in names:
        r = int(rng.integers(1, 6))
        weight = rng.uniform(0, 2, r) if row_weights and NAMES[name].separable else float(rng.uniform(0.1, 3))
        terms.append(Term(name, store(matrix(rng, r, n)), rng.integers(-3, 4, r) / 4, weight))
    return Problem(terms, linear=rng.standard_normal(n), constant=rng.standard_normal(), domain=domain), rng


@domains
@pytest.mark.parametrize("store", STORAGES)
@pytest.mark.parametrize("name", NAMES)
def test_value_is_the_objective(name, store, domain):
    for seed in range(4):
        problem, rng = random_problem(seed, domain, STORAGES[store], [name], row_weights=seed % 2 == 1)
        X = points(rng, problem.n, domain)
        close(value(compile_problem(problem), X), problem.objective(X), 2e-5 if "32" in store else 1e-11)


@given(
    seed=st.integers(0, 9999),
    domain=st.sampled_from(["spin", "binary"]),
    store=st.sampled_from(list(STORAGES)),
    names=st.lists(st.sampled_from(list(NAMES)), min_size=1, max_size=4),
    row_weights=st.booleans(),
)
def test_value_of_several_terms(seed, domain, store, names, row_weights):
    problem, rng = random_problem(seed, domain, STORAGES[store], names, row_weights)
    X = points(rng, problem.n, domain)
    close(value(compile_problem(problem), X), problem.objective(X), 2e-5 if "32" in store else 1e-11)


@domains
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_any_library(xp, name, domain, dtype, rng):
    A = matrix(rng, 5, 4)
    weight = xp.asarray(rng.uniform(0, 2, 5)) if NAMES[name].separable else 1.5
    term = Term(name, xp.asarray(A, dtype), xp.asarray(rng.standard_normal(5)), weight)
    problem = Problem(
        [term, Term("l1", xp.asarray(A, dtype), 0)], linear=xp.asarray(np.ones(4)), domain=domain
    )
    compiled = compile_problem(problem)
    X = points(rng, 4, domain)
    close(value(compiled, xp.asarray(X)), problem.objective(X), 1e-5 if dtype == "float32" else 1e-11)
    S = _like(compiled, compiled.encode(X))
    Z = compiled.residual(S)
    gradient = compiled.pull(compiled.slopes(Z, 0.5))
    for array in (Z, gradient, compiled.smoothed(Z, 0.5)):
        assert xp.is_ours(array)
        assert array.dtype == S.dtype
    decoded = compiled.decode(compiled.encode(X))
    assert xp.is_ours(decoded)
    assert decoded.dtype == term.operator.A.dtype
    np.testing.assert_array_equal(xp.host(decoded), X)


@domains
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("store", ["dense", "sparse", "operator"])
@pytest.mark.parametrize("name", NAMES)
def test_any_scale(name, scale, store, domain, rng):
    A, b = scale * matrix(rng, 5, 4), scale * rng.standard_normal(5)
    problem = Problem([Term(name, STORAGES[store](A), b)], domain=domain)
    compiled = compile_problem(problem)
    X = points(rng, 4, domain)
    want = problem.objective(X)
    got = value(compiled, X)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12 * np.abs(want).max())
    inner = (got - compiled.offset) / compiled.value_scale
    assert np.all(np.abs(inner) < 1e60)
    gradient = compiled.pull(compiled.slopes(compiled.residual(compiled.encode(X)), 0.5))
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("name", NAMES)
def test_small_floats_at_any_scale(name, scale, rng):
    A, b = scale * matrix(rng, 5, 4), scale * rng.standard_normal(5)
    problem = Problem([Term(name, A.astype(np.float32), b)])
    X = points(rng, 4, "spin")
    close(value(compile_problem(problem), X), problem.objective(X), 1e-5)


@pytest.mark.parametrize("scale", SCALES)
def test_weights_and_linear_terms_at_any_scale(scale, rng):
    problem = Problem(
        [Term("l1", matrix(rng, 5, 4), 1, scale), Term("huber", matrix(rng, 3, 4), 0, scale * np.ones(3))],
        linear=scale * rng.standard_normal(4),
        domain="binary",
    )
    X = points(rng, 4, "binary")
    close(value(compile_problem(problem), X), problem.objective(X))


def test_zero_rows_are_dropped(xp, rng):
    A = rng.standard_normal((6, 3))
    A[[1, 4]] = 0
    A[2] = [1, -1, 0]  # not zero, whatever its sum
    b, w = rng.standard_normal(6), rng.uniform(1, 2, 6)
    for weight in (2.0, xp.asarray(w)):
        for name in SEPARABLE:
            problem = Problem([Term(name, xp.asarray(A), xp.asarray(b), weight)])
            compiled = compile_problem(problem)
            assert compiled.n_rows == 4
            X = points(rng, 3, "spin")
            close(value(compiled, X), problem.objective(X))
    kept = compile_problem(Problem([Term("linf", xp.asarray(A), xp.asarray(b))]))
    assert kept.n_rows == 6


@domains
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_nothing_left(store, domain):
    """All rows zero: a constant, and the linear term where there is one."""
    terms = [Term("l1", store(np.zeros((2, 3))), [1, -2]), Term("squared", store(np.zeros((1, 3))), 3.0)]
    for linear in (None, [1.0, 2.0, -3.0]):
        problem = Problem(terms, linear=linear, domain=domain)
        compiled = compile_problem(problem)
        X = points(np.random.default_rng(0), 3, domain)
        assert compiled.pieces == ()
        assert compiled.work_per_pass >= 1
        close(value(compiled, X), problem.objective(X))
        Z = compiled.residual(compiled.encode(X))
        gradient = compiled.pull(compiled.slopes(Z, 1.0))
        assert gradient.shape == (6, 3)
        close(gradient, np.broadcast_to(0 if linear is None else compiled.c, (6, 3)))
        tables = compiled.tables(np.float64)
        assert tables.b.size == 0
        assert tables.model.rows.kind.size == 0


@domains
@pytest.mark.parametrize("delta", [0.3, 2.0])
@pytest.mark.parametrize("name", CONVEX)
def test_pull_of_slopes_is_the_gradient(name, delta, domain, rng):
    """Finite differences of the smoothed value in s; binary domain, weights and a scale all at once."""
    weight = rng.uniform(0.5, 2, 6) if NAMES[name].separable else 1.7
    terms = [Term(name, 3 * matrix(rng, 6, 4), rng.standard_normal(6), weight), Term("l1", np.eye(4), 0.1)]
    compiled = compile_problem(Problem(terms, linear=rng.standard_normal(4), domain=domain))
    s = rng.uniform(-1, 1, 4)

    def smoothed(s):
        return float(compiled.smoothed(compiled.residual(s), delta) + compiled.linear(s))

    h = 1e-6
    difference = [(smoothed(s + h * e) - smoothed(s - h * e)) / (2 * h) for e in np.eye(4)]
    close(compiled.pull(compiled.slopes(compiled.residual(s), delta)), difference, 1e-6)


@pytest.mark.parametrize("name", [name for name in CONVEX if name in ROWS])
def test_curvature_bounds_the_slopes(name, rng):
    weight = rng.uniform(0.5, 2, 6) if NAMES[name].separable else 1.7
    problem = Problem([Term(name, matrix(rng, 6, 4), 0.3, weight)], domain="binary")
    (piece,) = compile_problem(problem).pieces
    z, w = 3 * rng.standard_normal((2, 50, piece.b.size))
    for delta in (0.1, 1.0):
        change = np.linalg.norm(piece.slopes(z, delta) - piece.slopes(w, delta), axis=-1)
        assert np.all(change <= piece.curvature(delta) * np.linalg.norm(z - w, axis=-1) * (1 + 1e-9))
    assert piece.smooth == (piece.loss.curvature < np.inf)
    assert piece.heaviest == pytest.approx(np.max(piece.weight))


def test_smoothing_may_differ_by_piece(rng):
    compiled = compile_problem(Problem([Term("l1", np.eye(3), 0.5), Term("huber", np.eye(3), 0.2)]))
    Z = compiled.residual(rng.uniform(-1, 1, (4, 3)))
    both = compiled.smoothed(Z, (0.3, 2.0))
    close(both, losses.L1().envelope(Z[:, :3], 0.3) + losses.Huber().envelope(Z[:, 3:], 2.0))
    close(compiled.slopes(Z, (0.3, 2.0))[:, 3:], losses.Huber().envelope_grad(Z[:, 3:], 2.0))


@domains
def test_encode_and_decode(domain, rng):
    compiled = compile_problem(Problem([Term("l1", np.eye(5, dtype=np.float32), 0)], domain=domain))
    X = points(rng, 5, domain)
    S = compiled.encode(X)
    assert set(np.unique(S)) <= {-1.0, 1.0}
    np.testing.assert_array_equal(compiled.decode(S), X)
    np.testing.assert_array_equal(compiled.decode(S[0]), X[0])
    assert compiled.decode(S).dtype == np.float32


def test_products_only(monkeypatch, rng):
    monkeypatch.setattr(operators, "MATERIALIZE_ENTRIES", 0)
    A = matrix(rng, 5, 4)
    for name in ROWS:
        for domain in ("spin", "binary"):
            for scale in (1.0, 1e150):
                problem = Problem([Term(name, aslinearoperator(scale * A), scale * 0.3)], domain=domain)
                compiled = compile_problem(problem)
                X = points(rng, 4, domain)
                close(value(compiled, X), problem.objective(X))
                assert not compiled.has_columns
                assert not compiled.tabulated


def test_the_matrix_is_not_copied(rng):
    """Domain, weights and moderate scales leave A alone, and its transpose is the column store."""
    A = np.asfortranarray(rng.standard_normal((5, 4)))
    A.flags.writeable = False
    compiled = compile_problem(Problem([Term("l1", A, 1, 2.0)], domain="binary"))
    assert compiled.pieces[0].operator.A is A
    assert np.shares_memory(compiled.tables(np.float64).model.A.cols, A)
    assert compiled.tables() is compiled.tables(np.float64)


def test_mixed_float_types(xp, rng):
    A = matrix(rng, 5, 4)
    problem = Problem([Term("l1", xp.asarray(A, "float32"), 0.5), Term("huber", xp.asarray(A), 0)])
    compiled = compile_problem(problem)
    X = points(rng, 4, "spin")
    assert compiled.like.dtype == xp.asarray([0.0]).dtype
    close(value(compiled, X), problem.objective(X))


@pytest.mark.parametrize("name", NAMES)
def test_which_losses_are_tabulated(name, rng):
    compiled = compile_problem(Problem([Term(name, matrix(rng, 4, 3), 0)]), loops=True)
    assert compiled.tabulated == (name not in ("l2", "linf"))
    assert not compile_problem(compiled.problem, loops=False).tabulated


def tabulated_rows(rows, z):
    """Each row's value by the formulas of `_kernels.store.Rows`, in float64."""
    z = z.astype(np.float64)
    values = np.empty_like(z)
    for t, kind in enumerate(rows.kind):
        _, k, e, lo, hi = rows.table[t].astype(np.float64)
        where = slice(rows.start[t], rows.start[t + 1])
        u = z[..., where]
        if kind == TABLE:
            s = np.sign(u) * np.maximum(np.abs(u) - e, 0)
            g = np.clip(s / k, lo, hi) if k > 0 else np.where(s > 0, hi, lo)
            values[..., where] = s * g - k * g**2 / 2
        elif kind == LOGISTIC:
            values[..., where] = e * np.logaddexp(0, k * u)
        elif kind == CAPPED:
            values[..., where] = hi * np.minimum(np.abs(u), k)
    return values * rows.weight if rows.weight.size else values


def dense_matrix(A, n_rows):
    """A (r, n) from a column store."""
    if isinstance(A, Dense):
        return A.cols.T.astype(np.float64)
    assert isinstance(A, Sparse)
    return (
        sparse.csc_array((A.val, A.idx, A.ptr), shape=(n_rows, A.ptr.size - 1)).toarray().astype(np.float64)
    )


def tabulated_value(compiled, dtype, x):
    model, b = compiled.tables(dtype)[:2]
    S = compiled.encode(x)
    z = S @ dense_matrix(model.A, b.size).T - b
    inner = tabulated_rows(model.rows, z).sum(axis=-1) + S @ model.c.astype(np.float64)
    return compiled.value_scale * inner + compiled.offset


def check_tables(problem, dtype, x):
    compiled = compile_problem(problem, loops=True)
    model, b = compiled.tables(dtype)[:2]
    rounded = dtype == np.float32 or compiled.like.dtype == np.float32
    close(tabulated_value(compiled, dtype, x), problem.objective(x), 1e-5 if rounded else 1e-11)
    arrays = [*model.A, *model.rows, model.c, model.L]
    assert all(not a.flags.writeable and a.flags.c_contiguous for a in arrays)
    assert all(
        a.dtype == dtype for a in (model.c, model.L, model.rows.table, model.rows.weight, b, model.A[-1])
    )
    assert all(np.isfinite(a).all() for a in arrays)
    assert np.array_equal(
        model.rows.term, np.repeat(np.arange(len(compiled.pieces)), np.diff(model.rows.start))
    )
    A = dense_matrix(model.A, b.size)
    S = compiled.encode(x)
    close(compiled.tables(dtype).residual(S @ A.T - b), compiled.residual(S), 1e-5 if rounded else 1e-11)
    weight = model.rows.weight if model.rows.weight.size else np.ones(b.size)
    for t, piece in enumerate(compiled.pieces):
        norms = (weight[piece.where, None] * A[piece.where] ** 2).sum(axis=0)
        np.testing.assert_allclose(model.L[t], norms, rtol=1e-5)
    return model


@domains
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("density", [0.05, 0.8])
@pytest.mark.parametrize("store", STORAGES)
@pytest.mark.parametrize("name", SEPARABLE)
def test_tables_give_the_value(name, store, density, dtype, domain, rng):
    A = STORAGES[store](matrix(rng, 30, 24, density))
    X = points(rng, 24, domain)
    for weight in (1.0, 2.5, rng.uniform(0, 2, 30)):
        term = Term(name, A, rng.integers(-8, 9, 30) / 8, weight)
        model = check_tables(Problem([term], linear=np.arange(24), domain=domain), dtype, X)
        assert isinstance(model.A, Sparse if "sparse" in store and density < 0.1 else Dense)


@given(
    seed=st.integers(0, 9999),
    domain=st.sampled_from(["spin", "binary"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    stores=st.lists(st.sampled_from(list(STORAGES)), min_size=3, max_size=3),
    names=st.lists(st.sampled_from(SEPARABLE), min_size=3, max_size=3),
    row_weights=st.booleans(),
    exponents=st.lists(st.integers(-20, 20), min_size=3, max_size=3),
)
def test_tables_of_several_terms(seed, domain, dtype, stores, names, row_weights, exponents):
    rng = np.random.default_rng(seed)
    terms = []
    for name, store, exponent in zip(names, stores, exponents, strict=True):
        A, b = matrix(rng, 9, 6, 0.3) * 2.0**exponent, rng.integers(-3, 4, 9) * 2.0**exponent
        weight = rng.uniform(0, 2, 9) if row_weights and rng.random() < 0.7 else rng.uniform(0.1, 2)
        terms.append(Term(name, STORAGES[store](A), b, weight))
    problem = Problem(terms, linear=rng.standard_normal(6), domain=domain)
    check_tables(problem, dtype, points(rng, 6, domain))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", SEPARABLE)
def test_tables_at_any_scale(name, scale, dtype, rng):
    A, b = scale * matrix(rng, 6, 4), scale * rng.integers(-3, 4, 6)
    check_tables(Problem([Term(name, A, b)], domain="binary"), dtype, points(rng, 4, "binary"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [0.0, -2.0, [-1.0, 0.0, 2.0]])
def test_tables_of_weights_that_are_not_positive(weight, dtype, rng):
    A = rng.integers(-3, 4, (3, 4)).astype(float)
    compiled = compile_problem(Problem([Term("linear", A, 0.5, weight)]), loops=True)
    X = points(rng, 4, "spin")
    close(tabulated_value(compiled, dtype, X), compiled.problem.objective(X), 1e-6)
    for name in SEPARABLE:
        check_tables(Problem([Term(name, A, 0.5, 0.0), Term("l1", A, 0.5)]), dtype, X)
        check_tables(Problem([Term(name, A, 0.5, [0, 0, 1])]), dtype, X)


@domains
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("row_weights", [False, True])
@pytest.mark.parametrize("name", [n for n in SEPARABLE if issubclass(NAMES[n], losses.TableLoss)])
def test_smoothed_tables_have_the_slopes_of_the_piece(name, row_weights, dtype, domain, rng):
    """The gradient in s of the tabulated loss is that of the array path, delta being the same."""
    A, weight = 20 * matrix(rng, 6, 4), rng.uniform(0.5, 2, 6) if row_weights else 2.5
    compiled = compile_problem(
        Problem([Term(name, A, rng.standard_normal(6), weight)], domain=domain), loops=True
    )
    tables = compiled.tables(dtype)
    S = rng.uniform(-1, 1, (5, 4))
    store = dense_matrix(tables.model.A, tables.b.size)
    z = S @ store.T - tables.b
    for delta in (0.3, 4.0):
        rows = tables.smoothed(delta).rows
        slope, _, e, lo, hi = rows.table[0].astype(np.float64)
        g = np.clip(np.sign(z) * np.maximum(np.abs(z) - e, 0) * slope, lo, hi)
        g = g * rows.weight if rows.weight.size else g
        close(
            g @ store,
            compiled.pull(compiled.slopes(compiled.residual(S), delta)),
            1e-4 if dtype == np.float32 else 1e-10,
        )


@pytest.mark.parametrize("scale", [1e-310, 1e-200])
@pytest.mark.parametrize("loss", ["l1", "quantile", "hinge", "linf", "l2"])
def test_numbers_below_the_smallest_normal_one(loss, scale):
    """One over their scale is infinite, their squares vanish; answers and bounds are those of usual sizes."""
    rng = np.random.default_rng(0)
    for r, n in ((6, 8), (30, 40)):
        A, b = rng.standard_normal((r, n)), rng.standard_normal(r)
        small, usual = (minimize(s * A, s * b, loss, starts=2, seed=0) for s in (scale, 1.0))
        assert np.array_equal(small.x, usual.x)
        assert small.fun / scale == pytest.approx(usual.fun)
        assert small.lower_bound / scale == pytest.approx(usual.lower_bound, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-310, 1e-160])
@pytest.mark.parametrize("loss", ["squared", "huber", "squared_hinge"])
def test_objectives_that_vanish_are_refused(loss, scale):
    A, b = np.random.default_rng(0).standard_normal((6, 8)), np.ones(6)
    match = r"`A` must hold numbers whose squares float64 holds, .*; it is .*e-\d+, .* common factor"
    for call in (
        lambda: minimize(scale * A, scale * b, loss),
        lambda: minimize(scale * A, b, loss),
        lambda: minimize_batch(scale * A, scale * np.eye(6), loss),
        lambda: solve(Problem([Term(loss, scale * sparse.eye_array(6), scale * b)])),
    ):
        with pytest.raises(ValueError, match=match):
            call()
    assert minimize(0 * A, 0 * b, loss).fun == 0
    assert minimize(1e-200 * A, 0 * b, loss, linear=np.ones(8), seed=0).fun == -8
