"""The decision of "auto", as a table: problems of every kind, the plan each gets, and that words say why."""

from __future__ import annotations

import time
from pathlib import Path

import array_api_strict
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint

import dcra
from dcra import costs
from dcra.api import SolveOptions, prepare
from dcra.apps.maxsat import ClauseProblem, random_clauses
from dcra.apps.qap import qap_problem
from dcra.auto.decision import BATCH, BESIDE, TABLE, decide, decide_batch
from dcra.compiled.form import compile_problem
from dcra.io.qaplib import write_matrices
from dcra.model import operators
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.search.state import Limits, Search

rng = np.random.default_rng(3)
SQUARES = np.arange(1, 31) ** 2 % [[31], [47], [61]]


def l1(A, b=None, **parts):
    return Problem([Term("l1", A, np.ones(A.shape[0]) if b is None else b)], **parts)


def gaussian(r, n):
    return rng.standard_normal((r, n))


def integers(m, n):
    A = rng.integers(0, 100, (m, n)).astype(float)
    return l1(A, A @ rng.integers(0, 2, n), domain="binary")


class Free:
    """A matrix that shows its products only."""

    def __init__(self, A):
        self.A, self.shape, self.dtype = A, A.shape, A.dtype

    def matvec(self, x):
        return self.A @ x

    def rmatvec(self, y):
        return self.A.T @ y


SEATS = np.arange(100).reshape(10, 10)

PROBLEMS = {
    "dense": (lambda: l1(gaussian(40, 60)), None, ("descents", "proof")),
    "sparse": (
        lambda: l1(sparse.random_array((400, 300), density=0.02, rng=rng, format="csc")),
        None,
        ("descents",),
    ),
    "two terms": (
        lambda: Problem([Term("l1", gaussian(9, 50), 0.0), Term("huber", gaussian(9, 50), 1.0)]),
        None,
        ("descents", "proof"),
    ),
    "tiny": (lambda: l1(gaussian(10, 12)), None, ("enumeration",)),
    "squared, tall": (
        lambda: Problem([Term("squared", gaussian(90, 50), 1.0)]),
        None,
        ("least squares", "proof"),
    ),
    "squared, wide": (lambda: Problem([Term("squared", gaussian(30, 50), 1.0)]), None, ("descents", "proof")),
    "quadratic": (lambda: Problem(quadratic=gaussian(50, 50)), None, ("annealing",)),
    "quadratic, in time": (lambda: Problem(quadratic=gaussian(50, 50)), 5.0, ("annealing", "settled proof")),
    "losses and quadratic": (lambda: l1(gaussian(9, 50), quadratic=gaussian(50, 50)), None, ("annealing",)),
    "loss of no table": (lambda: Problem([Term("linf", gaussian(9, 50), 1.0)]), None, ("array sweeps",)),
    "another library": (
        lambda: Problem([Term("linf", array_api_strict.asarray(gaussian(9, 50)), 1.0)]),
        None,
        ("array sweeps",),
    ),
    "constraints": (
        lambda: l1(gaussian(20, 50), constraints=dcra.exactly(9)),
        None,
        ("constrained", "proof"),
    ),
    "quadratic, constraints": (
        lambda: Problem(quadratic=gaussian(50, 50), constraints=LinearConstraint(gaussian(1, 50), ub=3)),
        None,
        ("constrained",),
    ),
    "quadratic, counts": (
        lambda: Problem(quadratic=gaussian(50, 50), constraints=dcra.exactly(9)),
        None,
        ("counted",),
    ),
    "quadratic, assignment": (
        lambda: Problem(quadratic=gaussian(100, 100), constraints=dcra.one_of([*SEATS, *SEATS.T])),
        None,
        ("exchanges",),
    ),
    "constraints, tiny": (
        lambda: l1(gaussian(20, 9), constraints=dcra.exactly(4)),
        None,
        ("feasible points",),
    ),
    "clauses": (lambda: ClauseProblem(random_clauses(60, 300, 2, seed=0)), None, ("specialist",)),
    "assignment": (lambda: qap_problem(gaussian(7, 7), gaussian(7, 7)), None, ("specialist",)),
    "small assignment": (lambda: qap_problem(gaussian(4, 4), gaussian(4, 4)), None, ("specialist",)),
    "clauses, constraints": (
        lambda: ClauseProblem(random_clauses(60, 300, 2, seed=0)).replace(constraints=dcra.exactly(9)),
        None,
        ("constrained",),
    ),
    "few equations": (lambda: integers(4, 36), None, ("descents", "meet in the middle")),
    "more equations": (lambda: integers(8, 80), 30.0, ("descents", "lattice", "closest pairs")),
    "many equations": (lambda: integers(16, 160), 30.0, ("descents", "closest pairs")),
    "required equations": (
        lambda: l1(
            gaussian(9, 30),
            domain="binary",
            constraints=LinearConstraint(SQUARES, SQUARES[:, ::3].sum(axis=1), SQUARES[:, ::3].sum(axis=1)),
        ),
        None,
        ("constrained", "meet in the middle"),
    ),
    "no time for enumeration": (lambda: l1(gaussian(10, 24)), 0.01, ("descents", "settled proof", "proof")),
    "no time for the root": (lambda: l1(gaussian(300, 300)), 0.05, ("descents",)),
    "no time to lay out A": (lambda: l1(np.ones((3000, 3000), np.float32)), 0.03, ("array sweeps",)),
}


