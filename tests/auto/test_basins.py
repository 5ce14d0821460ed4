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
