"""Trees beside what "auto" does: what they prove ends it, what they do not prove costs little."""

from __future__ import annotations

import numpy as np
import pytest

import dcra
from dcra.auto import agreement
from dcra.auto.proofs import ProvePlan, root_work
from dcra.compiled.form import compile_problem
from dcra.exact.patience import Patience
from dcra.exact.prove import ProofState


def planted(n, r, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    A, h = rng.standard_normal((r, n)), rng.choice([-1.0, 1.0], n)
    b = A @ h + noise * rng.standard_normal(r)
    b[: r // 5] = 50.0 * rng.standard_normal(r // 5)
    return dcra.Problem([dcra.Term("l1", A, b)])


def noise(n, r):
    rng = np.random.default_rng(0)
    return dcra.Problem([dcra.Term("l1", rng.standard_normal((r, n)), rng.standard_normal(r))])


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("seed", range(3))
def test_planted_points_are_optimal(seed):
    result = dcra.solve(planted(60, 120, seed), seed=0)
    assert result.status is dcra.Status.OPTIMAL
    assert result.n_starts < 32
    assert result.nodes >= 1
    assert result.certificate is not None
    assert result.fun == dcra.solve(planted(60, 120, seed), method="exact", seed=0).fun


def test_the_answer_does_not_depend_on_threads():
    problem = planted(40, 60, noise=2.0)
    one, two = (dcra.solve(problem, starts=16, seed=0, n_jobs=k) for k in (1, 2))
    assert (one.fun, one.status, one.nodes) == (two.fun, two.status, two.nodes)


def noisy(n=40, r=80):
    """Its relaxation leaves a quarter of the value open."""
    rng = np.random.default_rng(5)
    A = rng.standard_normal((r, n))
    return dcra.Problem([dcra.Term("l1", A, A @ rng.choice([-1.0, 1.0], n) + 2 * rng.standard_normal(r))])


@pytest.mark.usefixtures("compiled_loops")
def test_what_counted_starts_agree_on_is_proved(monkeypatch):
    one, two = (dcra.solve(noisy(), seed=0, n_jobs=jobs) for jobs in (1, 2))
    assert one.status is dcra.Status.OPTIMAL
    assert agreement.AGREED <= one.n_starts < 32
    assert (one.fun, one.n_starts, one.nodes) == (two.fun, two.n_starts, two.nodes)
    monkeypatch.setattr(agreement, "AGREED", 100)
    apart = dcra.solve(noisy(), seed=0)
    assert apart.status is dcra.Status.CONVERGED
    assert apart.fun == one.fun


def test_what_is_not_proved_is_searched_as_before():
    """The same starts, whatever the tree has found out."""
    problem = noise(50, 100)
    result = dcra.solve(problem, starts=8, seed=0)
    assert result.status is dcra.Status.CONVERGED
    assert result.n_starts == 8
    assert -np.inf < result.lower_bound < result.fun
    assert result.certificate is None


def test_a_tree_is_given_up_after_its_share_of_work():
    state = ProofState(compile_problem(noise(60, 120)), None, patience=Patience(2e6, 1e7))
    begun = state.bound
    while not state.done:
        state.advance(100_000)
    assert state.given_up
    assert 2e6 < state.tree.work <= 1e7 + 3e6
    assert state.least == -np.inf
    assert begun < state.bound < state.fun


def test_a_tree_that_promises_an_end_goes_on():
    problem = planted(30, 30, noise=0.5)
    whole = ProofState(compile_problem(problem), None)
    while not whole.done:
        whole.advance(10_000)
    part = ProofState(compile_problem(problem), None, patience=Patience(0.5 * whole.tree.work, 1e12))
    while not part.done:
        part.advance(10_000)
    assert not part.given_up or part.tree.closed == 0


@pytest.mark.usefixtures("compiled_loops")
def test_under_constraints():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((60, 30))
    x = np.zeros(30)
    x[:8] = 1
    result = dcra.minimize(
        A, A @ x + 0.1 * rng.standard_normal(60), domain="binary", constraints=dcra.exactly(8), seed=0
    )
    assert result.status is dcra.Status.OPTIMAL
    assert np.array_equal(result.x, x)


def test_a_point_given_is_where_the_tree_begins():
    problem = planted(30, 60)
    x = dcra.solve(problem, method="exact", seed=0).x
    result = dcra.solve(problem, method="exact", x0=x, starts=1, seed=0)
    assert result.status is dcra.Status.OPTIMAL
    assert np.array_equal(result.x, x)


def test_larger_roots_take_more_work():
    assert root_work(100, 200) < root_work(200, 200) < root_work(200, 400)
    assert ProvePlan.exact


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("seed", range(4))
def test_where_a_tree_is_given_up_does_not_depend_on_pauses(seed):
    compiled = compile_problem(planted(60, 90, seed, noise=2.0))
    ends = set()
    for work in (5_000, 50_000, 10**7):
        state = ProofState(compiled, None, patience=Patience(2e6, 1e7))
        while not state.done:
            state.advance(work)
        ends.add((state.given_up, state.tree.work, state.bound))
    assert len(ends) == 1
