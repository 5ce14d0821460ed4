"""Problems: the objective against direct formulas, both domains, and every message."""

from __future__ import annotations

from itertools import product

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, special
from scipy.sparse.linalg import aslinearoperator

import dcra
from dcra.losses import L1, NAMES, Huber, Quantile
from dcra.model import operators
from dcra.model.operators import MatrixFree
from dcra.model.problem import DOMAINS, Problem
from dcra.model.term import Term

FORMULAS = {
    "l1": lambda u: np.sum(np.abs(u)),
    "squared": lambda u: u @ u,
    "huber": lambda u: np.sum(special.huber(1.0, u)),
    "hinge": lambda u: np.sum(np.maximum(0, u)),
    "squared_hinge": lambda u: np.sum(np.maximum(0, u) ** 2),
    "quantile": lambda u: np.sum(np.maximum(0.5 * u, -0.5 * u)),
    "epsilon_insensitive": lambda u: np.sum(np.maximum(0, np.abs(u) - 0.1)),
    "logistic": lambda u: np.sum(np.logaddexp(0, u)),
    "linear": np.sum,
    "capped_l1": lambda u: np.sum(np.minimum(np.abs(u), 1)),
    "l2": np.linalg.norm,
    "linf": lambda u: np.abs(u).max(),
}
STORAGES = {
    "dense": np.asarray,
    "float32": lambda A: A.astype(np.float32),
    "sparse": sparse.csr_array,
    "operator": aslinearoperator,
    "products only": aslinearoperator,
}
LOWEST = {"spin": -1.0, "binary": 0.0}


def draw_x(rng, n, domain, *batch):
    return np.where(rng.random((*batch, n)) < 0.5, LOWEST[domain], 1.0)


@pytest.fixture(params=STORAGES)
def store(request, monkeypatch):
    if request.param == "products only":
        monkeypatch.setattr(operators, "MATERIALIZE_ENTRIES", 0)
    return STORAGES[request.param]


