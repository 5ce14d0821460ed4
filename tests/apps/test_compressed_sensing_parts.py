"""Instances, formulations, thresholds, rivals and message passing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import dcra
from dcra.apps.compressed_sensing import (
    MessagePassing,
    StackedL1,
    amp,
    amp_threshold,
    augmented,
    binary_problem,
    change_of_variables,
    instance,
    lp,
    lp_threshold,
)
from dcra.apps.compressed_sensing.density import estimate
from dcra.apps.compressed_sensing.errors import choose_lam, choose_loss, gross_errors
from dcra.apps.compressed_sensing.messages import Channel, Messages, Prior
from dcra.losses import L1, Huber, Linear, SquaredL2
from dcra.testing import check_loss

RHO = (0.01, 0.05, 0.10, 0.20, 0.30, 0.40, 0.50, 0.60, 0.70, 0.80, 0.90, 0.95, 0.99)
LP = (0.052, 0.164, 0.256, 0.375, 0.447, 0.487, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5)
LP_BIASED = (0.052, 0.164, 0.256, 0.375, 0.447, 0.487, 0.5, 0.487, 0.447, 0.375, 0.256, 0.164, 0.052)
AMP = (0.046, 0.151, 0.238, 0.355, 0.427, 0.467, 0.480, 0.467, 0.427, 0.355, 0.238, 0.151, 0.046)


@pytest.mark.parametrize(("rho", "lp_", "biased", "amp_"), list(zip(RHO, LP, LP_BIASED, AMP, strict=True)))
def test_thresholds(rho, lp_, biased, amp_):
    assert lp_threshold(rho) == pytest.approx(lp_, abs=6e-4)
    assert lp_threshold(rho, biased=True) == pytest.approx(biased, abs=6e-4)
    assert amp_threshold(rho) == pytest.approx(amp_, abs=6e-4)


def test_thresholds_need_a_share():
    for threshold in (lp_threshold, amp_threshold):
        with pytest.raises(ValueError, match=r"`rho` must lie strictly between 0 and 1; got 1\.0"):
            threshold(1.0)


def test_instances():
    A, y, x = instance(400, 0.5, 0.25, mu=10, seed=1)
    assert A.shape == (200, 400)
    assert A.mean() == pytest.approx(10 / 400, abs=1e-3)
    assert A.var() == pytest.approx(1 / 400, rel=0.02)
    assert x.mean() == pytest.approx(0.25, abs=0.06)
    np.testing.assert_array_equal(A @ x, y)
    again = instance(400, 0.5, 0.25, mu=10, seed=1)
    np.testing.assert_array_equal(again.A, A)
    noisy = instance(400, 0.5, 0.25, mu=10, noise=0.1, seed=1)
    assert np.std(noisy.y - y) == pytest.approx(0.1, rel=0.2)
    assert instance(2, 0.1, 1.0).A.shape == (1, 2)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((1, 0.5, 0.5), "`N` must be an integer of at least 2; got 1"),
        ((10, 0.0, 0.5), r"`alpha` must lie in \(0, 1\]; got 0.0"),
        ((10, 1.5, 0.5), r"`alpha` must lie in \(0, 1\]; got 1.5"),
        ((10, 0.5, 0.0), r"`rho` must lie in \(0, 1\]; got 0.0"),
        ((10, 0.5, 0.5, float("nan")), "`mu` must be finite"),
        ((10, 0.5, 0.5, 0.0, -0.1), "`noise` must be finite and not negative"),
    ],
)
def test_bad_instances(arguments, match):
    with pytest.raises(ValueError, match=match):
        instance(*arguments)


@pytest.mark.parametrize("kind", [np.asarray, sp.csc_array])
def test_both_formulations_have_one_value(kind):
    A, y, _ = instance(12, 0.5, 0.4, seed=0)
    lam = 0.05
    X = np.random.default_rng(0).integers(0, 2, (20, 12)).astype(float)
    values = [np.abs(A @ x - y).sum() + lam * x.sum() for x in X]
    np.testing.assert_allclose(binary_problem(kind(A), y, lam).objective(X), values)
    np.testing.assert_allclose(change_of_variables(kind(A), y, lam).objective(2 * X - 1), values)
    np.testing.assert_allclose(augmented(kind(A), y, lam).objective(2 * X - 1), values)


def test_both_formulations_have_one_best_point():
    A, y, x = instance(12, 0.6, 0.4, seed=3)
    spins = [dcra.solve(make(A, y, 0.05), seed=0).x for make in (change_of_variables, augmented)]
    np.testing.assert_array_equal(spins[0], 2 * x - 1)
    np.testing.assert_array_equal(spins[1], spins[0])


def test_prox_and_envelope_of_the_stack():
    rows, n, slope, gamma = 5, 7, 0.3, 0.8
    rng = np.random.default_rng(1)
    z = 2 * rng.standard_normal((3, rows + n))
    stack = StackedL1(rows, slope)
    top, rest = z[:, :rows], z[:, rows:]
    prox = np.concatenate([L1().prox(top, gamma), rest - gamma * slope], axis=1)
    np.testing.assert_allclose(stack.prox(z, gamma), prox)
    # the change of variables keeps c'z outside: the envelopes differ by gamma |c|^2 / 2
    split = L1().envelope(top, gamma) + slope * rest.sum(axis=1)
    np.testing.assert_allclose(stack.envelope(z, gamma), split - gamma * n * slope**2 / 2)
    linear = Linear().envelope(slope * rest, gamma * slope**2)
    np.testing.assert_allclose(stack.envelope(z, gamma), L1().envelope(top, gamma) + linear)


def test_the_stacked_loss_keeps_the_contract():
    check_loss(StackedL1(3, 0.25))


def test_rivals_recover_where_they_should():
    for mu in (0, 10):
        A, y, x = instance(200, 0.65, 0.3, mu, seed=0)
        np.testing.assert_array_equal(lp(A, y), x)
        np.testing.assert_array_equal(lp(A, y, 0.01), x)
        np.testing.assert_array_equal(amp(A, y, 0.3), x)
    A, y, x = instance(200, 0.7, 0.2, noise=0.03, seed=0)
    np.testing.assert_array_equal(amp(A, y, 0.2, noise=0.03), x)
    with pytest.raises(ValueError, match="`rho` must lie strictly between 0 and 1; got 0"):
        amp(A, y, 0)


@pytest.mark.parametrize("mu", [0, 2, 10])
def test_density_is_told_by_the_measurements(mu):
    for rho in (0.1, 0.5, 0.9):
        A, y, x = instance(500, 0.4, rho, mu, seed=int(10 * rho))
        row_sums, spread = A.sum(axis=1), float(np.sum((A - A.mean(axis=0)) ** 2)) / len(A)
        found = estimate((2 * y - row_sums)[None], row_sums, spread, 0.0)
        error = abs(found.mean[0] - (2 * x - 1).mean())
        assert error < 4 * np.sqrt((1 - found.mean[0] ** 2) / found.strength[0]) + 1e-3
        assert error < (0.02 if mu == 10 else 0.2)


def test_messages_in_a_batch_are_those_of_each_row():
    A, y, _ = instance(120, 0.5, 0.3, mu=2, seed=2)
    channel = Channel.of(A, np.float64)
    B = np.stack([2 * y - channel.row_sums, 1.3 * y - channel.row_sums])
    together = Messages(channel, B, Prior.known(-0.4, 2, 120), 0.0)
    alone = [Messages(channel, b[None], Prior.known(-0.4, 1, 120), 0.0) for b in B]
    for _ in range(5):
        together.step()
        for run in alone:
            run.step()
    np.testing.assert_allclose(together.means, np.concatenate([run.means for run in alone]), atol=1e-9)


def test_the_engine_takes_one_batch_as_one_start_at_a_time():
    A, y, x = instance(200, 0.6, 0.3, seed=1)
    problem = binary_problem(A, y)
    found = dcra.solve(problem, method=MessagePassing(), starts=20, target=1e-6, seed=0)
    np.testing.assert_array_equal(found.x, x)
    assert found.status is dcra.Status.OPTIMAL  # no residual is less than none
    assert found.nit < 60
    assert found.method == "messages"


def test_what_residuals_say():
    rng = np.random.default_rng(0)
    u = rng.normal(0, 0.1, 500)
    assert isinstance(choose_loss(u), SquaredL2)
    assert not gross_errors(u, u)
    u[:25] += 5
    assert isinstance(choose_loss(u), Huber)
    assert gross_errors(u, u)
    assert gross_errors(u / 10, rng.normal(0, 0.1, 500))
    u[:100] += 5
    assert isinstance(choose_loss(u), L1)
    assert isinstance(choose_loss(np.zeros(9)), L1)
    assert choose_lam(SquaredL2(), 0.1, 0.5) == 0
    assert (
        choose_lam(SquaredL2(), 0.1, 0.1) == 2 * choose_lam(Huber(), 0.1, 0.1) > choose_lam(L1(), 0, 0.1) == 0
    )


def test_wary_messages_have_the_slope_of_their_answers():
    """g and dg/du of the mixture, by differences of -d log p / du, up to the sign."""
    from dcra.apps.compressed_sensing.gross import WaryMessages
    from dcra.apps.compressed_sensing.messages import Channel, prior_of

    A, y, _ = instance(60, alpha=0.7, rho=0.3, seed=0)
    channel = Channel.of(A, np.float64)
    B = (2 * y - A.sum(axis=1))[None]
    run = WaryMessages(channel, B, prior_of(channel, B, None, 0.0), 0.0)
    run.noise[:], run.wide[:], run.share[:] = 0.3, 5.0, 0.2
    V, h = np.array([[0.7]]), 1e-6

    def density(u):
        parts = [(0.8, 0.7 + 0.3), (0.2, 0.7 + 5.0)]
        return sum(w * np.exp(-(u**2) / (2 * v)) / np.sqrt(v) for w, v in parts)

    def answer(u):
        run.noise[:], run.wide[:], run.share[:] = 0.3, 5.0, 0.2
        return run.answer(u, V, slice(None))

    u = np.linspace(-4, 4, y.size)[None]
    slope = (np.log(density(u - h)) - np.log(density(u + h))) / (2 * h)
    np.testing.assert_allclose(answer(u)[0], slope, rtol=1e-5)
    rate = (answer(u + h)[0] - answer(u - h)[0]) / (2 * h)
    np.testing.assert_allclose(answer(u)[1], [[max(rate.mean(), 0.1)]], rtol=1e-5)
