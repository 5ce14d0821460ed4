"""Method "auto" on arrays of other libraries: on the host where that is better, else many starts at once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import dcra
from dcra._array import from_numpy, on_accelerator, to_numpy
from dcra.auto import accelerator, decision, placement
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.engines.blocks import blocks_of
from dcra.engines.cuda_graphs import GraphRunner, Runner, runner_for
from dcra.engines.rule import Rule
from dcra.engines.sweep import Sweep
from dcra.model import operators
from dcra.polish.flip import Flip
from dcra.polish.neighbours import Neighbours
from dcra.solving import options

LOSSES = ["l1", "squared", "huber", "hinge", "logistic", "l2", "linf"]


def torch_on(device):
    torch = pytest.importorskip("torch")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs CUDA")
    return lambda x: torch.asarray(x, device=device)


@pytest.fixture
def pretend(monkeypatch):
    """Any array that is not NumPy's passes for one on an accelerator."""
    for module in (options, decision, placement):
        monkeypatch.setattr(module, "on_accelerator", lambda x: not isinstance(x, np.ndarray))
    monkeypatch.setattr(placement, "HOST_ENTRIES", 0)


def data(rng, r=20, n=30):
    return rng.standard_normal((r, n)), rng.standard_normal(r)


def test_only_the_cpu_is_no_accelerator():
    assert not on_accelerator(np.ones(3))
    assert not on_accelerator(torch_on("cpu")(np.ones(3)))


@pytest.mark.parametrize("domain", ["spin", "binary"])
def test_arrays_on_the_cpu_are_searched_by_the_same_loops(rng, domain):
    there = torch_on("cpu")
    A, b = data(rng)
    c, Q, w = rng.standard_normal(30), rng.standard_normal((30, 30)), rng.uniform(1, 2, 20)
    options = {"domain": domain, "starts": 2, "seed": 0, "constraints": dcra.at_most(12)}
    ours = dcra.minimize(A, b, linear=c, quadratic=Q, weights=w, **options)
    x0 = there(ours.x)
    theirs = dcra.minimize(
        there(A), there(b), linear=there(c), quadratic=there(Q), weights=there(w), **options
    )
    assert type(theirs.x) is type(x0)
    np.testing.assert_array_equal(to_numpy(theirs.x), ours.x)
    assert theirs.fun == pytest.approx(ours.fun, rel=1e-13)  # each library sums in an order of its own
    again = dcra.minimize(there(A), there(b), x0=theirs, domain=domain, starts=1, seed=0)
    assert type(again.x) is type(x0)


def test_losses_without_loops_stay_where_they_are(rng):
    there = torch_on("cpu")
    A, b = data(rng)
    problem = dcra.Problem([dcra.Term("linf", there(A), there(b))])
    assert placement.place(problem) is problem
    assert placement.place(dcra.Problem([dcra.Term("l1", there(A), there(b))])) is not problem


@pytest.mark.parametrize("limits", [{"starts": 40}, {"time_limit": 200.0}])
def test_rounds_of_many_starts(rng, pretend, limits):
    there = torch_on("cpu")
    A, b = data(rng)
    best = dcra.minimize(A, b, starts=20, seed=0).fun
    result = dcra.minimize(there(A.astype(np.float32)), there(b), seed=0, target=1.3 * best, **limits)
    assert best <= result.fun * (1 + 1e-6)
    assert result.status == "target"
    assert result.x.dtype == there(np.ones(1, np.float32)).dtype


def test_rounds_with_couplings(rng, pretend):
    there = torch_on("cpu")
    Q = rng.standard_normal((40, 40))
    best = dcra.solve(dcra.Problem(quadratic=Q), starts=4, seed=0).fun
    assert dcra.solve(dcra.Problem(quadratic=there(Q)), starts=64, seed=0).fun <= 0.9 * best


def test_only_the_best_are_polished(rng):
    A, b = data(rng)
    compiled = compile_problem(dcra.Problem([dcra.Term("l1", A, b)]), loops=False)
    engine = accelerator.BestPolished(Sweep(30, block=8), Flip(), 3)
    state = engine.start(compiled, Starts(0, 0, 12))
    while state.second is None:
        state.advance(1 << 40)
    swept = np.sort(compiled.judged(state.first.candidates()))
    np.testing.assert_allclose(np.sort(compiled.judged(state.candidates())), swept[:3])
    while not state.done:
        state.advance(1 << 40)
    assert np.all(np.sort(compiled.judged(state.candidates())) <= swept[:3])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("coupled", [False, True])
