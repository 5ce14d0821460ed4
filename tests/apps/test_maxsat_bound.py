"""The semidefinite bound on clauses of at most two literals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dcra
from dcra.apps import maxsat
from dcra.apps.maxsat import ClauseProblem, Clauses, random_clauses
from dcra.apps.maxsat.bound import SIGNS, BoundsInTurn, ClausePairs, PairStage, stage_for
from dcra.bounds.dual import DualStage
from dcra.cli import run
from dcra.compiled.form import compile_problem


def drawn(seed: int, n: int = 9, hard: int = 0, units: bool = True) -> Clauses:
    """Soft units and pairs with weights, whole or not, and hard clauses that a hidden point makes true."""
    rng = np.random.default_rng(seed)

    def draw(k: int) -> list[int]:
        return [int(v) for v in (rng.permutation(n)[:k] + 1) * rng.choice([-1, 1], k)]

    soft = [draw(int(k)) for k in rng.integers(1 if units else 2, 3, 30)]
    weights = rng.integers(1, 9, 30) if seed % 2 else rng.random(30) + 0.1
    hidden = rng.choice([-1, 1], n)
    firm = [draw(int(k)) for k in rng.integers(1, 4, 8 * hard)]
    firm = [c for c in firm if any(hidden[abs(v) - 1] * v > 0 for v in c)][:hard]
    return Clauses.of(soft, weights, firm, n=n)


def least_cost(clauses: Clauses) -> float:
    points = itertools.product([0.0, 1.0], repeat=clauses.n)
    return min(clauses.cost(x) for x in map(np.array, points) if clauses.violated(x) == 0)


def finished(stage):
    while not stage.done:
        stage.advance(10_000)
    return stage


@pytest.mark.parametrize("hard", [0, 6])
@pytest.mark.parametrize("seed", range(8))
def test_bounds_hold_and_are_close(seed, hard):
    clauses = drawn(seed, hard=hard)
    least = least_cost(clauses)
    for fun in (least, 3 * least, np.inf):  # a poor estimate makes a poor bound, never a wrong one
        bound = finished(PairStage(clauses, fun)).bound
        assert bound <= least + 1e-9
    assert finished(PairStage(clauses, least)).bound >= 0.8 * least


def test_prices_make_the_bound_tighter():
    clauses = random_clauses(60, 400, 2, 0)
    cost = maxsat.solve(clauses, starts=8, seed=0).cost
    stage = PairStage(clauses, cost)
    while stage.proofs == 0:
        stage.advance(10_000)
    plain = stage.bound
    assert 0.8 * cost < plain < finished(stage).bound <= cost
    assert stage.bound > plain + 0.3 * (cost - plain)


def test_the_priced_form_is_the_cost_less_the_prices():
    clauses = drawn(3, n=6, hard=4)
    pairs = ClausePairs(clauses)
    prices = np.random.default_rng(0).random(pairs.least_price.shape)
    couplings, constant, _ = pairs.priced(prices)
    for x in map(np.array, itertools.product([0.0, 1.0], repeat=6)):
        if clauses.violated(x):
            continue
        s = 2 * x - 1
        factors = [1 + SIGNS[:, k] * s[v][:, None] for k, v in enumerate((pairs.i, pairs.j))]
        paid = np.sum(prices * factors[0] * factors[1] / 4)
        value = couplings.value(s, couplings.fields(s)) + constant
        assert value == pytest.approx(clauses.cost(x) - paid)


def test_hard_pairs_that_cannot_be_true_do_not_push_the_bound_too_far():
    clauses = Clauses.of([[1], [2]], hard=[[1, 2], [1, -2], [-1, 2], [-1, -2]])
    problem = ClauseProblem(clauses)
    best = min(problem.objective(np.array(x)) for x in itertools.product([0.0, 1.0], repeat=2))
    assert finished(PairStage(clauses, np.inf)).bound <= clauses.top <= best


@pytest.mark.usefixtures("compiled_loops")
def test_which_stage_takes_which_clauses():
    def stage(clauses, seconds=np.inf):
        return stage_for(compile_problem(ClauseProblem(clauses)), clauses, 1.0, seconds)

    pairs = random_clauses(30, 60, 2, 0)
    assert isinstance(stage(pairs), PairStage)
    mixed = stage(Clauses.of([[1], [-1, 2]], hard=[[1, 2, 3]]))
    assert isinstance(mixed, BoundsInTurn)
    assert [type(s) for s in mixed.stages] == [PairStage, DualStage]
    assert stage(Clauses.of([[1], [2]])) is None  # no pair
    assert stage(random_clauses(30, 60, 3, 0)) is None
    assert stage(random_clauses(9000, 9000, 2, 0)) is None  # too many variables
    assert stage(pairs, seconds=1e-6) is None


def complete_graph(n: int) -> Clauses:
    """Max-Cut of a complete graph: of odd size, the bound is the optimum once rounded up."""
    edges = itertools.combinations(range(1, n + 1), 2)
    return Clauses.of([c for u, v in edges for c in ([u, v], [-u, -v])])


@pytest.mark.usefixtures("compiled_loops")
def test_the_search_ends_when_the_bound_is_met():
    answer = maxsat.solve(complete_graph(31), time_limit=60, seed=0)
    assert answer.cost == 31 * 30 // 2 - 240
    assert answer.optimal
    assert answer.lower_bound == answer.cost
    assert answer.result.gap == 0
    assert answer.result.seconds < 60


@pytest.mark.usefixtures("compiled_loops")
def test_bounds_of_timed_and_counted_searches_hold():
    clauses = random_clauses(80, 500, 2, 1)
    answer = maxsat.solve(clauses, starts=8, seed=0)
    assert 0.9 * answer.cost < answer.lower_bound <= answer.cost
    assert answer.lower_bound == int(answer.lower_bound)
    again = maxsat.solve(clauses, starts=8, seed=0, n_jobs=1)
    assert again.lower_bound == answer.lower_bound


@pytest.mark.usefixtures("compiled_loops")
def test_the_command_line_shows_the_bound(tmp_path, capsys):
    path = tmp_path / "complete.cnf"
    dcra.io.write(path, ClauseProblem(complete_graph(31)))
    assert run(["solve", str(path), "--starts", "4", "--seed", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("c cost 225 (proven optimal)") for line in lines)
    assert "s OPTIMUM FOUND" in lines
    dcra.io.write(path, ClauseProblem(random_clauses(80, 500, 2, 1)))
    assert run(["solve", str(path), "--starts", "4", "--seed", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("by bound)" in line and "at least 0" not in line for line in lines)
