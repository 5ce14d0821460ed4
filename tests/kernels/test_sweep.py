import numpy as np
import pytest

from dcra._kernels import seed
from dcra._kernels.sweep import round_to_spins, sweep

from .conftest import CONVEX, Case, loss_value


def run(case, x, z, first=0, last=5, rho=0.0, total=0, kappa=0.5, patience=0.0, state=None):
    n = case.n
    state = state or (np.arange(n), np.arange(n), np.zeros(n, np.int64), seed.state(1), np.array([rho]))
    columns, blocks, rest, rng, penalty = state
    sweep(case.model, x, z, columns, blocks, rest, rng, penalty, first, last, total, kappa, patience)
    return state


def box_form(case, x, rho):
    """env(Ax - b) + c'x + rho sum(1 - x^2) for one table loss, by the envelope's definition on a grid."""
    delta = 0.5
    y = np.linspace(-12, 12, 24001)
    f = loss_value(case.losses[0], y)
    z = case.A @ x - case.b
    env = [np.min(f + (u - y) ** 2 / (2 * delta)) for u in z]
    return sum(env) + case.c @ x + rho * np.sum(1 - x**2)


@pytest.mark.parametrize("kappa", [0.5, 1.0])
@pytest.mark.parametrize("loss", ["l1", "squared", "huber", "quantile", "insensitive"])
def test_every_sweep_descends_the_box_form(loss, kappa):
    case = Case([loss], n=5)
    x, z = case.point(1, spins=False)
    last = box_form(case, x, 0.3)
    for s in range(6):
        run(case, x, z, s, s + 1, rho=0.3, kappa=kappa)
        now = box_form(case, x, 0.3)
        assert now <= last + 1e-6 * abs(last)
        last = now


@pytest.mark.parametrize("losses", [["l1"], ["hinge", "logistic", "capped"]], ids="-".join)
def test_sweep_keeps_the_residual_and_the_box(losses, variant):
    case = Case(losses, weight=(1, 3), **variant)
    x, z = case.point(2, spins=False)
    run(case, x, z, last=20, total=20, patience=4.0)
    assert np.all(np.abs(x) <= 1)
    np.testing.assert_allclose(z, case.A @ x - case.b, atol=1e-4 if z.itemsize == 4 else 1e-12)
    round_to_spins(case.model, x, z)
    assert set(np.abs(x)) == {1}
    np.testing.assert_allclose(z, case.A @ x - case.b, atol=1e-4 if z.itemsize == 4 else 1e-12)


@pytest.mark.parametrize("loss", CONVEX)
def test_without_penalty_it_solves_the_box_relaxation(loss):
    """At the end no coordinate step can improve: each is interior and flat, or pinned."""
    case = Case([loss])
    x, z = case.point(1, spins=False)
    run(case, x, z, last=400, kappa=1.0)
    before = x.copy()
    run(case, x, z, last=1, kappa=1.0)
    np.testing.assert_allclose(x, before, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_steering_ends_binary_at_any_scale(scale):
    case = Case(["l1"], rows=12)
    rows = case.model.rows
    table = rows.table.copy()
    table[:, 3:] *= scale
    table[:, 0] *= scale
    model = case.model._replace(rows=rows._replace(table=table), c=case.model.c * scale)
    case.model = model
    x, z = case.point(1, spins=False)
    x *= 0.1
    z = case.A @ x - case.b
    _, _, _, _, rho = run(case, x, z, last=200, total=200)
    assert np.mean(x**2) > 0.95
    assert rho[0] > 0


def test_columns_left_out_stay():
    case = Case(["l1"])
    x, z = case.point(1, spins=False)
    fixed = x[:3].copy()
    columns = np.arange(3, case.n)
    state = (columns, np.arange(columns.size), np.zeros(case.n, np.int64), seed.state(1), np.zeros(1))
    run(case, x, z, last=60, total=60, state=state)
    np.testing.assert_array_equal(x[:3], fixed)
    np.testing.assert_allclose(z, case.A @ x - case.b, atol=1e-12)


def test_chunks_equal_one_call(variant):
    case = Case(["l1", "squared"], **variant)
    x, z = case.point(1, spins=False)
    y, u = x.copy(), z.copy()
    run(case, x, z, 0, 12, total=12, patience=3.0)
    state = None
    for s in range(0, 12, 3):
        state = run(case, y, u, s, s + 3, total=12, patience=3.0, state=state)
    np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(z, u)


def test_dense_equals_sparse():
    points = []
    for sparse in (False, True):
        case = Case(["l1", "logistic", "huber"], weight=(1, 2), sparse=sparse)
        x, z = case.point(1, spins=False)
        run(case, x, z, last=10, rho=0.2)
        points.append(x)
    np.testing.assert_allclose(points[0], points[1], atol=1e-10)


def test_single_precision_is_close():
    points = []
    for dtype in (np.float32, np.float64):
        case = Case(["l1", "squared"], dtype=dtype)
        x, z = case.point(1, spins=False)
        run(case, x, z, last=10, rho=0.2)
        points.append(x)
    np.testing.assert_allclose(points[0], points[1], atol=1e-4)


def test_runs_of_columns():
    """Fewer blocks than columns: every column is still visited once per sweep, in runs."""
    case = Case(["l1"], n=7)
    x, z = case.point(1, spins=False)
    state = (np.arange(7), np.arange(3), np.zeros(7, np.int64), seed.state(1), np.array([100.0]))
    run(case, x, z, last=3, state=state)
    assert set(np.abs(x)) == {1}
