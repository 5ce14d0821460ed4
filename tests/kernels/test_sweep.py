import numpy as np
import pytest

from dcra._kernels import seed
from dcra._kernels.sweep import round_to_spins, sweep
from dcra.engines.rule import PLAIN, Rule

from .conftest import CONVEX, Case, loss_value


def run(case, x, z, first=0, last=5, rho=0.0, total=0, state=None, trail=None, **rule):
    n = case.n
    state = state or (np.arange(n), np.arange(n), np.zeros(n, np.int64), seed.state(1), np.array([rho]))
    trail = np.stack([x, x]) if trail is None else trail
    numbers = np.array(PLAIN._replace(**rule))
    sweep(case.model, trail, z, *state, first, last, total, numbers)
    x[:] = trail[0]
    return state


def box_form(case, x, rho, shape=0.0):
    """env(Ax - b) + c'x + the penalty for one table loss, by the envelope's definition on a grid."""
    delta = 0.5
    y = np.linspace(-12, 12, 24001)
    f = loss_value(case.losses[0], y)
    z = case.A @ x - case.b
    env = [np.min(f + (u - y) ** 2 / (2 * delta)) for u in z]
    t = 1 - x**2
    return sum(env) + case.c @ x + rho * np.sum(t + shape * t**2 / 2)


@pytest.mark.parametrize("shape", [0.0, 0.5])
@pytest.mark.parametrize("kappa", [0.5, 1.0])
@pytest.mark.parametrize("loss", ["l1", "squared", "huber", "quantile", "insensitive"])
def test_every_sweep_descends_the_box_form(loss, kappa, shape):
    case = Case([loss], n=5)
    x, z = case.point(1, spins=False)
    last = box_form(case, x, 0.3, shape)
    for s in range(6):
        run(case, x, z, s, s + 1, rho=0.3, kappa=kappa, shape=shape)
        now = box_form(case, x, 0.3, shape)
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
    rule = {"total": 12, "patience": 3.0, "momentum": 0.5, "shape": 0.3}
    run(case, x, z, 0, 12, **rule)
    state, trail = None, np.stack([y, y])
    for s in range(0, 12, 3):
        state = run(case, y, u, s, s + 3, state=state, trail=trail, **rule)
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


def test_a_step_by_its_definition():
    """One column, squared loss: slope, penalty, momentum and the box, written out."""
    case = Case(["squared"], n=1)
    rule, rho = Rule(kappa=0.9, momentum=0.4, shape=0.3, patience=0.0), 0.7
    for x, before in ((0.2, 0.1), (-0.6, -0.9), (0.95, 0.2)):
        trail = np.array([[x], [before]])
        z = case.A @ trail[0] - case.b
        y = (z / (0.5 + 0.5)).sum(axis=0) if case.A.ndim == 1 else case.A.T @ (z / (0.5 + 0.5))
        curvature = rule.kappa * (case.A**2).sum() / (0.5 + 0.5)
        slope = y[0] + case.c[0] - 2 * rho * x * (1 + rule.shape * (1 - x * x))
        wanted = np.clip(x - slope / curvature + rule.momentum * (x - before), -1, 1)
        order = np.arange(1)
        state = (order, order.copy(), np.zeros(1, np.int64), seed.state(1), np.array([rho]))
        sweep(case.model, trail, z, *state, 0, 1, 0, np.array(rule))
        assert trail[0, 0] == pytest.approx(wanted)
        assert trail[1, 0] == x
        np.testing.assert_allclose(z, case.A @ trail[0] - case.b, atol=1e-12)


def test_the_penalty_keeps_a_share_of_where_it_began():
    """Where all columns want to a corner by themselves, rho falls, but not for ever."""
    case = Case(["l1"], rows=12)
    trail = np.repeat(np.array([[1.0, -1.0, 1.0, -1.0, 1.0, 0.99]]), 2, axis=0)
    lows = []
    for least in (0.0, 0.5):
        z = case.A @ trail[0] - case.b
        state = (np.array([5]), np.arange(1), np.zeros(case.n, np.int64), seed.state(1), np.zeros(1))
        numbers = np.array(PLAIN._replace(least=least, kappa=1e9))
        sweep(case.model, trail.copy(), z, *state, 0, 20, 10**6, numbers)
        lows.append(state[-1][0])
    assert 0 < lows[0] < 0.1 * lows[1]


@pytest.mark.parametrize("shape", [0.0, 0.3, 0.5])
def test_the_penalty_is_concave_and_zero_at_the_corners(shape):
    x = np.linspace(-1, 1, 401)
    t = 1 - x**2
    penalty = t + shape * t**2 / 2
    assert penalty[0] == penalty[-1] == 0
    assert np.all(penalty[1:-1] > 0)
    assert np.all(np.diff(penalty, 2) <= 1e-12)
