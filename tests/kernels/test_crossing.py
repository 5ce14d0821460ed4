"""Children within counts: the best choice among the parts of a difference, against trying them all."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from dcra._kernels import store
from dcra._kernels.crossover import cross_within

N = 18


def drawn(seed, sparse, dtype=np.float64, groups=1):
    """Couplings of few entries, two points, and groups whose counts the first one satisfies."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(-4, 5, (N, N)) * (rng.random((N, N)) < 0.08), 1)
    C = (upper + upper.T).astype(float)
    field = rng.integers(-3, 4, N).astype(float)
    s, other = (rng.choice([-1.0, 1.0], N) for _ in range(2))
    members = np.array_split(rng.permutation(N)[: N - 3], groups)  # three are free
    bounds = []
    for own in members:
        ups = np.count_nonzero(s[own] > 0)
        bounds.append((own, ups - rng.integers(2), ups + rng.integers(2)))
    return C, field, s, other, bounds, made(C, sparse, dtype)


def made(C, sparse, dtype):
    if not sparse:
        return store.Dense(C.astype(dtype))
    rows, columns = np.nonzero(C.T)
    ptr = np.searchsorted(rows, np.arange(N + 1))
    return store.Sparse(ptr.astype(np.int64), columns.astype(np.int32), C[columns, rows].astype(dtype))


def value(C, field, s):
    return s @ C @ s / 8 + field @ s / 2


def holds(s, bounds):
    return all(least <= np.count_nonzero(s[own] > 0) <= most for own, least, most in bounds)


def best_choice(C, field, s, other, bounds):
    """The least value among all children within the counts that take parts which change one count at most."""
    where = np.flatnonzero(s != other)
    count, part = connected_components(C[np.ix_(where, where)] != 0, directed=False)
    best = value(C, field, s)
    for chosen in product([False, True], repeat=count):
        child = s.copy()
        child[where[np.array(chosen, bool)[part]]] *= -1
        if holds(child, bounds):
            best = min(best, value(C, field, child))
    return best


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_no_choice_of_parts_is_better(seed, sparse, dtype):
    C, field, s, other, bounds, kept = drawn(seed, sparse, dtype)
    wanted = best_choice(C, field, s, other, bounds)
    g = (field + C @ s / 2).astype(dtype)
    score, x = np.full(2, value(C, field, s)), s.astype(dtype)
    at, scratch = store.counts(x, bounds), store.crossing(N)
    changed = cross_within(kept, x, g, score, other.astype(dtype), 1.0, at, scratch)
    if sparse:  # what is stored connects: a dense store joins all
        assert score[0] == pytest.approx(wanted)
    assert changed == np.count_nonzero(x != s)
    assert holds(x, bounds)
    assert score[0] == pytest.approx(value(C, field, x.astype(float)))
    assert score[0] <= value(C, field, s)
    np.testing.assert_allclose(g, field + C @ x / 2)
    np.testing.assert_array_equal(at.ups, store.counts(x, bounds).ups)
    again = store.counts(x, bounds)
    assert set(at.members[: at.ups[0]]) == set(again.members[: again.ups[0]])


@pytest.mark.parametrize("seed", range(10))
def test_several_groups_each_keep_their_count(seed):
    C, field, s, other, bounds, kept = drawn(seed, True, groups=3)
    g, score, x = field + C @ s / 2, np.full(2, value(C, field, s)), s.copy()
    cross_within(kept, x, g, score, other, -1.0, store.counts(x, bounds), store.crossing(N))
    assert holds(x, bounds)
    assert score[0] == pytest.approx(value(C, field, x))
    assert score[0] <= value(C, field, s)


def test_a_knapsack_without_room_is_left_alone():
    C, field, s, other, bounds, kept = drawn(3, True)
    g, score, x = field + C @ s / 2, np.full(2, value(C, field, s)), s.copy()
    cross_within(kept, x, g, score, other, 1.0, store.counts(x, bounds), store.crossing(N, cells=1))
    assert holds(x, bounds)
    assert score[0] == pytest.approx(value(C, field, x))
    assert score[0] <= value(C, field, s)
