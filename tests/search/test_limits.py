"""Time limits of all kinds of calls, by a clock that tests turn: looks at it take a little, products much.

`python -m tests.campaign.limits` asks the same of real clocks.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import dcra
from dcra import costs
from dcra._kernels import batch as batch_loop
from dcra._kernels import library
from dcra.apps import compressed_sensing
from dcra.auto.annealing import Annealing
from dcra.auto.decision import decide
from dcra.compiled.form import compile_problem
from dcra.model import operators
from dcra.model.watch import OutOfTime, Watch
from dcra.search.state import Limits, Search
from dcra.solving.options import SolveOptions
from dcra.solving.since import prepare, solve_since

LOOK = 0.002
"""Seconds of a look at the clock: what work between two of them is meant to take."""

SHARE, LOOKS = 0.05, 25
"""What a call may take beyond its limit, besides one product: a share of it, or some looks at the clock."""


class Clock:
    """Turned by hand, and a little by every look."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        self.now += LOOK
        return self.now


@pytest.fixture
def clock(monkeypatch):
    costs.slowdown()  # measured once in a process, by the real clock
    fake = Clock()
    monkeypatch.setattr(time, "perf_counter", fake)
    return fake


def slow(A, clock, seconds):
    """A as an operator whose products take their time."""

    def product(M):
        def multiply(x):
            clock.now += seconds
            return M @ x

        return multiply

    return LinearOperator(A.shape, matvec=product(A), rmatvec=product(A.T), dtype=np.float64)


def check(clock, begun, limit, product, said=None, looks=LOOKS):
    taken = clock.now - begun
    assert taken <= limit + max(SHARE * limit, looks * LOOK) + 1.001 * product
    assert said is None or taken == pytest.approx(said, abs=LOOKS * LOOK)


RNG = np.random.default_rng(0)
A, b = RNG.standard_normal((30, 40)), RNG.standard_normal(30)
limits = pytest.mark.parametrize("limit", [0.1, 0.5, 3.0])
products = pytest.mark.parametrize("product", [0.001, 0.02, 0.3])


@limits
@products
@pytest.mark.parametrize("domain", ["spin", "binary"])
def test_operators(clock, limit, product, domain):
    """They would take 40 products to write out, and a norm 60."""
    begun = clock.now
    result = dcra.minimize(slow(A, clock, product), b, domain=domain, time_limit=limit, seed=0, n_jobs=1)
    check(clock, begun, limit, product, result.seconds)
    assert result.fun == pytest.approx(
        dcra.Problem([dcra.Term("l1", A, b)], domain=domain).objective(result.x)
    )


@pytest.mark.usefixtures("compiled_loops")
def test_an_operator_is_written_out_where_that_leaves_time(clock):
    result = dcra.minimize(slow(A, clock, 0.001), b, time_limit=1.0, seed=0, n_jobs=1)
    assert result.n_starts > 0
    assert result.fun == pytest.approx(np.abs(A @ result.x - b).sum())


@limits
@products
@pytest.mark.parametrize("method", ["auto", "dcra", "subgradient"])
def test_operators_that_stay_as_they_are(clock, monkeypatch, limit, product, method):
    monkeypatch.setattr(operators, "MATERIALIZE_ENTRIES", 0)
    problem = dcra.Problem([dcra.Term("l1", slow(A, clock, product), b)])
    begun = clock.now
    result = dcra.solve(problem, method=method, time_limit=limit, seed=0, n_jobs=1)
    check(clock, begun, limit, product, result.seconds)


@limits
@products
def test_couplings_by_products(clock, limit, product):
    Q = RNG.standard_normal((40, 40))
    begun = clock.now
    operator = slow(Q, clock, product)
    result = dcra.minimize(A, b, quadratic=operator, time_limit=limit, seed=0, n_jobs=1)
    check(clock, begun, limit, 2 * product, result.seconds)  # with Q' beside Q


