"""The program that solvers are given has the problem's objective at every point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import dcra
from dcra.baselines.milp import highs
from dcra.exact.mixed_model import mixed_model, piecewise_linear
from dcra.losses import NAMES, EpsilonInsensitive, Quantile
from dcra.model.problem import Problem
from dcra.model.term import Term

LINEAR = [name for name, kind in NAMES.items() if piecewise_linear(kind())]


def problem_of(loss, domain="spin", store=np.asarray, scale=1.0, seed=0, n=6, r=5):
    rng = np.random.default_rng(seed)
    A = scale * rng.standard_normal((r, n)) * (rng.random((r, n)) < 0.7)
    rows = NAMES[loss].separable
    weight = rng.uniform(0, 2, r) * (rng.random(r) < 0.8) if rows else 1.5
    terms = [Term(loss, store(A), scale * rng.standard_normal(r), weight), Term("l1", store(A[:2]), scale)]
    return Problem(terms, linear=scale * rng.standard_normal(n), domain=domain, constant=0.7 * scale)


def value_at(model, u):
    """The cheapest completion of u."""
    fixed = replace(
        model,
        lower=np.concatenate([u, model.lower[model.n :]]),
        upper=np.concatenate([u, model.upper[model.n :]]),
    )
    return model.unit * highs(fixed, 0 * model.integrality, np.inf).fun + model.offset


def test_the_named_losses_that_are_piecewise_linear():
    assert set(LINEAR) == {"l1", "hinge", "quantile", "epsilon_insensitive", "linear", "linf"}


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, lambda A: A.astype(np.float32)])
@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("loss", LINEAR)
def test_value_is_the_objective(loss, domain, store, scale):
    if store not in (np.asarray, sparse.csr_array) and scale != 1:
        pytest.skip("numbers of this scale are no float32")
    problem = problem_of(loss, domain, store, scale)
    model = mixed_model(problem)
    for seed in range(2):
        u = np.random.default_rng(seed).integers(0, 2, model.n).astype(float)
        x = 2 * u - 1 if domain == "spin" else u
        assert value_at(model, u) == pytest.approx(problem.objective(x), rel=1e-7)


def test_sparse_stays_sparse():
    A = sparse.random(200, 300, 0.01, random_state=0, format="csr")
    for loss, per_entry in (("l1", 1), ("epsilon_insensitive", 1), ("linf", 2)):
        model = mixed_model(Problem([Term(loss, A, np.ones(200))]))
        assert sparse.issparse(model.rows)
        assert model.rows.nnz <= per_entry * (A.nnz + 400)


def test_numbers_are_moderate():
    model = mixed_model(problem_of("l1", scale=1e90))
    assert 0.25 <= np.abs(model.cost).max() <= 1
    assert 0.25 <= np.abs(model.rows.data).max() <= 1


def test_l1_takes_one_row_and_one_column_for_each_row():
    model = mixed_model(Problem([Term("l1", np.ones((4, 3)), np.zeros(4))]))
    assert (model.cost.size, model.low.size) == (3 + 4, 4)
    assert model.integrality.tolist() == [1, 1, 1, 0, 0, 0, 0]


def test_rows_without_weight_are_left_out():
    model = mixed_model(Problem([Term("l1", np.ones((3, 2)), 0.0, [1.0, 0.0, 2.0])]))
    assert model.low.size == 2
    assert mixed_model(Problem([Term("hinge", np.ones((3, 2)), 0.0, 0.0)])).low.size == 0


@pytest.mark.parametrize("loss", [Quantile(0.9), EpsilonInsensitive(0.5)])
def test_options_of_losses_count(loss):
    problem = Problem([Term(loss, np.array([[1.0, -2.0], [0.5, 1.0]]), [0.2, 0.3])])
    assert value_at(mixed_model(problem), np.ones(2)) == pytest.approx(problem.objective(np.ones(2)))


def test_nothing_but_a_linear_part():
    problem = Problem(linear=[1.0, -2.0], constant=3.0)
    assert value_at(mixed_model(problem), np.array([0.0, 1.0])) == pytest.approx(3.0 - 3.0)
    result = dcra.solve(problem, method="milp")
    assert (result.fun, result.status) == (0.0, "optimal")
