"""The public calls: brute force is the oracle, every storage and library gets its own kind back."""

from __future__ import annotations

import inspect
import pickle

import array_api_strict
import numpy as np
import pytest
from scipy import sparse, special
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import dcra
from dcra._array import device_of
from dcra.engines import DCRA, Sweep
from dcra.losses import NAMES, Huber, Loss
from dcra.methods import METHODS
from dcra.model import operators

ROWS = {
    "l1": np.abs,
    "squared": np.square,
    "huber": lambda u: special.huber(1.0, u),
    "hinge": lambda u: np.maximum(0, u),
    "squared_hinge": lambda u: np.maximum(0, u) ** 2,
    "quantile": lambda u: np.maximum(0.5 * u, -0.5 * u),
    "epsilon_insensitive": lambda u: np.maximum(0, np.abs(u) - 0.1),
    "logistic": lambda u: np.logaddexp(0, u),
    "linear": lambda u: u,
    "capped_l1": lambda u: np.minimum(np.abs(u), 1),
}
WHOLE = {"l2": lambda u: np.linalg.norm(u, axis=-1), "linf": lambda u: np.abs(u).max(axis=-1)}
STORAGES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda A: A.astype(np.float32),
    "int": lambda A: A.astype(np.int64),
    "csr": sparse.csr_array,
    "csc float32": lambda A: sparse.csc_matrix(A.astype(np.float32)),
    "operator": aslinearoperator,
    "products only": aslinearoperator,
}
SEARCHES = [name for name in ("sweep", "dcra", "dcra-paper", "flip", "anneal", "tabu") if name in METHODS]
domains = pytest.mark.parametrize("domain", ["spin", "binary"])


def all_points(n, domain):
    bits = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    return bits if domain == "binary" else 2 * bits - 1


def term_values(name, A, b, weight, X):
    U = X @ np.asarray(A, float).T - b
    if name in WHOLE:
        return weight * WHOLE[name](U)
    return np.sum(weight * ROWS[name](U), axis=-1)


def draw_matrix(rng, r, n):
    """Small whole numbers, which every storage holds exactly."""
    return rng.integers(-9, 10, (r, n)).astype(float)


def assert_optimal(result, best):
    scale = 1e-9 * (1 + abs(best))
    assert result.fun == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert result.status == "optimal"
    assert result.lower_bound == pytest.approx(result.fun, rel=1e-9, abs=scale)
    assert result.lower_bound <= result.fun
    assert result.gap == 0
    assert result.success


def seeds(count, *key):
    return [np.random.default_rng((*key, i)) for i in range(count)]


@pytest.fixture(params=STORAGES)
def store(request, monkeypatch):
    if request.param == "products only":
        monkeypatch.setattr(operators, "MATERIALIZE_ENTRIES", 0)
    return STORAGES[request.param]


@domains
@pytest.mark.parametrize("name", NAMES)
def test_auto_finds_the_optimum_of_small_problems(name, domain, store):
    for i, rng in enumerate(seeds(4, list(NAMES).index(name), domain == "spin")):
        n, r = int(rng.integers(1, 10)), int(rng.integers(1, 9))
        A, b = draw_matrix(rng, r, n), rng.normal(0, 5, r)
        weight = rng.uniform(0, 2, r) if i % 2 and name in ROWS else float(rng.uniform(0.1, 3))
        c = rng.normal(0, 3, n) if i > 1 else None
        result = dcra.minimize(store(A), b, name, weights=weight, domain=domain, linear=c, seed=0)
        X = all_points(n, domain)
        values = term_values(name, A, b, weight, X) + (0 if c is None else X @ c)
        assert_optimal(result, values.min())
        x = np.asarray(result.x, float)
        assert x.shape == (n,)
        assert np.isin(x, X[:, 0]).all()
        at = term_values(name, A, b, weight, x[None])[0] + (0 if c is None else x @ c)
        assert result.fun == pytest.approx(at, rel=1e-12, abs=1e-12)


@domains
@pytest.mark.parametrize("kind", ["gaussian", "float32", "sparse"])
def test_auto_finds_the_optimum_at_fourteen_variables(kind, domain):
    for rng in seeds(6, 14):
        A, b = rng.standard_normal((14, 14)), rng.normal(0, 3, 14)
        A = (
            A.astype(np.float32)
            if kind == "float32"
            else A * (rng.random(A.shape) < 0.3)
            if kind == "sparse"
            else A
        )
        given = sparse.coo_array(A) if kind == "sparse" else A
        best = term_values("l1", A, b, 1.0, all_points(14, domain)).min()
        assert_optimal(dcra.minimize(given, b, domain=domain, seed=0), best)


