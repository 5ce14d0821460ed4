"""Couplings, permutations, counts and clauses: nothing that is wrong with an argument does harm."""

import numpy as np
import pytest

from dcra._kernels import clauses, crossover, mixed, mixing, quadratic, quadratic_sweep, store, swaps
from dcra._kernels.formula import formula, walk
from dcra._kernels.seed import state
from dcra._kernels.swap import anneal_swaps

from .conftest import Case, to_sparse

N = 21  # whole packs and a rest


def couplings(sparse=False, dtype=np.float64, n=N):
    rng = np.random.default_rng(0)
    J = np.triu(rng.integers(-2, 3, (n, n)) * (rng.random((n, n)) < 0.5), 1)
    C = (8.0 * (J + J.T)).astype(dtype)
    return to_sparse(C, dtype) if sparse else store.Dense(C)


@pytest.fixture(params=["dense64", "dense32", "sparse64", "sparse32"])
def C(request):
    return couplings(request.param[:-2] == "sparse", {"6": np.float64, "3": np.float32}[request.param[-2]])


def all_quadratic(C, s, g, field=None, temperature=1.0):
    """Every loop of couplings once; what they leave behind."""
    n, dtype = s.size, s.dtype
    field = np.zeros(n, dtype) if field is None else field
    score, rng, spins = np.zeros(2), state(1), np.arange(n)
    scratch = np.empty(n, np.int64), np.empty(n, np.int64)
    quadratic.fields(C, field, s, np.empty_like(g))
    quadratic.descend(C, s.copy(), g.copy(), score, spins, np.zeros(2, np.int64), 0.0, 50)
    quadratic.descend_pairs(C, s.copy(), g.copy(), score, np.zeros(2, np.int64), 0.0, 50)
    ladder, thresholds = np.full(3, temperature, dtype), np.ones(16, dtype)
    quadratic.anneal(C, s.copy(), g.copy(), score, s.copy(), rng, ladder, thresholds)
    memory = store.tabu_memory(s.copy(), rng)
    quadratic.tabu(C, s.copy(), g.copy(), score, memory, 40, 3, 2)
    assert memory.clock[0] == 40
    rho = np.full(1, 0.1)
    quadratic_sweep.sweep(C, s.copy(), g.copy(), np.arange(-(-n // 4)), rng, rho, 1.0, 0, 5, 5)
    crossover.cross(C, s.copy(), g.copy(), score, -s, 1.0, *scratch)
    V = np.ones((n + 1, 3))
    mixing.mix(C, field, V, np.zeros(n + 1), np.empty(3), 0, n + 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["C", "s", "g", "field", "temperature"])
def test_couplings_that_are_not_numbers_end_and_stay_inside(C, where, bad):
    dtype = C[-1].dtype
    s, g, field = np.ones(N, dtype), np.ones(N, dtype), np.zeros(N, dtype)
    if where == "C":
        values = C[-1].copy()
        values.flat[::3] = bad
        C = type(C)(*C[:-1], values)
    elif where != "temperature":
        {"s": s, "g": g, "field": field}[where][::2] = bad
    all_quadratic(C, s, g, field, bad if where == "temperature" else 1.0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_couple_is_no_obstacle(n, sparse):
    s = np.ones(n)
    all_quadratic(couplings(sparse, n=n), s, np.zeros(n))


def test_couplings_must_be_square_and_inside():
    C = couplings(sparse=True)
    wrong = {
        f"`C` must have {N} rows": C._replace(idx=C.idx + 1),
        "`idx` must not be negative": C._replace(idx=C.idx - 1),
        "`ptr` must rise": C._replace(ptr=C.ptr[::-1].copy()),
    }
    for message, store_ in wrong.items():
        with pytest.raises(ValueError, match=message):
            quadratic.fields(store_, np.zeros(N), np.ones(N), np.ones(N))
    with pytest.raises(ValueError, match=f"`C` must have {N} rows; got {N + 1}"):
        quadratic.fields(store.Dense(np.zeros((N, N + 1))), np.zeros(N), np.ones(N), np.ones(N))


def test_thresholds_come_in_powers_of_two(C):
    dtype = C[-1].dtype
    s, g, score = np.ones(N, dtype), np.ones(N, dtype), np.zeros(2)
    for size in (0, 3):
        draws = np.ones(size, dtype)
        with pytest.raises(ValueError, match=f"the size of `thresholds` must be a power of two; got {size}"):
            quadratic.anneal(C, s, g, score, s.copy(), state(1), np.ones(1, dtype), draws)


def test_rows_and_positions_outside_are_refused():
    C = couplings(n=4)
    V, y, pull = np.ones((5, 2)), np.zeros(5), np.empty(2)
    for first, last in ((-1, 2), (0, 6)):
        with pytest.raises(ValueError, match=r"`first` and `last` must be in 0\.\.5"):
            mixing.mix(C, np.zeros(4), V, y, pull, first, last)
    case = Case(["l1"], n=4)
    x, z = case.point()
    for lo, hi in ((-1, 3), (0, 17)):
        with pytest.raises(ValueError, match="`lo` and `hi` must be in"):
            mixed.gray(case.model, case.b, C, np.zeros(4), lo, hi, x, z, np.zeros(4), np.zeros(3))


@pytest.mark.parametrize("sparse", [False, True])
def test_the_best_of_all_points_is_found_in_gray_order(sparse):
    case = Case(["l1"], n=6, sparse=sparse)
    for dtype in (np.float32, np.float64):
        C, field = couplings(sparse, dtype, 6), np.arange(6, dtype=dtype)
        s, z, g, score = np.empty(6), np.empty(case.r), np.empty(6), np.zeros(3)
        best, code = mixed.gray(case.model, case.b, C, field, 0, 64, s, z, g, score)
        dense = couplings(False, np.float64, 6).cols
        bits = np.arange(64) ^ (np.arange(64) >> 1)
        points = np.where(bits[:, None] >> np.arange(6) & 1, -1.0, 1.0)
        values = [
            case.objective(p) - case.c @ p + p @ dense @ p / 8 + field.astype(float) @ p / 2 for p in points
        ]
        assert best == pytest.approx(min(values))
        assert code == np.argmin(values)


def test_losses_beside_couplings_are_of_float64():
    case = Case(["l1"], n=N, dtype=np.float32)
    s, z = case.point()
    memory = store.tabu_memory(s.copy(), state(1))
    with pytest.raises(TypeError, match=r"mixed\.tabu is not made for dense32_sparse64"):
        mixed.tabu(case.model, couplings(sparse=True), s, z, s.copy(), np.zeros(3), memory, 1, 1, 1)


@pytest.mark.parametrize("bad", [1.0, np.nan, np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_losses_beside_couplings_end_and_stay_inside(C, bad, sparse):
    case = Case(["l1", "huber"], n=N, sparse=sparse)
    s, z = case.point()
    g, score = np.full(N, bad), np.zeros(3)
    mixed.value(case.model, np.ones(N), s, z, g, score)
    point = (case.model, C, s, z, g, score)
    mixed.descend(*point, np.arange(N), np.zeros(2, np.int64), 0.0, 50)
    mixed.descend_pairs(*point, np.zeros(2, np.int64), 0.0, 10)
    mixed.anneal(*point, s.copy(), state(1), np.array([5.0, bad]), np.full(8, bad))
    memory = store.tabu_memory(s.copy(), state(1))
    mixed.tabu(*point, memory, 20, 2, 2)
    assert memory.clock[0] == 20


GROUPS = [(np.arange(0, 6), 1, 3), (np.arange(6, 12), 0, 6)]


@pytest.mark.parametrize("start", ["another x", "zeros", "nan"])
def test_counts_of_another_point_do_no_harm(start, variant):
    case = Case(["l1"], n=N, **variant)
    x, z = case.point()
    counts = store.counts(np.ones(N), GROUPS)
    x[:] = {"another x": -1.0, "zeros": 0.0, "nan": np.nan}[start]
    ladder = np.full(20, 5.0)
    anneal_swaps(case.model, x, z, np.zeros(3), x.copy(), state(1), ladder, counts, 4)
    assert np.all((counts.ups >= 0) & (counts.ups <= np.diff(counts.start)))
    assert sorted(counts.members) == list(range(N))


def test_counts_are_checked_once():
    case = Case(["l1"], n=N)
    x, z = case.point()
    good = store.counts(x, GROUPS)
    for message, change in {
        "`start` must rise": {"start": good.start + 1},
        "`group` must be at least 0 and below 3": {"group": good.group + 3},
        "`place` must be at least 0 and below 21": {"place": good.place - 1},
        "`members` must be at least 0 and below 21": {"members": good.members + 1},
        "`ups` must be between 0": {"ups": good.ups - 10},
    }.items():
        with pytest.raises(ValueError, match=message):
            anneal_swaps(
                case.model, x, z, np.zeros(3), x.copy(), state(1), np.ones(1), good._replace(**change), 2
            )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_swaps_of_what_is_no_number_stay_permutations(n, bad):
    F, D = np.ones((n, n)), np.arange(n * n, dtype=float).reshape(n, n)
    F.flat[::4] = bad
    p, change = np.arange(n), np.zeros((n, n))
    swaps.changes(F, D, p, change)
    clock, until = np.zeros(1, np.int64), np.zeros((n, n), np.int64)
    swaps.search(F, D, p, np.full(2, bad), p.copy(), change, until, clock, state(1), 30)
    assert sorted(p) == list(range(n))
    assert clock[0] == 30


def random_formula(n=9, m=40, seed=0):
    rng = np.random.default_rng(seed)
    literals = (rng.integers(0, n, (m, 3)) + 1) * rng.choice([-1, 1], (m, 3))
    hard = rng.random(m) < 0.5
    return formula(np.arange(0, 3 * m + 1, 3), literals.ravel(), n, rng.integers(1, 9, m).astype(float), hard)


def as_int64(f):
    return f._replace(lit=f.lit.astype(np.int64), occ=f.occ.astype(np.int64))


def test_both_types_of_literals_give_the_same_walk():
    f = random_formula()
    outcomes = []
    for one in (f, as_int64(f)):
        at = walk(one, np.zeros(9), np.ones(40))
        clauses.place(one, at)
        best_x, best, rng = at.x.copy(), at.total.copy(), state(1)
        work = clauses.anneal_clauses(one, at, best_x, best, rng, np.geomspace(3, 0.3, 40))
        work += clauses.walk_clauses(one, at, best_x, best, rng, 100, 0.5)
        x, scratch = at.x.copy(), (np.zeros(9, np.uint8), np.empty(40, np.int32), np.zeros(40, np.uint8))
        broken = clauses.propagate(one, x, np.arange(9), *scratch, np.empty(9, np.int32))
        outcomes.append([work, broken, *best_x, *best, *at.change, *x])
    assert outcomes[0] == outcomes[1]


def test_formulas_are_checked_once():
    f = random_formula()
    at = walk(f, np.zeros(9), np.ones(40))
    wrong = {
        "`ptr` must rise": f._replace(ptr=f.ptr[::-1].copy()),
        "`occ_ptr` must rise": f._replace(occ_ptr=f.occ_ptr[::-1].copy()),
        "`lit` must be at least 0 and below 18": f._replace(lit=f.lit + np.int32(9)),
        "`occ` must be at least 0 and below 80": f._replace(occ=f.occ - np.int32(9)),
        "`occ` must have shape": f._replace(occ=f.occ[:-1].copy()),
    }
    for message, one in wrong.items():
        with pytest.raises(ValueError, match=message):
            clauses.place(one, at)
    with pytest.raises(TypeError, match="`lit` must be of dtype int32 or int64; got float64"):
        clauses.place(f._replace(lit=f.lit.astype(float)), at)
    with pytest.raises(TypeError, match="`occ` must be of dtype int32; got int64"):
        clauses.place(f._replace(occ=f.occ.astype(np.int64)), at)
    with pytest.raises(ValueError, match="`walk` must have n = 9; got 8"):
        clauses.place(f, walk(f, np.zeros(8), np.ones(40)))


@pytest.mark.parametrize("total", [0.0, 5.0, 1e30, -7.0, np.nan])
@pytest.mark.parametrize("weight", [1.0, np.nan, np.inf])
def test_walks_that_were_not_placed_do_no_harm(total, weight):
    f = random_formula()
    at = walk(f, np.full(9, 200), np.full(40, weight))
    at.total[:] = total
    at.critical[:], at.broken[:], at.place[:], at.truths[:] = 77, -3, 1000, 1
    best_x, best, rng = at.x.copy(), np.full(2, np.inf), state(1)
    clauses.anneal_clauses(f, at, best_x, best, rng, np.array([3.0, np.nan, 0.0]))
    clauses.walk_clauses(f, at, best_x, best, rng, 50, weight)


def test_clauses_without_literals_do_no_harm():
    f = formula(np.array([0, 0, 0]), np.empty(0, np.int64), 2, np.zeros(2), np.ones(2, bool))
    at = walk(f, np.zeros(2), np.ones(2))
    clauses.place(f, at)
    assert at.total[0] == 2
    best_x, best = at.x.copy(), at.total.copy()
    assert clauses.walk_clauses(f, at, best_x, best, state(1), 10, 1.0) == 10
    clauses.anneal_clauses(f, at, best_x, best, state(1), np.ones(2))
