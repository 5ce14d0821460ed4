"""Runs that leave the best point, and are crossed with it."""

import numpy as np
import pytest

import dcra
from dcra.apps.quadratic import cut_problem
from dcra.auto.annealing import Annealing, anneal
from dcra.auto.basins import Basins
from dcra.auto.decision import Traits
from dcra.bench.maxcut import torus
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.polish.anneal import Anneal
from dcra.search.driver import run
from dcra.search.plans import Outcome
from dcra.search.state import Limits, Search


def a_torus(n=400, seed=5):
    return cut_problem(n, *torus(n, np.random.default_rng(seed)))


def ended(engine, compiled, starts):
    state = engine.start(compiled, starts)
    while not state.done:
        state.advance(10**6)
    return state.candidates()[0]


def test_a_run_that_leaves_its_start_ends_elsewhere():
    compiled = compile_problem(a_torus())
    best = ended(Anneal(3000), compiled, Starts(0, 0, 1))
    from_best = Starts(0, 1, 1, best[None])
    assert np.array_equal(ended(Anneal(30, 0.5), compiled, from_best), best)
    assert not np.array_equal(ended(Anneal(30, 0.5, leaving=True), compiled, from_best), best)


def test_sparse_couplings_alone_are_searched_so():
    rng = np.random.default_rng(0)
    for problem, kind in (
        (a_torus(), Basins),
        (dcra.Problem(quadratic=rng.standard_normal((40, 40))), Annealing),
    ):
        compiled = compile_problem(problem)
        search = Search(compiled, Limits(starts=2), 0, 0.0)
        assert type(anneal(Traits(search, compiled, None))) is kind


def test_the_best_point_has_the_value_that_is_kept_with_it():
    problem = a_torus()
    compiled = compile_problem(problem)
    plan = Basins(compiled)
    result = run(Search(compiled, Limits(starts=20), 0, 0.0), plan)
    assert plan.passes_made[True] > 0
    assert problem.objective(compiled.decode(plan.best[1])) == plan.best[0] == result.fun


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_same_seed_gives_the_same_answer(jobs):
    problem = a_torus(1000)
    once = dcra.solve(problem, starts=20, seed=3, n_jobs=1)
    again = dcra.solve(problem, starts=20, seed=3, n_jobs=jobs)
    assert np.array_equal(once.x, again.x)


def told(plan, search, seconds):
    """Let a plan learn that the time is `seconds` later, from one more task."""
    search.limits.clock.now += seconds
    task = plan.next(search)
    state = task.begin(search)
    while not state.done:
        state.advance(10**6)
    plan.learn(search, task, Outcome(state.candidates(), state, seconds), np.inf)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.usefixtures("compiled_loops")
def test_a_lineage_that_gains_no_more_ends_and_the_best_of_all_are_joined_at_last():
    compiled = compile_problem(a_torus())
    search = Search(compiled, Limits(time_limit=100.0, clock=Clock()), 0, 0.0)
    plan = Basins(compiled)
    for _ in range(30):
        told(plan, search, 0.1)
    first = plan.best
    plan.gained = search.seconds - 1.0  # where it is hard to gain any more
    told(plan, search, 40.0)
    assert plan.ancestor is not None
    assert plan.ancestor[0] <= first[0]
    assert plan.best[0] == np.inf
    assert not plan.elite
    for _ in range(5):
        told(plan, search, 0.1)
    second = plan.best
    told(plan, search, 50.0)
    assert plan.last
    assert plan.best[0] <= min(plan.ancestor[0], second[0])
    assert search.fun <= first[0]
    value = compiled.problem.objective(compiled.decode(plan.best[1][None]))[0]
    assert plan.best[0] == pytest.approx(value)


@pytest.mark.usefixtures("compiled_loops")
def test_counted_starts_have_one_lineage():
    compiled = compile_problem(a_torus())
    search = Search(compiled, Limits(starts=50, clock=Clock()), 0, 0.0)
    plan = Basins(compiled)
    for _ in range(20):
        told(plan, search, 100.0)
    assert plan.ancestor is None
    assert not plan.last