@pytest.mark.parametrize("domain", LOWEST)
@pytest.mark.parametrize("name", NAMES)
def test_objective_is_the_formula(name, domain, store, rng):
    A = np.round(rng.standard_normal((6, 4)), 2).astype(np.float32).astype(float)
    b, c = rng.standard_normal(6), rng.standard_normal(4)
    problem = Problem([Term(name, store(A), b, 1.5)], linear=c, constant=0.25, domain=domain)
    X = draw_x(rng, 4, domain, 5)
    want = [1.5 * FORMULAS[name](A @ x - b) + c @ x + 0.25 for x in X]
    np.testing.assert_allclose(problem.objective(X), want, rtol=1e-13)
    assert problem.objective(X[0]) == pytest.approx(want[0], rel=1e-13)
    assert isinstance(problem.objective(X[0]), float)
    spin = problem.to_spin()
    assert spin.domain == "spin"
    S = X if domain == "spin" else 2 * X - 1
    np.testing.assert_allclose(spin.objective(S), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("domain", LOWEST)
@pytest.mark.parametrize("name", [n for n in NAMES if NAMES[n].separable])
def test_row_weights(name, domain, store, rng):
    A, b, w = rng.standard_normal((5, 3)).astype(np.float32), rng.standard_normal(5), rng.uniform(0, 2, 5)
    problem = Problem([Term(name, store(A.astype(float)), b, w)], domain=domain)
    for x in draw_x(rng, 3, domain, 4):
        rows = A.astype(float) @ x - b
        want = sum(weight * FORMULAS[name](row) for weight, row in zip(w, rows[:, None], strict=True))
        assert problem.objective(x) == pytest.approx(want, rel=1e-12)
        assert problem.to_spin().objective(2 * x - 1 if domain == "binary" else x) == pytest.approx(
            want, rel=1e-12
        )


@pytest.mark.parametrize("domain", LOWEST)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_any_library(xp, name, domain, dtype, rng):
    A = rng.standard_normal((4, 3)).astype(np.float32).astype(float)
    b, c = rng.standard_normal(4), rng.standard_normal(3)
    term = Term(name, xp.asarray(A, dtype), xp.asarray(b), 2)
    problem = Problem([term], linear=xp.asarray(c), domain=domain)
    x = draw_x(rng, 3, domain)
    want = 2 * FORMULAS[name](A @ x - b) + c @ x
    assert problem.objective(x) == pytest.approx(want, rel=1e-12)
    assert problem.objective(xp.asarray(x, dtype)) == pytest.approx(want, rel=1e-12)
    batch = problem.objective(xp.asarray([x, x], "int8"))
    assert isinstance(batch, np.ndarray)
    np.testing.assert_allclose(batch, [want, want])
    assert problem.to_spin().objective(2 * x - 1 if domain == "binary" else x) == pytest.approx(want)


def test_vectors_move_to_the_library_of_the_matrix(xp, rng):
    """b, weights and c may be lists or NumPy arrays whatever A is."""
    A, b = rng.standard_normal((4, 3)), rng.standard_normal(4)
    problem = Problem([Term("l1", xp.asarray(A), b, [1, 2, 3, 4])], linear=[1, 2, 3])
    x = np.ones(3)
    assert problem.objective(x) == pytest.approx(np.abs(A @ x - b) @ [1, 2, 3, 4] + 6)


@given(seed=st.integers(0, 999))
def test_augmented_block_form(seed):
    """|[A; I] x - [b; 0]|-like stacks: one term with row weights equals a loss plus a linear term.

    On {0,1} the l1 norm of I x is the sum of x, so weights c on the lower block are the linear term c'x.
    """
    rng = np.random.default_rng(seed)
    A, b, c = rng.standard_normal((4, 3)), rng.standard_normal(4), rng.uniform(0, 2, 3)
    x = draw_x(rng, 3, "binary")
    stacked = Term("l1", np.vstack([A, np.eye(3)]), np.r_[b, 0, 0, 0], np.r_[1, 1, 1, 1, c])
    separate = Term("l1", A, b), Term("linear", np.eye(3), 0, c)
    want = Problem([Term("l1", A, b)], linear=c, domain="binary").objective(x)
    assert Problem([stacked], domain="binary").objective(x) == pytest.approx(want)
    assert Problem(separate, domain="binary").objective(x) == pytest.approx(want)


def test_linear_loss_takes_negative_weights(rng):
    c = np.array([1.0, -2.0, 3.0])
    x = np.array([1.0, -1.0, -1.0])
    assert Problem([Term("linear", np.eye(3), 0, c)]).objective(x) == c @ x
    assert Problem([Term("linear", np.eye(3), 0, -2)]).objective(x) == 2.0


def test_terms_add_up_and_mix_storages(rng):
    A, B, C = rng.standard_normal((3, 4, 5))
    problem = Problem(
        [
            Term("l1", A, 1.0),
            Term("huber", sparse.csc_matrix(B), 0),
            Term(Quantile(0.2), aslinearoperator(C), 0),
        ]
    )
    x = draw_x(rng, 5, "spin")
    want = (
        FORMULAS["l1"](A @ x - 1)
        + FORMULAS["huber"](B @ x)
        + np.sum(np.maximum(0.2 * (C @ x), -0.8 * (C @ x)))
    )
    assert problem.objective(x) == pytest.approx(want)
    assert problem.n_rows == 12
    assert problem.entries == 60
    assert problem.convex
    assert not Problem([Term("capped_l1", A, 0)]).convex
    assert repr(problem) == "Problem(L1(4, 5) + Huber(4, 5) + Quantile(4, 5), 5 spin variables)"


def test_linear_alone(xp):
    problem = Problem(linear=xp.asarray([1, -2]), constant=3, domain="binary")
    assert problem.n == 2
    assert problem.objective([0, 1]) == 1.0
    assert problem.to_spin().objective([-1, 1]) == 1.0
    assert problem.integer_valued


def test_user_losses(xp, rng):
    class Ball:
        def value(self, z):
            return float(np.sqrt(z @ z))

        def prox(self, z, step):
            return z * max(0.0, 1 - step / max(np.sqrt(z @ z), 1e-300))

    A, b, x = rng.standard_normal((4, 3)), rng.standard_normal(4), draw_x(rng, 3, "spin")
    problem = Problem([Term(Ball(), xp.asarray(A), xp.asarray(b))])
    assert problem.objective(x) == pytest.approx(np.linalg.norm(A @ x - b))
    assert not problem.convex


def test_products_only_keep_their_scale(monkeypatch, rng):
    monkeypatch.setattr(operators, "MATERIALIZE_ENTRIES", 0)
    A = rng.standard_normal((4, 3))
    problem = Problem([Term("l1", aslinearoperator(A), 0)], domain="binary")
    assert isinstance(problem.terms[0].operator, MatrixFree)
    for x in draw_x(rng, 3, "binary", 4):
        assert problem.to_spin().objective(2 * x - 1) == pytest.approx(np.abs(A @ x).sum())


@pytest.mark.parametrize("domain", LOWEST)
@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("name", NAMES)
def test_any_scale(name, scale, domain, rng):
    A, b = scale * rng.standard_normal((4, 3)), scale * rng.standard_normal(4)
    problem = Problem([Term(name, A, b)], domain=domain)
    X = draw_x(rng, 3, domain, 3)
    want = [FORMULAS[name](A @ x - b) for x in X]
    np.testing.assert_allclose(problem.objective(X), want, rtol=1e-12)
    np.testing.assert_allclose(
        problem.to_spin().objective(2 * X - 1 if domain == "binary" else X), want, rtol=1e-9
    )


@pytest.mark.parametrize(
    "A",
    [
        np.zeros((3, 2)),
        np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]),
        np.array([[2.0]]),
        np.array([[1.0, 2.0, 3.0]]),
        np.array([[1.0], [2.0]]),
        sparse.csr_array((3, 2)),
    ],
    ids=["all zero", "zero row and column, equal rows", "n = r = 1", "r = 1", "n = 1", "no entries"],
)
@pytest.mark.parametrize("domain", LOWEST)
@pytest.mark.parametrize("name", NAMES)
def test_degenerate_matrices(A, domain, name):
    problem = Problem([Term(name, A, 1.0)], domain=domain)
    dense = A.toarray() if sparse.issparse(A) else A
    x = np.ones(A.shape[1])
    want = FORMULAS[name](dense @ x - 1.0)
    assert problem.objective(x) == pytest.approx(want)
    assert problem.to_spin().objective(x) == pytest.approx(want)


