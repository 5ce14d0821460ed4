"""Nothing reaches the loops of batches, lifted factors, levels and lists unchecked."""

import numpy as np
import pytest

from dcra._kernels import batch, closest, join, lattice, lifted, tree

from .conftest import Case


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("losses", [["l1"], ["squared", "insensitive", "logistic", "capped"]], ids="-".join)
def test_batches_with_what_is_not_a_number_end(losses, bad, variant):
    case = Case(losses, **variant)
    B = np.ones((5, case.r), case.dtype)
    B[::2, ::3] = bad
    X, F = np.zeros((5, case.n), case.dtype), np.zeros(5, case.dtype)
    heats, scratch = np.array([2.0, bad, 0.0]), batch.scratch(case.n, case.r, case.dtype)
    batch.begin(scratch, 0)
    batch.batch(case.model, B, 9, 1, 7, heats, X, F, scratch)
    assert np.all(np.isin(X[1::2], (-1, 1)))


def test_batches_need_starts_and_rows():
    case = Case(["l1"])
    X, F, scratch = np.zeros((0, case.n)), np.zeros(0), batch.scratch(case.n, case.r, np.float64)
    B = np.zeros((0, case.r))
    assert batch.batch(case.model, B, 3, 1, 4, np.ones(2), X, F, scratch) == 0
    for starts in (0, 33):
        with pytest.raises(ValueError, match=r"`starts` must lie in 1\.\.32"):
            batch.batch(case.model, B, 3, 1, starts, np.ones(2), X, F, scratch)
        with pytest.raises(ValueError, match=r"`starts` must lie in 1\.\.32"):
            batch.cut(starts, X, F, scratch)
    with pytest.raises(ValueError, match="`group` must be at least 0; got -1"):
        batch.begin(scratch, -1)
    with pytest.raises(ValueError, match="`scratch` must have n = 6; got 5"):
        batch.batch(case.model, B, 1, 1, 4, np.ones(2), X, F, batch.scratch(5, case.r, np.float64))
    with pytest.raises(TypeError, match="`scratch` must be of type BatchScratch; got LiftedScratch"):
        batch.batch(case.model, B, 1, 1, 4, np.ones(2), X, F, lifted.scratch(case.n, 3, case.r))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_lifted_steps_with_what_is_not_a_number_end(bad, variant):
    case = Case(["l1", "logistic", "capped"], **variant)
    V = np.ones((case.n + 1, 3), case.dtype)
    x, z = case.point()
    z[::2] = bad
    progress, options = (
        np.array([1.0, 5, bad, bad, 0, 0, 0]),
        np.array([1.1, 9, 0, 0, 0, 3, 50, 1, 0.9, 2, 2**20]),
    )
    scratch = lifted.scratch(case.n, 3, case.r, case.dtype)
    assert lifted.advance(case.model, case.b, V, x, z, progress, options, 20, scratch) <= 20
    lifted.smoothed_value(case.model, x, z)


@pytest.mark.parametrize("n", [0, 5])
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_levels_with_what_is_not_a_number_end(bad, dtype, n):
    """A negative diagonal makes every move look like an improvement."""
    G, h, q = np.full((n, n), bad, dtype), np.ones((2, n), dtype), 4
    U, F = np.full((4, n), bad, dtype), np.empty(4)
    heats = np.array([1.0, bad])
    lattice.search_levels(G, h, 0, 4, q, 2, 1, heats, U, F, lattice.search_scratch(n, dtype))
    samples = lattice.Samples(U[:2].copy(), np.empty((2, n, q)), np.empty((2, 2)))
    scratch = lattice.sample_scratch(2, n, q, dtype)
    lattice.sample_levels(G, h, 0, 2, 1, heats, 8, 32, 0.0, samples, scratch)
    R, z, u, best = np.full((n, n), bad), np.full(n, bad), np.empty(n), np.ones(n)
    assert lattice.sphere(R, z, q, u, best, np.inf, 1000, lattice.sphere_scratch(n))[1] <= 1001
    out = np.zeros((2, n))
    tree.breadth_first(R, np.full((2, n), bad), 0, 2, q, 6, out, tree.scratch(6, n, q))
    assert np.all(np.abs(out) < q)