def search_for(problem, time_limit=None):
    compiled = compile_problem(problem)
    if problem.constraints is None:
        return Search(compiled, Limits(time_limit=time_limit), 0, time.perf_counter())
    from dcra.constrained.state import ConstrainedSearch

    return ConstrainedSearch(compiled, Limits(time_limit=time_limit), 0, time.perf_counter())


@pytest.fixture
def measured_machine(monkeypatch):
    """A machine as fast as the one the costs were measured on, and a clock that stands still."""
    monkeypatch.setattr(costs, "slowdown", lambda: 1.0)
    monkeypatch.setattr(Search, "seconds_left", property(lambda search: search.limits.time_limit))


@pytest.mark.usefixtures("compiled_loops", "measured_machine")
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_table(name):
    make, seconds, names = PROBLEMS[name]
    decision = decide(search_for(make(), seconds))
    assert decision.names == names
    assert all(decision.reasons)
    assert decision.make_plan() is not None


def test_products_alone(monkeypatch):
    monkeypatch.setattr(operators, "MATERIALIZE_ENTRIES", 10)
    assert decide(search_for(l1(Free(gaussian(20, 40)), np.ones(20)))).names == ("full steps",)


def test_every_row_is_chosen_by_some_problem():
    elsewhere = {"full steps", "rounds", "replicas", "spins"}
    chosen = {name for _, _, names in PROBLEMS.values() for name in names} | elsewhere
    assert {row.plan for row in (*TABLE, *BESIDE)} == chosen


@pytest.mark.usefixtures("compiled_loops")
def test_penalised_problems_are_decided_by_the_same_table():
    rows = LinearConstraint(gaussian(1, 50), ub=3)
    search = search_for(Problem(quadratic=gaussian(50, 50), constraints=rows))
    assert decide(search, search.relaxation).names == ("annealing",)
    search = search_for(
        ClauseProblem(random_clauses(60, 300, 2, seed=0)).replace(constraints=dcra.exactly(9))
    )
    assert decide(search, search.relaxation).names == ("specialist",)


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize(
    ("loss", "n", "count", "name"),
    [
        ("l1", 8, 5, "enumeration"),
        ("l1", 30, 5, "lockstep"),
        ("linf", 30, 5, "array sweeps"),
        ("linear", 30, 5, "signs"),
    ],
)
def test_the_table_of_batches(loss, n, count, name):
    compiled = compile_problem(Problem([Term(loss, gaussian(10, n), 0.0)]), keep_rows=True)
    assert decide_batch(compiled, count).name == name
    assert name in {row.name for row in BATCH}


def test_a_file_gets_the_plan_that_its_problem_gets(tmp_path: Path):
    F, D = rng.integers(0, 9, (2, 7, 7)).astype(float)
    write_matrices(tmp_path / "small.dat", F, D)
    problem = dcra.io.read(tmp_path / "small.dat")
    search, plan = prepare(problem, SolveOptions(seed=0), time.perf_counter())
    assert decide(search).names == ("specialist",)
    assert type(plan) is type(prepare(qap_problem(F, D), SolveOptions(), time.perf_counter())[1])
    assert dcra.solve(problem, seed=0, starts=8).fun == dcra.apps.qap.qap(F, D, seed=0, starts=8).cost
