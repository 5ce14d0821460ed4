"""Where "auto" searches: arrays of another library come home where the loops know the losses."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

import dcra
from dcra._array import is_numpy
from dcra._kernels import library
from dcra.auto import placement
from dcra.auto.placement import place
from dcra.losses import NAMES, VectorLoss
from dcra.model.problem import Problem
from dcra.model.term import Term

KNOWN = [name for name in NAMES if name not in ("l2", "linf")]


class Kind(Problem):
    """A kind of problem with a part of its own."""

    def __init__(self, *parts, label="", **options):
        self.label = label
        super().__init__(*parts, **options)


def problem_of(xp, loss="l1", dtype="float64", **parts):
    rng = np.random.default_rng(0)
    A, b, c = rng.standard_normal((6, 5)), rng.standard_normal(6), rng.standard_normal(5)
    return Problem([Term(loss, xp.asarray(A, dtype), xp.asarray(b))], linear=xp.asarray(c), **parts)


def same_values(one, other):
    X = np.where(np.random.default_rng(1).random((9, 5)) < 0.5, -1.0, 1.0)
    X = X if one.domain == "spin" else (X + 1) / 2
    np.testing.assert_allclose(one.objective(X), other.objective(X), rtol=1e-12)


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("loss", KNOWN)
def test_losses_that_the_loops_know_come_to_the_host(xp, loss, dtype, domain):
    problem = problem_of(xp, loss, dtype, domain=domain, constant=2.0)
    placed = place(problem)
    assert is_numpy(placed.like)
    assert placed.like.dtype == dtype
    assert placed.domain == domain
    assert (placed is problem) == xp.name.startswith("numpy")
    same_values(placed, problem)


@pytest.mark.parametrize("loss", ["l2", "linf", VectorLoss(np.sum, lambda z, step: z, label="own")])
def test_unknown_losses_stay_where_they_are(xp, loss):
    problem = problem_of(xp, loss)
    assert place(problem) is problem


def test_one_unknown_loss_among_others_is_enough_to_stay(xp):
    A = xp.asarray(np.eye(5))
    problem = Problem([Term("l1", A, 0.0), Term("linf", A, 0.0)])
    assert place(problem) is problem


@pytest.mark.usefixtures("compiled_loops")
def test_every_part_comes_along(xp, rng):
    weight = xp.asarray(rng.uniform(0.5, 2, 6))
    term = Term("huber", xp.asarray(rng.standard_normal((6, 5))), 0.3, weight)
    problem = Kind(
        [term],
        linear=xp.asarray(rng.standard_normal(5)),
        quadratic=xp.asarray(rng.standard_normal((5, 5))),
        constant=1.5,
        domain="binary",
        constraints=dcra.exactly(2),
        label="mine",
    )
    placed = place(problem)
    assert type(placed) is Kind
    assert placed.label == "mine"
    parts = (placed.terms[0].operator.A, placed.terms[0].b, placed.terms[0].weight, placed.linear)
    assert all(map(is_numpy, (*parts, placed.quadratic.operator.A)))
    same_values(placed, problem)
    X = (np.arange(32)[:, None] >> np.arange(5)) & 1
    np.testing.assert_array_equal(placed.violation(X), problem.violation(X))


@pytest.mark.usefixtures("compiled_loops")
def test_a_quadratic_alone_comes_to_the_host(xp, rng):
    placed = place(Problem(quadratic=xp.asarray(rng.standard_normal((5, 5)))))
    assert is_numpy(placed.like)


def test_without_loops_nothing_moves(monkeypatch):
    monkeypatch.setattr(library, "available", lambda: False)
    problem = Problem([Term("l1", array_api_strict.eye(5), 0.0)])
    assert place(problem) is problem


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize(("entries", "moves"), [(24, False), (25, True)])
def test_only_small_problems_leave_an_accelerator(entries, moves, monkeypatch):
    monkeypatch.setattr(placement, "HOST_ENTRIES", entries)
    device = array_api_strict.Device("device1")
    problem = Problem([Term("l1", array_api_strict.eye(5, device=device), 0.0)])
    assert (place(problem) is not problem) == moves
    here = Problem([Term("l1", array_api_strict.eye(5), 0.0)])
    assert place(here) is not here  # on the host already: size is no matter


def test_the_answer_goes_back_where_the_problem_came_from(xp):
    problem = problem_of(xp)
    result = dcra.solve(problem, seed=0)
    assert xp.is_ours(result.x)
    assert result.x.dtype == problem.like.dtype
    assert result.fun == pytest.approx(problem.objective(result.x))
    assert result.fun == dcra.solve(place(problem), seed=0).fun