def test_frames_that_there_are_not():
    G, h, U, F = np.eye(3), np.ones((2, 3)), np.ones((4, 3)), np.empty(4)
    scratch = lattice.search_scratch(3, np.float64)
    for lo, hi, starts in ((-1, 4, 2), (0, 5, 3), (0, 4, 1), (0, 0, 0)):
        with pytest.raises(ValueError, match="`lo` and `hi` must be in"):
            lattice.search_levels(G, h, lo, hi, 2, starts, 1, np.ones(2), U, F, scratch)
    samples = lattice.Samples(U[:2].copy(), np.empty((2, 3, 2)), np.empty((2, 2)))
    room = lattice.sample_scratch(1, 3, 2, np.float64)
    with pytest.raises(ValueError, match=r"`lo` and `hi` must be in 0\.\.2; got 0 and 3"):
        lattice.sample_levels(G, h, 0, 3, 1, np.ones(1), 8, 8, 0.0, samples, room)
    room = lattice.sample_scratch(1, 3, 4, np.float64)
    with pytest.raises(ValueError, match="`scratch` must have q = 2; got 4"):
        lattice.sample_levels(G, h, 0, 2, 1, np.ones(1), 8, 8, 0.0, samples, room)
    with pytest.raises(ValueError, match=r"`lo` and `hi` must be in 0\.\.2; got 0 and 3"):
        tree.breadth_first(G, h, 0, 3, 2, 4, h.copy(), tree.scratch(4, 3, 2))
    with pytest.raises(ValueError, match="`scratch` must be for keep = 5 and q = 2"):
        tree.breadth_first(G, h, 0, 2, 2, 5, h.copy(), tree.scratch(4, 3, 2))


def some_lists(modulus=5):
    h = np.sort(np.random.default_rng(0).integers(0, modulus, (4, 12)), axis=1)
    key = np.random.default_rng(1).integers(0, 2**64, (4, 12), np.uint64)
    return [(k, r, np.searchsorted(r, np.arange(modulus + 1))) for k, r in zip(key, h, strict=True)]


def test_sums_that_meet():
    lists = some_lists()
    for target, hit in ((sum(int(key[3]) for key, _, _ in lists) % 2**64, True), (12345, False)):
        residue = sum(int(h[3]) for _, h, _ in lists) % 5
        hits = np.zeros(5, bool)
        work = join.meet(join.lists(*lists), target, residue, 0, 5, join.scratch(16, 40), hits)
        assert work == 3 * 12 * 12
        assert hits.any() == hit


def test_lists_are_checked():
    lists, scratch = join.lists(*some_lists()), join.scratch(16, 40)
    for wrong, message in (
        (lists._replace(h1=lists.h1 - 1), r"residues must be in 0\.\.4; got -1"),
        (lists._replace(h3=lists.h3 + 4), r"residues must be in 0\.\.4; got 4"),
        (lists._replace(start2=lists.start2[::-1].copy()), "`start` must rise from 0 to 12"),
        (lists._replace(start4=lists.start4[:-1].copy()), r"`start4` must have shape \(6\); got \(5,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            join.meet(wrong, 1, 0, 0, 5, scratch, np.zeros(5, bool))
    for lo, hi, residue in ((-1, 4, 0), (1, 6, 0), (0, 5, 5)):
        with pytest.raises(ValueError, match=r"`lo`, `hi` and `residue` must be in 0\.\.5"):
            join.meet(lists, 1, residue, lo, hi, scratch, np.zeros(5, bool))
    with pytest.raises(ValueError, match=r"`hits` must have shape \(5\)"):
        join.meet(lists, 1, 0, 0, 5, scratch, np.zeros(4, bool))
    odd = join.MeetScratch(*np.zeros((3, 3), np.uint64))
    with pytest.raises(ValueError, match="a power of two"):
        join.meet(lists, 1, 0, 0, 5, odd, np.zeros(5, bool))


def test_cells_and_places_are_checked():
    rows, key, start = np.ones((4, 2), np.int32), np.empty(4, np.int64), np.zeros(9, np.int64)
    grid = (np.array([np.nan, 1e300]), np.array([1.0, 1e300]), np.ones(2, np.uint64))
    closest.cells(rows, *grid, 61, 0, 4, key, start)
    assert start.sum() == 4
    for drop, last in ((60, 4), (0, 4), (64, 4), (61, 5)):
        with pytest.raises(ValueError, match="must"):
            closest.cells(rows, *grid, drop, 0, last, key, start)
    out, origin = np.empty_like(rows), np.empty_like(key)
    for wrong, place in ((key + 100, start.copy()), (key - 100, start.copy()), (key, start + 10)):
        with pytest.raises(ValueError, match="some rows have no place"):
            closest.scatter(rows, wrong, place, 0, 4, out, origin)
    best = np.array([100, -1, -1])
    for wrong in (np.array([0, 5]), np.array([-1, 4])):
        with pytest.raises(ValueError, match="must say where the rows of each key begin"):
            closest.closest(rows, wrong, rows, np.array([0, 4]), 0, 1, best)
    with pytest.raises(ValueError, match=r"`first` and `last` must be in 0\.\.1"):
        closest.closest(rows, np.array([0, 4]), rows, np.array([0, 4]), 0, 2, best)
