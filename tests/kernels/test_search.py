import itertools

import numpy as np
import pytest

from dcra._kernels import seed, store
from dcra._kernels.anneal import anneal
from dcra._kernels.batch import MAX_WORK, batch, scratch
from dcra._kernels.batch import begin as begin_batch
from dcra._kernels.batch import cut as cut_batch
from dcra._kernels.flip import flip, pair
from dcra._kernels.gray import gray
from dcra._kernels.state import measure
from dcra._kernels.tabu import rises_at, tabu

from . import plain
from .conftest import LOSSES, Case, to_sparse

LISTS = [["l1"], ["squared", "hinge"], ["logistic", "capped", "quantile"]]


def brute(case):
    points = np.array(list(itertools.product((1.0, -1.0), repeat=case.n)))
    return min((case.objective(x), tuple(x)) for x in points)


def begin(case, seed_=1):
    x, z = case.point(seed_)
    score = np.zeros(3)
    measure(case.model, x, z, score)
    return x, z, score


def close(case):
    return {"rel": 1e-4 if case.dtype == np.float32 else 1e-10, "abs": 1e-5}


def check_state(case, x, z, score):
    np.testing.assert_allclose(z, case.A @ x - case.b, atol=1e-4 if z.itemsize == 4 else 1e-10)
    assert score[0] + score[1] == pytest.approx(case.objective(x), **close(case))


@pytest.mark.parametrize("losses", LISTS, ids="-".join)
def test_flip_ends_one_flip_optimal(losses, variant):
    case = Case(losses, **variant)
    x, z, score = begin(case)
    cursor = np.zeros(2, np.int64)
    while cursor[1] < case.n:
        flip(case.model, x, z, score, np.arange(case.n), cursor, 3)
    check_state(case, x, z, score)
    for j in range(case.n):
        x[j] = -x[j]
        assert case.objective(x) >= score[2] - 1e-5 * abs(score[2])
        x[j] = -x[j]


@pytest.mark.parametrize("losses", LISTS, ids="-".join)
def test_pair_ends_two_flip_optimal(losses, variant):
    case = Case(losses, weight=(1, 2), **variant)
    x, z, score = begin(case)
    cursor = np.zeros(2, np.int64)
    while cursor[1] < case.n:
        pair(case.model, x, z, score, np.arange(case.n), cursor, 2)
    check_state(case, x, z, score)
    for i, j in itertools.combinations_with_replacement(range(case.n), 2):
        y = x.copy()
        y[[i, j]] = -y[[i, j]]
        assert case.objective(y) >= score[2] - 1e-5 * abs(score[2])


@pytest.mark.parametrize("losses", LISTS, ids="-".join)
def test_anneal_keeps_its_best_and_its_books(losses, variant):
    case = Case(losses, **variant)
    x, z, score = begin(case)
    best_x, first = x.copy(), score[2]
    temperatures = np.geomspace(5, 0.05, 40)
    anneal(case.model, x, z, score, best_x, seed.state(3), temperatures, store.memory(case.n), 1.0)
    check_state(case, x, z, score)
    assert score[2] <= first
    assert score[2] == pytest.approx(case.objective(best_x), **close(case))


def test_anneal_in_chunks_and_again():
    case = Case(["l1"])
    temperatures, ends = np.geomspace(5, 0.05, 12), []
    for cut in (12, 5):
        x, z, score = begin(case)
        best_x, rng, memory = x.copy(), seed.state(3), store.memory(case.n)
        anneal(case.model, x, z, score, best_x, rng, temperatures[:cut], memory, 1.0)
        anneal(case.model, x, z, score, best_x, rng, temperatures[cut:], memory, 1.0)
        ends.append((*x, *best_x, *score))
    assert ends[0] == ends[1]


