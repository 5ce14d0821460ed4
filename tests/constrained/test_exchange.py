"""Assignments: boards are recognised, and searched by exchanges, against all seatings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import dcra
from dcra.auto.decision import Traits
from dcra.compiled.form import compile_problem
from dcra.constrained.exchange import exchange_unit
from dcra.model.board import board_of

KINDS = ["square", "wide", "tall", "matching", "one side", "holes"]


def rules_of(kind, size=5):
    """Variables (rows, columns), -1 where there is none, and constraints."""
    rows, columns = {"wide": (size - 1, size), "tall": (size, size - 1)}.get(kind, (size, size))
    at = np.arange(rows * columns).reshape(rows, columns)
    if kind == "wide":
        return at, [dcra.one_of(at), *(dcra.at_most(1, column) for column in at.T)]
    if kind == "tall":
        return at, [dcra.one_of(at.T), *(dcra.at_most(1, row) for row in at)]
    if kind == "matching":
        return at, [dcra.at_most(1, group) for group in (*at, *at.T)]
    if kind == "one side":  # nobody else claims the last column
        return at, [dcra.one_of(at), dcra.one_of(at.T[:-1])]
    if kind == "holes":
        keep = np.random.default_rng(0).random(at.shape) < 0.75
        np.fill_diagonal(keep, True)
        at = np.where(keep, np.cumsum(keep).reshape(at.shape) - 1, -1)
        groups = [group[group >= 0] for group in (*at, *at.T)]
        return at, dcra.one_of(groups)
    return at, LinearConstraint(
        np.stack([np.isin(at, group).ravel() for group in (*at, *at.T)]).astype(float), 1, 1
    )


def problem_of(kind, seed, domain="binary"):
    rng = np.random.default_rng(seed)
    at, rules = rules_of(kind)
    n = int(at.max()) + 1
    if domain == "spin" and kind == "square":
        rules = dcra.one_of([*at, *at.T])
    parts = {"quadratic": rng.normal(size=(n, n)), "linear": rng.normal(size=n) - (kind == "matching")}
    return dcra.Problem(**parts, domain=domain, constraints=rules)


def best_choice(problem, groups):
    """The least objective where one of each group is up and the constraints hold, over all choices."""
    choices = np.array(list(itertools.product(*([v for v in group if v >= 0] for group in groups))))
    points = np.full((len(choices), problem.n), 0.0 if problem.domain == "binary" else -1.0)
    np.put_along_axis(points, choices, 1.0, axis=1)
    points = points[problem.constraints.violation(points) == 0]
    return min(problem.objective(x) for x in points)


@pytest.mark.parametrize("kind", KINDS)
def test_the_board_holds_all_that_is_feasible(kind):
    """Points of the board are feasible, and no feasible point is missing: 16 variables, all points."""
    at, rules = rules_of(kind, 3 if kind in ("matching", "one side") else 4)
    n = int(at.max()) + 1
    problem = dcra.Problem(linear=np.ones(n), domain="binary", constraints=rules)
    points = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    feasible = {tuple(x) for x in points[problem.constraints.violation(points) == 0]}
    board = board_of(problem.constraints)
    met = set()
    for seats in itertools.permutations(range(len(board.cells))):
        taken = board.cells[np.arange(len(seats)), list(seats)]
        if np.all(taken != -2):
            x = np.zeros(n)
            x[taken[taken >= 0]] = 1
            met.add(tuple(x))
    assert met == feasible


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "matching"])
def test_the_best_assignment_is_found(kind):
    for seed in range(3):
        problem, at = problem_of(kind, seed), rules_of(kind)[0]
        result = dcra.solve(problem, starts=4, seed=0)
        assert result.feasible
        least = best_choice(problem, at.T if kind == "tall" else at)
        assert result.fun == pytest.approx(least, abs=1e-9)


@pytest.mark.usefixtures("compiled_loops")
def test_spins_seeds_and_starts():
    problem = problem_of("square", 0, "spin")
    first = dcra.solve(problem, starts=3, seed=1)
    again = dcra.solve(problem, starts=3, seed=1, n_jobs=1)
    assert np.array_equal(first.x, again.x)
    assert first.fun == pytest.approx(best_choice(problem, rules_of("square")[0]), abs=1e-9)
    kept = dcra.solve(problem, starts=1, seed=2, x0=first.x)
    assert kept.fun <= first.fun + 1e-9


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("kind", KINDS)
def test_the_plan_is_chosen_by_the_rows(kind):
    traits = Traits(None, compile_problem(problem_of(kind, 0)), None)
    assert traits.board is not None
    assert traits.without_losses
    assert exchange_unit(traits.compiled, traits.board) > 0


def test_what_is_no_board():
    at = np.arange(30).reshape(5, 6)
    for rules in (
        dcra.exactly(3),
        [dcra.one_of(at), dcra.exactly(2, at[:, 0])],
        [dcra.one_of(at[:4])],  # the last row is nobody's
        [dcra.one_of([*at, *at.T]), dcra.at_most(1, [0, 7])],  # a third kind
        [dcra.one_of([*at, [0, 1]])],  # two variables of one row and one column
        [dcra.one_of([*at, [0, 6], [0, 12]])],
    ):
        problem = dcra.Problem(linear=np.ones(30), domain="binary", constraints=rules)
        assert board_of(problem.constraints) is None


def test_nobody_can_sit():
    """Five rows in four columns: no board, and the search says that nothing is feasible."""
    at = np.arange(20).reshape(5, 4)
    groups = {str(i): dcra.one_of([group]) for i, group in enumerate([*at, *at.T])}
    problem = dcra.Problem(quadratic=np.ones((20, 20)), domain="binary", constraints=groups)
    assert board_of(problem.constraints) is None
    assert dcra.solve(problem, seed=0, starts=1).status == "infeasible"


@pytest.mark.usefixtures("compiled_loops")
def test_penalties_are_left_to_other_objectives():
    """With losses, or without couplings, the plan is another one; the answer is feasible all the same."""
    _, rules = rules_of("square")
    rng = np.random.default_rng(0)
    problem = dcra.Problem(
        [dcra.Term("l1", rng.normal(size=(6, 25)), np.zeros(6))], domain="binary", constraints=rules
    )
    assert not Traits(None, compile_problem(problem), None).without_losses
    assert dcra.solve(problem, starts=2, seed=0).feasible
    linear = dcra.Problem(linear=rng.normal(size=25), domain="binary", constraints=rules)
    result = dcra.solve(linear, starts=2, seed=0)
    assert result.status == "optimal"
