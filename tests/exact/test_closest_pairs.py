"""Closest pairs of partial sums: the loops against plain ones, and what the search finds."""

from __future__ import annotations

import numpy as np
import pytest

import dcra
from dcra._kernels.closest import closest
from dcra.bench.marketsplit import drawn
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.exact.closest_pairs import Closest, Grid, subset_sums, suitable
from dcra.exact.free_variables import central_point, narrowest
from dcra.exact.integer_equations import equations_of


def lists(seed: int, N: int = 300, m: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(-40, 40, (N, m)).astype(np.int32), rng.integers(-40, 40, (N, m)).astype(np.int32)


def outcome(steps):
    """What a search in steps returns in the end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def sorted_by(grid: Grid, rows: np.ndarray):
    return outcome(grid.sort(rows))


def plain_keys(grid: Grid, rows: np.ndarray) -> np.ndarray:
    cell = np.floor((rows + grid.shift) * grid.scale).astype(np.int64).astype(np.uint64)
    return ((cell * grid.factors).sum(axis=1, dtype=np.uint64) >> np.uint64(64 - grid.bits)).astype(np.int64)


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_sorted_by_their_cells(seed):
    rows, _ = lists(seed)
    grid = Grid(rows, np.random.default_rng(seed))
    found, key = sorted_by(grid, rows), plain_keys(Grid(rows, np.random.default_rng(seed)), rows)
    np.testing.assert_array_equal(found.sums, rows[found.subset])
    np.testing.assert_array_equal(found.subset, np.argsort(key, kind="stable"))
    np.testing.assert_array_equal(np.diff(found.start), np.bincount(key, minlength=grid.keys))


@pytest.mark.parametrize("seed", range(3))
def test_the_closest_rows_that_share_a_key(seed):
    left, right = lists(seed)
    grid = Grid(left, np.random.default_rng(seed))
    one, two = sorted_by(grid, left), sorted_by(grid, right)
    best = np.array([10**6, -1, -1])
    pairs = closest(one.sums, one.start, two.sums, two.start, 0, grid.keys, best)
    same = plain_keys(grid, left)[:, None] == plain_keys(grid, right)
    distance = np.abs(left[:, None].astype(int) - right).sum(axis=2)
    assert pairs == np.count_nonzero(same)
    assert best[0] == distance[same].min()
    assert np.abs(one.sums[best[1]] - two.sums[best[2]]).sum() == best[0]


@pytest.mark.parametrize("k", [3, 16])
def test_all_sums_are_there(k):
    B = np.random.default_rng(k).integers(-9, 10, (3, k))
    sums = outcome(subset_sums(B))
    subsets = np.random.default_rng(0).integers(0, 2**k, 50)
    chosen = (subsets[:, None] >> np.arange(k)) & 1
    assert sums.shape == (2**k, 3)
    np.testing.assert_array_equal(sums[subsets], chosen @ B.T)


def test_the_point_has_the_distance_that_was_found():
    problem = drawn(5, 30, 0)
    state = Closest(half=9, grids=3).start(compile_problem(problem), Starts(0, 0, 1))
    while not state.done:
        state.advance(1)
    assert problem.objective((state.candidates()[0] + 1) / 2) == state.least
    assert state.work > 0


def test_pairs_are_nearer_than_random_points():
    problem = drawn(9, 50, 1)
    found = dcra.solve(problem, method=Closest(half=12), starts=2, seed=0)
    assert found.fun < dcra.solve(problem, method="flip", starts=100, seed=0).fun
    again = dcra.solve(problem, method=Closest(half=12), starts=2, seed=0, n_jobs=1)
    np.testing.assert_array_equal(found.x, again.x)


def test_few_equations_are_solved():
    problem = drawn(3, 20, 0)  # all variables are free
    assert dcra.solve(problem, method=Closest(half=10, grids=8), starts=1, seed=0).fun == 0


@pytest.mark.usefixtures("compiled_loops")
def test_what_it_is_for():
    large, small = drawn(15, 100, 0), drawn(4, 100, 0)
    huge = dcra.Problem([dcra.Term("l1", 1e8 * large.terms[0].operator.A, 0.0)], domain="binary")
    for problem, fits in ((large, True), (small, False), (huge, False)):
        assert suitable(compile_problem(problem), equations_of(problem)) is fits


def test_free_variables_are_those_that_span_least():
    rng = np.random.default_rng(0)
    B = rng.integers(0, 100, (4, 30))
    kept = rng.permutation(30)[:25]
    free = narrowest(B, kept, 12)
    assert set(free) <= set(kept)
    assert len(set(free)) == 12

    def volume(columns):
        return np.linalg.slogdet(B[:, columns] @ B[:, columns].T)[1]

    assert volume(free) < min(volume(rng.permutation(kept)[:12]) for _ in range(200))


def test_fixed_variables_leave_half_of_the_sums():
    equations = equations_of(drawn(8, 100, 0))
    rng = np.random.default_rng(1)
    free, fixed = np.arange(30), np.arange(30, 70)
    t = central_point(equations, free, fixed, rng)
    assert not t[free].any()

    def off(t):
        lack = equations.d - equations.B @ t - 0.5 * equations.B[:, free].sum(axis=1)
        return np.linalg.norm(lack)

    draws = rng.integers(0, 2, (200, 70))
    draws[:, free] = 0
    assert off(t) < 0.5 * min(map(off, draws))


def test_a_limit_of_time_holds_beside_pairs():
    result = dcra.solve(drawn(9, 20, 0), time_limit=2.2, seed=0)
    assert result.status in ("time_limit", "optimal")
