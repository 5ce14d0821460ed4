"""Losses: the shipped contract on every library and float type, and values against independent formulas."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, inf
from typing import ClassVar

import numpy as np
import pyproximal
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special

from dcra import losses
from dcra.losses import (
    L1,
    NAMES,
    CappedL1,
    EpsilonInsensitive,
    Huber,
    L2Norm,
    LInf,
    Logistic,
    Loss,
    Quantile,
    as_loss,
    from_pyproximal,
)
from dcra.testing import check_loss

FORMULAS = {
    L1(): np.abs,
    losses.SquaredL2(): np.square,
    Huber(): lambda u: special.huber(1.0, u),
    Huber(0.3): lambda u: special.huber(0.3, u),
    losses.Hinge(): lambda u: np.maximum(0, u),
    losses.SquaredHinge(): lambda u: np.maximum(0, u) ** 2,
    Quantile(): lambda u: np.abs(u) / 2,
    Quantile(0.9): lambda u: np.maximum(0.9 * u, -0.1 * u),
    EpsilonInsensitive(): lambda u: np.maximum(0, np.abs(u) - 0.1),
    EpsilonInsensitive(0.0): np.abs,
    EpsilonInsensitive(2.0): lambda u: np.maximum(0, np.abs(u) - 2),
    Logistic(): lambda u: np.logaddexp(0, u),
    losses.Linear(): lambda u: u,
    CappedL1(): lambda u: np.minimum(np.abs(u), 1),
    CappedL1(3.0): lambda u: np.minimum(np.abs(u), 3),
}
"""Each separable loss and one row's value."""

NORMS = {L2Norm(): 2, LInf(): inf}
ALL = (*FORMULAS, *NORMS)
SYMMETRIC = [f for f in ALL if isinstance(f, L1 | losses.SquaredL2 | Huber | EpsilonInsensitive | CappedL1)]
TABLES = [f for f in FORMULAS if isinstance(f, losses.TableLoss)]

each_loss = pytest.mark.parametrize("loss", ALL, ids=str)
each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])
residuals = st.lists(st.floats(-50, 50), min_size=1, max_size=6).map(np.array)
steps = st.floats(1e-3, 1e3)


@each_loss
@each_dtype
def test_contract(loss, dtype, xp):
    check_loss(loss, like=xp.asarray([0.0], dtype))


@each_loss
def test_contract_of_one_row(loss):
    check_loss(loss, rows=1, seed=3)


def test_every_name_is_covered():
    assert {type(f) for f in ALL} == set(NAMES.values())
    assert all(as_loss(name) == kind() for name, kind in NAMES.items())
    assert set(losses.__all__) >= {kind.__name__ for kind in NAMES.values()}