@domains
def test_solve_several_terms(domain):
    names = list(NAMES)
    for i, rng in enumerate(seeds(48, 3)):
        n = int(rng.integers(1, 10))
        X = all_points(n, domain)
        c, constant = rng.normal(0, 2, n), float(rng.normal())
        values, terms = X @ c + constant, []
        for k in range(int(rng.integers(2, 5))):
            name, r = names[(i + 5 * k) % len(names)], int(rng.integers(1, 6))
            A, b = draw_matrix(rng, r, n), rng.normal(0, 5, r)
            weight = rng.uniform(0, 2, r) if name in ROWS and k % 2 else float(rng.uniform(0.1, 2))
            terms.append(dcra.Term(name, sparse.csr_array(A) if k == 1 else A, b, weight))
            values = values + term_values(name, A, b, weight, X)
        result = dcra.solve(dcra.Problem(terms, linear=c, constant=constant, domain=domain), seed=0)
        assert_optimal(result, values.min())


@domains
def test_solve_linear_terms_alone(domain):
    c = np.array([3.0, -1.0, 0.5, -7.0])
    result = dcra.solve(dcra.Problem(linear=c, constant=2.0, domain=domain))
    assert_optimal(result, 2 - 11.5 if domain == "spin" else 2 - 8)


class Elastic:
    """|u| + u^2/2 of one vector: all that a user has to write."""

    convex = True

    def value(self, z):
        return float(np.sum(np.abs(z) + z**2 / 2))

    def prox(self, z, step):
        return np.sign(z) * np.maximum(np.abs(z) - step, 0) / (1 + step)


class ElasticLoss(Loss):
    """The same as a subclass, for any array library and a batch."""

    convex = separable = positive = True

    def value(self, z):
        xp = operators.namespace(z)
        return xp.sum(xp.abs(z) + z**2 / 2, axis=-1)

    def prox(self, z, step):
        xp = operators.namespace(z)
        return xp.sign(z) * xp.clip(xp.abs(z) - step, 0.0, None) / (1 + step)


class Misses:
    """The number of residuals that are not zero: not convex, and not said to be."""

    def value(self, z):
        return float(np.count_nonzero(np.abs(z) > 1e-9))

    def prox(self, z, step):
        return np.where(z**2 > 2 * step, z, 0.0)


def elastic(U):
    return np.sum(np.abs(U) + U**2 / 2, axis=-1)


def misses(U):
    return np.count_nonzero(np.abs(U) > 1e-9, axis=-1).astype(float)


@domains
@pytest.mark.parametrize(
    ("loss", "formula"), [(Elastic(), elastic), (ElasticLoss(), elastic), (Misses(), misses)]
)
def test_user_losses(loss, formula, domain):
    for rng in seeds(5, 5):
        n, r = int(rng.integers(1, 8)), int(rng.integers(1, 8))
        A, b = draw_matrix(rng, r, n), rng.integers(-9, 10, r).astype(float)
        best = formula(all_points(n, domain) @ A.T - b).min()
        assert_optimal(dcra.minimize(A, b, loss, domain=domain, seed=0), best)
        for method in ("sweep", "dcra", "flip"):
            result = dcra.minimize(A, b, loss, domain=domain, seed=0, method=method, starts=2)
            assert result.fun >= best - 1e-9 * (1 + best)
            assert result.lower_bound <= best + 1e-9 * (1 + best)


def test_user_losses_on_every_library(xp, rng):
    A, b = rng.standard_normal((5, 4)), rng.standard_normal(5)
    best = elastic(all_points(4, "spin") @ A.T - b).min()
    for loss in (Elastic(), ElasticLoss()):
        result = dcra.minimize(xp.asarray(A), xp.asarray(b), loss)
        assert xp.is_ours(result.x)
        assert_optimal(result, best)


