"""A tree before all points are tried."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import dcra
from dcra.auto.all_points import TreeBeforeAll, try_all
from dcra.auto.decision import Traits, decide
from dcra.compiled.form import compile_problem
from dcra.exact.patience import Patience
from dcra.exact.prove import Prove
from dcra.search.kept import Kept
from dcra.search.plans import Exhaust
from dcra.search.state import Limits, Search


def noise(loss="l1", n=22, r=40, seed=0, **options):
    rng = np.random.default_rng(seed)
    return dcra.Problem([dcra.Term(loss, rng.standard_normal((r, n)), rng.standard_normal(r))], **options)


def plan_for(problem, **limits):
    search = Search(compile_problem(problem), Limits(**limits), 0, 0.0)
    return decide(search).make_plan()


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("loss", ["l1", "squared", "logistic", "linf"])
def test_the_answer_is_that_of_all_points(loss):
    problem = noise(loss, n=18, r=30)
    found, all_of_them = dcra.solve(problem, seed=0), dcra.solve(problem, method="enumerate")
    assert found.status is all_of_them.status is dcra.Status.OPTIMAL
    assert found.fun == all_of_them.fun
    assert np.array_equal(found.x, all_of_them.x)


@pytest.mark.usefixtures("compiled_loops")
def test_when_there_is_a_tree():
    assert isinstance(plan_for(noise()), TreeBeforeAll)
    assert type(plan_for(noise(n=8, r=8))) is Exhaust  # done before a tree has begun
    search = Search(compile_problem(noise()), Limits(), 0, 0.0, pool=Kept(dcra.Pool(5), 22))
    assert type(try_all(Traits(search, search.compiled, None))) is Exhaust  # which hands in all that it needs


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("jobs", [1, 2])
def test_what_no_tree_closes_is_left_to_all_points(monkeypatch, jobs):
    problem = noise(n=20, r=30)
    known = dcra.solve(problem, method="enumerate")
    begin = TreeBeforeAll.__init__

    def hasty(self, seconds):
        begin(self, seconds)
        self.engine_of_tree = Prove(patience=Patience(1.0, 1.0))

    monkeypatch.setattr(TreeBeforeAll, "__init__", hasty)
    found = dcra.solve(problem, seed=0, n_jobs=jobs)
    assert found.status is dcra.Status.OPTIMAL
    assert found.fun == known.fun
    assert found.certificate is None


@pytest.mark.usefixtures("compiled_loops")
def test_constraints():
    problem = noise(n=16, r=30, domain="binary", constraints=dcra.exactly(5))
    found, known = dcra.solve(problem, seed=0), dcra.solve(problem, method="enumerate")
    assert found.status is known.status is dcra.Status.OPTIMAL
    assert found.fun == known.fun
    assert found.x.sum() == 5


@pytest.mark.usefixtures("compiled_loops")
def test_what_cannot_be_satisfied_is_said_to_be_so():
    pigeons, holes = np.zeros((3, 16)), np.zeros((2, 16))
    for i in range(3):
        pigeons[i, 2 * i : 2 * i + 2] = 1
        holes[:, 2 * i : 2 * i + 2] += np.eye(2)
    rows = [LinearConstraint(pigeons, lb=1), LinearConstraint(holes, ub=1)]
    problem = noise(n=16, r=30, domain="binary", constraints=rows)
    found = dcra.solve(problem, seed=0)
    assert found.status is dcra.Status.INFEASIBLE


@pytest.mark.usefixtures("compiled_loops")
def test_a_tree_leaves_a_certificate():
    found = dcra.solve(noise(n=24, r=30), seed=0)
    assert found.status is dcra.Status.OPTIMAL
    assert found.certificate is not None
