"""Numbers that no problem may hold, and losses that return none: each is refused in a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint
from scipy.sparse.linalg import aslinearoperator

import dcra
from dcra import apps, retrieval
from dcra.apps import compressed_sensing, maxsat, mimo, qap
from dcra.losses import Loss

MASKED = np.ma.masked_equal(np.eye(3), 0.0)
INDEX = np.ma.masked_equal([0, 1], 1)
ROW = np.ma.masked_equal([1.0, 2.0, 3.0], 2.0)
COLUMN = ROW[:, None]
SIGNS = np.ma.array([[1, -1], [-1, 1]], mask=[[True, False], [False, False]])
LABELS = np.ma.masked_equal([0, 1], 1)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (
            lambda: dcra.Term("l1", MASKED, np.ones(3)),
            r"`A` must not be masked; 6 of its .*`filled`",
        ),
        (lambda: dcra.Term("l1", np.eye(3), ROW), "`b` must not be masked; 1 of its"),
        (lambda: dcra.Term("l1", np.eye(3), np.ones(3), ROW), "`weight` must not be masked"),
        (lambda: dcra.Problem(linear=ROW), "`linear` must not be masked"),
        (lambda: dcra.Problem(quadratic=MASKED), "`quadratic` must not be masked"),
        (
            lambda: dcra.Problem(linear=np.ones(3), constraints=LinearConstraint(MASKED, -1, 1)),
            r"`A` of `constraints\[0\]` must not be masked",
        ),
        (
            lambda: dcra.Problem(
                linear=np.ones(3), constraints=dcra.exactly(1, np.ma.masked_equal([0, 1], 1))
            ),
            r"`index` of `constraints\[0\]` must not be masked",
        ),
        (lambda: dcra.Problem(linear=np.ones(3)).objective(ROW), "`x` must not be masked"),
        (lambda: dcra.minimize(MASKED, np.ones(3)), "`A` must not be masked"),
        (lambda: qap.qap_problem(np.eye(3), MASKED), "`distance` must not be masked"),
        (lambda: dcra.minimize_batch(np.eye(3), MASKED), "`B` must not be masked"),
        (lambda: maxsat.solve([[1], [2], [3]], weights=ROW), "`weights` must not be masked"),
        (lambda: dcra.minimize_batch(np.eye(3), np.eye(3), x0=ROW), "`x0` must not be masked"),
        (lambda: dcra.minimize_batch(np.eye(3), np.eye(3), linear=MASKED), "`linear` must not be masked"),
        (lambda: dcra.integers(ROW, 5), "`low` must not be masked"),
        (lambda: apps.maxcut(MASKED), "`graph` must not be masked"),
        (lambda: apps.qubo(MASKED), "`Q` must not be masked"),
        (lambda: compressed_sensing.recover(np.eye(3), ROW), "`y` must not be masked"),
        (lambda: mimo.detect(MASKED, np.ones(3)), "`H` must not be masked"),
        (lambda: mimo.detect(np.eye(3), ROW), "`y` must not be masked"),
        (lambda: mimo.detect(np.eye(3), np.ones(3), ROW), "`noise` must not be masked"),
        (lambda: mimo.alphabet(ROW), "`points` must not be masked"),
        (lambda: retrieval.pack(SIGNS), "`signs` must not be masked"),
        (lambda: retrieval.hamming_distances(SIGNS, SIGNS), "`queries` must not be masked"),
        (lambda: retrieval.search(SIGNS.data, SIGNS, 1), "`database` must not be masked"),
        (
            lambda: retrieval.mean_average_precision(SIGNS.data, SIGNS.data, LABELS, [0, 1]),
            "`query_labels` must not be masked",
        ),
    ],
)
def test_masked_arrays_are_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [(COLUMN, [0, 1, 2], "`X` must not be masked"), ([[0.0], [1.0], [2.0]], ROW, "`y` must not be masked")],
)
@pytest.mark.parametrize("name", ["BinaryRegressor", "SupervisedHashing"])
def test_masked_samples_are_refused(name, X, y, match):
    pytest.importorskip("sklearn")
    with pytest.raises(ValueError, match=match):
        getattr(apps, name)().fit(X, y)


def test_masked_samples_are_refused_after_a_fit():
    pytest.importorskip("sklearn")
    model = apps.BinaryRegressor(random_state=0).fit(COLUMN.data, [0.0, 1.0, 2.0])
    for call in (lambda: model.predict(COLUMN), lambda: model.outliers(COLUMN, np.ones(3))):
        with pytest.raises(ValueError, match="`X` must not be masked"):
            call()
    codes = apps.SupervisedHashing(4, feature_map="linear", random_state=0).fit(COLUMN.data, [0, 1, 1])
    with pytest.raises(ValueError, match="`X` must not be masked"):
        codes.transform(COLUMN)


def test_arrays_that_mask_nothing_are_arrays():
    A = np.ma.asarray(np.eye(3))
    assert dcra.Problem([dcra.Term("l1", A, np.ma.asarray(np.ones(3)))]).objective([1, 1, -1]) == 2


HUGE = np.array([[1.0, 0.0], [0.0, -1e155]])


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: dcra.Term("squared", HUGE, np.ones(2)), "A"),
        (lambda: dcra.Term("l1", HUGE[:, ::-1][::-1], np.ones(2)), "A"),
        (lambda: dcra.Term("l1", sparse.csc_array(HUGE), np.ones(2)), "A"),
        (lambda: dcra.Term("l1", aslinearoperator(HUGE), np.ones(2)), "A"),
        (lambda: dcra.Term("l1", np.eye(2), [1.0, 1e200]), "b"),
        (lambda: dcra.Term("l1", 1e100 * np.eye(2), 0.0, 1e105), "weight"),
        (lambda: dcra.Term("l1", np.eye(2), 0.0, [1.0, 1e155]), "weight"),
        (lambda: dcra.Problem(linear=[1.0, 1e306]), "linear"),
        (lambda: dcra.Problem(quadratic=1e150 * HUGE), "quadratic"),
        (lambda: dcra.Problem(linear=np.ones(2), constant=-1e306), "constant"),
        (
            lambda: dcra.Problem(linear=np.ones(2), constraints=LinearConstraint(HUGE, -1, 1)),
            r"A` of `constraints\[0\]",
        ),
        (lambda: qap.qap_problem(HUGE, np.eye(2)), "flow"),
        (lambda: dcra.minimize_batch(np.eye(2), [[1.0, 2.0], [1e200, 3.0]], "squared"), "B"),
    ],
)
def test_numbers_too_large_for_an_objective_are_refused(make, name):
    with pytest.raises(ValueError, match=f"`{name}` must hold numbers of at most .* in size.*found 1e"):
        make()


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array])
@pytest.mark.parametrize("method", ["dcra", "sweep"])
def test_huge_entries_that_cancel_are_found_by_norms(make, method, rng):
    """Neither a sample of A nor its row sums show them."""
    A = rng.standard_normal((600, 530))
    A[5, [3, 5]] = 1e200, -1e200
    with pytest.raises(ValueError, match="`A` must hold numbers"):
        dcra.minimize(make(A), np.ones(600), method=method, starts=2, seed=0)


LARGE = [
    lambda A, b: dcra.Problem([dcra.Term("l1", 1e149 * A, 1e150 * b)]),
    lambda A, b: dcra.Problem([dcra.Term("squared", 1e149 * A, 1e150 * b)], domain="binary"),
    lambda A, b: dcra.Problem([dcra.Term("l2", 1e149 * A, 1e150 * b)]),
    lambda A, b: dcra.Problem([dcra.Term("logistic", 1e149 * A, 1e150 * b)]),
    lambda A, b: dcra.Problem([dcra.Term("huber", A, b, 1e149)]),
    lambda A, b: dcra.Problem(quadratic=1e300 * A[:12], domain="binary"),
    lambda A, b: dcra.Problem([dcra.Term("l1", A, b)], linear=1e300 * b[:12], constant=-1e303),
]


@pytest.mark.parametrize("make", LARGE)
@pytest.mark.parametrize("method", ["auto", "flip", "dcra"])
def test_large_numbers_are_solved(make, method, rng):
    problem = make(rng.uniform(-1, 1, (14, 12)), rng.uniform(-1, 1, 14))
    result = dcra.solve(problem, method=method, starts=2, seed=0)
    assert np.isfinite(result.fun)
    assert not np.isnan(result.lower_bound)


def test_ends_that_no_row_reaches_are_none():
    rows = LinearConstraint(np.ones((2, 12)), [-1e308, 3], [1e308, 5])
    problem = dcra.Problem(linear=np.ones(12), domain="binary", constraints=rows)
    np.testing.assert_array_equal(problem.constraints.low, [-np.inf, 3])
    np.testing.assert_array_equal(problem.constraints.high, [np.inf, 5])
    assert dcra.solve(problem, seed=0, starts=2).fun == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_that_points_outside_is_refused(dtype):
    for part, value in (("indices", [0, 7]), ("indices", [0, -1]), ("indptr", [0, 9, 2]), ("indptr", [0, 1])):
        A = sparse.csc_array(np.eye(2, dtype=dtype))
        setattr(A, part, np.array(value, np.int32))
        with pytest.raises(ValueError, match="`A` is damaged: its `ind"):
            dcra.Term("l1", A, np.ones(2))
        with pytest.raises(ValueError, match=r"`A` of `constraints\[0\]` is damaged: its `ind"):
            dcra.Problem(linear=np.ones(2), constraints=LinearConstraint(A, -1, 1))
    A = sparse.coo_array(np.eye(2, dtype=dtype))
    A.coords = (np.array([0, 5]), np.array([0, 1]))
    with pytest.raises(ValueError, match="`A` is damaged: its `coords` must lie in"):
        dcra.Term("l1", A, np.ones(2))


class Nowhere(Loss):
    """A loss that is a number at few points only."""

    separable = True

    def value(self, z):
        return np.where(np.abs(z) < 1, np.abs(z), np.nan).sum(axis=-1)

    def prox(self, z, step):
        return z


class Vectors:
    """The same for single vectors."""

    def value(self, z):
        return np.nan if np.any(np.abs(z) > 1) else 0.0

    def prox(self, z, step):
        return z


class NoProx(Vectors):
    def prox(self, z, step):
        return z * np.nan


@pytest.mark.parametrize("loss", [Nowhere(), Vectors()])
@pytest.mark.parametrize("weight", [1.0, np.ones(3)])
def test_a_loss_that_returns_nan_is_named(loss, weight):
    if isinstance(loss, Vectors) and not isinstance(weight, float):
        weight = 2.0
    with pytest.raises(ValueError, match=f"`value` of the loss {type(loss).__name__} returned NaN"):
        dcra.Term(loss, np.eye(3), 3 * np.ones(3), weight)
    problem = dcra.Problem([dcra.Term(loss, np.eye(3), np.ones(3), weight)])  # a number at x = e alone
    with pytest.raises(ValueError, match=f"the loss {type(loss).__name__} returned NaN"):
        problem.objective([1, -1, 1])
    with pytest.raises(ValueError, match=f"the loss {type(loss).__name__}"):
        dcra.solve(problem, seed=0, starts=2)


def test_a_prox_that_returns_nan_is_named():
    with pytest.raises(ValueError, match=r"`prox` of the loss NoProx must return a vector of numbers .*NaN"):
        dcra.Term(NoProx(), np.eye(3), np.ones(3))


class Sloppy(Loss):
    """An l1 loss that goes wrong where it is told to."""

    def __init__(self, wrong):
        self.wrong = wrong

    def value(self, z):
        value = np.abs(z).sum(axis=-1)
        if self.wrong == "shape of value":
            return np.abs(z)
        return value * np.nan if self.wrong == "late value" and np.any(z % 1) else value

    def prox(self, z, step):
        p = np.sign(z) * np.maximum(np.abs(z) - step, 0)
        if self.wrong == "shape of prox":
            return p.sum(axis=-1)
        late = self.wrong == "late prox" and np.any(z % 1)
        return p * np.nan if late or self.wrong == "prox" else p


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ("shape of value", r"`value` of the loss Sloppy must return shape \(\) here.*got \(3,\)"),
        ("shape of prox", r"`prox` of the loss Sloppy must return shape \(3,\) here.*got \(\)"),
        ("prox", "`prox` of the loss Sloppy returned NaN"),
    ],
)
def test_a_loss_is_looked_at_once(wrong, match):
    with pytest.raises(ValueError, match=match):
        dcra.Term(Sloppy(wrong), np.eye(3), np.ones(3))


@pytest.mark.parametrize("wrong", ["late value", "late prox"])
def test_a_search_ends_with_a_loss_that_is_nan_between_the_points(wrong):
    problem = dcra.Problem([dcra.Term(Sloppy(wrong), np.triu(np.ones((3, 3))), np.ones(3))])
    with pytest.raises(ValueError, match="prox` of the loss Sloppy returned NaN"):
        dcra.solve(problem, method="dcra", starts=2, seed=0)


class Barrier(Loss):
    """Infinite beyond some size."""

    def value(self, z):
        return np.where(np.abs(z).max(axis=-1) > 2, np.inf, np.abs(z).sum(axis=-1))

    def prox(self, z, step):
        return np.clip(np.sign(z) * np.maximum(np.abs(z) - step, 0), -2, 2)


@pytest.mark.parametrize("method", ["auto", "flip", "enumerate"])
def test_losses_that_are_infinite_are_named(method):
    with pytest.raises(ValueError, match=r"`value` of the loss Barrier returned an infinite .*`constraints`"):
        dcra.Term(Barrier(), np.eye(3), 4 * np.ones(3))
    with pytest.raises(ValueError, match="of the loss Barrier returned an infinite value"):
        dcra.minimize(np.eye(3), 1.5 * np.ones(3), Barrier(), method=method, starts=2, seed=0, x0=[-1, 1, 1])