@pytest.mark.parametrize("method", SEARCHES)
@domains
def test_searches_are_never_below_the_optimum_and_mostly_reach_it(method, domain):
    names = list(ROWS) if method in ("anneal", "tabu") else list(NAMES)
    reached = 0
    for i, rng in enumerate(seeds(24, 7, domain == "spin")):
        n, r = int(rng.integers(4, 10)), int(rng.integers(3, 12))
        name = names[i % len(names)]
        A, b = draw_matrix(rng, r, n), rng.normal(0, 5, r)
        A = A * (rng.random(A.shape) < 0.5) if i % 3 == 1 else A
        values = term_values(name, A, b, 1.0, all_points(n, domain))
        given = sparse.csr_array(A) if i % 3 == 1 else A
        result = dcra.minimize(given, b, name, domain=domain, method=method, starts=6, seed=0)
        rounding = 1e-9 * (1 + abs(values).max())
        assert result.fun >= values.min() - rounding
        assert result.lower_bound <= values.min() + rounding
        assert result.method == method
        reached += result.fun <= values.min() + rounding
    assert reached >= (13 if method in ("sweep", "dcra") else 6)


@pytest.mark.parametrize("method", ["auto", "flip", DCRA(max_outer=3), Sweep(block=2, sweeps=9), "sweep"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_answers_come_in_the_library_of_the_matrix(xp, method, dtype, rng):
    A, b = np.round(rng.standard_normal((4, 5)), 1), rng.standard_normal(4)
    given = xp.asarray(A, dtype)
    result = dcra.minimize(given, xp.asarray(b), method=method, starts=1, seed=0)
    assert xp.is_ours(result.x)
    assert result.x.dtype == getattr(xp.library, dtype)
    assert device_of(result.x) == device_of(given)
    assert isinstance(result.fun, float)
    exact = np.abs(xp.host(given) @ xp.host(result.x) - b).sum()
    assert result.fun == pytest.approx(exact, rel=1e-12)
    assert result.fun >= term_values("l1", xp.host(given), b, 1.0, all_points(5, "spin")).min() - 1e-9


@pytest.mark.parametrize("method", ["auto", "flip", DCRA(max_outer=3), Sweep(block=2, sweeps=9), "sweep"])
@pytest.mark.parametrize("name", ["l1", "linf"])
def test_answers_stay_on_the_device(method, name, rng):
    """array-api-strict's second device refuses to mix with the first, as a GPU would."""
    device = array_api_strict.Device("device1")
    A = array_api_strict.asarray(rng.standard_normal((4, 5)), device=device)
    result = dcra.minimize(A, rng.standard_normal(4), name, method=method, starts=1, seed=0, domain="binary")
    assert result.x.device == device


def test_answers_to_sparse_and_operators_are_numpy(rng):
    A = rng.standard_normal((4, 5))
    for given, dtype in (
        (sparse.csr_array(A), np.float64),
        (sparse.csr_array(A.astype(np.float32)), np.float32),
        (aslinearoperator(A), np.float64),
        (A.tolist(), np.float64),
        (np.rint(A).astype(int), np.float64),
    ):
        x = dcra.minimize(given, np.ones(4)).x
        assert isinstance(x, np.ndarray)
        assert x.dtype == dtype


def test_both_domains_agree(rng):
    """x = (s + 1)/2: the same problem in the other encoding has the same value."""
    A, b = rng.standard_normal((6, 8)), rng.standard_normal(6)
    spin = dcra.minimize(A, b, seed=0)
    binary = dcra.minimize(2 * A, b + A.sum(axis=1), domain="binary", seed=0)
    assert binary.fun == pytest.approx(spin.fun, rel=1e-12)
    np.testing.assert_array_equal(2 * binary.x - 1, spin.x)


def test_large_offsets_do_not_drown_float32(rng):
    """Enumeration is judged in float64 even where A is stored in less."""
    A, b = rng.standard_normal((3, 8)).astype(np.float32), 1e6 + rng.standard_normal(3)
    best = term_values("l1", A, b, 1.0, all_points(8, "spin")).min()
    assert dcra.minimize(A, b).fun == pytest.approx(best, rel=1e-15, abs=0)


def read_only(x):
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("method", ["auto", *SEARCHES, DCRA.authors(), Sweep(block=4)])
@domains
def test_inputs_are_left_alone(method, domain, rng):
    A, b, c, w = (rng.standard_normal(s) for s in ((6, 8), 6, 8, 6))
    w, x0 = np.abs(w), np.ones(8)
    copies = [x.copy() for x in (A, b, c, w, x0)]
    given = [read_only(x) for x in (A, b, c, w, x0)]
    dcra.minimize(A, b, weights=w, linear=c, x0=x0, domain=domain, method=method, starts=2, seed=0)
    for before, after in zip(copies, given, strict=True):
        np.testing.assert_array_equal(before, after)


A = np.arange(12.0).reshape(3, 4) - 5
B = np.arange(3.0)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"time_limit": -1}, ValueError, "`time_limit` must be positive and finite; got -1"),
        ({"time_limit": 0}, ValueError, "`time_limit` must be positive and finite; got 0"),
        ({"time_limit": np.nan}, ValueError, "`time_limit` must be positive and finite; got nan"),
        ({"time_limit": np.inf}, ValueError, "`time_limit` must be positive and finite; got inf"),
        ({"time_limit": "1"}, TypeError, "`time_limit` must be a number of seconds; got '1'"),
        ({"time_limit": True}, TypeError, "`time_limit` must be a number of seconds; got True"),
        ({"starts": 0}, ValueError, "`starts` must be at least 1; got 0"),
        ({"starts": -3}, ValueError, "`starts` must be at least 1; got -3"),
        ({"starts": 2.0}, TypeError, "`starts` must be an integer; got 2.0"),
        ({"starts": True}, TypeError, "`starts` must be an integer; got True"),
        ({"n_jobs": 0}, ValueError, "`n_jobs` must be at least 1, or -1 for all cores; got 0"),
        ({"n_jobs": "2"}, TypeError, "`n_jobs` must be an integer; got '2'"),
        ({"seed": -1}, ValueError, "`seed` must not be negative; got -1"),
        ({"seed": 1.5}, TypeError, "`seed` must be an integer; got 1.5"),
        ({"target": "low"}, TypeError, "`target` must be a number; got 'low'"),
        ({"target": np.nan}, TypeError, "`target` must be a number; got nan"),
        ({"callback": 3}, TypeError, "`callback` must be callable; got int"),
        (
            {"method": "swep"},
            ValueError,
            "`method` must be one of auto, .* 'swep'; did you mean 'sweep'",
        ),
        ({"method": 3}, TypeError, "`method` must be a name or an engine of dcra.engines; got int"),
        ({"method": DCRA}, TypeError, "`method` must be a name or an engine"),
        ({"method": DCRA(rank=6)}, ValueError, r"`rank` must be at most n \+ 1 = 5; got 6"),
        ({"x0": np.ones(3)}, ValueError, r"`x0` must have shape \(4,\) or \(k, 4\); got \(3,\)"),
        ({"x0": np.zeros(4)}, ValueError, "`x0` must hold only -1 and 1 for the spin domain; found 0"),
        ({"x0": -np.ones(4), "domain": "binary"}, ValueError, "`x0` must hold only 0 and 1 .*; found -1"),
        ({"x0": np.full((2, 4), np.inf)}, ValueError, "`x0` must hold only -1 and 1 .*; found inf"),
        ({"x0": "up"}, TypeError, "`x0` must hold numbers"),
        ({"domain": "binry"}, ValueError, "`domain` must be one of spin, binary; .* did you mean 'binary'"),
        ({"loss": "hubber"}, ValueError, "`loss` must be one of l1, .* did you mean 'huber'"),
        ({"loss": 3}, TypeError, "`loss` must be a name, .*; got int"),
        ({"linear": np.ones(3)}, ValueError, r"`linear` must have shape \(4,\); got \(3,\)"),
        ({"linear": [1, 2, 3, np.inf]}, ValueError, "`linear` must be finite"),
        ({"weights": np.ones(4)}, ValueError, r"`weights` must have shape \(3,\); got \(4,\)"),
        ({"weights": np.ones((3, 1))}, ValueError, r"`weights` must .*; did you mean `np\.ravel\(weights\)`"),
        ({"weights": -1.0}, ValueError, "`weights` must not be negative"),
        ({"weights": np.ones(3), "loss": "linf"}, ValueError, "`weights` must be one number for LInf"),
        (
            {"loss": "huber:threshold=two"},
            ValueError,
            "'threshold' of loss 'huber' must be a number; got 'two'",
        ),
        ({"domain": {0, 1}}, ValueError, r"`domain` must be one of spin, .*; did you mean 'binary'\?"),
        (
            {"quadratic": np.eye(3)},
            ValueError,
            r"`quadratic` must have shape \(4, 4\) to match `A` of shape \(3, 4\); got \(3, 3\)",
        ),
        ({"weight": 2.0}, TypeError, "`minimize` takes A, b, .*; got `weight`; did you mean `weights`"),
        ({"time_limt": 2.0}, TypeError, "`minimize` takes .*; got `time_limt`; did you mean `time_limit`"),
        ({"zzz": 2.0}, TypeError, "`minimize` takes A, b, loss, .*; got `zzz`$"),
    ],
)
def test_bad_options(options, error, match):
    with pytest.raises(error, match=match):
        dcra.minimize(A, B, **options)


