"""The compiled form of Algorithms 1 and 2 makes the steps of the plain one."""

from __future__ import annotations

import numpy as np
import pytest

from dcra import lift
from dcra.compiled.form import compile_problem
from dcra.engines.dcra import DCRA, DcraState
from dcra.engines.dcra_loop import DcraLoopState, fits
from dcra.model.problem import Problem
from dcra.model.term import Term

ENGINES = {
    "paper": DCRA.paper(),
    "default": DCRA(),
    "authors": DCRA.authors(),
    "fixed": DCRA(rank=3, curvature=50.0, max_inner=4),
}
LOSSES = ["l1", "huber", "hinge", "squared", "quantile", "epsilon_insensitive", "squared_hinge"]


def problem_of(loss, domain, seed=0):
    rng = np.random.default_rng(seed)
    A, b, w = rng.standard_normal((12, 9)), 2 * rng.standard_normal(12), rng.uniform(0.5, 2, 12)
    terms = [Term(loss, A, b, w), Term("l1", A[:4], b[:4])]
    return compile_problem(Problem(terms, linear=rng.standard_normal(9), domain=domain))


@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ENGINES)
def test_same_steps(name, loss, domain):
    compiled = problem_of(loss, domain)
    engine = ENGINES[name]._resolved(compiled)
    assert fits(engine, compiled, 5)
    V = lift.random_factor(engine._rank(compiled), compiled.n, 0, 0)[None]
    plain, loop = DcraState(engine, compiled, V.copy()), DcraLoopState(engine, compiled, V.copy())
    for _ in range(20):
        plain.advance(1)
        loop.advance(1)
        assert plain.done == loop.done
        if plain.done:
            break
        np.testing.assert_allclose(loop.factors[0].T, plain.iterate.V[0], atol=1e-10)
        assert loop.progress[0] == pytest.approx(plain.iterate.rho[0])
        assert loop.progress[1] == pytest.approx(plain.iterate.L[0])


def test_same_answers_to_the_end():
    compiled = problem_of("l1", "spin")
    engine = DCRA.paper()
    V = np.stack([lift.random_factor(5, compiled.n, 1, i) for i in range(4)])
    plain, loop = DcraState(engine, compiled, V.copy()), DcraLoopState(engine, compiled, V.copy())
    for state in (plain, loop):
        while not state.done:
            state.advance(10**6)
    assert np.array_equal(plain.candidates(), loop.candidates())
    assert plain.steps == loop.steps


def test_losses_without_an_envelope_in_the_loop_go_elsewhere():
    for loss in ("logistic", "capped_l1"):
        compiled = problem_of(loss, "spin")
        assert not fits(DCRA.paper(), compiled, 5)
    assert fits(DCRA()._resolved(problem_of("logistic", "spin")), problem_of("logistic", "spin"), 5)
