"""Binary compressed sensing: what is recovered, what is said about it, and what is refused."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.fft import dct, idct
from scipy.sparse.linalg import LinearOperator

import dcra
from dcra.apps.compressed_sensing import instance, recover
from dcra.losses import L1, Huber, SquaredL2
from dcra.result import Status


@pytest.mark.parametrize("mu", [0, 2, 10])
@pytest.mark.parametrize(("rho", "alpha"), [(0.05, 0.25), (0.3, 0.55), (0.5, 0.6), (0.7, 0.55), (0.95, 0.25)])
def test_signals_above_the_threshold_are_recovered(mu, rho, alpha):
    A, y, x = instance(300, alpha, rho, mu, seed=7)
    found = recover(A, y, seed=0)
    assert found.matched
    assert found.status is Status.OPTIMAL
    np.testing.assert_array_equal(found.x, x)
    np.testing.assert_array_equal(found.support, np.flatnonzero(x))
    assert found.noise == 0
    assert found.lower_bound <= found.objective <= 1e-9


def test_the_second_start_may_be_the_lucky_one():
    lucky = 0
    for seed in range(6):
        A, y, x = instance(300, 0.5, 0.5, seed=seed)
        one, many = (recover(A, y, noise=0, starts=starts, seed=0) for starts in (1, 17))
        assert (many.x == x).all() or not (one.x == x).all()
        lucky += many.n_starts > 3 and bool((many.x == x).all())
    assert lucky > 0


def test_what_cannot_be_recovered_is_not_claimed():
    A, y, _ = instance(200, 0.15, 0.5, seed=0)
    found = recover(A, y, noise=0, starts=2, seed=0)
    assert not found.matched
    assert "NOT matched" in found.message
    assert found.method == "messages, flip, auto"
    assert set(found.x) <= {0.0, 1.0}
    assert found.lower_bound <= found.objective


def test_same_seed_same_answer_and_inputs_unchanged():
    A, y, _ = instance(150, 0.3, 0.5, seed=1)
    before = A.copy(), y.copy()
    first, second = (recover(A, y, starts=3, seed=5, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(first.x, second.x)
    assert first.seed == 5
    np.testing.assert_array_equal(A, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_lam_enters_the_objective_only():
    A, y, x = instance(300, 0.6, 0.2, seed=2)
    found = recover(A, y, lam=0.05, noise=0, loss="l1", seed=0)
    np.testing.assert_array_equal(found.x, x)
    assert found.objective == pytest.approx(0.05 * x.sum())
    assert found.lam == 0.05
    assert found.status is Status.TARGET


def test_many_measurement_vectors_at_once():
    A, _, _ = instance(300, 0.5, 0.2, seed=3)
    X = (np.random.default_rng(0).random((300, 12)) < 0.2).astype(float)
    X[:, 3] = np.random.default_rng(1).random(300) < 0.5  # denser: more than A can tell at once, or not
    found = recover(A, A @ X, seed=0)
    assert found.x.shape == (300, 12)
    assert len(found) == 12
    sparse = np.arange(12) != 3
    np.testing.assert_array_equal(found.x[:, sparse], X[:, sparse])
    assert found.matched[sparse].all()
    assert "matched exactly" in str(found)
    assert found[0].matched
    assert found[0].method == "messages"
    assert np.all(found.objective[sparse] < 1e-9)
    assert all(one.x.shape == (300,) for one in found)
    single = recover(A, (A @ X)[:, :1], seed=0)
    np.testing.assert_array_equal(single.x, X[:, :1])


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("ones", [True, False])
def test_sparse_matrices(ones):
    rng = np.random.default_rng(0)
    n, r, d = 4000, 2000, 12
    values = np.ones(n * d) if ones else rng.standard_normal(n * d)
    places = rng.integers(0, r, n * d), np.repeat(np.arange(n), d)
    A = sp.csc_array((values, places), shape=(r, n))
    x = (rng.random(n) < 0.1).astype(float)
    found = recover(A, A @ x, seed=0)
    assert found.matched
    np.testing.assert_array_equal(found.x, x)


def test_operators_too_large_to_be_written_out():
    rng = np.random.default_rng(0)
    n, r = 16_384, 8192
    rows = np.sort(rng.permutation(n)[:r])
    signs = rng.choice([-1.0, 1.0], n)

    def forward(v):
        return dct(signs * np.ravel(v), norm="ortho")[rows]

    def back(u):
        return signs * idct(np.bincount(rows, np.ravel(u), minlength=n), norm="ortho")

    A = LinearOperator((r, n), matvec=forward, rmatvec=back, dtype=np.float64)
    x = (rng.random(n) < 0.1).astype(float)
    found = recover(A, forward(x), seed=0)
    assert found.matched
    np.testing.assert_array_equal(found.x, x)


def test_pylops_operators():
    pylops = pytest.importorskip("pylops")
    rng = np.random.default_rng(0)
    n, r = 512, 300
    keep = pylops.Restriction(n, np.sort(rng.permutation(n)[:r]))
    A = keep @ pylops.signalprocessing.DCT(n) @ pylops.Diagonal(rng.choice([-1.0, 1.0], n))
    x = (rng.random(n) < 0.1).astype(float)
    found = recover(A, A @ x, seed=0)
    np.testing.assert_array_equal(found.x, x)


@pytest.mark.parametrize("noise", [0.02, 0.05])
@pytest.mark.parametrize("told", [True, False])
def test_noise_is_found_out(noise, told):
    A, y, x = instance(300, 0.7, 0.2, noise=noise, seed=4)
    found = recover(A, y, noise=noise if told else None, seed=0)
    np.testing.assert_array_equal(found.x, x)
    assert isinstance(found.loss, SquaredL2)
    assert not found.matched
    assert found.noise == pytest.approx(noise, rel=0.3)
    assert "up to noise" in found.message
    assert found.lam == pytest.approx(2 * found.noise**2 * np.log((1 - x.mean()) / x.mean()), rel=0.3)


def test_gross_errors_call_for_a_robust_loss():
    A, y, x = instance(300, 0.8, 0.2, seed=3)
    rng = np.random.default_rng(0)
    y[:24] += rng.normal(0, 3, 24)
    found = recover(A, y, seed=0)
    np.testing.assert_array_equal(found.x, x)
    assert isinstance(found.loss, L1)
    assert found.rows_matched == y.size - 24
    assert f"{y.size - 24} of {y.size}" in found.message
    found = recover(A, y + rng.normal(0, 0.02, y.size), seed=0)
    np.testing.assert_array_equal(found.x, x)
    assert isinstance(found.loss, Huber | L1)


def test_no_small_numbers_match_measurements_of_zero():
    A = 1e-30 * np.array([[2.0, 0.3], [-1.1, 0.7]])
    found = recover(A, np.zeros(2), loss="l1", seed=1)
    assert found.matched
    assert not found.x.any()


def test_float32_measurements_are_matched_up_to_their_rounding():
    A, y, x = instance(300, 0.6, 0.2, seed=5)
    found = recover(A.astype(np.float32), y.astype(np.float32), seed=0)
    assert found.matched
    np.testing.assert_array_equal(found.x, x)


def test_smallest_problems():
    assert recover([[2.0, 1.0]], [2.0], seed=0).x.tolist() == [1.0, 0.0]
    assert recover([[1.0, 2.0, 4.0, 8.0]], [10.0], seed=0).x.tolist() == [0.0, 1.0, 0.0, 1.0]
    A, y, x = instance(2, 1.0, 1.0, seed=0)
    assert recover(A, y, seed=0).x.tolist() == x.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"`A` must have at least two columns.*got shape \(3, 1\). Did you"):
        recover(np.ones((3, 1)), np.ones(3))


def test_printing():
    A, y, _ = instance(100, 0.7, 0.2, seed=0)
    text = str(recover(A, y, seed=0))
    assert "matched exactly" in text
    assert "lower bound" in text
    assert text.splitlines()[-1] == "        method  messages"


def test_a_time_limit_is_kept_for_all_columns():
    A, y, _ = instance(200, 0.2, 0.5, seed=0)
    found = recover(A, np.stack([y, -y], axis=1), time_limit=0.5, seed=0)
    assert len(found) == 2
    assert not found.matched.any()


A0, Y0, _ = instance(20, 0.5, 0.3)


@pytest.mark.parametrize(
    ("arguments", "options", "match"),
    [
        ((A0, Y0[:-1]), {}, r"`y` must have shape \(10,\) or \(10, k\) .*got \(9,\)"),
        ((A0, np.zeros(20)), {}, r"Did you mean `A\.T`"),
        ((A0, np.full(10, np.nan)), {}, "`y` must be finite"),
        ((np.zeros((3, 4)), np.ones(3)), {}, "`A` must not be all zero"),
        ((A0, Y0), {"sparsity": 0.0}, "`sparsity` must lie strictly between 0 and 1; got 0.0"),
        ((A0, Y0), {"sparsity": 1.5}, "`sparsity` must lie"),
        ((A0, Y0), {"noise": -1.0}, "`noise` must be finite and not negative; got -1.0"),
        ((A0, Y0), {"lam": -1.0}, "`lam` must be finite and not negative"),
        ((A0, Y0), {"noise": 0, "loss": "huber"}, "`noise=0` and `loss='huber'` contradict each other"),
        ((A0, Y0), {"starts": 0}, "`starts` must be at least 1"),
        ((A0, Y0), {"time_limit": -1}, "`time_limit` must be positive"),
    ],
)
def test_bad_arguments(arguments, options, match):
    with pytest.raises(ValueError, match=match):
        recover(*arguments, **options)


def test_wrong_kinds():
    with pytest.raises(TypeError, match="`y` must hold real numbers"):
        recover(A0, Y0 * 1j)
    with pytest.raises(TypeError, match="`noise` must be a number; got 'low'"):
        recover(A0, Y0, noise="low")


def test_an_interrupt_ends_every_later_stage(monkeypatch):
    """After Ctrl-C in one stage, the others get no time, and the answer says why it ended."""
    module = sys.modules["dcra.apps.compressed_sensing.recover"]
    solve, limits = module.solve, []

    def interrupted(problem, **options):
        limits.append(options["time_limit"])
        result = solve(problem, **options)
        return replace(result, status=Status.INTERRUPTED) if len(limits) == 1 else result

    monkeypatch.setattr(module, "solve", interrupted)
    A, y, _ = instance(200, alpha=0.15, rho=0.5, seed=0)
    found = recover(A, y, seed=0)
    assert found.status is Status.INTERRUPTED
    assert limits[0] is None
    assert all(limit <= 1e-3 for limit in limits[1:])
    assert found.x.shape == (200,)


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_gross_errors_are_left_out_first(noise, form, compiled_loops):
    """A tenth of the measurements is far off: without trimming, a quarter of the bits was wrong."""
    for seed in range(2):
        A, y, x = instance(400, alpha=0.7, rho=0.3, seed=seed)
        rng = np.random.default_rng(seed)
        bad = rng.permutation(y.size)[: y.size // 10]
        y = y + noise * rng.standard_normal(y.size)
        y[bad] += 1000.0 * rng.choice([-1, 1], bad.size)
        found = recover(form(A), y, seed=0)
        assert np.array_equal(found.x, x)
        assert found.rows_matched == (y.size - bad.size if noise == 0 else found.rows_matched)
        assert np.abs(found.residual[bad]).min() > 100
        assert found.status is not Status.OPTIMAL


@pytest.mark.parametrize("size", [1.0, 2.0, 3.0, 5.0])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_gross_errors_that_look_like_measurements_are_found_too(size, noise):
    """A tenth of the measurements is off by as much as they differ anyway: none of 400 bits is wrong."""
    for seed in range(2):
        A, y, x = instance(400, alpha=0.7, rho=0.3, seed=seed)
        rng = np.random.default_rng(seed + 100)
        bad = rng.permutation(y.size)[: y.size // 10]
        off = size * np.std(y) * rng.choice([-1, 1], bad.size)
        y = y + noise * rng.standard_normal(y.size)
        y[bad] += off
        found = recover(A, y, seed=0)
        assert np.array_equal(found.x, x)
        assert found.rows_matched == (y.size - bad.size if noise == 0 else found.rows_matched)


def test_gross_errors_beside_noise_that_is_known():
    A, y, x = instance(400, alpha=0.7, rho=0.3, seed=0)
    rng = np.random.default_rng(0)
    y = y + 0.02 * rng.standard_normal(y.size)
    y[:28] += 3 * np.std(y) * rng.choice([-1, 1], 28)
    assert np.array_equal(recover(A, y, noise=0.02, seed=0).x, x)


def test_plain_measurements_are_all_believed():
    from dcra.apps.compressed_sensing.trimming import near, plausible
    from dcra.model.operators import as_operator

    for seed in range(20):
        A, y, _ = instance(300, alpha=0.5, rho=0.2, seed=seed)
        assert plausible(y, as_operator(A)).all()
    assert near(np.zeros(5), np.ones(5, bool)).all()


def test_single_precision_stays():
    A, y, x = instance(200, alpha=0.6, rho=0.2, seed=0)
    for form in (np.asarray, sp.csr_array):
        found = recover(form(A.astype(np.float32)), y.astype(np.float32), seed=0)
        assert found.x.dtype == np.float32
        assert np.array_equal(found.x, x)
    assert recover(A, y, seed=0).x.dtype == np.float64


def values_everywhere(found, A, y):
    """f(Ax - y) + lam e'x as reported, at all points in the order of their bits; and where x is."""
    places = np.arange(A.shape[1])
    X = (np.arange(2**places.size)[:, None] >> places) & 1
    term, ones = dcra.Term(found.loss, A, y), np.full(places.size, found.lam)
    values = dcra.Problem([term], linear=ones, domain="binary").objective(X)
    return values, int(found.x @ 2**places)