@pytest.mark.parametrize(
    ("matrix", "b", "error", "match"),
    [
        (A, np.arange(4.0), ValueError, r"`b` must have shape \(3,\) to match `A` of shape \(3, 4\).*`A\.T`"),
        (
            A,
            np.arange(5.0),
            ValueError,
            r"`b` must have shape \(3,\) .* \(3, 4\); got \(5,\)",
        ),
        (A, [0, 1, np.nan], ValueError, "`b` must be finite"),
        (A, [0, 1, 1j], TypeError, "`b` must hold real numbers"),
        (A, ["0", "1", "2"], TypeError, "`b` must hold real numbers"),
        (np.full((3, 4), np.nan), B, ValueError, "`A` must be finite"),
        (np.where(A == 0, np.inf, A), B, ValueError, "`A` must be finite"),
        (sparse.csr_array(np.where(A == 0, -np.inf, A)), B, ValueError, "`A` must be finite"),
        (np.empty((0, 4)), np.empty(0), ValueError, r"at least one row and one column; got shape \(0, 4\)"),
        (np.empty((3, 0)), B, ValueError, r"at least one row and one column; got shape \(3, 0\)"),
        (A + 1j, B, TypeError, "`A` must be real; got complex128"),
        (sparse.csr_array(A + 1j), B, TypeError, "`A` must be real; got complex128"),
        (aslinearoperator(A + 1j), B, TypeError, "`A` must be real; got complex128"),
        (A.astype(object), B, TypeError, "`A` must hold real numbers; got dtype object"),
        (A.astype(str), B, TypeError, "`A` must hold real numbers"),
        (A[0], B, ValueError, r"`A` must be a matrix of shape \(r, n\); got 1 dimension"),
        (LinearOperator((3, 4), matvec=lambda x: A @ x, dtype=float), B, TypeError, "without an adjoint"),
    ],
)
def test_bad_data(matrix, b, error, match):
    with pytest.raises(error, match=match):
        dcra.minimize(matrix, b)


