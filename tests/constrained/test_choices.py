"""Choices: colourings of graphs and the like, against all of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dcra
from dcra.compiled.form import compile_problem
from dcra.constrained.choices import ChoiceTabu, are_choices
from dcra.constrained.counted import CountedAnnealing
from dcra.constrained.swap import groups_of
from dcra.engines.base import Starts

pytestmark = pytest.mark.usefixtures("compiled_loops")


def random_choices(seed, vertices=7, options=4, domain="binary"):
    rng = np.random.default_rng(seed)
    n = vertices * options
    parts = {"quadratic": rng.integers(-5, 9, (n, n)).astype(float), "linear": rng.normal(size=n)}
    groups = rng.permutation(n).reshape(vertices, options)
    return dcra.Problem(**parts, domain=domain, constraints=dcra.one_of(groups)), groups


def least(problem, groups):
    low = 0.0 if problem.domain == "binary" else -1.0
    choices = np.array(list(itertools.product(*groups)))
    points = np.full((len(choices), problem.n), low)
    np.put_along_axis(points, choices, 1.0, axis=1)
    return float(np.min(problem.objective(points)))


@pytest.mark.parametrize("domain", ["binary", "spin"])
def test_the_best_choices_are_found(domain):
    for seed in range(4):
        problem, groups = random_choices(seed, domain=domain)
        result = dcra.solve(problem, starts=4, seed=0)
        assert result.feasible
        assert result.fun == pytest.approx(least(problem, groups), abs=1e-9)


def test_tabu_alone_keeps_the_choices_and_finds_the_best():
    problem, groups = random_choices(9)
    compiled = compile_problem(problem)
    state = ChoiceTabu(2000).start(compiled, Starts(0, 0, 2))
    while not state.done:
        state.advance(5000)
    points = compiled.decode(state.candidates())
    assert np.all(problem.violation(points) == 0)
    assert np.min(problem.objective(points)) == pytest.approx(least(problem, groups), abs=1e-9)
    again = ChoiceTabu(2000).start(compiled, Starts(0, 0, 2))
    while not again.done:
        again.advance(70_000)
    np.testing.assert_array_equal(state.candidates(), again.candidates())


def test_only_choices_of_all_variables_are_searched_so():
    problem, groups = random_choices(0)
    compiled = compile_problem(problem)
    assert are_choices(compiled, groups_of(compiled))
    assert CountedAnnealing(compiled).choices
    for rules in (dcra.one_of(groups[1:]), dcra.exactly(3), [dcra.at_most(1, group) for group in groups]):
        other = compile_problem(problem.replace(constraints=rules))
        assert not are_choices(other, groups_of(other))
    losses = problem.replace(terms=[dcra.Term("l1", np.ones((1, problem.n)), 0.0)])
    compiled = compile_problem(losses)
    assert not are_choices(compiled, groups_of(compiled))
    assert dcra.solve(losses, starts=2, seed=0).feasible
