"""A kind of problem that brings a plan and a bound of its own, home-made."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
import pytest

import dcra
from dcra.auto.decision import decide
from dcra.bounds.dual import DualStage
from dcra.bounds.semidefinite import SdpStage
from dcra.bounds.semidefinite_with_losses import MixedStage
from dcra.compiled.form import compile_problem
from dcra.engines.base import Engine, State
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.search.plans import Repeat
from dcra.search.specialists import Generalist, bound_stage, specialist_of
from dcra.search.state import Limits, Search

N = 60


class Known(Problem):
    """A problem whose optimum its maker knows."""

    specialist: ClassVar[str] = f"{__name__}:KNOWING"

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((40, N))
        self.optimum = rng.choice([-1.0, 1.0], N)
        super().__init__([Term("l1", A, A @ self.optimum + 1.0)], constant=3.0)


class Modest(Known):
    """One whose specialist leaves everything to the general methods."""

    specialist: ClassVar[str] = f"{__name__}:MODEST"


@dataclass(frozen=True)
class Recall(Engine):
    """Knows the answer by heart."""

    name: ClassVar[str] = "recall"

    def start(self, compiled, starts):
        return Recalled(compiled)


class Recalled(State):
    done = True

    def __init__(self, compiled):
        self.compiled = compiled

    def advance(self, work):
        pass

    def candidates(self):
        return self.compiled.encode(self.compiled.problem.optimum)[None]


class Proof:
    """One step, after which the optimum is a bound."""

    def __init__(self, compiled):
        self.problem, self.bound, self.rounds = compiled.problem, -inf, 0

    @property
    def done(self):
        return self.rounds > 0

    def advance(self, work):
        self.rounds += 1
        self.bound = self.problem.objective(self.problem.optimum)


class KnowingSpecialist:
    """Records what it is asked."""

    def __init__(self):
        self.asked = []

    def plan(self, compiled, seconds_left):
        self.asked.append(("plan", compiled, seconds_left))
        return Repeat(Recall())

    def bound_stage(self, compiled, fun, seconds):
        self.asked.append(("bound", compiled, fun, seconds))
        return Proof(compiled)


KNOWING, MODEST = KnowingSpecialist(), Generalist()


@pytest.fixture
def asked(monkeypatch):
    monkeypatch.setattr(KNOWING, "asked", [])
    return KNOWING.asked


def test_its_plan_and_its_bound_are_used(asked):
    problem = Known(0)
    result = dcra.solve(problem, seed=0)
    np.testing.assert_array_equal(result.x, problem.optimum)
    assert result.status == "optimal"
    assert result.lower_bound == result.fun == problem.objective(problem.optimum)


def test_what_it_is_asked(asked):
    problem = Known(0)
    dcra.solve(problem, starts=1, seed=0, n_jobs=1)
    assert {entry[0] for entry in asked} == {"plan", "bound"}
    assert all(entry[1].problem is problem for entry in asked)
    assert all(entry[2] is None for entry in asked if entry[0] == "plan")
    best = problem.objective(problem.optimum)
    assert all(entry[2:] == (best, inf) for entry in asked if entry[0] == "bound")


def test_a_method_of_the_user_s_choice_does_not_ask_for_a_plan(asked):
    result = dcra.solve(Known(0), method="random", starts=1, seed=0)
    assert result.method == "random"
    assert "plan" not in {entry[0] for entry in asked}


def test_a_bound_that_is_not_reached_leaves_the_search_open(asked, monkeypatch):
    monkeypatch.setattr(KnowingSpecialist, "plan", lambda self, compiled, seconds_left: None)
    problem = Known(0)
    result = dcra.solve(problem, starts=1, seed=0)
    assert result.lower_bound == problem.objective(problem.optimum) <= result.fun


def test_what_is_left_to_the_general_methods():
    plain = Problem(Known(0).terms, constant=3.0)
    own, same = (dcra.solve(problem, starts=2, seed=0) for problem in (Modest(0), plain))
    np.testing.assert_array_equal(own.x, same.x)
    assert (own.fun, own.lower_bound, own.status) == (same.fun, same.lower_bound, same.status)


def test_who_is_the_specialist():
    assert specialist_of(Known(0)) is KNOWING
    assert specialist_of(Known(0).replace(constant=1.0)) is KNOWING
    nobody = specialist_of(Problem(linear=np.ones(3)))
    assert isinstance(nobody, Generalist)
    compiled = compile_problem(Problem(linear=np.ones(3)))
    assert nobody.plan(compiled, None) is None
    assert nobody.bound_stage(compiled, 0.0, 1.0) is None


def test_the_general_bounds(rng):
    Q, A = rng.standard_normal((6, 6)), rng.standard_normal((4, 6))
    for parts, kind in (
        ({"terms": [Term("l1", A, 0.0)]}, DualStage),
        ({"quadratic": Q}, SdpStage),
        ({"terms": [Term("l1", A, 0.0)], "quadratic": Q}, MixedStage),
    ):
        compiled = compile_problem(Problem(**parts), loops=False)
        assert type(bound_stage(compiled, 0.0, inf)) is kind
    compiled = compile_problem(Known(0), loops=False)
    assert type(bound_stage(compiled, 0.0, inf)) is Proof
    assert type(bound_stage(compile_problem(Modest(0), loops=False), 0.0, inf)) is DualStage


@pytest.mark.parametrize("proves", [False, True])
def test_a_small_problem_is_enumerated_unless_its_specialist_proves(monkeypatch, proves):
    class Small(Known):
        def __init__(self):
            self.optimum = np.ones(4)
            Problem.__init__(self, [Term("l1", np.eye(4), 0.3)])

    monkeypatch.setattr(Repeat, "exact", proves)
    search = Search(compile_problem(Small()), Limits(), 0, 0.0)
    assert decide(search).names == ("specialist" if proves else "enumeration",)
