"""The compact dual simplex method against linear programs, and its tree against all points."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest
from scipy.optimize import linprog

from dcra._kernels.branching import AS_IT_IS, FROM_SLOPES, Outcome, kinks, relax, vertex

PLENTY = 1 << 40


class Drawn:
    """A random sum of kinks over a box."""

    def __init__(self, seed, n=None, r=None):
        rng = np.random.default_rng(seed)
        self.n, self.r = n or int(rng.integers(1, 25)), r or int(rng.integers(1, 50))
        shape = (self.r, self.n)
        whole = seed % 3 == 0
        self.A = rng.integers(-2, 3, shape).astype(float) if whole else rng.standard_normal(shape)
        self.b = rng.integers(-3, 4, self.r).astype(float) if whole else rng.standard_normal(self.r)
        self.lo, self.hi = -rng.random(self.r) * (seed % 2), rng.random(self.r)
        self.c = rng.standard_normal(self.n) * (seed % 5 == 1)
        self.l, self.u = np.full(self.n, -1.0 * (seed % 2)), np.ones(self.n)
        if seed % 7 == 0:  # rows that must not be violated; all l satisfies them
            self.hi[: self.r // 4] = inf
            self.b = np.maximum(self.b, self.A @ self.l)

    def kinks(self):
        return kinks(self.A, self.b, self.c, self.lo, self.hi, np.ones(self.r))

    def vertex(self):
        v = vertex(self.r, self.n)
        v.l[:], v.u[:] = self.l, self.u
        return v

    def least(self):
        """By the textbook: t_i >= hi z_i, t_i >= lo z_i."""
        soft, hard = np.isfinite(self.hi), np.isinf(self.hi)
        eye = np.eye(self.r)
        rows = [np.hstack([self.hi[soft, None] * self.A[soft], -eye[soft]])]
        rows += [np.hstack([self.lo[:, None] * self.A, -eye]), np.hstack([self.A[hard], 0 * eye[hard]])]
        ends = np.concatenate([self.hi[soft] * self.b[soft], self.lo * self.b, self.b[hard]])
        cost = np.concatenate([self.c, np.ones(self.r)])
        box = [*zip(self.l, self.u, strict=True), *[(None, None)] * self.r]
        return linprog(cost, A_ub=np.vstack(rows), b_ub=ends, bounds=box).fun

    def bound(self, y):
        q = self.A.T @ y + self.c
        return float(np.minimum(self.l * q, self.u * q).sum() - self.b @ y)


@pytest.mark.parametrize("seed", range(40))
def test_the_relaxation_is_that_of_the_textbook(seed):
    drawn = Drawn(seed)
    v = drawn.vertex()
    assert relax(drawn.kinks(), v, 1e200, PLENTY, FROM_SLOPES) is Outcome.SOLVED
    assert np.all((v.y >= drawn.lo) & (v.y <= drawn.hi))
    assert v.value[0] == pytest.approx(drawn.least(), rel=1e-7, abs=1e-7)
    assert drawn.bound(v.y) == pytest.approx(v.value[0], rel=1e-9, abs=1e-9)
    between = (v.x > v.l + 1e-7) & (v.x < v.u - 1e-7)
    assert np.count_nonzero(between) <= v.counts[0] == np.count_nonzero(v.in_I >= 0)
    np.testing.assert_allclose(v.z, drawn.A @ v.x - drawn.b, atol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_pauses_change_nothing(seed):
    drawn = Drawn(seed, 20, 40)
    at_once, in_steps = drawn.vertex(), drawn.vertex()
    relax(drawn.kinks(), at_once, 1e200, PLENTY, FROM_SLOPES)
    begin, before = FROM_SLOPES, -inf
    while relax(drawn.kinks(), in_steps, 1e200, 1, begin) is Outcome.PAUSED:
        assert drawn.bound(in_steps.y) >= before - 1e-9  # a bound at any moment, and it rises
        begin, before = AS_IT_IS, drawn.bound(in_steps.y)
    assert np.array_equal(at_once.y, in_steps.y)
    assert np.array_equal(at_once.x, in_steps.x)


@pytest.mark.parametrize("seed", range(8))
def test_it_ends_at_the_cutoff(seed):
    drawn = Drawn(3 * seed + 1, 15, 30)
    v = drawn.vertex()
    least = drawn.least()
    relax(drawn.kinks(), v, -inf, 0, FROM_SLOPES)
    cutoff = (v.value[0] + least) / 2
    assert relax(drawn.kinks(), v, cutoff, PLENTY, AS_IT_IS) is Outcome.CUT
    assert cutoff <= drawn.bound(v.y) + 1e-9 <= least + 2e-9


def test_what_cannot_be_is_above_any_cutoff():
    A = np.array([[1.0, 1.0]])
    one = np.ones(1)
    v = vertex(1, 2)
    v.l[:], v.u[:] = 1.0, 2.0
    form = kinks(A, one, np.zeros(2), 0 * one, inf * one, one)  # x + y <= 1
    assert relax(form, v, 1e6, PLENTY, FROM_SLOPES) is Outcome.CUT
    q = A.T @ v.y
    assert np.minimum(v.l * q, v.u * q).sum() - v.y[0] >= 1e6


def test_all_ends_of_a_small_box():
    """With every variable fixed the bound is the value."""
    drawn = Drawn(1, 4, 6)
    for x in product((-1.0, 1.0), repeat=4):
        v = drawn.vertex()
        v.l[:] = v.u[:] = x
        assert relax(drawn.kinks(), v, 1e200, PLENTY, FROM_SLOPES) is Outcome.SOLVED
        z = drawn.A @ x - drawn.b
        value = np.maximum(drawn.hi * z, drawn.lo * z).sum() + drawn.c @ x
        assert v.value[0] == pytest.approx(value)
