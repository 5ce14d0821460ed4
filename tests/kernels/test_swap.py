import itertools

import numpy as np
import pytest

from dcra._kernels import seed, store
from dcra._kernels.state import measure
from dcra._kernels.swap import anneal_swaps

from .conftest import Case
from .test_search import check_state

GROUPS = [(np.array([0, 2, 4]), 1, 1), (np.array([1, 3]), 0, 1)]


def begin(case):
    x = np.full(case.n, -1, case.dtype)
    x[[2, 3]] = 1
    z = (case.A @ x - case.b).astype(case.dtype)
    score = np.zeros(3)
    measure(case.model, x, z, score)
    return x, z, score, store.counts(x, GROUPS)


def allowed(x):
    ups = [int(np.count_nonzero(x[members] > 0)) for members, _, _ in GROUPS]
    return all(least <= up <= most for up, (_, least, most) in zip(ups, GROUPS, strict=True))


def check_counts(x, counts):
    """The bookkeeping is what a fresh one would be, up to the order of members."""
    fresh = store.counts(x, GROUPS)
    np.testing.assert_array_equal(counts.ups, fresh.ups)
    np.testing.assert_array_equal(counts.members[counts.place], np.arange(x.size))
    for g in range(counts.ups.size):
        edge = counts.start[g] + counts.ups[g]
        assert np.all(x[counts.members[counts.start[g] : edge]] > 0)
        assert np.all(x[counts.members[edge : counts.start[g + 1]]] < 0)


@pytest.mark.parametrize("losses", [["l1"], ["squared", "hinge"]], ids="-".join)
def test_swaps_keep_counts_and_find_the_best_point(losses, variant):
    case = Case(losses, **variant)
    x, z, score, counts = begin(case)
    best = x.copy()
    rng = seed.state(7)
    for temperatures in np.array_split(np.linspace(2.0, 1e-9, 60), 4):
        anneal_swaps(case.model, x, z, score, best, rng, temperatures, counts, 2)
        check_state(case, x, z, score)
        check_counts(x, counts)
        assert allowed(x)
    assert allowed(best)
    points = np.array(list(itertools.product((1.0, -1.0), repeat=case.n)))
    least = min(case.objective(p) for p in points if allowed(p))
    assert case.objective(best) == pytest.approx(least, rel=1e-4, abs=1e-4)
    assert score[2] == pytest.approx(case.objective(best), rel=1e-4, abs=1e-4)


def test_without_groups_every_variable_is_free():
    case = Case(["l1"])
    x, z, score, _ = begin(case)
    counts, best = store.counts(x, []), x.copy()
    anneal_swaps(case.model, x, z, score, best, seed.state(1), np.linspace(2.0, 1e-9, 60), counts, 2)
    points = np.array(list(itertools.product((1.0, -1.0), repeat=case.n)))
    assert case.objective(best) == pytest.approx(min(map(case.objective, points)))