def plain_anneal(case, x, rng, temperatures, margin=3.0, recent=100):
    """`anneal` with caution 1, a column at a time and every objective computed anew; the flips, in order."""
    rise, stamp, due = np.zeros(case.n), np.full(case.n, -1), np.zeros(case.n)
    flips, drift, looks = [], 0.0, 0
    for temperature in temperatures:
        for j in range(case.n):
            now = len(flips)
            if due[j] > now:
                continue
            if stamp[j] != now:
                before = case.objective(x)
                x[j] = -x[j]
                found = case.objective(x) - before
                x[j] = -x[j]
                if stamp[j] >= 0:
                    looks += 1
                    drift += ((found - rise[j]) ** 2 / (now - stamp[j]) - drift) / min(looks, recent)
                rise[j], stamp[j] = found, now
                away = found - margin * temperature
                if away > 0 and looks > case.n and drift > 0:
                    due[j] = now + int(min(away**2 / drift, 1e6))
            if rise[j] > 0 and (
                rise[j] > 40 * temperature
                or (plain.draw(rng) >> 11) * 2.0**-53 >= np.exp(-rise[j] / temperature)
            ):
                continue
            x[j], rise[j], stamp[j] = -x[j], -rise[j], now + 1
            flips.append(j)
    return flips


def test_anneal_looks_at_columns_when_they_are_due():
    """Also where a flip makes a column due whose turn comes later in the same pass."""
    case = Case(["l1"], rows=40, n=141)
    x, z, score = begin(case)
    y, temperatures, memory = x.copy(), np.linspace(3, 0.5, 60), store.memory(case.n)
    anneal(case.model, x, z, score, x.copy(), seed.state(3), temperatures, memory, 1.0)
    flips = plain_anneal(case, y, seed.state(3), temperatures)
    assert memory.flips[0] == len(flips)
    assert memory.looks[0] < 0.5 * case.n * temperatures.size
    np.testing.assert_array_equal(x, y)


def test_memory_holds_true_rises():
    """A rise whose stamp is current is exact; a cautious anneal looks more often than a bold one."""
    case = Case(["l1"], rows=20, n=12)
    work = []
    for caution in (np.inf, 0.5):
        x, z, score = begin(case)
        memory, temperatures = store.memory(case.n), np.full(60, 2.0)
        work.append(anneal(case.model, x, z, score, x.copy(), seed.state(3), temperatures, memory, caution))
        rises = np.zeros(case.n)
        rises_at(case.model, x, z, score, rises)
        current = memory.stamp == memory.flips[0]
        np.testing.assert_allclose(memory.rise[current], rises[current], atol=1e-9)
    assert work[1] < work[0]