@pytest.mark.parametrize("loss", FORMULAS, ids=str)
@given(u=residuals)
def test_value_is_the_formula(loss, u):
    want = FORMULAS[loss](u)
    np.testing.assert_allclose(loss.values(u), want, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(loss.value(u), np.sum(want), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", NORMS, ids=str)
@given(u=residuals)
def test_norm_is_the_formula(loss, u):
    want = hypot(*u) if NORMS[loss] == 2 else np.linalg.norm(u, NORMS[loss])  # hypot: however small u is
    np.testing.assert_allclose(loss.value(u), want, rtol=1e-13)


@pytest.mark.parametrize("loss", FORMULAS, ids=str)
@given(u=st.floats(-20, 20), step=st.floats(0.01, 20))
def test_prox_minimises_the_formula(loss, u, step):
    """A bounded scalar minimiser, started on both sides of the kink, finds nothing better."""

    def objective(y):
        return float(FORMULAS[loss](np.float64(y))) + (y - u) ** 2 / (2 * step)

    best = objective(loss.prox(np.array([u]), step)[0])
    reach = 25 + 2.5 * step
    for bounds in ((-reach, 0), (0, reach), (-reach, reach)):
        rival = optimize.minimize_scalar(objective, bounds=bounds, method="bounded").fun
        assert best <= rival + 1e-9 * (1 + abs(rival))


@pytest.mark.parametrize("loss", SYMMETRIC + list(NORMS), ids=str)
@given(u=residuals, step=steps)
def test_even_losses_have_odd_prox(loss, u, step):
    assert loss.value(u) == loss.value(-u)
    np.testing.assert_array_equal(loss.prox(-u, step), -loss.prox(u, step))


@given(u=residuals, step=steps)
def test_logistic_reflects(u, step):
    """log(1 + e^u) - log(1 + e^-u) = u, so prox(-u) = step - ... reflects about step/2."""
    f = Logistic()
    np.testing.assert_allclose(f.values(u) - f.values(-u), u, atol=1e-13)
    np.testing.assert_allclose(f.prox(step - u, step), -f.prox(u, step), atol=1e-12 * (1 + step))


@given(u=residuals, step=steps)
def test_special_cases_agree(u, step):
    np.testing.assert_allclose(2 * Quantile(0.5).prox(u / 2, step / 2), L1().prox(u, step / 2), atol=1e-12)
    np.testing.assert_array_equal(EpsilonInsensitive(0.0).prox(u, step), L1().prox(u, step))
    np.testing.assert_array_equal(CappedL1(1e9).prox(u, step), np.sign(u) * np.maximum(np.abs(u) - step, 0))
    np.testing.assert_allclose(L2Norm().prox(u[:1], step), L1().prox(u[:1], step), atol=1e-12)
    np.testing.assert_allclose(LInf().prox(u[:1], step), L1().prox(u[:1], step), atol=1e-12)
    np.testing.assert_allclose(
        L1().envelope(u, step) * step, np.sum(special.huber(step, u)), rtol=1e-12, atol=1e-12
    )


@given(u=residuals, step=steps)
def test_linf_prox_by_moreau(u, step):
    """u - prox lies in the l1 ball of radius `step` and attains the dual norm there."""
    p = LInf().prox(u, step)
    y = u - p
    assert np.abs(y).sum() <= step * (1 + 1e-12) + 1e-12
    assert np.isclose(
        y @ p, step * np.abs(p).max(), rtol=1e-9, atol=1e-9 * (1 + np.abs(u).max()) * (1 + step)
    )


@pytest.mark.parametrize("loss", TABLES, ids=str)
@given(u=residuals, weight=st.floats(0.01, 100), argument=st.floats(0.01, 100))
def test_rescaled_table_is_the_rescaled_loss(loss, u, weight, argument):
    rescaled = loss.table.rescaled(weight, argument)

    class Rescaled(losses.TableLoss):
        table = rescaled

    np.testing.assert_allclose(
        Rescaled().value(u), weight * loss.value(argument * u), rtol=1e-10, atol=1e-10 * weight
    )


@each_loss
def test_declarations(loss):
    assert loss.convex == (not isinstance(loss, CappedL1))
    assert loss.separable == (loss not in NORMS)
    assert loss.positive == (not isinstance(loss, losses.Linear))


@pytest.mark.parametrize(
    ("name", "lipschitz", "curvature"),
    [
        ("l1", 1, inf),
        ("squared", inf, 2),
        ("huber", 1, 1),
        ("hinge", 1, inf),
        ("squared_hinge", inf, 2),
        ("quantile", 0.5, inf),
        ("epsilon_insensitive", 1, inf),
        ("logistic", 1, 0.25),
        ("linear", 1, 0),
        ("capped_l1", 1, inf),
        ("l2", 1, inf),
        ("linf", 1, inf),
    ],
)
def test_declared_constants(name, lipschitz, curvature):
    loss = as_loss(name)
    assert (loss.lipschitz, loss.curvature) == (lipschitz, curvature)


@each_loss
@pytest.mark.parametrize("size", [1e-150, 1e-20, 1e20, 1e150])
@pytest.mark.parametrize("step", [1e-100, 1.0, 1e100])
def test_extreme_residuals(loss, size, step):
    """No warning, no NaN, and an envelope gradient that is a slope of the loss."""
    u = size * np.array([-3.0, -1.0, 0.0, 0.5, 2.0])
    value, p, y = loss.value(u), loss.prox(u, step), loss.envelope_grad(u, step)
    assert np.isfinite(value)
    assert np.isfinite(p).all()
    assert np.isfinite(y).all()
    assert np.abs(y).max() <= loss.lipschitz * (1 + 1e-12)
    assert loss.value(p) <= value * (1 + 1e-12) or isinstance(loss, losses.Linear)
    if loss in FORMULAS:
        np.testing.assert_allclose(loss.values(u), FORMULAS[loss](u), rtol=1e-13, atol=0)


@pytest.mark.parametrize("loss", [L1(), LInf(), L2Norm(), Huber(), Logistic()], ids=str)
def test_slope_survives_large_ratios_of_residual_to_step(loss):
    """At residuals far beyond the step the slope is that of the loss itself."""
    y = loss.envelope_grad(np.array([1e25, 3.0, 0.0]), 1e-3)
    assert np.isclose(y[0], 1.0)


@each_loss
def test_small_floats_keep_their_type(loss):
    u = np.array([-1e15, -2.0, 0.0, 1e-20, 1e15], np.float32)
    for result in (loss.value(u), loss.prox(u, 0.5), loss.envelope_grad(u, 0.5), loss.envelope(u, 0.5)):
        assert result.dtype == np.float32
        assert np.isfinite(result).all()


@each_loss
def test_conjugate_is_infinite_outside_its_domain(loss):
    y = np.array([[0.2, 1e3], [0.2, 0.3]])
    outside, _ = loss.conjugate(y)
    bounded = loss.lipschitz < inf
    assert (outside == inf) == bounded


def test_values_of_a_loss_that_is_not_separable():
    with pytest.raises(TypeError, match="L2Norm is not separable"):
        L2Norm().values(np.ones(3))


@dataclass(frozen=True)
class LogCosh(Loss):
    """A user's loss with the two methods that are required and true declarations."""

    convex: ClassVar[bool] = True
    separable: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    lipschitz: ClassVar[float] = 1.0
    curvature: ClassVar[float] = 1.0

    def value(self, z):
        return np.sum(np.abs(z) + np.log1p(np.exp(-2 * np.abs(z))) - np.log(np.asarray(2, z.dtype)), axis=-1)

    def prox(self, z, step):
        lo, hi = np.minimum(z, 0 * z) + 0 * step, np.maximum(z, 0 * z) + 0 * step
        for _ in range(60):
            p = (lo + hi) / 2
            small = p + step * np.tanh(p) < z
            lo, hi = np.where(small, p, lo), np.where(small, hi, p)
        return p


class Duck:
    """`value` and `prox` of one vector, and nothing else: the ball-shaped |z|_2^2 / 2."""

    convex = True

    def value(self, z):
        assert z.ndim == 1
        return 0.5 * z @ z

    def prox(self, z, step):
        z /= 1 + step  # in place: the adaptor hands out memory of its own
        return z


@each_dtype
def test_user_loss(dtype):
    check_loss(LogCosh(), like=np.zeros(1, dtype))


@each_dtype
def test_duck_typed_loss(dtype, xp):
    loss = as_loss(Duck())
    assert loss.convex
    assert not loss.separable
    check_loss(Duck(), like=xp.asarray([0.0], dtype))


@pytest.mark.parametrize(
    "operator", [pyproximal.L1(sigma=2.0), pyproximal.L2(b=np.arange(5.0)), pyproximal.Euclidean()]
)
def test_pyproximal_operator(operator, xp):
    check_loss(from_pyproximal(operator, convex=True), like=xp.asarray([0.0]))
    assert not as_loss(operator).convex


def test_losses_with_infinite_values(xp):
    """The indicator of a box: infinite outside, and a projection as its prox."""

    class Inside:
        convex = True

        def value(self, z):
            return 0.0 if np.all(np.abs(z) <= 1) else inf

        def prox(self, z, step):
            return np.clip(z, -1, 1)

    check_loss(Inside(), like=xp.asarray([0.0]))


@pytest.mark.parametrize("true", [True, np.True_, np.array(True)])
def test_indicators_that_say_true_inside_are_refused(true):
    """PyProximal's are True inside: as a cost that would be 1 where all is well."""
    match = "returned True; it must return finite numbers .* belongs into `constraints`"
    with pytest.raises(ValueError, match=match):
        from_pyproximal(pyproximal.Box(-0.5, 0.5)).value(np.zeros(3))
    with pytest.raises(ValueError, match=match):
        losses.adapt.VectorLoss(lambda z: true, lambda z, step: z).value(np.zeros(3))


@given(u=st.lists(st.floats(-9, 9), min_size=5, max_size=5).map(np.array), step=steps)
def test_pyproximal_agrees_with_ours(u, step):
    theirs = as_loss(pyproximal.L1())
    np.testing.assert_allclose(theirs.value(u), L1().value(u))
    np.testing.assert_allclose(theirs.prox(u, step), L1().prox(u, step), atol=1e-12)
    squared = as_loss(pyproximal.L2(sigma=2.0))
    np.testing.assert_allclose(squared.prox(u, step), losses.SquaredL2().prox(u, step), atol=1e-12)


def _broken(**changes):
    """The l1 loss with one thing wrong."""
    return type("Broken", (L1,), changes)()


@pytest.mark.parametrize(
    ("loss", "match"),
    [
        (_broken(prox=lambda self, z, step: z / (1 + step)), "minimises"),
        (_broken(value=lambda self, z: -np.sum(np.abs(z), axis=-1)), "minimises|declared `positive`"),
        (_broken(prox=lambda self, z, step: L1().prox(z, 1.1 * step)), "minimises"),
        (_broken(lipschitz=0.5), "declared `lipschitz`"),
        (_broken(curvature=1.0), "declared `curvature`"),
        (_broken(conjugate=lambda self, y: 1 + 0 * np.sum(y, axis=-1)), "f\\(p\\) \\+ f\\*\\(y\\)"),
        (_broken(conjugate=lambda self, y: np.inf + np.sum(y, axis=-1)), "f\\(p\\) \\+ f\\*\\(y\\)"),
        (_broken(envelope=lambda self, z, step: self.value(z)), "is the objective at the prox"),
        (_broken(value=lambda self, z: z), "`value` has the right shape"),
        (_broken(values=lambda self, z: 2 * np.abs(z)), "minimises|sum of `values`"),
        (type("Lin", (losses.Linear,), {"positive": True})(), "declared `positive`"),
        (type("Cap", (CappedL1,), {"convex": True})(), "convex"),
        (type("Norm", (L2Norm,), {"separable": True})(), "separable|grid"),
    ],
)
def test_contract_finds_what_is_wrong(loss, match):
    with pytest.raises(AssertionError, match=match):
        check_loss(loss)


def test_contract_finds_writes_to_its_argument():
    class Rude(L1):
        def prox(self, z, step):
            p = super().prox(z, step)
            z *= 2
            return p

    with pytest.raises(AssertionError, match="`prox` leaves its argument unchanged"):
        check_loss(Rude())


def test_contract_finds_a_wider_float_type():
    class Wide(L1):
        def prox(self, z, step):
            return super().prox(z, step).astype(np.float64)

    check_loss(Wide())
    with pytest.raises(AssertionError, match="`prox` keeps library and float type"):
        check_loss(Wide(), like=np.zeros(1, np.float32))


def test_contract_finds_a_batch_axis_that_is_summed():
    class Summed(L1):
        def prox(self, z, step):
            return super().prox(z, step) + 0.0 * z.sum() + (z.ndim > 1) * 0.1

    with pytest.raises(AssertionError, match="`prox` of a batch equals the loop"):
        check_loss(Summed())


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: as_loss("L1"), ValueError, "`loss` must be one of l1, squared.*got 'L1'; did you mean 'l1'"),
        (lambda: as_loss("hubber"), ValueError, "did you mean 'huber'"),
        (lambda: as_loss(L1), TypeError, r"must be an instance, not a class; write L1\(\)"),
        (lambda: as_loss(3.0), TypeError, r"`value\(z\)` and `prox\(z, step\)`; got float"),
        (lambda: as_loss(None), TypeError, "got NoneType"),
        (lambda: Huber(0.0), ValueError, "`threshold` must be positive and finite; got 0.0"),
        (lambda: Huber(float("nan")), ValueError, "`threshold` must be positive and finite; got nan"),
        (lambda: CappedL1(-1.0), ValueError, "`cap` must be positive and finite; got -1.0"),
        (lambda: Quantile(1.0), ValueError, "`q` must lie strictly between 0 and 1; got 1.0"),
        (lambda: Huber("a"), TypeError, "`threshold` must be a number; got 'a'"),
        (lambda: CappedL1(None), TypeError, "`cap` must be a number; got None"),
        (lambda: Quantile([0.5, 0.6]), TypeError, r"`q` must be a number; got \[0\.5, 0\.6\]"),
        (lambda: EpsilonInsensitive(np.ones(2)), TypeError, "`epsilon` must be a number; got dtype float64"),
        (lambda: as_loss("hubr:threshold=2"), ValueError, "got 'hubr'; did you mean 'huber'"),
        (lambda: as_loss("huber:threshold=1_0"), ValueError, "'threshold' of loss 'huber' must be a number"),
        (lambda: EpsilonInsensitive(-0.1), ValueError, "`epsilon` must be finite and not negative; got -0.1"),
    ],
)
def test_errors(make, error, match):
    with pytest.raises(error, match=match):
        make()
