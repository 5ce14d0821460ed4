"""What the root of a proof has fixed is left out of the search: no answer is worse for it."""

from __future__ import annotations

import numpy as np
import pytest

import dcra
from dcra.auto import remaining
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.polish.flip import Flip


def halves(seed, n=60):
    """Half of the variables have an answer to find, the others, in rows of their own, have none."""
    rng, m = np.random.default_rng(seed), n // 2
    A = np.zeros((4 * m, n))
    A[: 2 * m, :m] = 50 * rng.standard_normal((2 * m, m))
    A[2 * m :, m:] = rng.standard_normal((2 * m, m))
    b = A @ rng.choice([-1.0, 1.0], n)
    b[: 2 * m // 5] = 1000 * rng.standard_normal(2 * m // 5)
    b[2 * m :] = rng.standard_normal(2 * m)
    return dcra.Problem([dcra.Term("l1", A, b)])


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_fixed_is_left_out(seed, monkeypatch):
    sizes = []
    begin = remaining.Remaining.__init__

    def noted(self, *given):
        begin(self, *given)
        sizes.append(self.compiled.n)

    monkeypatch.setattr(remaining.Remaining, "__init__", noted)
    less = dcra.solve(halves(seed), starts=8, seed=0, n_jobs=1)
    assert sizes
    assert sizes[0] < 60
    monkeypatch.setattr(remaining, "WORTHWHILE", 2.0)
    whole = dcra.solve(halves(seed), starts=8, seed=0, n_jobs=1)
    assert len(sizes) == 1
    assert less.fun <= whole.fun
    assert less.n_starts == whole.n_starts == 8


@pytest.mark.parametrize("domain", ["spin", "binary"])
def test_answers_have_all_variables(domain):
    problem = dcra.Problem(halves(2, 12).terms, linear=np.arange(12.0), domain=domain)
    whole = compile_problem(problem)
    sides = np.array([1, -1, 0, 0] * 3, np.int8)
    own = remaining.remaining(whole, sides)
    assert own.n == 6
    state = remaining.Rest(Flip(), sides).start(own, Starts(0, 0, 2))
    while not state.done:
        state.advance(1000)
    spins = state.candidates()
    assert spins.shape == (2, 12)
    assert np.all(spins[:, sides != 0] == sides[sides != 0])
    assert whole.judged(spins) == pytest.approx(own.judged(spins[:, sides == 0]))
