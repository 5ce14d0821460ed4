"""What a growing penalty does to the rank gap."""

from __future__ import annotations

from itertools import product
from math import inf, sqrt

import numpy as np
import pytest

from dcra import lift, theory
from dcra.compiled.form import compile_problem
from dcra.model.problem import Problem
from dcra.model.term import Term

from .runs import (
    CASES,
    DELTA,
    ROUNDING,
    binary_factors,
    dcra_run,
    factors,
    mm_run,
    mm_step,
    near,
    one_term,
    with_gap,
)


def test_largest_drop_covers_the_range_of_phi(case):
    V = np.concatenate([factors(case, 200), binary_factors(case.n, 3)])
    for rho in (0.0, 2.0):
        values = theory.penalized(case, V, rho, DELTA)
        assert np.ptp(values) <= theory.largest_drop(case, 3, rho, DELTA)


def test_thresholds_by_hand():
    """A = e', n = 2: at E/sqrt m z = 2 > delta, g = (1, 1), |grad f~| = sqrt(2^2 + 2); Lf = 12 + sqrt 2."""
    compiled = compile_problem(Problem([Term("l1", np.ones((1, 2)), np.zeros(1))]))
    L, Lf = 20.0, 3 * 2 / 0.5 + sqrt(2)
    assert theory.curvature_bound(compiled, 0.5) == pytest.approx(Lf)
    varpi = (L + 2 * Lf) * sqrt(3) + sqrt(6)
    lin = 12 * Lf + 2 * sqrt(3) * sqrt(6) + 7.5 * L
    eta = 2 * (2 / 3) * sqrt(3 - 0.25) + 2 * sqrt(0.75)
    V = with_gap(3, 0.3)
    mu = np.min(np.abs(np.linalg.eigh(V.T @ V)[1][:, -1]))
    for m in (2, 3):
        E = np.full((m, 3), 1 / sqrt(m))
        assert np.linalg.norm(theory.smoothed_gradient(compiled, E, 0.5)) == pytest.approx(sqrt(6))
    assert theory.varpi(compiled, 0.5, L) == pytest.approx(varpi)
    assert theory.varpi_lin(compiled, 0.5, L) == pytest.approx(lin)
    assert theory.smallest_weight(V) == pytest.approx(mu)
    assert theory.first_step_threshold(compiled, V, 0.5, L, 0.5) == pytest.approx(
        (3 * L + varpi) / (mu * 0.5)
    )
    assert theory.printed_gain(0.5, 3) == pytest.approx(eta)
    assert theory.later_steps_threshold(compiled, 0.5, L, 0.5, 0.1) == pytest.approx(2 * lin / 0.1)
    assert theory.later_steps_threshold(compiled, 0.5, L, 0.5, 100.0) == pytest.approx(2 * lin / eta)
    assert theory.next_gap_bound(0.5, 0.1) == pytest.approx(0.35)


def test_varpi_bounds_what_is_normalised(case):
    V = factors(case, 200)
    for L in (0.0, 3.0, 100.0):
        size = np.linalg.norm(L * V - theory.smoothed_gradient(case, V, DELTA), axis=(-2, -1))
        assert np.all(size <= theory.varpi(case, DELTA, L))
        twice = 2 * sqrt(case.n + 1) * theory.varpi(case, DELTA, L) + L * (case.n + 1) / 2
        assert theory.varpi_lin(case, DELTA, L) == pytest.approx(twice)


@pytest.mark.parametrize("c0", [0.1, 0.5, 0.95])
def test_lemma_1(case, c0):
    """From rho_bar on, the first step leaves a gap of at most c0^2; in fact of c0^2/4."""
    L = theory.curvature_bound(case, DELTA)
    for V in factors(case, 20):
        rho = theory.first_step_threshold(case, V, DELTA, L, c0)
        gap = lift.rank_gap(mm_step(case, V, rho, DELTA, L))
        assert gap <= c0**2 / 4


def test_step_gap_bound(case):
    """Holds for every rho, and is nearly attained where rho is large."""
    tightest = 0.0
    for L, rho in product((0.0, 1.0, theory.curvature_bound(case, DELTA)), (0.1, 10.0, 1e3)):
        V = factors(case, 50)
        gap = lift.rank_gap(mm_step(case, V, rho, DELTA, L))
        bound = theory.step_gap_bound(case, V, rho, DELTA, L)
        assert np.all(gap <= bound + 1e-12)
        tightest = max(tightest, np.max(gap / bound))
    assert tightest > 0.5


def test_step_gap_bound_in_terms_of_the_gap(case):
    """sum_j (|B_j|/(2 rho t_j))^2 <= (varpi/(2 rho))^2/(1 - gap)."""
    L = theory.curvature_bound(case, DELTA)
    varpi = theory.varpi(case, DELTA, L)
    for gap in (1e-3, 0.3, 0.9):
        V = with_gap(case.n + 1, gap)
        for rho in (1.0, 1e4):
            assert theory.step_gap_bound(case, V, rho, DELTA, L) <= (varpi / (2 * rho)) ** 2 / (1 - gap)


@pytest.mark.parametrize("ratio", [1e-3, 0.1, 0.5])
def test_corrected_recursion(case, ratio):
    """g+ <= (1 - sqrt(1-g))^2 + varpi_lin/rho <= g^2 + varpi_lin/rho for g <= 1."""
    L = theory.curvature_bound(case, DELTA)
    rho = theory.varpi_lin(case, DELTA, L) / ratio
    for gap in (0.01, 0.2, 0.6, 0.99):
        V = with_gap(case.n + 1, gap)
        assert lift.rank_gap(V) == pytest.approx(gap, abs=1e-9)
        after = lift.rank_gap(mm_step(case, V, rho, DELTA, L))
        sharp = (1 - sqrt(1 - gap)) ** 2 + ratio
        assert after <= sharp <= theory.next_gap_bound(gap, ratio)


