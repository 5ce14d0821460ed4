"""Local-field loops: what they keep stays true, and plain ones say the same."""

import numpy as np
import pytest
from scipy import sparse

from dcra._kernels import crossover, mixed, mixing, quadratic, quadratic_sweep, swaps
from dcra._kernels.seed import state
from dcra._kernels.store import TabuMemory
from dcra.compiled.form import compile_problem
from dcra.compiled.quadratic import thresholds
from dcra.model.problem import Problem
from dcra.model.term import Term

from . import plain

N = 30


@pytest.fixture(params=["dense", "sparse"])
def compiled(request):
    rng = np.random.default_rng(0)
    Q = rng.integers(-3, 4, (N, N)) * (rng.random((N, N)) < (1.0 if request.param == "dense" else 0.1))
    Q = Q.astype(float) if request.param == "dense" else sparse.csc_array(Q.astype(float))
    return compile_problem(Problem(quadratic=Q, linear=rng.integers(-3, 4, N).astype(float)))


def start(compiled, seed=0):
    couplings = compiled.quadratic_tables
    s = np.where(np.random.default_rng(seed).random(N) < 0.5, -1, 1).astype(couplings.dtype)
    g = couplings.fields(s)
    return s, g, np.full(2, couplings.value(s, g))


def is_consistent(compiled, s, g, score):
    couplings = compiled.quadratic_tables
    np.testing.assert_allclose(g, couplings.fields(s), atol=1e-9)
    assert score[0] == pytest.approx(couplings.value(s, g))


def test_descent_ends_where_no_flip_improves(compiled):
    s, g, score = start(compiled)
    quadratic.descend(
        compiled.quadratic_tables.C, s, g, score, np.arange(N), np.zeros(2, np.int64), 0.0, 10_000
    )
    is_consistent(compiled, s, g, score)
    assert np.all(s * g <= 0)


def test_pairs_improve_what_flips_cannot(compiled):
    s, g, score = start(compiled)
    C, cursor = compiled.quadratic_tables.C, np.zeros(2, np.int64)
    before = score[0]
    quadratic.descend_pairs(C, s, g, score, cursor, 0.0, 10_000)
    is_consistent(compiled, s, g, score)
    assert score[0] < before
    assert cursor[1] >= N