def test_best_flips_are_the_best(rng, loss, coupled, monkeypatch):
    monkeypatch.setattr("dcra.polish.neighbours.MOST_ENTRIES", 200)
    A, b = data(rng, 6, 9)
    extra = {"linear": rng.standard_normal(9), "quadratic": rng.standard_normal((9, 9))} if coupled else {}
    compiled = compile_problem(dcra.Problem([dcra.Term(loss, A, b)], **extra), loops=False)
    S = rng.choice([-1.0, 1.0], (5, 9))
    best = Neighbours(compiled).best(S, compiled.residual(S))
    for s, j, gain in zip(S, best.variable, best.gain, strict=True):
        gains = compiled.judged(s[None]) - compiled.judged(np.where(np.eye(9) > 0, -s, s))
        assert gain == pytest.approx(max(0.0, gains.max() / compiled.value_scale), abs=1e-9)
        assert gain == 0 or gains[j] == pytest.approx(gains.max())


@pytest.mark.parametrize("loss", LOSSES)
def test_recorded_steps_are_the_plain_ones(rng, loss):
    there = torch_on("cuda")
    A, b = data(rng, 40, 50)
    c, Q = rng.standard_normal(50), rng.standard_normal((50, 50))
    problem = dcra.Problem([dcra.Term(loss, there(A), there(b))], linear=there(c), quadratic=there(Q))
    compiled = compile_problem(problem)
    blocks = blocks_of(compiled, 16)
    X = 0.1 * rng.standard_normal((7, 50))
    plain, recorded = (
        make(compiled, blocks, from_numpy(X, compiled.like), 0.5, Rule()) for make in (Runner, runner_for)
    )
    assert isinstance(recorded, GraphRunner) or loss == "logistic"  # its prox looks at the numbers
    for k in range(5):
        order, rho = rng.permutation(len(blocks)), from_numpy(np.full((7, 1), 0.3 * k), compiled.like)
        for runner in (plain, recorded):
            runner.refresh()
            runner.sweep(order, rho)
        np.testing.assert_allclose(to_numpy(recorded.X), to_numpy(plain.X), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(to_numpy(recorded.Z), to_numpy(plain.Z), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cuda_in_cuda_out(rng, dtype, monkeypatch):
    there = torch_on("cuda")
    A, b = (array.astype(dtype) for array in data(rng))
    best = dcra.minimize(A, b, starts=20, seed=0).fun
    for entries in (0, 10**6):
        monkeypatch.setattr(placement, "HOST_ENTRIES", entries)
        result = dcra.minimize(there(A), there(b), time_limit=5.0, seed=0)
        assert result.x.is_cuda
        assert result.x.dtype == there(A).dtype
        assert result.fun < 1.2 * best
    batch = dcra.minimize_batch(there(A), there(rng.standard_normal((20, 40))), seed=0)
    assert batch.x.is_cuda


def test_batches_on_the_cpu_are_searched_by_the_same_loops(rng):
    there = torch_on("cpu")
    A, B = rng.standard_normal((20, 30)), rng.standard_normal((20, 5))
    ours, theirs = dcra.minimize_batch(A, B, seed=0), dcra.minimize_batch(there(A), there(B), seed=0)
    assert type(theirs.x) is type(there(A))
    np.testing.assert_array_equal(to_numpy(theirs.x), ours.x)


def test_batches_with_products_only(rng, monkeypatch):
    A, B = rng.standard_normal((12, 20)), rng.standard_normal((12, 3))
    exact = dcra.minimize_batch(A, B, seed=0)
    monkeypatch.setattr(operators, "MATERIALIZE_ENTRIES", 0)
    products = dcra.minimize_batch(aslinearoperator(A), B, seed=0)
    assert np.all(products.fun < 2 * exact.fun)


def test_wrong_numbers_of_jobs_are_refused_everywhere(rng, pretend):
    there = torch_on("cpu")
    A, b = data(rng)
    with pytest.raises(ValueError, match="`n_jobs` must be at least 1, or -1 for all cores; got 0"):
        dcra.minimize(there(A), there(b), n_jobs=0)
