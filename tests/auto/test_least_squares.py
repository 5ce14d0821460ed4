"""Squared losses as couplings."""

import numpy as np
import pytest

import dcra
from dcra.auto import least_squares
from dcra.auto.annealing import Annealing
from dcra.auto.decision import decide
from dcra.auto.proofs import ProofBeside
from dcra.auto.turns import Turns
from dcra.compiled.form import compile_problem
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.search.state import Limits, Search


def problem(rows=50, n=40, domain="binary", seed=0):
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((rows, n)), rng.standard_normal(rows)
    terms = [Term("squared", A, b, rng.random(rows)), Term("squared", A[:5], 0.0, 2.0)]
    return Problem(terms, linear=rng.standard_normal(n), domain=domain, constant=3.0)


@pytest.mark.parametrize("domain", ["spin", "binary"])
def test_the_values_are_the_same(domain):
    compiled = compile_problem(problem(domain=domain))
    form = least_squares.recast(compiled)
    S = np.where(np.random.default_rng(1).random((4, 40)) < 0.5, -1.0, 1.0)
    value = form.value_scale * (form.quadratic.value(S) + form.linear(S)) + form.offset
    np.testing.assert_allclose(value, compiled.problem.objective(compiled.decode(S)))


@pytest.mark.usefixtures("compiled_loops")
def test_when_it_is_done():
    search = Search(compile_problem(problem()), Limits(), seed=0, begun=0.0)
    plan = decide(search).make_plan()
    assert isinstance(plan, ProofBeside)
    assert isinstance(plan.general, Turns)
    assert isinstance(plan.general.plans[0], Annealing)
    few = compile_problem(problem(rows=20))
    assert not least_squares.worthwhile(few, None)
    assert not least_squares.worthwhile(compile_problem(problem()), 1e-9)
    l1 = Problem([Term("l1", np.ones((60, 50)), 0.0)])
    assert not least_squares.worthwhile(compile_problem(l1), None)


def test_an_exact_fit_is_found_and_judged_as_it_is():
    rng = np.random.default_rng(2)
    A, x = rng.standard_normal((60, 50)), rng.choice([-1.0, 1.0], 50)
    result = dcra.minimize(A, A @ x, "squared", starts=8, seed=0)
    assert np.array_equal(result.x, x)
    assert result.fun == pytest.approx(0.0, abs=1e-20)
    again = dcra.minimize(A, A @ x, "squared", starts=8, seed=0, n_jobs=2)
    assert np.array_equal(again.x, x)


@pytest.mark.usefixtures("compiled_loops")
def test_turns_are_the_same_at_any_number_of_jobs():
    rng = np.random.default_rng(3)
    A, b = rng.standard_normal((80, 80)), rng.standard_normal(80)
    one, two = (dcra.minimize(A, b, "squared", starts=12, seed=4, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.x, two.x)
    assert one.fun == two.fun
