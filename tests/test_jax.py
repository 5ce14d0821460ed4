"""Arrays of JAX: answers come back in it, values are in float64, and nothing is warned about."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dcra
from dcra.apps.quadratic import qubo

jax = pytest.importorskip("jax")
jnp = jax.numpy

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((6, 8)), RNG.standard_normal(6)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_answers_come_back():
    result = dcra.minimize(jnp.asarray(A), jnp.asarray(B), seed=0)
    assert isinstance(result.x, jax.Array)
    assert result.x.dtype == jnp.float32
    plain = dcra.minimize(np.asarray(A, np.float32), np.asarray(B, np.float32), seed=0)
    assert np.array_equal(np.asarray(result.x), plain.x)
    assert result.fun == plain.fun
    assert isinstance(result.fun, float)


def test_pools_fixings_starts_and_terms():
    problem = dcra.Problem([dcra.Term("huber", jnp.asarray(A), B)], linear=jnp.ones(8), domain="binary")
    result = dcra.solve(problem, seed=0, fixed={0: 1}, pool=3, x0=jnp.zeros(8))
    assert isinstance(result.x, jax.Array)
    assert isinstance(result.pool.points, jax.Array)
    assert problem.objective(result.x) == pytest.approx(result.fun)
    assert float(result.x[0]) == 1
    whole = dcra.minimize(jnp.asarray(A), B, domain=dcra.integers(0, 3), seed=0, starts=1)
    assert isinstance(whole.x, jax.Array)


@pytest.mark.parametrize("linear", [None, np.arange(8.0)])
def test_quadratic_problems_come_back(linear):
    Q = RNG.standard_normal((8, 8))
    problem = dcra.Problem(quadratic=jnp.asarray(Q), linear=linear)
    plain = dcra.Problem(quadratic=np.asarray(Q, np.float32), linear=linear)
    for options in ({}, {"fixed": {0: 1}}, {"method": "tabu"}, {"pool": 2}):
        result, known = (dcra.solve(one, seed=0, starts=2, **options) for one in (problem, plain))
        assert isinstance(result.x, jax.Array)
        assert result.x.dtype == jnp.float32
        assert np.array_equal(np.asarray(result.x), known.x)
        assert (result.fun, type(result.fun)) == (known.fun, float)
    assert isinstance(result.pool.points, jax.Array)
    for twin in (problem.to_spin(), problem.replace(constant=1.0)):
        assert isinstance(dcra.solve(twin, seed=0, starts=1).x, jax.Array)
    assert isinstance(qubo(jnp.asarray(Q), seed=0).x, jax.Array)


def test_batches():
    batch = dcra.minimize_batch(jnp.asarray(A), jnp.asarray(np.stack([B, -B], axis=1)), seed=0)
    assert isinstance(batch.x, jax.Array)
    assert batch.fun.dtype == np.float64


def test_sparse_arrays_get_a_sentence():
    from jax.experimental.sparse import BCOO

    with pytest.raises(TypeError, match=r"`A` must be a dense array or .*; got BCOO\. Take `A\.todense\(\)`"):
        dcra.minimize(BCOO.fromdense(jnp.asarray(A)), B)
    with pytest.raises(TypeError, match=r"`quadratic` must be a dense array or .*; got BCOO"):
        dcra.Problem(quadratic=BCOO.fromdense(jnp.eye(3)))
