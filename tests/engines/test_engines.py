"""The contract of engines, the block sweep against a plain loop, and enumeration against itertools."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from dcra._array import from_numpy, to_numpy
from dcra.compiled.form import compile_problem
from dcra.engines import DCRA, Engine, Polished, Starts, Sweep
from dcra.engines.blocks import blocks_of, squared_norm, sweep
from dcra.engines.rule import PLAIN, Rule
from dcra.exact.enumeration import SEGMENTS, Enumerate, spins_of
from dcra.losses import NAMES
from dcra.methods import METHODS, engine_of
from dcra.model import operators
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.polish.flip import Flip
from dcra.polish.pair import PairFlip

ENGINES = {
    "dcra": DCRA(max_outer=60),
    "paper": DCRA.paper(max_outer=30),
    "authors": DCRA.authors(max_outer=60),
    "coordinates": Sweep(sweeps=60),
    "blocks": Sweep(sweeps=60, block=4),
    "polished dcra": Polished(DCRA(max_outer=10), Flip()),
    "polished sweep": Polished(Sweep(sweeps=20), Flip()),
}
SEARCHES = {name: engine_of(name) for name in ("flip", "pair-flip", "anneal", "tabu")}
ENGINES |= SEARCHES
TOGETHER = ["paper", "authors", "polished dcra", *SEARCHES]
"""Engines whose starts take the same path alone and in a batch. The others differ by rounding, which the
backtracking of `DCRA()` amplifies, or by the order of columns, which block sweeps share."""

STORAGES = {
    "dense": np.asarray,
    "F": np.asfortranarray,
    "float32": lambda A: A.astype(np.float32),
    "sparse": sparse.csr_array,
    "operator": aslinearoperator,
    "products only": aslinearoperator,
}
every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())


def l1_problem(seed, r=12, n=10, store=np.asarray, loss="l1"):
    rng = np.random.default_rng(seed)
    A = np.round(rng.standard_normal((r, n)), 2)
    return Problem([Term(loss, store(A), rng.standard_normal(r), 1.5)], linear=0.1 * rng.standard_normal(n))


def finish(engine: Engine, compiled, starts, work=10**9):
    state = engine.start(compiled, starts)
    while not state.done:
        state.advance(work)
    return state


def random_spins(seed, k, n):
    return np.where(np.random.default_rng(seed).random((k, n)) < 0.5, -1.0, 1.0)


@pytest.fixture(params=STORAGES)
def store(request, monkeypatch):
    if request.param == "products only":
        monkeypatch.setattr(operators, "MATERIALIZE_ENTRIES", 0)
    return STORAGES[request.param]


@every_engine
@pytest.mark.parametrize("seed", range(3))
def test_many_small_advances_are_one_large(engine, seed):
    compiled = compile_problem(l1_problem(seed))
    starts = Starts(seed, 2, 3)
    once = finish(engine, compiled, starts)
    for work in (1, 3 * compiled.work_per_pass, 50 * compiled.work_per_pass):
        piecewise = finish(engine, compiled, starts, work)
        np.testing.assert_array_equal(piecewise.candidates(), once.candidates())
        assert piecewise.steps == once.steps


@every_engine
def test_candidates_are_spins_at_any_time(engine):
    compiled = compile_problem(l1_problem(0))
    state = engine.start(compiled, Starts(0, 0, 3))
    for _ in range(200):
        spins = state.candidates()
        assert spins.shape == (3, compiled.n)
        assert spins.dtype == np.float64
        assert np.isin(spins, (-1.0, 1.0)).all()
        state.advance(compiled.work_per_pass)
    assert state.steps > 0


@every_engine
def test_advancing_a_finished_state_does_nothing(engine):
    compiled = compile_problem(l1_problem(0))
    state = finish(engine, compiled, Starts(0, 0, 2))
    answer, steps = state.candidates().copy(), state.steps
    state.advance(10**6)
    assert state.done
    assert state.steps == steps
    np.testing.assert_array_equal(state.candidates(), answer)


@every_engine
def test_a_start_is_its_seed_and_index(engine):
    problem = l1_problem(1, 8, 20)
    answers = [finish(engine, compile_problem(problem), Starts(7, 3, 2)).candidates() for _ in range(2)]
    np.testing.assert_array_equal(*answers)


@pytest.mark.parametrize("name", TOGETHER)
def test_batched_starts_are_looped_starts(name):
    compiled = compile_problem(l1_problem(2, 12, 15))
    batched = finish(ENGINES[name], compiled, Starts(5, 1, 4)).candidates()
    looped = [finish(ENGINES[name], compiled, Starts(5, 1 + i, 1)).candidates()[0] for i in range(4)]
    np.testing.assert_array_equal(batched, looped)


@every_engine
def test_starts_differ(engine):
    compiled = compile_problem(l1_problem(3, 4, 40))
    first = engine.start(compiled, Starts(0, 0, 6)).candidates()
    assert len(np.unique(first, axis=0)) == 6
    other = engine.start(compiled, Starts(1, 0, 6)).candidates()
    assert not np.array_equal(first, other)


@every_engine
def test_given_points_are_where_it_starts(engine):
    compiled = compile_problem(l1_problem(4, 6, 12))
    points = random_spins(0, 3, 12)
    points.flags.writeable = False
    state = engine.start(compiled, Starts(0, 0, 3, points))
    np.testing.assert_array_equal(state.candidates(), points)
    while not state.done:
        state.advance(compiled.work_per_pass)
    np.testing.assert_array_equal(points, random_spins(0, 3, 12))


@pytest.mark.parametrize("name", SEARCHES)
def test_local_searches_never_end_above_where_they_start(name):
    problem = l1_problem(5, 10, 14)
    points = random_spins(1, 5, 14)
    after = finish(SEARCHES[name], compile_problem(problem), Starts(0, 0, 5, points)).candidates()
    assert (problem.objective(after) <= problem.objective(points)).all()


def neighbours(x):
    return x * (1 - 2 * np.eye(x.size))


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("loops", [True, False])
def test_flip_ends_where_no_flip_improves(loss, loops, store):
    problem = l1_problem(6, 7, 9, store, loss)
    compiled = compile_problem(problem, loops)
    for x in finish(Flip(), compiled, Starts(0, 0, 4)).candidates():
        value = problem.objective(x)
        assert problem.objective(neighbours(x)).min() >= value - 1e-5 * (1 + abs(value))


@pytest.mark.parametrize("loss", ["l1", "squared", "quantile"])
@pytest.mark.parametrize("work", [1, 10**6])
@pytest.mark.parametrize("storage", ["dense", "float32", "sparse"])
def test_pair_flip_ends_where_no_pair_improves(loss, work, storage):
    problem = l1_problem(6, 7, 9, STORAGES[storage], loss)
    for x in finish(PairFlip(), compile_problem(problem, True), Starts(0, 0, 4), work).candidates():
        value = problem.objective(x)
        pairs = np.concatenate([neighbours(y) for y in neighbours(x)])
        assert problem.objective(pairs).min() >= value - 1e-5 * (1 + abs(value))


@pytest.mark.parametrize("name", ["flip", "coordinates", "blocks", "dcra", "polished sweep"])
@pytest.mark.parametrize("loss", ["l1", "squared", "linf", "capped_l1", "logistic"])
def test_every_storage(name, loss, store):
    compiled = compile_problem(l1_problem(7, 6, 9, store, loss))
    state = finish(ENGINES[name], compiled, Starts(0, 0, 2), 7 * compiled.work_per_pass)
    assert np.isin(state.candidates(), (-1.0, 1.0)).all()


def test_methods_make_engines():
    for name in METHODS:
        if name != "auto":
            assert isinstance(engine_of(name), Engine)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"sweeps": 0}, "`sweeps` must be at least 1; got 0"),
        ({"kappa": 0}, "`kappa` must be positive; got 0"),
        ({"kappa": float("nan")}, "`kappa` must be positive; got nan"),
        ({"block": 0}, "`block` must be at least 1; got 0"),
    ],
)
def test_bad_sweep_options(options, match):
    with pytest.raises(ValueError, match=match):
        Sweep(**options)


def box_problem(seed, store, names, n=7):
    """Several terms, row weights and a linear term."""
    rng = np.random.default_rng(seed)
    terms = []
    for name in names:
        A, b = np.round(rng.standard_normal((5, n)), 2), rng.standard_normal(5)
        weight = rng.uniform(0.5, 2, 5) if NAMES[name].separable else 1.5
        terms.append(Term(name, store(A), b, weight))
    return Problem(terms, linear=0.3 * rng.standard_normal(n))


def box_form(compiled, X, rho, delta):
    smooth = to_numpy(compiled.smoothed(compiled.residual(X), delta) + compiled.linear(X))
    return smooth.astype(np.float64) + rho * np.sum(1 - to_numpy(X).astype(np.float64) ** 2, axis=-1)


MIXES = [*([name] for name in NAMES), ["l1", "squared", "linf"], ["hinge", "logistic"]]


@pytest.mark.parametrize("names", MIXES, ids="+".join)
@pytest.mark.parametrize("kappa", [0.5, 0.7, 1.0])
def test_block_sweeps_descend(names, kappa, store):
    compiled = compile_problem(box_problem(0, store, names))
    tolerance = 1e-5 if compiled.like.dtype == np.float32 else 1e-12
    blocks = blocks_of(compiled, 3)
    for rho in (0.0, 0.4):
        X = from_numpy(np.random.default_rng(1).uniform(-1, 1, (4, compiled.n)), compiled.like)
        Z = compiled.residual(X)
        value = box_form(compiled, X, rho, 0.3)
        for q in itertools.islice(itertools.cycle(range(len(blocks))), 24):
            X, Z, _ = sweep(compiled, blocks, np.array([q]), X, Z, rho, 0.3, PLAIN._replace(kappa=kappa))
            lower = box_form(compiled, X, rho, 0.3)
            assert (lower <= value + tolerance * (1 + np.abs(value))).all()
            value = lower
        assert (np.abs(X) <= 1).all()
        np.testing.assert_allclose(Z, compiled.residual(X), atol=100 * tolerance)


def test_smaller_kappa_need_not_descend():
    """kappa < 1/2 overshoots: one column, a quadratic."""
    compiled = compile_problem(Problem([Term("squared", np.ones((1, 1)), np.zeros(1))]))
    blocks = blocks_of(compiled)
    moved = {}
    for kappa in (0.4, 0.5, 1.0):
        X = np.full((1, 1), 0.5)
        rule = PLAIN._replace(kappa=kappa)
        moved[kappa] = sweep(compiled, blocks, np.array([0]), X, X.copy(), 0.0, 0.0, rule)[0].item()
    assert moved == {0.4: pytest.approx(-0.75), 0.5: -0.5, 1.0: 0.0}


def coordinate_pass(A, b, c, weight, x, before, order, rho, delta, rule):
    """One pass over single columns for weighted l1, as the formula of `Rule` has it."""
    x, before = x.copy(), before.copy()
    for j in order:
        y = weight * np.clip((A @ x - b) / delta, -1, 1)
        L = rule.kappa * weight.max() * (A[:, j] @ A[:, j]) / delta
        pull = 2 * rho * x[j] * (1 + rule.shape * (1 - x[j] ** 2))
        step = (A[:, j] @ y + c[j] - pull) / L - rule.momentum * (x[j] - before[j])
        before[j], x[j] = x[j], np.clip(x[j] - step, -1, 1)
    return x, before


@pytest.mark.parametrize("rule", [PLAIN, Rule()])
def test_block_of_one_is_a_pass_over_columns(rule, rng):
    A, b, c, weight = (rng.standard_normal(s) for s in ((6, 5), 6, 5, 6))
    weight = np.abs(weight)
    compiled = compile_problem(Problem([Term("l1", A, b, weight)], linear=c))
    blocks = blocks_of(compiled, 1)
    X = rng.uniform(-1, 1, (3, 5))
    want = [(x.copy(), x.copy()) for x in X]
    Z, before = compiled.residual(X), X.copy()
    for _ in range(10):
        order = rng.permutation(5)
        X, Z, before = sweep(compiled, blocks, order, X, Z, 0.2, 0.7, rule, before)
        want = [coordinate_pass(A, b, c, weight, *pair, order, 0.2, 0.7, rule) for pair in want]
        np.testing.assert_allclose(X, [x for x, _ in want], atol=1e-12)
        np.testing.assert_allclose(before, [last for _, last in want], atol=1e-12)


def test_products_only_make_one_block(monkeypatch, rng):
    monkeypatch.setattr(operators, "MATERIALIZE_ENTRIES", 0)
    A = rng.standard_normal((5, 9))
    compiled = compile_problem(Problem([Term("l1", aslinearoperator(A), np.zeros(5))]))
    (block,) = blocks_of(compiled, 2)
    assert (block.lo, block.hi) == (0, 9)
    exact = np.linalg.norm(A, 2) ** 2
    assert exact <= block.norms[0] <= 1.2 * exact


def test_block_norms_are_exact(rng):
    A = rng.standard_normal((6, 5))
    exact = np.linalg.norm(A, 2) ** 2
    for given in (A, sparse.csr_array(A)):
        assert squared_norm(operators.as_operator(given)) == pytest.approx(exact, rel=1e-12)


def test_columns_without_curvature_go_to_their_corner():
    """A zero column has only its linear term."""
    A = np.array([[1.0, 0.0, 0.0]])
    compiled = compile_problem(Problem([Term("l1", A, [0.0])], linear=[0.0, 2.0, -3.0]))
    X, Z = np.zeros((1, 3)), np.zeros((1, 1))
    X, _, _ = sweep(compiled, blocks_of(compiled, 1), np.arange(3), X, Z, 0.0, 1.0, PLAIN)
    np.testing.assert_array_equal(X, [[0.0, -1.0, 1.0]])


def enumerated(compiled, work=10**6):
    """The best of every segment, in order."""
    return [finish(Enumerate(), compiled, Starts(0, i, 1), work).candidates()[0] for i in range(SEGMENTS)]


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("names", [["l1"], ["squared", "hinge"], ["logistic", "capped_l1"]])
def test_enumeration_is_brute_force(names, domain, loops, store):
    for n in (1, 2, 7, 11):
        rng = np.random.default_rng(n)
        matrices = [store(np.round(rng.standard_normal((4, n)), 2)) for _ in names]
        terms = [Term(name, A, rng.standard_normal(4)) for name, A in zip(names, matrices, strict=True)]
        problem = Problem(terms, linear=rng.standard_normal(n), domain=domain)
        low = -1.0 if domain == "spin" else 0.0
        best = problem.objective(np.array(list(itertools.product((low, 1.0), repeat=n)))).min()
        compiled = compile_problem(problem, loops)
        values = problem.objective(compiled.decode(np.array(enumerated(compiled))))
        rounding = 1e-6 if problem.like.dtype == np.float32 else 1e-12
        assert values.min() == pytest.approx(best, rel=rounding)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("work", [1, 5000, 10**9])
def test_ties_go_to_the_lowest_code(loops, work):
    """F depends on x_0 + x_1 + ... alone: many points share the optimum."""
    n = 12
    problem = Problem([Term("l1", np.ones((1, n)), [2.0])])
    positions = np.arange(2**n)
    values = problem.objective(spins_of(positions, n))
    compiled = compile_problem(problem, loops)
    chunks = 2**n // 1024
    for i, spins in enumerate(enumerated(compiled, work)):
        lo, hi = (1024 * (chunks * k // SEGMENTS) for k in (i, i + 1))
        if hi > lo:
            np.testing.assert_array_equal(spins, spins_of(positions[lo:hi][[np.argmin(values[lo:hi])]], n)[0])


def test_gray_codes_visit_every_point_once():
    points = spins_of(np.arange(2**6), 6)
    assert len(np.unique(points, axis=0)) == 2**6
    assert (np.abs(np.diff(points, axis=0)).sum(axis=1) == 2).all()


def test_segments_cover_all_positions():
    for n in (1, 3, 10, 13):
        compiled = compile_problem(Problem([Term("l1", np.ones((1, n)), [0.0])]))
        states = [Enumerate().start(compiled, Starts(0, i, 1)) for i in range(SEGMENTS)]
        ranges = [(s.position, s.hi) for s in states]
        assert ranges[0][0] == 0
        assert ranges[-1][1] == 2**n
        assert all(a[1] == b[0] for a, b in itertools.pairwise(ranges))
