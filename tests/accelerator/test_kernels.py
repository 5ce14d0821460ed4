"""Kernels against NumPy, where there is a device: steps of a sweep, residuals, objectives."""

from __future__ import annotations

import numpy as np
import pytest

import dcra
from dcra.accelerator.engine import anneal_copies
from dcra.accelerator.replicas import Replicas
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts

ROWS = [30, 300, 700, 1100, 2048, 2100, 9000]
LOSSES = ["l1", "hinge", "quantile", "huber", "squared", "squared_hinge", "epsilon_insensitive"]


def problem_of(rng, r, n, loss="l1", **options):
    A, b = rng.standard_normal((r, n)), rng.standard_normal(r)
    options.setdefault("linear", rng.standard_normal(n))
    weight = rng.uniform(0.2, 3, r)
    return dcra.Problem([dcra.Term(loss, A, b, weight)], **options)


def replicas_of(problem, wanted=64):
    return Replicas(compile_problem(problem), 0, wanted)


def slopes(sweeper, z):
    """What the kernel makes of residuals, without the rounding."""
    if sweeper.form.plain:
        return np.clip(z * sweeper.slope, -1, 1)
    pairs = np.ascontiguousarray(sweeper.table.get()).view(np.float16).astype(np.float64)
    e, lo, hi, _ = pairs.reshape(-1, 4, 2).transpose(1, 0, 2).reshape(4, -1)
    return np.clip(np.sign(z) * np.maximum(np.abs(z) - e, 0), lo, hi)