def twins(kernel, *arguments):
    """Run a kernel compiled and plain on copies; both outcomes."""
    copies, others = ([a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
    kernel(*copies)
    first, *rest = others
    store = plain.matrix(first, N) if hasattr(first, "variant") else first
    getattr(plain, kernel.__name__)(store, *rest)
    return copies, others


def same(first, second):
    for one, two in zip(first, second, strict=True):
        if isinstance(one, np.ndarray):
            np.testing.assert_allclose(one, two, atol=1e-6)


def test_annealing_keeps_fields_and_its_best_point(compiled):
    s, g, score = start(compiled)
    best, C = s.copy(), compiled.quadratic_tables.C
    ladder = np.linspace(8, 0.5, 60).astype(s.dtype)
    arguments = (C, s, g, score, best, state(1), ladder, thresholds(s.dtype))
    one, two = twins(quadratic.anneal, *arguments)
    same(one[1:], two[1:])
    is_consistent(compiled, *one[1:4])
    kept = one[4]
    assert compiled.quadratic_tables.value(kept, compiled.quadratic_tables.fields(kept)) == pytest.approx(
        one[3][1]
    )
    assert one[3][1] < score[0]


def tabu(C, s, g, score, best, until, clock, rng, *numbers):
    quadratic.tabu(C, s, g, score, TabuMemory(best, until, clock, rng), *numbers)


def test_tabu_keeps_fields_and_its_best_point(compiled):
    s, g, score = start(compiled)
    memory = (s.copy(), np.zeros(N, np.int64), np.zeros(1, np.int64), state(1))
    one, two = twins(tabu, compiled.quadratic_tables.C, s, g, score, *memory, 200, 5, 3)
    same(one[1:], two[1:])
    is_consistent(compiled, *one[1:4])
    kept = one[4]
    assert compiled.quadratic_tables.value(kept, compiled.quadratic_tables.fields(kept)) == pytest.approx(
        one[3][1]
    )


def test_sweeps_end_at_corners(compiled):
    couplings = compiled.quadratic_tables
    x = np.random.default_rng(0).uniform(-0.1, 0.1, N).astype(couplings.dtype)
    g = couplings.fields(x)
    low, _ = compiled.quadratic.extremes
    quadratic_sweep.sweep(couplings.C, x, g, np.arange(N), state(0), np.full(1, 0.1), -low, 0, 200, 200)
    assert np.mean(np.abs(x)) > 0.95
    np.testing.assert_allclose(g, couplings.fields(x), atol=1e-3)


def test_a_child_is_no_worse_than_its_parents(compiled):
    couplings = compiled.quadratic_tables
    for seed in range(10):
        (s, g, score), (other, _, known) = start(compiled, seed), start(compiled, 100 + seed)
        best = min(score[0], known[0])
        scratch = np.empty(N, np.int64), np.empty(N, np.int64)
        arguments = (couplings.C, s, g, score, other, s.dtype.type(1), *scratch)
        one, two = twins(crossover.cross, *arguments)
        same(one[1:4], two[1:4])
        is_consistent(compiled, *one[1:4])
        assert one[3][0] <= best + 1e-9


def test_mixing_descends_to_a_stationary_factor(compiled):
    couplings = compiled.quadratic_tables
    V = np.random.default_rng(0).standard_normal((N + 1, 9))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    y, scratch = np.zeros(N + 1), np.empty(9)
    gains = [mixing.mix(couplings.C, couplings.field, V, y, scratch, 0, N + 1) for _ in range(300)]
    assert min(gains) > -1e-9
    assert gains[-1] < 1e-3 * gains[0]
    np.testing.assert_allclose(np.linalg.norm(V, axis=1), 1.0)


@pytest.fixture(params=["dense", "sparse"])
def blend(request):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((6, N)) * (rng.random((6, N)) < (1.0 if request.param == "dense" else 0.3))
    A = A if request.param == "dense" else sparse.csc_array(A)
    Q = sparse.csc_array(rng.integers(-3, 4, (N, N)) * (rng.random((N, N)) < 0.1)).astype(float)
    return compile_problem(Problem([Term("l1", A, rng.standard_normal(6))], quadratic=Q))


@pytest.mark.parametrize("search", ["descend", "descend_pairs", "anneal", "tabu"])
def test_losses_and_couplings_together(blend, search):
    tables, couplings = blend.tables(np.float64), blend.quadratic_tables
    s = np.where(np.random.default_rng(0).random(N) < 0.5, -1.0, 1.0)
    z, g, score = blend.residual(s).copy(), couplings.fields(s).astype(float), np.zeros(3)
    mixed.value(tables.model, couplings.field.astype(float), s, z, g, score)
    first, best = score[0], s.copy()
    cursor, clock, until = np.zeros(2, np.int64), np.zeros(1, np.int64), np.zeros(N, np.int64)
    rest = {
        "descend": (np.arange(N), cursor, 0.0, 5000),
        "descend_pairs": (cursor, 0.0, 500),
        "anneal": (best, state(0), np.linspace(5, 0.5, 50), thresholds(np.dtype(np.float64))),
        "tabu": (TabuMemory(best, until, clock, state(0)), 100, 5, 2),
    }[search]
    getattr(mixed, search)(tables.model, couplings.C, s, z, g, score, *rest)
    np.testing.assert_allclose(z, blend.residual(s), atol=1e-9)
    np.testing.assert_allclose(g, couplings.fields(s), atol=1e-9)
    problem = blend.problem
    assert score[0] * blend.value_scale + blend.offset == pytest.approx(problem.objective(s))
    assert score[1] <= first


def test_the_change_of_every_swap(monkeypatch):
    from dcra.apps.qap import all_changes, assignment_cost

    rng = np.random.default_rng(0)
    F, D = rng.integers(0, 9, (2, 7, 7)).astype(float)
    p = rng.permutation(7)
    change = np.zeros((7, 7))
    swaps.changes(F, D, p, change)
    for i in range(7):
        for j in range(i + 1, 7):
            q = p.copy()
            q[[i, j]] = q[[j, i]]
            assert change[i, j] == pytest.approx(assignment_cost(F, D, q) - assignment_cost(F, D, p))
    np.testing.assert_allclose(np.triu(all_changes(F, D, p), 1), np.triu(change, 1))
    cost = np.full(2, assignment_cost(F, D, p))
    memory = (p.copy(), change, np.zeros((7, 7), np.int64), np.zeros(1, np.int64), state(0))
    one, two = twins(swaps.search, F, D, p, cost, *memory, 50)
    same(one, two)
    assert one[3][0] == pytest.approx(assignment_cost(F, D, one[2]))
    assert one[3][1] == pytest.approx(assignment_cost(F, D, one[4]))
    fresh = np.zeros((7, 7))
    swaps.changes(F, D, one[2], fresh)
    np.testing.assert_allclose(one[5], fresh)