@pytest.mark.parametrize(("seed", "loss"), [(61, "l1"), (71, "l1"), (12, "squared"), (55, "squared")])
def test_bound_and_optimum_are_of_the_objective_reported(seed, loss):
    """The answer's own density would call for another lam than the one that was searched with."""
    rng = np.random.default_rng(seed)
    M = int(rng.integers(2, 6))
    A, y = rng.normal(size=(M, 17)), 3 * rng.normal(size=M)
    found = recover(A, y, noise=0.5, loss=loss, seed=0, n_jobs=1)
    values, at = values_everywhere(found, A, y)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(values[at], abs=1e-12)
    assert found.objective <= values.min() + 1e-12
    assert found.lower_bound <= values.min() + 1e-12


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("noise", [None, 0.5])
def test_claims_hold_at_every_point(seed, noise):
    rng = np.random.default_rng(seed)
    A, y = rng.normal(size=(6, 17)), 3 * rng.normal(size=6)
    for loss in (None, "capped_l1", "logistic", "linear"):
        found = recover(A, y, noise=noise, loss=loss, seed=0, n_jobs=1)
        values, at = values_everywhere(found, A, y)
        assert found.objective == pytest.approx(values[at], abs=1e-12)
        assert found.lower_bound <= values.min() + 1e-12
        assert found.status is not Status.OPTIMAL or values[at] <= values.min() + 1e-12


def test_a_proof_of_another_objective_is_not_handed_on(monkeypatch):
    """All ones fit best; where ones cost 5 each, and no time is left to search that, nothing is proven."""
    module = sys.modules["dcra.apps.compressed_sensing.recover"]
    monkeypatch.setattr(module.Attempt, "_over", True)
    A, y = np.full((2, 17), -0.1), np.full(2, -100.0)
    found = recover(A, y, noise=0.5, loss="l1", lam=5.0, seed=0, n_jobs=1)
    values, _ = values_everywhere(found, A, y)
    assert found.x.all()
    assert found.lower_bound <= values.min() < found.objective
    assert found.status is Status.TIME_LIMIT


@pytest.mark.parametrize("loss", ["linear", "logistic"])
def test_a_match_is_not_the_best_where_other_residuals_cost_less(loss):
    A, y, x = instance(40, alpha=0.8, rho=0.3, seed=0)
    found = recover(A, y, loss=loss, seed=0)
    assert found.matched
    np.testing.assert_array_equal(found.x, x)
    assert found.status is Status.TARGET