def test_bad_options_of_a_batch():
    batch = np.ones((3, 2))
    with pytest.raises(ValueError, match=r"`weights` must have shape \(3,\); got \(4,\)"):
        dcra.minimize_batch(A, batch, weights=np.ones(4))
    with pytest.raises(
        TypeError, match=r"`minimize_batch` takes A, B, .*; got `weight`; did you mean `weights`"
    ):
        dcra.minimize_batch(A, batch, weight=2.0)
    with pytest.raises(ValueError, match="`B` must have shape"):
        dcra.minimize_batch(A, np.ones((5, 2)))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"domain": "binary"},
            r"`solve` takes no `domain`; it belongs .*: `problem\.replace\(domain=\.\.\.\)`",
        ),
        ({"constraints": ()}, r"`solve` takes no `constraints`; .*`problem\.replace\(constraints=\.\.\.\)`"),
        ({"loss": "l1"}, r"no `loss`; it belongs to a term .*: `problem\.replace\(terms=\[dcra\.Term\("),
        ({"sed": 3}, "`solve` takes problem, method, .*; got `sed`; did you mean `seed`"),
    ],
)
def test_what_solve_does_not_take(options, match):
    with pytest.raises(TypeError, match=match):
        dcra.solve(dcra.Problem(dcra.Term("l1", A, B)), **options)


def test_a_call_keeps_its_signature():
    assert list(inspect.signature(dcra.minimize).parameters)[:4] == ["A", "b", "loss", "weights"]
    assert list(inspect.signature(dcra.Term).parameters) == ["loss", "A", "b", "weight"]
    assert pickle.loads(pickle.dumps(dcra.solve)) is dcra.solve


def test_a_loss_in_a_word_with_its_option():
    found = dcra.minimize(A, B, "huber:threshold=2", seed=0)
    assert found.fun == dcra.minimize(A, B, Huber(2.0), seed=0).fun


def test_bad_ranks():
    with pytest.raises(ValueError, match=r"`rank` must be at least 2 .*; got 1"):
        DCRA(rank=1)


def test_solve_takes_a_problem():
    with pytest.raises(TypeError, match=r"`problem` must be a dcra\.Problem; got ndarray"):
        dcra.solve(A)


def test_methods_say_what_they_need(rng):
    with pytest.raises(ValueError, match="'enumerate' needs at most 40 variables; methods that fit: auto"):
        dcra.minimize(rng.standard_normal((3, 41)), np.zeros(3), method="enumerate")