def test_key_inequality_of_proposition_2_is_sharp():
    """sum_j |q_1'V_j| >= p - 1 + sqrt(1 - g) on factors with gap g <= 1: the step from which g^2 follows."""
    rng = np.random.default_rng(10)
    line = np.zeros((2, 6))
    line[0] = 1.0
    nearest = inf
    for size in (0.05, 0.1, 0.2):
        V = near(np.broadcast_to(line, (500, 2, 6)), size, rng)
        gap = lift.rank_gap(V)
        total = np.sum(np.abs(theory.projection(V)), axis=-1)
        assert np.all(total[gap <= 1] >= 5 + np.sqrt(1 - gap[gap <= 1]) - ROUNDING)
    for gap in (0.1, 0.5, 0.9):
        total = np.sum(np.abs(theory.projection(with_gap(40, gap))))
        nearest = min(nearest, total - 39 - sqrt(1 - gap))
    assert 0 <= nearest < 0.01


def test_the_printed_gain_is_impossible():
    """eta/2 exceeds any gap <= c0^2 for p >= 4 and every c0; for p = 2, 3 it exceeds the gap eps/2."""
    for c0 in np.linspace(1e-3, 1 - 1e-9, 500):
        assert all(theory.printed_gain(c0, p) / 2 > c0**2 for p in (4, 5, 10, 100, 10_000))
        assert all(theory.printed_gain(c0, p) / 2 > c0**2 / 2 for p in (2, 3))
    assert theory.printed_gain(1 - 1e-9, 3) / 2 < 1  # why p >= 4


def test_the_printed_gain_fails_on_a_run():
    """rho >= rho_hat and eps/2 <= gap <= c0^2, as Proposition 2 (i) asks, p = 4."""
    compiled, c0, tol = one_term("l1", n=3, r=4), 0.8, 0.1
    L = theory.curvature_bound(compiled, DELTA)
    rho = theory.later_steps_threshold(compiled, DELTA, L, c0, tol)
    V = with_gap(4, 0.3)
    before, after = 4 - lift.rank_gap(V), 4 - lift.rank_gap(mm_step(compiled, V, rho, DELTA, L))
    assert after <= 4 < before + theory.printed_gain(c0, 4) / 2


@pytest.mark.parametrize(("c0", "tol"), [(0.3, 0.05), (0.7, 1e-3), (0.99, 0.97)])
def test_proposition_2_ii(case, c0, tol):
    """Above both thresholds the gap is at most tol from the second step on, and stays there."""
    L = theory.curvature_bound(case, DELTA)
    for V in factors(case, 3):
        rho = max(
            theory.first_step_threshold(case, V, DELTA, L, c0),
            theory.later_steps_threshold(case, DELTA, L, c0, tol),
        )
        gaps = [lift.rank_gap(W) for W in mm_run(case, V, rho, DELTA, L, 20)]
        assert max(gaps[2:]) <= tol**2 / (48 * (case.n + 1)) + ROUNDING
        assert tol**2 / (48 * (case.n + 1)) <= tol


def test_corollary_1_by_hand():
    assert theory.outer_rounds(1.0, 2.0, 9.0) == 4 + 2
    assert theory.outer_rounds(1.0, 2.0, 8.0) == 3 + 2
    assert theory.outer_rounds(10.0, 2.0, 8.0) == 2
    assert theory.total_steps(5, 6.0, 0.5, 5.0, 2.0) == 5 * 16


@pytest.mark.parametrize("name", ["l1", "huber", "two terms"])
def test_corollary_1(name):
    """Algorithm 1 ends within the rounds and the steps that are promised."""
    compiled, tol, change_tol, growth, rho_init = CASES[name](), 0.01, 0.02, 3.0, 1.0
    Lf = theory.curvature_bound(compiled, DELTA)
    L = 1.2 * Lf
    for start in factors(compiled, 2):
        run = dcra_run(compiled, start, rho_init, DELTA, L, tol=tol, growth=growth, change_tol=change_tol)
        star = max(
            *(theory.first_step_threshold(compiled, V, DELTA, L, 0.5) for V in run.factors[:-1]),
            theory.later_steps_threshold(compiled, DELTA, L, 0.5, tol),
        )
        rounds = theory.outer_rounds(rho_init, growth, star)
        drop = theory.largest_drop(compiled, 3, rho_init * growth ** (rounds - 1), DELTA)
        assert len(run.rhos) <= rounds
        assert sum(run.steps) <= theory.total_steps(rounds, drop, change_tol, L, Lf)
        for rho, V, steps in zip(run.rhos, run.factors, run.steps, strict=False):
            own = theory.penalized(compiled, V, rho, DELTA) - theory.lower_bound(compiled)
            assert steps <= theory.steps_to_change(own, change_tol, L, Lf)


@pytest.mark.parametrize("change_tol", [1e-4, 10.0])
def test_two_rounds_are_enough_from_the_thresholds_on(change_tol):
    """With change_tol = 10 Algorithm 2 stops after one step: the case the last round is counted for."""
    compiled, tol = CASES["l1"](), 1e-6
    L = 1.2 * theory.curvature_bound(compiled, DELTA)
    for start in factors(compiled, 5):
        star = max(
            theory.first_step_threshold(compiled, start, DELTA, L, 0.5),
            theory.later_steps_threshold(compiled, DELTA, L, 0.5, tol),
        )
        run = dcra_run(compiled, start, star, DELTA, L, tol=tol, growth=1.5, change_tol=change_tol)
        assert len(run.rhos) <= theory.outer_rounds(star, 1.5, star) == 2