def swept(sweeper, sweeps, total):
    """Sweeps of the same rule in float64."""
    s, C, n = sweeper, sweeper.shape.width, sweeper.form.n
    X, V, Z = (a.get().astype(np.float64) for a in (s.X, s.V, s.Z))
    rho = s.rho.get().astype(np.float64)
    order, inverse, pull = s.order.get(), s.inverse.get(), s.pull.get()
    if s.form.plain:
        pull = pull + s.sums.get()
    A = s.tiles.get().transpose(1, 3, 0, 2, 4).reshape(s.shape.rows, s.width).astype(np.float64)
    for t in range(sweeps):
        for block in range(s.count // C):
            own, at = slice(block * C, (block + 1) * C), (block * 17 + t) % 64 * s.steps
            for step in order[at : at + s.steps]:
                c = slice(step * C, (step + 1) * C)
                old = X[own, c].copy()
                penalty = 2 * rho[own, None] * old * (1 + s.rule.shape * (1 - old**2))
                down = slopes(s, Z[own]) @ A[:, c] + pull[c] - penalty
                new = np.clip(old - down * inverse[c] + s.rule.momentum * V[own, c], -1, 1)
                X[own, c], V[own, c] = new, new - old
                Z[own] += (new - old) @ A[:, c].T
        mean = (np.sum(X**2, axis=1) - (s.width - n)) / n
        rho = np.maximum(rho * np.exp(((t + 1) / total) ** s.rule.power - mean), s.rule.least * s.first_rho)
    return X, rho


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rows", ROWS)
def test_sweeps_follow_the_rule(there, rng, rows, loss):
    r = replicas_of(problem_of(rng, rows, 70, loss))
    r.begin(Starts(3, 0, r.count))
    X, rho = swept(r.sweeper, 2, 20)
    r.sweep(0, 1, 20)
    r.sweep(1, 2, 20)
    away = np.abs(r.sweeper.X.get() - X)
    assert np.mean(away) < 2e-3  # grid and halves
    np.testing.assert_allclose(r.sweeper.rho.get(), rho, rtol=0.02)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rows", ROWS)
def test_residuals_are_carried_along(there, rng, rows, loss):
    r = replicas_of(problem_of(rng, rows, 90, loss))
    r.begin(Starts(3, 0, r.count))
    r.sweep(0, 200, 200)
    s = r.sweeper
    exact = (
        r.form.residual(s.X).get() * (1 if s.unit is None else np.pad(s.unit, (0, r.form.b.size - rows)))
    )[:, :rows]
    size = np.abs(exact).mean()
    np.testing.assert_allclose(s.Z.get()[:, :rows], exact, atol=0.02 * size)
    x = np.abs(s.X.get())
    assert x.max() <= 1
    assert np.mean(x > 0.9) > 0.5


def test_many_short_launches_do_what_a_long_one_does(there, rng):
    found = []
    for ends in ([40], [1, 17, 40]):
        r = replicas_of(problem_of(np.random.default_rng(1), 300, 100))
        r.begin(Starts(3, 0, r.count))
        first = 0
        for last in ends:
            r.sweep(first, last, 40)
            first = last
        r.annealer.load(r.sweeper.signs())
        hot = np.linspace(20.0, 1.0, 40)
        first = 0
        for last in ends:
            r.anneal(hot[first:last], first, 5)
            first = last
        found.append((r.sweeper.X.get(), r.annealer.signs().get(), r.annealer.E.get()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rows", ROWS)
def test_objectives_are_the_judges(there, rng, rows, loss, domain):
    problem = problem_of(rng, rows, 50, loss, domain=domain)
    r = replicas_of(problem)
    S = np.where(rng.random((r.count, 4 * r.form.quads)) < 0.5, -1, 1).astype(np.int8)
    r.annealer.load(there.asarray(S))
    before = r.compiled.judged(r.form.spins(there.asarray(S)))
    r.anneal(np.zeros(1), 0, 0)
    E = r.annealer.E.get().astype(np.float64)
    after = r.compiled.judged(r.form.spins(r.annealer.signs()))
    assert np.all(after < before)
    unit = r.form.scale * r.compiled.value_scale
    np.testing.assert_allclose(unit * (E - E[0]), after - after[0], atol=2e-5 * np.abs(after).max())


def test_descent_ends_where_no_flip_helps(there, rng):
    problem = problem_of(rng, 200, 60)
    r = replicas_of(problem)
    r.begin(Starts(0, 0, r.count))
    r.annealer.load(r.sweeper.signs())
    r.anneal(np.zeros(300), 0, 0)
    for s in r.form.spins(r.annealer.signs())[:8]:
        flipped = np.where(np.eye(60) > 0, -s, s)
        assert r.compiled.judged(s[None])[0] <= r.compiled.judged(flipped).min() + 1e-3


def test_hot_replicas_wander_and_cold_ones_do_not(there, rng):
    r = replicas_of(problem_of(rng, 100, 80))
    r.begin(Starts(0, 0, r.count))
    moved = []
    for temperature in (10.0, 0.01):
        r.annealer.load(r.sweeper.signs())
        r.anneal(np.zeros(50), 0, 0)
        still = r.annealer.signs()
        r.anneal(np.full(20, temperature * r.temperature), 50, 1)
        moved.append(float((r.annealer.signs() != still).mean()))
    assert moved[0] > 0.2
    assert moved[1] < 0.01


@pytest.mark.parametrize("kind", ["ar", "duplicated", "scaled rows", "scaled columns"])
def test_hard_columns_do_not_make_sweeps_diverge(there, rng, kind):
    r, n = 300, 200
    A = rng.standard_normal((r, n))
    if kind == "ar":
        for j in range(1, n):
            A[:, j] = 0.95 * A[:, j - 1] + np.sqrt(1 - 0.95**2) * A[:, j]
    elif kind == "duplicated":
        A = A[:, np.arange(n) // 4]
    elif kind == "scaled rows":
        A *= 10.0 ** rng.uniform(-6, 6, (r, 1))
    else:
        A *= 10.0 ** rng.uniform(-4, 4, n)
    x = rng.choice([-1.0, 1.0], n)
    problem = dcra.Problem([dcra.Term("l1", A, A @ x + 0.1 * np.abs(A).mean() * rng.standard_normal(r))])
    ours = dcra.solve(problem, starts=64, seed=0, device="cuda")
    theirs = dcra.solve(problem, starts=64, seed=0)
    assert ours.fun <= 1.05 * theirs.fun
    assert ours.fun == pytest.approx(float(problem.objective(ours.x)))


def test_annealing_improves_copies(there, rng):
    r = replicas_of(problem_of(rng, 300, 300))
    r.begin(Starts(0, 0, r.count))
    r.sweep(0, 100, 100)
    r.annealer.load(r.sweeper.signs())
    r.anneal(np.zeros(3), 0, 0)
    r.keep(r.annealer.signs(), r.annealer.E.get())
    before = r.pool_values[0]
    for _ in anneal_copies(r, r.pool[:8], 50, 0.3, 1):
        pass
    assert r.pool_values[0] < before