@limits
@products
def test_batches_by_products(clock, limit, product):
    begun = clock.now
    B = RNG.standard_normal((30, 4))
    result = dcra.minimize_batch(slow(A, clock, product), B, time_limit=limit, seed=0, n_jobs=1)
    check(clock, begun, limit, 4 * product, result.seconds)  # the four answers must be judged
    expected = np.abs(A @ result.x - B).sum(axis=0)
    np.testing.assert_allclose(result.fun, expected)


@pytest.mark.skipif(not library.available(), reason="needs the compiled loops")
@pytest.mark.parametrize("limit", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("rate", [1e6, 1e8])
@pytest.mark.parametrize("starts", [None, 3])
def test_batches(clock, monkeypatch, limit, rate, starts):
    """A pass of a group takes 40 ms at the lower rate, a group several seconds."""
    loop = batch_loop.batch

    def slowly(*args):
        done = loop(*args)
        clock.now += done / rate
        return done

    monkeypatch.setattr(batch_loop, "batch", slowly)
    B = A @ RNG.choice([-1.0, 1.0], (40, 50))
    begun = clock.now
    result = dcra.minimize_batch(A, B, time_limit=limit, starts=starts, seed=0, n_jobs=1)
    check(clock, begun, limit, 1.1e6 / rate, result.seconds)  # a first chunk before the rate is known
    first = np.where(A.T @ B < 0, -1.0, 1.0)
    assert np.all(result.fun <= np.abs(A @ first - B).sum(axis=0) + 1e-4)  # cut short is no excuse


def test_batches_of_single_solves_share_the_time(clock):
    """The first of them took it all."""
    B = RNG.standard_normal((30, 5))
    begun = clock.now
    result = dcra.minimize_batch(A, B, method="anneal", time_limit=0.5, seed=0, n_jobs=1)
    check(clock, begun, 0.5, 0.0)
    assert not np.any(np.all(result.x == 1, axis=0))


@limits
@products
def test_recovery(clock, limit, product):
    M, y, _ = compressed_sensing.instance(60, alpha=0.4, rho=0.5, seed=0)
    begun = clock.now
    found = compressed_sensing.recover(slow(M, clock, product), y + 0.1, time_limit=limit, seed=0, n_jobs=1)
    stages = 12  # each has an operator to look at, or an answer to judge when the time is over
    check(clock, begun, limit, stages * product, found.seconds if product < 0.3 else None)


def test_many_signals_share_the_time(clock):
    M, y, _ = compressed_sensing.instance(60, alpha=0.4, rho=0.5, seed=0)
    Y = y[:, None] + RNG.standard_normal((y.size, 30))
    begun = clock.now
    found = compressed_sensing.recover(M, Y, time_limit=0.3, seed=0, n_jobs=1)
    check(clock, begun, 0.3, 0.0, found.seconds, looks=5 * 30)  # at each that there is no time for
    assert len(found) == 30
    assert {"signs"} < {one.method for one in found}


def test_reads_share_the_time(clock):
    dimod = pytest.importorskip("dimod")
    from dcra.interop.dimod import DCRASampler

    model = dimod.BinaryQuadraticModel.from_ising({}, {(i, j): 1.0 for i in range(60) for j in range(i)})
    begun = clock.now
    found = DCRASampler().sample(model, num_reads=1000, time_limit=0.2, seed=0, n_jobs=1)
    check(clock, begun, 0.2, 0.0, found.info["timing"]["total"])
    assert 1 <= len(found) < 1000


@pytest.mark.parametrize("limit", [0.05, 0.5])
def test_fits(clock, limit):
    pytest.importorskip("sklearn")
    from dcra.apps import BinaryRegressor

    begun = clock.now
    model = BinaryRegressor(fit_intercept=True, time_limit=limit, random_state=0).fit(A, b + 5.0)
    check(clock, begun, limit, 0.0, model.result_.seconds)


@pytest.mark.parametrize("method", ["auto", "anneal"])
@pytest.mark.parametrize("limit", [0.05, 0.5])
def test_assignments(clock, limit, method):
    from dcra.apps.qap import qap

    F, D = RNG.integers(0, 9, (2, 8, 8)).astype(float)
    begun = clock.now
    found = qap(F, D, method=method, time_limit=limit, seed=0, n_jobs=1)
    check(clock, begun, limit, 0.0, found.result.seconds)


def test_clauses_count_from_the_beginning(clock, monkeypatch):
    from dcra.apps import maxsat

    read = maxsat.clauses.Clauses.of

    def slowly(*args):
        clock.now += 0.4
        return read(*args)

    monkeypatch.setattr(maxsat.clauses.Clauses, "of", slowly)
    soft = [RNG.choice([-1, 1], 3) * (1 + RNG.choice(40, 3, replace=False)) for _ in range(300)]
    begun = clock.now
    answer = maxsat.solve([c.tolist() for c in soft], time_limit=0.5, seed=0, n_jobs=1)
    check(clock, begun, 0.5, 0.0, answer.result.seconds)


def test_a_watch_refuses_products():
    clock = Clock()
    watch = Watch(clock, end=101.0)
    rows = np.ones((5, 3))

    def product(M):
        clock.now += 0.3 * len(M)
        return 2 * M

    with pytest.raises(OutOfTime):
        watch.multiply(product, rows)
    assert 101.0 <= clock.now < 101.4
    assert watch.over
    with watch.opened():
        np.testing.assert_array_equal(watch.multiply(product, rows), 2 * rows)
    assert watch.within(lambda: True).over
    assert Watch(clock).products_left == np.inf


def test_a_watch_multiplies_as_many_rows_as_take_little_time():
    clock, sizes = Clock(), []
    watch = Watch(clock, end=200.0)

    def product(M):
        sizes.append(len(M))
        clock.now += 0.001 * len(M)
        return 2 * M

    X = RNG.standard_normal((2, 12, 3))
    np.testing.assert_array_equal(watch.multiply(product, X), 2 * X)
    assert sizes[0] == 1
    assert 5 < max(sizes) <= 10
    assert watch.few(0.5, 2, 32) == 32
    clock.now = 199.99
    assert 2 <= watch.few(0.5, 2, 32) <= 4


@pytest.mark.parametrize(("passes_per_second", "expected"), [(30, 9), (2, 1), (1e6, 100)])
def test_a_first_run_is_as_short_as_the_time_is(passes_per_second, expected):
    compiled = compile_problem(dcra.Problem(quadratic=RNG.standard_normal((60, 60))))
    search = Search(compiled, Limits(time_limit=1.0, clock=lambda: 0.0), seed=0, begun=0.0)
    search.rate = passes_per_second * compiled.work_per_pass
    assert Annealing(compiled).next(search).engine.passes == expected


def test_nothing_is_planned_when_the_time_is_over(monkeypatch):
    """Reading took it all: what a plan would prepare is of no use."""
    monkeypatch.setattr("dcra.solving.since.make_plan", None)
    problem = dcra.Problem([dcra.Term("l1", A, b)])
    result = solve_since(time.perf_counter() - 1.0, problem, SolveOptions(time_limit=0.5))
    assert result.status == "time_limit"
    assert result.fun == pytest.approx(problem.objective(result.x))


@pytest.mark.parametrize(
    "beside",
    [
        {},
        {"terms": [dcra.Term("l1", np.ones((3, 300)), np.zeros(3))]},
        {"domain": "binary", "constraints": dcra.exactly(120)},
    ],
    ids=["couplings", "losses", "counts"],
)
def test_tables_of_couplings_are_made_as_long_as_there_is_time(beside):
    quadratic = np.random.default_rng(5).standard_normal((300, 300))
    problem = dcra.Problem(quadratic=quadratic, **beside)
    search, _ = prepare(problem, SolveOptions(time_limit=60.0, seed=0), time.perf_counter())
    search.compiled.__dict__.pop("_kept", None)
    search.look_at(Watch(search.limits.clock, end=0.0))
    with pytest.raises(OutOfTime):
        decide(search).make_plan()
