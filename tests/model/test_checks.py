"""Numbers that no problem may hold, and losses that return none: each is refused in a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint
from scipy.sparse.linalg import aslinearoperator

import dcra
from dcra.losses import Loss

MASKED = np.ma.masked_equal(np.eye(3), 0.0)
INDEX = np.ma.masked_equal([0, 1], 1)
ROW = np.ma.masked_equal([1.0, 2.0, 3.0], 2.0)


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
    ],
)
def test_masked_arrays_are_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_arrays_that_mask_nothing_are_arrays():
    A = np.ma.asarray(np.eye(3))
    assert dcra.Problem([dcra.Term("l1", A, np.ma.asarray(np.ones(3)))]).objective([1, 1, -1]) == 2


HUGE = np.array([[1.0, 0.0], [0.0, -1e150]])


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: dcra.Term("squared", HUGE, np.ones(2)), "A"),
        (lambda: dcra.Term("l1", HUGE[:, ::-1][::-1], np.ones(2)), "A"),
        (lambda: dcra.Term("l1", sparse.csc_array(HUGE), np.ones(2)), "A"),
        (lambda: dcra.Term("l1", aslinearoperator(HUGE), np.ones(2)), "A"),
        (lambda: dcra.Term("l1", np.eye(2), [1.0, 1e200]), "b"),
        (lambda: dcra.Term("l1", np.eye(2), 0.0, 1e100), "weight"),
        (lambda: dcra.Problem(linear=[1.0, 1e300]), "linear"),
        (lambda: dcra.Problem(quadratic=HUGE), "quadratic"),
        (lambda: dcra.Problem(linear=np.ones(2), constant=-1e200), "constant"),
        (
            lambda: dcra.Problem(linear=np.ones(2), constraints=LinearConstraint(HUGE, -1, 1)),
            r"A` of `constraints\[0\]",
        ),
    ],
)
def test_numbers_whose_squares_are_none_are_refused(make, name):
    with pytest.raises(ValueError, match=f"`{name}` must hold numbers of at most .* in size.*found 1e"):
        make()


@pytest.mark.parametrize("loss", ["l1", "squared", "huber", "l2", "linf", "logistic"])
@pytest.mark.parametrize("method", ["auto", "flip", "dcra"])
def test_large_numbers_are_solved(loss, method, rng):
    A = 5e74 * rng.uniform(-1, 1, (14, 12))
    result = dcra.minimize(A, A @ rng.choice([-1.0, 1.0], 12), loss, method=method, starts=2, seed=0)
    assert np.isfinite(result.fun)
    assert not np.isnan(result.lower_bound)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_that_points_outside_is_refused(dtype):
    for part, value in (("indices", [0, 7]), ("indices", [0, -1]), ("indptr", [0, 9, 2]), ("indptr", [0, 1])):
        A = sparse.csc_array(np.eye(2, dtype=dtype))
        setattr(A, part, np.array(value, np.int32))
        with pytest.raises(ValueError, match="`A` is damaged: its `ind"):
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
    loss = dcra.Term(Vectors(), np.eye(3), np.ones(3)).loss
    with pytest.raises(ValueError, match=r"`prox` of the loss Vectors must return a vector of numbers .*NaN"):
        loss.prox(np.ones(3), 1.0)