def test_inputs_are_not_written_to(rng):
    A, b, c, x = (
        np.asfortranarray(rng.standard_normal((4, 3))),
        rng.standard_normal(4),
        np.ones(3),
        np.ones(3),
    )
    kept = [v.copy() for v in (A, b, c, x)]
    for v in (A, b, c, x):
        v.flags.writeable = False
    problem = Problem([Term("l1", A, b)], linear=c, domain="binary")
    problem.objective(x)
    problem.to_spin().objective(x)
    for v, before in zip((A, b, c, x), kept, strict=True):
        np.testing.assert_array_equal(v, before)
    assert problem.terms[0].operator.A is A


@pytest.mark.parametrize(
    ("terms", "linear", "constant", "whole"),
    [
        ([("l1", 1, 2, 1)], None, 0, True),
        ([("squared", 1, 2, 3), ("hinge", 2, 0, 1)], [1, 2], 5, True),
        ([("linf", 1, 1, 2)], None, 0, True),
        ([("squared_hinge", 1, 1, [1, 2])], None, 0, True),
        ([("linear", 1, 1, [-1, 2])], None, 0, True),
        ([("l1", 0.5, 2, 1)], None, 0, False),
        ([("l1", 1, 0.5, 1)], None, 0, False),
        ([("l1", 1, 2, 0.5)], None, 0, False),
        ([("l1", 1, 2, [1, 0.5])], None, 0, False),
        ([("l1", 1, 2, 1)], [0.5, 1], 0, False),
        ([("l1", 1, 2, 1)], None, 0.5, False),
        ([("huber", 1, 2, 1)], None, 0, False),
        ([("l2", 1, 2, 1)], None, 0, False),
        ([("quantile", 1, 2, 1)], None, 0, False),
        ([("logistic", 1, 2, 1)], None, 0, False),
        ([("l1", 1, 2, 1), ("l1", 1.5, 2, 1)], None, 0, False),
    ],
)
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, aslinearoperator])
def test_integer_valued(terms, linear, constant, whole, store):
    pattern = np.array([[1.0, -2.0], [0.0, 3.0]])
    problem = Problem(
        [Term(name, store(a * pattern), b, w) for name, a, b, w in terms], linear=linear, constant=constant
    )
    assert problem.integer_valued == whole
    if whole:
        F = problem.objective([[i, j] for i in (-1, 1) for j in (-1, 1)])
        np.testing.assert_array_equal(F, np.rint(F))


