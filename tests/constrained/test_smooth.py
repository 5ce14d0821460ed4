"""Smooth starts: halves with short borders, within the counts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import dcra
from dcra.bench.bisection import geometric_graph
from dcra.compiled.form import compile_problem
from dcra.constrained import counted
from dcra.constrained.counted import SMOOTH, CountedAnnealing
from dcra.constrained.quadratic_swap import ChargedFlips
from dcra.constrained.smooth import Smooth, weights
from dcra.engines.base import Starts

pytestmark = pytest.mark.usefixtures("compiled_loops")


def grid(side: int, sign: float = -1.0, **options) -> dcra.Problem:
    """Nodes of a grid; where neighbours differ it costs 1 for each pair of them, for sign -1."""
    node = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()]).T for a, b in neighbours(node)])
    W = sparse.coo_array((np.ones(len(pairs)), pairs.T), shape=(side**2, side**2))
    return dcra.Problem(quadratic=(sign * (W + W.T) / 4).tocsr(), constant=len(pairs) / 2, **options)


def neighbours(node):
    yield node[1:], node[:-1]
    yield node[:, 1:], node[:, :-1]


def points_of(problem: dcra.Problem, count: int, work: int = 10**9) -> np.ndarray:
    state = Smooth().start(compile_problem(problem), Starts(3, 0, count))
    while not state.done:
        state.advance(work)
    return state.candidates()


def test_borders_are_short_from_the_first():
    problem = grid(30, constraints=dcra.exactly(450))
    cuts = [problem.objective(x) for x in points_of(problem, 6)]
    assert min(cuts) <= 45  # 30 is the least
    assert max(cuts) <= 150  # random halves cut 870


@pytest.mark.parametrize(("least", "most"), [(300, 300), (100, 120), (0, 900)])
def test_counts_hold(least, most):
    problem = grid(30, constraints=[dcra.at_least(least), dcra.at_most(most)])
    for x in points_of(problem, 3):
        assert set(x) <= {-1.0, 1.0}
        assert least <= np.count_nonzero(x > 0) <= most


def test_a_start_depends_on_its_number_alone_and_not_on_pauses():
    problem = grid(12, constraints=dcra.exactly(72))
    together, slowly = points_of(problem, 3), points_of(problem, 3, work=1)
    np.testing.assert_array_equal(together, slowly)
    assert all(not np.array_equal(one, other) for one, other in pairwise(together))
    alone = Smooth().start(compile_problem(problem), Starts(3, 2, 1))
    while not alone.done:
        alone.advance(1000)
    np.testing.assert_array_equal(alone.candidates()[0], together[2])


@pytest.mark.parametrize("time", [10.0, 40.0, 3000.0])
def test_weights_are_those_of_bessel(time):
    from scipy.special import ive

    found = weights(time)
    np.testing.assert_allclose(found, ive(np.arange(found.size), time), atol=1e-8)
    assert found[0] + 2 * found[1:].sum() == pytest.approx(1.0, abs=1e-8)  # heat is not lost


def test_nodes_without_couplings_are_no_fault():
    W = sparse.csr_array(([1.0, 1.0], ([0, 1], [1, 0])), shape=(60, 60))
    problem = dcra.Problem(quadratic=-W, constraints=dcra.exactly(30))
    assert all(np.count_nonzero(x > 0) == 30 for x in points_of(problem, 4))


@pytest.mark.parametrize("seed", range(3))
def test_points_joined_to_near_ones_are_cut_along_shorter_borders(monkeypatch, seed):
    W = sparse.csr_array(geometric_graph(800, 6, np.random.default_rng(seed)))
    problem = dcra.Problem(quadratic=-W, constraints=dcra.exactly(400))

    def found() -> float:
        return dcra.solve(problem, starts=12, seed=0).fun

    ours = found()
    monkeypatch.setattr(counted, "HOTS", tuple(hot for hot in counted.HOTS if hot != SMOOTH))
    assert ours < found()


def test_they_begin_a_half_of_the_runs_where_they_lead_and_few_elsewhere():
    def plan_of(problem: dcra.Problem) -> CountedAnnealing:
        return CountedAnnealing(compile_problem(problem))

    plan = plan_of(grid(12, constraints=dcra.exactly(72)))
    assert SMOOTH in plan.ways
    assert plan.engine is ChargedFlips
    first = [plan._way() for _ in range(4)]
    assert sorted(first) == sorted(plan.ways)  # each in its turn, until one is known to be better
    plan.found[SMOOTH], plan.spent = 1.0, dict.fromkeys(plan.ways, 1.0)
    assert plan._way() == SMOOTH
    assert plan._way(smooth=False) != SMOOTH
    plan.spent[SMOOTH] = 10.0
    assert {plan._way() for _ in range(4)} == set(plan.ways)
    dense = dcra.Problem(quadratic=np.ones((60, 60)), constraints=dcra.exactly(30))
    assert SMOOTH not in plan_of(dense).ways
    assert SMOOTH not in plan_of(grid(12, constraints=dcra.exactly(5))).ways  # swaps, no charged flips