@pytest.mark.parametrize("losses", LISTS, ids="-".join)
def test_tabu_keeps_its_books(losses, variant):
    case = Case(losses, weight=(1, 2), **variant)
    x, z, score = begin(case)
    best_x, rises, until = x.copy(), np.zeros(case.n), np.zeros(case.n, np.int64)
    mirror = to_sparse(case.A.T, case.dtype) if "sparse" in variant else case.model.A
    mirror = type(mirror)(*store._frozen(mirror))
    rises_at(case.model, x, z, score, rises)
    clock, rng = np.zeros(1, np.int64), seed.state(4)
    for _ in range(3):
        tabu(case.model, mirror, x, z, score, best_x, rises, until, clock, rng, 10, 2)
    check_state(case, x, z, score)
    assert clock[0] == 30
    assert score[2] == pytest.approx(case.objective(best_x), **close(case))
    again = np.zeros(case.n)
    rises_at(case.model, x, z, score, again)
    np.testing.assert_allclose(rises, again, atol=1e-4 if z.itemsize == 4 else 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_gray_equals_brute_force(loss, variant):
    case = Case([loss], n=5, **variant)
    x, z = case.point()
    best, code = gray(case.model, case.b, 0, 32, x, z)
    expected, _point = brute(case)
    assert best == pytest.approx(expected, **close(case))
    bits = code ^ (code >> 1)
    found = [1 - 2 * (bits >> j & 1) for j in range(case.n)]
    assert case.objective(found) == pytest.approx(expected, **close(case))


def test_gray_splits_and_ties():
    """Integers make exact ties: the lowest position wins, and ranges combine to the whole."""
    A = np.array([[1.0, 1, 1, 1]])
    model = store.build(store.Dense(np.ascontiguousarray(A.T)), [[1, 0, 0, -1, 1]])
    x, z, b = np.zeros(4), np.zeros(1), np.zeros(1)
    whole = gray(model, b, 0, 16, x, z)
    parts = [gray(model, b, lo, lo + 4, x, z) for lo in range(0, 16, 4)]
    codes = [c for c in range(16) if bin(c ^ (c >> 1)).count("1") == 2]
    assert whole == min(parts) == (0.0, codes[0])


def test_weighted_rows_equal_repeated_rows():
    single = Case(["l1"], rows=4, weight=(2.0, 1.0, 3.0, 1.0))
    times = [2, 1, 3, 1]
    A, b = np.repeat(single.A, times, axis=0), np.repeat(single.b, times)
    model = store.build(store.Dense(np.ascontiguousarray(A.T)), single.model.rows.table, c=single.c)
    np.testing.assert_allclose(model.L, single.model.L)
    x, z, score = begin(single)
    y, u = x.copy(), A @ x - b
    other, n = np.zeros(3), single.n
    measure(model, y, u, other)
    assert other[2] == pytest.approx(score[2])
    bests = x.copy(), y.copy()
    temperatures = np.geomspace(5, 0.1, 20)
    anneal(single.model, x, z, score, bests[0], seed.state(2), temperatures, store.memory(n), 1.0)
    anneal(model, y, u, other, bests[1], seed.state(2), temperatures, store.memory(n), 1.0)
    assert n == y.size
    np.testing.assert_array_equal(x, y)
    assert other[2] == pytest.approx(score[2])


@pytest.mark.parametrize("losses", [["l1"], ["squared", "logistic"]], ids="-".join)
def test_batch_is_the_same_however_it_is_split(losses, variant):
    case = Case(losses, rows=4, n=4, weight=(1, 2), **variant)
    B = np.random.default_rng(0).standard_normal((9, case.r)).astype(case.dtype)
    temperatures, answers = np.array([2.0, 1.0, 0.0, 0.0]), []
    for cuts, work in (([0, 3], MAX_WORK), ([0, 1, 3], MAX_WORK), ([0, 3], 1), ([0, 2, 3], 3000)):
        X, F = np.zeros((9, case.n), case.dtype), np.zeros(9, case.dtype)
        for lo, hi in itertools.pairwise(cuts):
            space = scratch(case.n, case.r, case.dtype)
            begin_batch(space, lo)
            while space.at[0] < hi:
                batch(case.model, B, hi, np.uint64(7), 8, temperatures, X, F, space, work)
        answers.append((X, F))
    for X, F in answers[1:]:
        np.testing.assert_array_equal(X, answers[0][0])
        np.testing.assert_array_equal(F, answers[0][1])
    found, best = np.zeros(9), np.zeros(9)
    for q in range(9):
        case.b = B[q]
        found[q], best[q] = case.objective(answers[0][0][q]), brute(case)[0]
    np.testing.assert_allclose(found, answers[0][1], rtol=1e-4, atol=1e-4)
    assert np.mean(found - best) < 0.05 * np.mean(np.abs(best))


def test_a_batch_that_is_cut_short_has_the_best_points_so_far(variant):
    case = Case(["l1", "squared"], rows=4, n=5, **variant)
    B = np.random.default_rng(0).standard_normal((4, case.r)).astype(case.dtype)
    temperatures = np.array([5.0, 1.0, 0.0])
    space = scratch(case.n, case.r, case.dtype)
    begin_batch(space, 0)
    seen = []
    while space.at[0] < 1:
        X, F = np.zeros((4, case.n), case.dtype), np.full(4, np.inf, case.dtype)
        cut_batch(8, X, F, space)
        if space.at[1] < 0:  # no corner has a value yet
            assert np.all(np.isinf(F))
        else:
            values = [case.objective(x) for case.b, x in zip(B, X, strict=True)]
            np.testing.assert_allclose(values, F, rtol=1e-4, atol=1e-4)
            seen.append(F)
        batch(case.model, B, 1, np.uint64(7), 8, temperatures, X, F, space, 1)
    assert len(seen) > 2 * case.n
    for before, after in itertools.pairwise([*seen, F]):
        assert np.all(after <= before)
