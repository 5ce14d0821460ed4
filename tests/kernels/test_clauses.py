"""The loops over clauses keep what they say they keep."""

import itertools

import numpy as np
import pytest

from dcra._kernels import seed
from dcra._kernels.clauses import anneal_clauses, place, propagate, walk_clauses
from dcra._kernels.formula import formula, walk


class Case:
    """Random clauses of one to three literals, a few hard, and plain twins of what the loops keep."""

    def __init__(self, n=7, m=25, rng_seed=0):
        rng = np.random.default_rng(rng_seed)
        self.lists = [(rng.permutation(n)[:k] + 1) * rng.choice([-1, 1], k) for k in rng.integers(1, 4, m)]
        self.hard = rng.random(m) < 0.3
        self.cost = np.where(self.hard, 0.0, rng.integers(1, 9, m))
        self.weight = np.where(self.hard, 5.0, self.cost)
        ptr = np.concatenate([[0], np.cumsum([len(c) for c in self.lists])])
        self.formula = formula(ptr, np.concatenate(self.lists), n, self.cost, self.hard)
        self.x = rng.integers(0, 2, n).astype(np.uint8)

    def false(self, x):
        return np.array([not any(x[abs(l) - 1] == (l > 0) for l in c) for c in self.lists])

    def check(self, state):
        false = self.false(state.x)
        assert state.total[0] == np.count_nonzero(false & self.hard)
        assert state.total[1] == self.cost[false].sum()
        assert set(state.broken[: int(state.total[0])]) == set(np.flatnonzero(false & self.hard))
        for v in range(state.x.size):
            x = state.x.copy()
            x[v] ^= 1
            rise = self.weight[self.false(x)].sum() - self.weight[false].sum()
            assert state.change[v] == pytest.approx(rise)


@pytest.mark.parametrize("rng_seed", range(3))
def test_annealing_keeps_changes_and_totals(rng_seed):
    case = Case(rng_seed=rng_seed)
    state = walk(case.formula, case.x, case.weight)
    place(case.formula, state)
    case.check(state)
    best_x, best = case.x.copy(), state.total.copy()
    work = anneal_clauses(case.formula, state, best_x, best, seed.state(rng_seed), np.linspace(6, 0.5, 30))
    assert work > 0
    case.check(state)
    false = case.false(best_x)
    assert best.tolist() == [np.count_nonzero(false & case.hard), case.cost[false].sum()]


def test_the_walk_ends_where_most_hard_clauses_are_true():
    case = Case(rng_seed=5)
    state = walk(case.formula, case.x, case.hard.astype(float))
    place(case.formula, state)
    best_x, best = case.x.copy(), state.total.copy()
    walk_clauses(case.formula, state, best_x, best, seed.state(0), 10_000, 1.0)
    assert best[0] == np.count_nonzero(case.false(best_x) & case.hard)
    points = itertools.product([0, 1], repeat=case.x.size)
    assert best[0] == min(np.count_nonzero(case.false(np.array(x)) & case.hard) for x in points)


def test_units_decide_first():
    """Not 1 or 2, not 2 or 3, and 1: all are forced whatever is asked for."""
    lists = [[-1, 2], [-2, 3], [1]]
    ptr = np.array([0, 2, 4, 5])
    built = formula(ptr, np.concatenate(lists), 3, np.zeros(3), np.ones(3, bool))
    x = np.zeros(3, np.uint8)
    scratch = (np.zeros(3, np.uint8), np.empty(3, np.int32), np.zeros(3, np.uint8), np.empty(3, np.int32))
    assert propagate(built, x, np.array([2, 1, 0]), *scratch) == 0
    assert x.tolist() == [1, 1, 1]
