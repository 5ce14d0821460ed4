import numpy as np
import pytest

from dcra._kernels import seed
from dcra._kernels.flip import flip
from dcra._kernels.state import measure, refresh, value
from dcra._kernels.sweep import sweep
from dcra.engines.rule import PLAIN

from .conftest import LOSSES, Case

CASES = [*([name] for name in LOSSES), ["l1", "logistic", "squared"]]
WEIGHTS = [None, (1.0, 2.0, 0.5, 0.0)]


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("losses", CASES, ids="-".join)
def test_value_and_residual(losses, weight, variant):
    case = Case(losses, weight=weight, **variant)
    x, _ = case.point()
    z = np.empty(case.r, case.dtype)
    refresh(case.model, case.b, x, z)
    tol = 1e-5 if case.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(z, case.A @ x - case.b, atol=tol)
    assert value(case.model, x, z) == pytest.approx(case.objective(x), rel=tol)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("losses", CASES, ids="-".join)
def test_trial_knows_the_change_of_every_flip(losses, weight, variant):
    """One trial of `flip` on a single column takes it exactly when the objective falls."""
    case = Case(losses, weight=weight, **variant)
    for j in range(case.n):
        x, z = case.point(j)
        score = np.zeros(3)
        measure(case.model, x, z, score)
        other = x.copy()
        other[j] = -other[j]
        flip(case.model, x, z, score, np.array([j]), np.zeros(2, np.int64), 1)
        expected = min(case.objective(other), score[2] if x[j] != other[j] else np.inf)
        assert score[2] == pytest.approx(expected, rel=2e-5 if z.itemsize == 4 else 1e-12)
        np.testing.assert_allclose(z, case.A @ x - case.b, atol=1e-5)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("losses", CASES, ids="-".join)
def test_gradient_is_the_slope_of_the_smoothed_loss(losses, weight):
    """With a tiny smoothing the step of a single column shows the gradient of the loss itself."""
    for sparse in (False, True):
        case = Case(losses, weight=weight, sparse=sparse, delta=1e-3)
        x, z = case.point(3, spins=False)
        kappa, h = 1e4, 1e-5
        for j in range(case.n):
            y, u = x.copy(), z.copy()
            rest = np.ones(case.n, np.int64)
            rest[j] = 0
            order, rng = np.arange(case.n), seed.state(1)
            trail = np.stack([y, y])
            rule = np.array(PLAIN._replace(kappa=kappa))
            sweep(case.model, trail, u, order, order.copy(), rest, rng, np.zeros(1), 0, 1, 0, rule)
            y = trail[0]
            L = case.model.rows.table[:, 0] @ case.model.L[:, j]
            up, down = x.copy(), x.copy()
            up[j], down[j] = x[j] + h, x[j] - h
            slope = (case.objective(up) - case.objective(down)) / (2 * h)
            if y[j] != x[j] and abs(y[j]) < 1:
                assert (x[j] - y[j]) * kappa * L == pytest.approx(slope, rel=0.02, abs=0.02)