def test_integer_valued_of_any_library(xp):
    assert Problem([Term("l1", xp.asarray(np.eye(2)), [1, 2])]).integer_valued
    assert not Problem([Term("l1", xp.asarray(np.eye(2)), [1, 2.5])]).integer_valued


def test_products_only_are_not_known_to_be_integers(monkeypatch):
    monkeypatch.setattr(operators, "MATERIALIZE_ENTRIES", 0)
    assert not Problem([Term("l1", aslinearoperator(np.eye(2)), 0)]).integer_valued


EYE, WIDE = np.eye(2), np.ones((5, 3))
NOT_FINITE = np.array([[1.0, np.nan], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (
            lambda: Term("l1", WIDE, np.ones(4)),
            ValueError,
            r"`b` must have shape \(5,\) to match `A` of shape \(5, 3\); got \(4,\)",
        ),
        (lambda: Term("l1", WIDE, np.ones(3)), ValueError, r"\(did you mean `A.T`\?\); got \(3,\)"),
        (
            lambda: Term("l1", WIDE, np.ones((5, 1))),
            ValueError,
            r"`b` must have shape \(5,\).*got \(5, 1\); did you mean `np\.ravel\(b\)`\?",
        ),
        (
            lambda: Term("l1", EYE, [[1], [2, 3]]),
            ValueError,
            "`b` must have rows of one length; got 1 in row 0",
        ),
        (
            lambda: Term("l1", EYE, 0, [1, [2]]),
            ValueError,
            "`weight` must have rows of one length$",
        ),
        (
            lambda: Term("l1", EYE, sparse.csr_array([[1.0], [2.0]])),
            TypeError,
            r"`b` must be dense; got a scipy\.sparse matrix of shape \(2, 1\)\. Write `b\.toarray\(\)\.ravel",
        ),
        (lambda: Term("l1", EYE, "b.csv"), TypeError, r"got 'b\.csv'\. A file is read by `dcra\.io\.read`"),
        (
            lambda: Term("l1", EYE, 0, weights=2),
            TypeError,
            "`Term` takes loss, A, b, weight; .*mean `weight`",
        ),
        (lambda: Problem(linear=[[1], [2, 3]]), ValueError, "`linear` must have rows of one length"),
        (
            lambda: Problem([Term("l1", WIDE, 0)], quadratic=EYE),
            ValueError,
            r"`quadratic` must have shape \(3, 3\) to match `A` of shape \(5, 3\); got \(2, 2\)",
        ),
        (lambda: Problem(quadratic=[[1, 2], [3]]), ValueError, "`quadratic` must have rows of one length"),
        (lambda: Term("l1", WIDE, 0, np.ones(3)), ValueError, r"`weight` must have shape \(5,\).*got \(3,\)"),
        (
            lambda: Problem([Term("l1", WIDE, 0)], linear=np.ones(5)),
            ValueError,
            r"`linear` must have shape \(3,\); got \(5,\)",
        ),
        (
            lambda: Problem([Term("l1", WIDE, 0)], linear=1.0),
            ValueError,
            r"`linear` must have shape \(3,\); got \(\)",
        ),
        (lambda: Problem(linear=1.0), ValueError, r"`linear` must have shape \(n,\), n at least 1; got \(\)"),
        (
            lambda: Problem(linear=[]),
            ValueError,
            r"`linear` must have shape \(n,\), n at least 1; got \(0,\)",
        ),
        (
            lambda: Term("l1", np.empty((0, 3)), []),
            ValueError,
            r"at least one row and one column; got shape \(0, 3\)",
        ),
        (
            lambda: Term("l1", np.empty((3, 0)), 0),
            ValueError,
            r"at least one row and one column; got shape \(3, 0\)",
        ),
        (lambda: Term("l1", np.ones(3), 0), ValueError, "`A` must be a matrix"),
        (
            lambda: Term("l1", NOT_FINITE, 0),
            ValueError,
            r"`A` must be finite; row 0, column 1 \(from 0\) is nan\. Give it a value, or leave it out",
        ),
        (lambda: Term("l1", NOT_FINITE.T.copy(order="F"), 0), ValueError, "finite; row 1, column 0"),
        (lambda: Term("l1", np.diag([np.inf, -np.inf]), 0), ValueError, "`A` must be finite"),
        (lambda: Term("l1", sparse.csr_array(NOT_FINITE), 0), ValueError, "finite; row 0, column 1 .*is nan"),
        (
            lambda: Term("l1", MatrixFree(aslinearoperator(NOT_FINITE)), 0),
            ValueError,
            r"`A` must be finite; entry 0 \(from 0\) of its product with ones is nan",
        ),
        (lambda: Problem(quadratic=np.diag([1, -np.inf])), ValueError, "`quadratic` .*column 1 .*is -inf"),
        (lambda: Term("l1", aslinearoperator(NOT_FINITE), 0), ValueError, "`A` must be finite"),
        (
            lambda: Term("l1", EYE, [0, np.nan]),
            ValueError,
            r"`b` must be finite; entry 1 \(from 0\) is nan\. Give it a value, or leave it out",
        ),
        (lambda: Term("l1", EYE, np.inf), ValueError, "`b` must be finite; got inf"),
        (lambda: Term("l1", EYE, 0, np.nan), ValueError, "`weight` must be finite; got nan"),
        (lambda: Term("l1", EYE, 0, [1, np.inf]), ValueError, "`weight` must be finite"),
        (lambda: Problem(linear=[1, -np.inf]), ValueError, "`linear` must be finite"),
        (lambda: Problem(linear=[1], constant=np.nan), ValueError, "`constant` must be finite; got nan"),
        (lambda: Term("l1", EYE, ["a", "b"]), TypeError, "`b` must hold real numbers"),
        (lambda: Term("l1", EYE, [1j, 0]), TypeError, "`b` must hold real numbers"),
        (lambda: Term("l1", EYE, None), TypeError, "`b` must hold real numbers; got None"),
        (lambda: Term("l1", EYE, 0, None), TypeError, "`weight` must hold real numbers; got None"),
        (lambda: Term("l1", EYE, 0, "2"), TypeError, "`weight` must hold real numbers; got '2'"),
        (lambda: Term("l1", EYE, 0, 1j), TypeError, "`weight` must hold real numbers"),
        (lambda: Term("l1", EYE * 1j, 0), TypeError, "`A` must be real"),
        (
            lambda: Term("l1", EYE, 0, -1),
            ValueError,
            r"`weight` must not be negative \(only the linear loss allows it\); found -1",
        ),
        (
            lambda: Term("huber", EYE, 0, [1, -0.5]),
            ValueError,
            "`weight` must not be negative .*; found -0.5",
        ),
        (
            lambda: Term("l2", EYE, 0, [1, 2]),
            ValueError,
            "`weight` must be one number for L2Norm, which is not separable",
        ),
        (lambda: Term("linf", EYE, 0, [1, 2]), ValueError, "`weight` must be one number for LInf"),
        (
            lambda: Term("huberr", EYE, 0),
            ValueError,
            "`loss` must be one of l1, .*; got 'huberr'; did you mean 'huber'",
        ),
        (lambda: Term(Huber, EYE, 0), TypeError, "must be an instance"),
        (
            lambda: Problem(linear=[1], domain="spins"),
            ValueError,
            "`domain` must be one of spin, binary; got 'spins'; did you mean 'spin'",
        ),
        (lambda: Problem(linear=[1], domain="Binary"), ValueError, "did you mean 'binary'"),
        (
            lambda: Problem(linear=[1], domain="01"),
            ValueError,
            "`domain` must be one of spin, binary; got '01'$",
        ),
        (lambda: Problem(linear=[1], domain={0, 1}), ValueError, r"got \{0, 1\}; did you mean 'binary'\?"),
        (lambda: Problem(linear=[1], domain=(-1, 1)), ValueError, r"got \(-1, 1\); did you mean 'spin'\?"),
        (lambda: Problem(linear=[1], domain=[[0], 1]), ValueError, r"spin, binary; got \[\[0\], 1\]$"),
        (lambda: Problem(3), TypeError, "`terms` must hold dcra.Term objects; got int"),
        (lambda: Problem(), ValueError, "a problem needs `terms`, `linear` or `quadratic`"),
        (lambda: Problem([("l1", EYE, 0)]), TypeError, "`terms` must hold dcra.Term objects; got tuple"),
        (
            lambda: Problem([Term("l1", EYE, 0), Term("l1", WIDE, 0)]),
            ValueError,
            r"all terms must have 2 columns like the first; term 1 has shape \(5, 3\)",
        ),
        (
            lambda: Problem([Term("l1", EYE, 0), Term("l1", array_api_strict.asarray(EYE), 0)]),
            TypeError,
            "all terms must use one array library; got array_api_strict, numpy",
        ),
        (
            lambda: Problem(
                [Term("l1", sparse.eye_array(2), 0), Term("l1", array_api_strict.asarray(EYE), 0)]
            ),
            TypeError,
            "all terms must use one array library; got array_api_strict, numpy",
        ),
    ],
)
def test_errors(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_one_term_needs_no_list():
    term = Term("l1", EYE, 0)
    assert Problem(term).terms == (term,)
    assert Problem(iter([term, term])).terms == (term, term)


def test_a_loss_in_a_word_with_its_option():
    assert Term("huber:threshold=2", EYE, 0).loss == Huber(2.0)


@pytest.mark.parametrize(
    ("x", "domain", "error", "match"),
    [
        ([1, 0], "spin", ValueError, "`x` must hold only -1 and 1 for the spin domain; found 0"),
        ([1, -1], "binary", ValueError, "`x` must hold only 0 and 1 for the binary domain; found -1"),
        ([1, 0.5], "spin", ValueError, "found 0.5"),
        ([1, np.nan], "spin", ValueError, "found nan"),
        ([[1, 1], [1, 2]], "spin", ValueError, "found 2"),
        ([1, 1, 1], "spin", ValueError, r"`x` must have shape \(2,\) or \(k, 2\); got \(3,\)"),
        (1.0, "spin", ValueError, r"got \(\)"),
        (np.ones((1, 1, 2)), "spin", ValueError, r"got \(1, 1, 2\)"),
        (["a", "b"], "spin", TypeError, "`x` must hold numbers; got"),
        (None, "spin", (TypeError, ValueError), "`x` must"),
    ],
)
def test_points_outside_the_domain(x, domain, error, match):
    problem = Problem([Term(L1(), EYE, 0)], domain=domain)
    with pytest.raises(error, match=match):
        problem.objective(x)


def test_complex_vectors_of_any_library(xp):
    with pytest.raises(TypeError, match=r"`b` must hold real numbers; got dtype .*complex"):
        Term("l1", xp.asarray(EYE), xp.asarray([1, 2], "complex128"))


def test_not_finite_in_any_library(xp):
    with pytest.raises(ValueError, match="`A` must be finite"):
        Term("l1", xp.asarray(NOT_FINITE), 0)
    with pytest.raises(ValueError, match="`b` must be finite"):
        Term("l1", xp.asarray(EYE), xp.asarray([np.inf, -np.inf]))


class Kind(Problem):
    """A kind of problem with parts of its own, and a constructor unlike that of others."""

    def __init__(self, size):
        self.size = size
        super().__init__([Term("l1", np.eye(size), 0.5)], linear=np.arange(size), constant=2.0)


def all_points(n, domain):
    return np.array(list(product(DOMAINS[domain], repeat=n)))


def every_part():
    rng = np.random.default_rng(3)
    return Problem(
        [Term("l1", rng.standard_normal((4, 5)), 0.5), Term("huber", rng.standard_normal((3, 5)), 0.0, 2.0)],
        linear=rng.standard_normal(5),
        quadratic=rng.standard_normal((5, 5)),
        constant=1.5,
        constraints=dcra.exactly(2),
    )


def test_replace_of_nothing_is_the_same_problem():
    problem = every_part()
    twin = problem.replace()
    assert twin is not problem
    X = all_points(5, "spin")
    np.testing.assert_array_equal(twin.objective(X), problem.objective(X))
    np.testing.assert_array_equal(twin.violation(X), problem.violation(X))
    assert twin.terms == problem.terms  # nothing is copied
    assert twin.quadratic is problem.quadratic
    assert twin.linear is problem.linear


@pytest.mark.parametrize(
    "changes",
    [
        {"terms": [Term("squared", np.ones((2, 5)), 1.0)]},
        {"terms": ()},
        {"linear": np.ones(5)},
        {"linear": None},
        {"quadratic": np.diag(np.arange(5.0))},
        {"quadratic": None},
        {"constant": -7.0},
        {"constraints": ()},
        {"constraints": [dcra.at_most(3), dcra.exactly(1, [0, 1])]},
        {"domain": "binary", "constraints": dcra.exactly(2)},
        {"terms": (), "quadratic": None, "constant": 0.0},
    ],
)
def test_replace_changes_what_is_named_and_nothing_else(changes):
    problem = every_part()
    names = ("terms", "linear", "quadratic", "constant", "domain")
    parts = {name: getattr(problem, name) for name in names} | {"constraints": dcra.exactly(2)} | changes
    other, fresh = problem.replace(**changes), Problem(**parts)
    X = all_points(5, fresh.domain)
    np.testing.assert_array_equal(other.objective(X), fresh.objective(X))
    np.testing.assert_array_equal(other.violation(X), fresh.violation(X))
    assert repr(other) == repr(fresh)
    before = all_points(5, "spin")
    np.testing.assert_array_equal(problem.objective(before), every_part().objective(before))


def test_replace_keeps_the_kind_and_its_own_parts():
    problem = Kind(4)
    other = problem.replace(constant=5.0, linear=None)
    assert type(other) is Kind
    assert other.size == 4
    assert other.objective(np.ones(4)) == 5.0 + 4 * 0.5
    assert problem.objective(np.ones(4)) == 2.0 + 4 * 0.5 + 6
    assert type(problem.replace(domain="binary").to_spin()) is Kind


def test_replace_takes_another_size_where_all_parts_agree():
    other = Kind(4).replace(terms=[Term("l1", np.eye(6), 0.0)], linear=np.ones(6))
    assert (other.n, other.n_rows, other.entries) == (6, 6, 36)


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"linear": np.ones(3)}, ValueError, r"`linear` must have shape \(4,\); got \(3,\)"),
        ({"quadratic": np.eye(3)}, ValueError, r"`quadratic` must have shape \(4, 4\)"),
        ({"constant": np.inf}, ValueError, "`constant` must be finite"),
        ({"domain": "ternary"}, ValueError, "`domain` must be one of spin, binary"),
        ({"terms": [3]}, TypeError, "`terms` must hold dcra.Term objects; got int"),
        ({"terms": (), "linear": None}, ValueError, "a problem needs `terms`, `linear` or `quadratic`"),
        ({"constraints": dcra.exactly(9)}, ValueError, "asks for 9 variables"),
        ({"constraints": [dcra.exactly(1), dcra.exactly(2)]}, ValueError, "contradict each other"),
        ({"matrix": np.eye(4)}, TypeError, "matrix"),
    ],
)
def test_replace_checks_again(changes, error, match):
    problem = Kind(4)
    with pytest.raises(error, match=match):
        problem.replace(**changes)
    assert problem.objective(np.ones(4)) == 10.0
