import itertools

import numpy as np
import pytest
from scipy import sparse

from dcra._kernels import mixed, mixed_swap, quadratic_swap, seed, store
from dcra._kernels.state import measure
from dcra._kernels.swap import anneal_swaps
from dcra.compiled.form import compile_problem
from dcra.compiled.quadratic import thresholds
from dcra.model.problem import Problem
from dcra.model.term import Term

from . import plain
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


N, HALVES = 24, [(np.arange(0, 24, 2), 6, 6), (np.arange(1, 16, 2), 2, 5)]


def coupled(form, losses):
    draw = np.random.default_rng(2)
    Q = draw.integers(-3, 4, (N, N)) * (draw.random((N, N)) < (1.0 if form == "dense" else 0.1))
    terms = [Term("l1", draw.standard_normal((6, N)), draw.standard_normal(6))] if losses else []
    linear = draw.integers(-3, 4, N).astype(float)
    Q = sparse.csc_array(Q.astype(float)) if form == "sparse" else Q.astype(float)
    return compile_problem(Problem(terms, quadratic=Q, linear=linear))


def start(compiled):
    """Spins within the counts, and what kernels keep of them."""
    couplings = compiled.quadratic_tables
    s = np.where(np.arange(N) % 4 < 2, 1, -1).astype(np.float64 if compiled.pieces else couplings.dtype)
    g = couplings.fields(s).astype(s.dtype)
    if not compiled.pieces:
        return (couplings.C, s, g, np.full(2, couplings.value(s, g)))
    model, z, score = compiled.tables(np.float64).model, compiled.residual(s).copy(), np.zeros(3)
    mixed.value(model, couplings.field.astype(float), s, z, g, score)
    return (model, couplings.C, s, z, g, score)


def check_point(compiled, point, best):
    s, g, score = (point[2], point[4], point[5]) if compiled.pieces else point[1:4]
    np.testing.assert_allclose(g, compiled.quadratic_tables.fields(s), atol=1e-9)
    value, kept = compiled.judged(np.array([s, best], float))
    assert score[0] * compiled.value_scale + compiled.offset == pytest.approx(value)
    assert score[1] * compiled.value_scale + compiled.offset == pytest.approx(kept)
    if compiled.pieces:
        np.testing.assert_allclose(point[3], compiled.residual(s), atol=1e-9)


def ups(s):
    return [np.count_nonzero(s[members] > 0) for members, _, _ in HALVES]


def within(s):
    return all(least <= up <= most for up, (_, least, most) in zip(ups(s), HALVES, strict=True))


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("losses", [False, True])
def test_swaps_with_couplings_keep_value_and_counts(form, losses):
    compiled = coupled(form, losses)
    point = start(compiled)
    s = point[2] if losses else point[1]
    kernel = (mixed_swap if losses else quadratic_swap).anneal_swaps
    rng = seed.state(3)
    counts, best, first = store.counts(s, HALVES), s.copy(), point[-1][0]
    for temperature in np.linspace(15, 0, 30).astype(s.dtype):
        kernel(*point, best, rng, np.array([temperature]), thresholds(s.dtype), counts)
        check_point(compiled, point, best)
        assert within(s)
        np.testing.assert_array_equal(counts.ups[:2], ups(s))
    assert point[-1][1] < first


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_the_rise_of_a_swap_takes_the_coupling_in(form):
    compiled = coupled(form, False)
    C, s, g, _ = start(compiled)
    before = compiled.judged(s[None].astype(float))[0]
    for i, j in itertools.product(np.flatnonzero(s > 0), np.flatnonzero(s < 0)):
        swapped = s.astype(float)
        swapped[[i, j]] *= -1
        rise = -s[i] * g[i] - s[j] * g[j] - plain.matrix(C, N)[i, j]
        assert rise == pytest.approx(compiled.judged(swapped[None])[0] - before)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_descent_ends_where_no_swap_improves(form):
    compiled = coupled(form, False)
    C, s, _, _ = point = start(compiled)
    counts = store.counts(s, HALVES)
    reach = float(np.max(C.cols if form == "dense" else C.val))
    quadratic_swap.descend_swaps(*point, np.zeros(2, np.int64), 0.0, 10_000, counts, reach)
    check_point(compiled, point, s)
    assert within(s)
    flips = [(j,) for j in range(N)] + list(itertools.combinations(range(N), 2))
    near = np.array([np.where(np.isin(np.arange(N), flip), -s, s) for flip in flips], float)
    near = [t for t, flip in zip(near, flips, strict=True) if within(t) and same_group(flip)]
    assert compiled.judged(np.array(near)).min() >= compiled.judged(s[None].astype(float))[0]


def same_group(flip):
    group = store.counts(np.ones(N), HALVES).group
    return len({int(group[j]) for j in flip}) == 1


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_charged_flips_are_settled_within_the_counts(form):
    compiled = coupled(form, False)
    _, s, g, score = point = start(compiled)
    tally, best, rng = store.tally(s, HALVES, np.array([1.0, 2.0])), s.copy(), seed.state(5)
    anneal, settle = quadratic_swap.anneal_charged, quadratic_swap.settle
    left = False
    for temperature in np.linspace(15, 0.5, 30).astype(s.dtype):
        anneal(*point, best, rng, np.array([temperature]), thresholds(s.dtype), tally)
        check_point(compiled, point, best)
        assert within(best)
        left = left or not within(s)
        fresh = store.tally(s, HALVES, np.array([1.0, 2.0]))
        np.testing.assert_array_equal(tally.ups, fresh.ups)
        np.testing.assert_allclose(tally.charge, fresh.charge)
    assert left
    s[:], tally = 1, store.tally(np.ones(N, s.dtype), HALVES, np.array([1.0, 2.0]))
    g[:] = compiled.quadratic_tables.fields(s)
    score[0] = compiled.quadratic_tables.value(s, g)
    settle(*point, best, tally)
    assert within(s)
    check_point(compiled, point, best)
