"""One term in spin form: its values, its smoothed values and their slopes, for every weight and argument."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcra import losses
from dcra.compiled.piece import Piece
from dcra.model.operators import as_operator

ROWS = 5
LOSSES = {
    "l1": losses.L1(),
    "squared": losses.SquaredL2(),
    "hinge": losses.Hinge(),
    "squared_hinge": losses.SquaredHinge(),
    "linear": losses.Linear(),
    "huber": losses.Huber(0.7),
    "quantile": losses.Quantile(0.2),
    "epsilon_insensitive": losses.EpsilonInsensitive(0.3),
    "logistic": losses.Logistic(),
    "capped_l1": losses.CappedL1(0.8),
    "l2": losses.L2Norm(),
    "linf": losses.LInf(),
}
TABLES = [name for name, loss in LOSSES.items() if isinstance(loss, losses.TableLoss)]
CONVEX = [name for name, loss in LOSSES.items() if loss.convex]
SEPARABLE = [name for name, loss in LOSSES.items() if loss.separable]
WEIGHTS = {
    "one": 1.0,
    "number": 2.5,
    "zero": 0.0,
    "rows": np.array([0.0, 0.5, 1.0, 2.0, 3.0]),
}
ARGUMENTS = [1.0, 0.5, 3.0]


def piece_of(name, weight=1.0, argument=1.0):
    eye = as_operator(np.eye(ROWS))
    return Piece(LOSSES[name], eye, np.zeros(ROWS), argument, weight, slice(0, ROWS), 0)


def cases(names):
    """Every loss with every weight it may have."""
    return [
        pytest.param(name, WEIGHTS[weight], id=f"{name}-{weight}")
        for name in names
        for weight in WEIGHTS
        if weight != "rows" or LOSSES[name].separable
    ]


arguments = pytest.mark.parametrize("argument", ARGUMENTS)


def residuals(rng, count=40):
    return np.concatenate([rng.standard_normal((count, ROWS)), 4 * rng.standard_normal((count, ROWS))])


@arguments
@pytest.mark.parametrize(("name", "weight"), cases(LOSSES))
def test_values_are_the_weighted_losses_of_the_scaled_residual(name, weight, argument, rng):
    loss, Z = LOSSES[name], residuals(rng)
    values = piece_of(name, weight, argument).values(Z)
    if loss.separable:
        rows = weight + np.zeros(ROWS)
        want = [sum(rows[i] * loss.value(argument * z[i : i + 1]) for i in range(ROWS)) for z in Z]
    else:
        want = [weight * loss.value(argument * row) for row in Z]
    np.testing.assert_allclose(values, want, rtol=1e-12, atol=1e-12)
    assert np.shape(piece_of(name, weight, argument).values(Z[0])) == ()


@arguments
@pytest.mark.parametrize(("name", "weight"), cases(LOSSES))
def test_smoothed_is_the_least_of_value_and_distance(name, weight, argument, rng):
    """The definition: min over y of f(argument y) + |z - y|^2 / (2 delta), weighted row by row."""
    piece, Z = piece_of(name, weight, argument), residuals(rng, 5)
    for delta in (0.2, 1.5):
        smoothed = piece.smoothed(Z, delta)
        assert np.all(smoothed <= piece.values(Z) + 1e-12)
        for _ in range(50):
            Y = Z + rng.standard_normal(Z.shape) * rng.choice([0.01, 0.1, 1.0])
            far = np.sum(weight * (Z - Y) ** 2, axis=-1) / (2 * delta)
            assert np.all(smoothed <= piece.values(Y) + far + 1e-12)
        nearest = LOSSES[name].prox(argument * Z, delta * argument**2) / argument
        reached = piece.values(nearest) + np.sum(weight * (Z - nearest) ** 2, axis=-1) / (2 * delta)
        np.testing.assert_allclose(smoothed, reached, rtol=1e-10, atol=1e-12)


@arguments
@pytest.mark.parametrize(("name", "weight"), cases(LOSSES))
def test_without_smoothing_it_is_the_loss_itself(name, weight, argument, rng):
    piece, Z = piece_of(name, weight, argument), residuals(rng)
    np.testing.assert_array_equal(piece.smoothed(Z, 0.0), piece.values(Z))


@arguments
@pytest.mark.parametrize(("name", "weight"), cases(CONVEX))
def test_slopes_are_the_differences_of_smoothed(name, weight, argument, rng):
    piece, Z, h = piece_of(name, weight, argument), residuals(rng, 10), 1e-6
    for delta in (0.2, 1.5):
        up, down = (
            np.stack([piece.smoothed(Z + s * h * e, delta) for e in np.eye(ROWS)], -1) for s in (1, -1)
        )
        np.testing.assert_allclose(piece.slopes(Z, delta), (up - down) / (2 * h), atol=2e-6)


@arguments
@pytest.mark.parametrize(
    ("name", "weight"), cases(["squared", "squared_hinge", "linear", "huber", "logistic"])
)
def test_smooth_losses_have_slopes_without_smoothing(name, weight, argument, rng):
    piece, Z, h = piece_of(name, weight, argument), residuals(rng, 10), 1e-6
    up, down = (np.stack([piece.values(Z + s * h * e) for e in np.eye(ROWS)], -1) for s in (1, -1))
    np.testing.assert_allclose(piece.slopes(Z, 0.0), (up - down) / (2 * h), atol=1e-5)
    assert piece.smooth


@arguments
@pytest.mark.parametrize(("name", "weight"), cases(CONVEX))
def test_curvature_bounds_the_change_of_the_slopes(name, weight, argument, rng):
    piece = piece_of(name, weight, argument)
    Z, W = residuals(rng), residuals(rng)
    W[::2] = Z[::2] + 1e-3 * W[::2]  # near ones, between which curvature shows
    for delta in (0.0, 0.2, 1.5) if piece.smooth else (0.2, 1.5):
        change = np.linalg.norm(piece.slopes(Z, delta) - piece.slopes(W, delta), axis=-1)
        bound = piece.curvature(delta) * np.linalg.norm(Z - W, axis=-1)
        assert np.all(change <= bound * (1 + 1e-9) + 1e-12)


@arguments
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("weight", [2.5, WEIGHTS["rows"]], ids=["number", "rows"])
def test_curvature_is_attained(name, weight, argument):
    """Somewhere on a line of residuals the slopes change by as much as the bound allows."""
    piece, delta = piece_of(name, weight, argument), 0.4
    line = np.linspace(-3, 3, 2001)[:, None] + np.zeros(ROWS)
    steps = np.abs(np.diff(piece.slopes(line, delta), axis=0)) / np.diff(line, axis=0)
    assert steps.max() == pytest.approx(piece.curvature(delta), rel=1e-6, abs=1e-12)


@given(
    name=st.sampled_from(TABLES),
    delta=st.floats(1e-3, 1e3),
    argument=st.floats(1e-3, 1e3),
    weight=st.floats(1e-3, 1e3),
    z=st.lists(st.floats(-1e3, 1e3), min_size=ROWS, max_size=ROWS),
)
def test_one_table_is_that_of_the_scaled_loss(name, delta, argument, weight, z):
    """weight * f(argument *) is a loss with a table of its own; smoothing is by delta / weight there."""
    piece, z = piece_of(name, weight, argument), np.array(z)

    class Rescaled(losses.TableLoss):
        table = LOSSES[name].table.rescaled(weight, argument)

    own = Rescaled()
    size = 1 + np.sum(np.abs(weight * argument * z)) + weight * np.sum((argument * z) ** 2)
    assert piece.values(z) == pytest.approx(own.value(z), rel=1e-9, abs=1e-12 * size)
    assert piece.smoothed(z, delta) == pytest.approx(
        own.envelope(z, delta / weight), rel=1e-9, abs=1e-9 * size
    )
    slopes = own.envelope_grad(z, delta / weight)
    np.testing.assert_allclose(piece.slopes(z, delta), slopes, rtol=1e-9, atol=1e-12 * size)


def test_curvature_without_smoothing():
    assert piece_of("squared", 3.0, 2.0).curvature(0.0) == 3 * 2 * 2**2
    assert piece_of("logistic", 3.0, 2.0).curvature(0.0) == 3 * 0.25 * 2**2
    assert piece_of("linear").curvature(0.0) == 0.0
    assert piece_of("l1").curvature(0.0) == inf
    assert not piece_of("l1").smooth
    assert piece_of("l1", 0.0).curvature(0.0) == 0.0


@pytest.mark.parametrize(
    ("weight", "heaviest"), [(2.5, 2.5), (-2.5, 2.5), (np.array([-4.0, 0, 1, 2, 3]), 4.0)]
)
def test_heaviest(weight, heaviest):
    assert piece_of("linear", weight).heaviest == heaviest


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SEPARABLE)
def test_any_library_keeps_its_arrays(xp, name, dtype, rng):
    weight, Z = xp.asarray(WEIGHTS["rows"], dtype), residuals(rng, 3)
    for own in (2.5, weight):
        piece, host = piece_of(name, own, 0.5), piece_of(name, xp.host(own) if own is weight else own, 0.5)
        z = xp.asarray(Z, dtype)
        for got, want in (
            (piece.values(z), host.values(Z)),
            (piece.smoothed(z, 0.3), host.smoothed(Z, 0.3)),
            (piece.slopes(z, 0.3), host.slopes(Z, 0.3)),
        ):
            assert xp.is_ours(got) or np.ndim(got) == 0
            assert got.dtype == z.dtype
            np.testing.assert_allclose(
                xp.host(got), want, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-5
            )
