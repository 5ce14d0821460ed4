"""Max-SAT: clauses, their hinge form, the search, and the output of the MaxSAT Evaluation."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

import dcra
from dcra._kernels import library
from dcra.apps import maxsat
from dcra.apps.maxsat import ClauseProblem, Clauses, Reporter, final_lines, quadratic_form, random_clauses
from dcra.cli import run
from dcra.compiled.form import compile_problem
from dcra.result import Status
from dcra.search.specialists import specialist_of

DATA = Path(os.environ.get("DCRA_DATA", "")) / "maxsat"


def mixed(seed: int, n: int = 8) -> Clauses:
    """Soft clauses of one to four literals with weights, and hard ones that are easily true."""
    rng = np.random.default_rng(seed)

    def draw(k: int) -> list[int]:
        return [int(v) for v in (rng.permutation(n)[:k] + 1) * rng.choice([-1, 1], k)]

    soft = [draw(int(k)) for k in rng.integers(1, 5, 40)]
    return Clauses.of(soft, rng.integers(1, 10, 40), hard=[draw(3) for _ in range(12)], n=n)


def all_points(n: int) -> np.ndarray:
    return np.array(list(itertools.product([0.0, 1.0], repeat=n)))


def best_cost(clauses: Clauses) -> int | None:
    costs = [clauses.cost(x) for x in all_points(clauses.n) if clauses.violated(x) == 0]
    return min(costs, default=None)


def test_clauses_are_put_in_order():
    clauses = Clauses.of([[2, -1, 2], [1, -1], [3], []], weights=[1, 2, 3, 4])
    assert clauses.lists() == [[-1, 2], [3], []]
    assert clauses.weight.tolist() == [1, 3, 4]
    assert clauses.tautologies == 1
    assert repr(clauses) == "Clauses(3 variables, 3 soft, 0 hard)"


@pytest.mark.parametrize("loops", [True, False])
def test_arrays_of_other_integers_are_put_in_order_too(loops, monkeypatch):
    if not loops:
        monkeypatch.setattr(library, "available", lambda: False)
    ptr, literals = np.array([0, 3, 3, 5, 7]), np.array([20_000, -1, 20_000, 2, -2, -3, 1])
    one, none = np.ones(4, np.int64), np.zeros(4, bool)
    for kind in (np.int16, np.int32, np.int64, ">i8"):
        apart = np.repeat(literals, 2).astype(kind)[::2]
        clauses = Clauses.from_arrays(None, ptr.astype(kind), apart, one, none)
        assert clauses.lists() == [[-1, 20_000], [], [1, -3]]
        assert clauses.ptr.dtype == clauses.literals.dtype == np.int64
    skewed = np.zeros(literals.nbytes + 1, np.uint8)[1:].view(np.int64)
    skewed[:] = literals
    assert Clauses.from_arrays(None, ptr, skewed, one, none).lists() == [[-1, 20_000], [], [1, -3]]
    for wrong in (ptr.astype(float), literals), (ptr, literals.astype(float)):
        with pytest.raises(TypeError, match="must hold integers that int64 can hold; got float64"):
            Clauses.from_arrays(None, *wrong, one, none)


@pytest.mark.parametrize("loops", [True, False])
def test_all_clauses_may_be_left_out(loops, monkeypatch):
    if not loops:
        monkeypatch.setattr(library, "available", lambda: False)
    clauses = Clauses.of([[1, -1], [2, 3, -2]])
    assert (clauses.m, clauses.lists(), clauses.tautologies) == (0, [], 2)
    assert Clauses.of([]).lists() == []


@pytest.mark.parametrize("seed", range(4))
def test_the_hinge_problem_counts_false_clauses(seed):
    clauses = mixed(seed)
    problem = ClauseProblem(clauses)
    points = all_points(clauses.n)
    by_hand = [clauses.cost(x) + clauses.top * clauses.violated(x) for x in points]
    np.testing.assert_array_equal(problem.objective(points), by_hand)
    assert problem.integer_valued


def test_the_quadratic_form_is_exact():
    clauses = Clauses.of([[1, -2], [2, 3], [-3], [], [-1, -3]], weights=[1, 2, 3, 4, 5], hard=[[1, 2]])
    h, J, constant = quadratic_form(clauses)
    for x in all_points(3):
        s = 2 * x - 1
        value = clauses.cost(x) + clauses.top * clauses.violated(x)
        assert constant + h @ s + s @ (J @ s) == pytest.approx(value)
    with pytest.raises(ValueError, match="must have at most two literals to be quadratic; found one of 3"):
        quadratic_form(Clauses.of([[1, 2, 3]]))


@pytest.mark.parametrize("seed", range(6))
def test_small_sets_are_solved(seed):
    clauses = mixed(seed)
    answer = maxsat.solve(clauses, seed=0)
    assert answer.feasible
    assert answer.optimal
    assert answer.cost == best_cost(clauses) == answer.result.fun


@pytest.mark.parametrize("seed", range(3))
def test_the_search_over_clauses_finds_the_same(seed):
    clauses = mixed(seed, n=12)
    problem = ClauseProblem(clauses)
    for engine in (maxsat.ClauseAnneal(300, hard_share=3.0), dcra.engines.Sweep(50)):
        result = dcra.solve(problem, method=engine, starts=16, seed=0)
        found = maxsat.solve(clauses, method=engine, starts=16, seed=0)
        assert result.fun == found.result.fun
        if isinstance(engine, maxsat.ClauseAnneal):
            assert found.cost == best_cost(clauses)


def test_other_methods_take_clauses_too():
    clauses = random_clauses(40, 160, 2, 0)
    best = maxsat.solve(clauses, starts=8, seed=0).cost
    for method in ("anneal", "tabu", "flip"):
        cost = maxsat.solve(clauses, method=method, starts=8, seed=0).cost
        assert best <= cost <= best + 5


@pytest.mark.usefixtures("compiled_loops")
def test_weighted_partial_clauses_against_another_solver():
    """A weighted independent set, whose optimum HiGHS proves."""
    from scipy.optimize import LinearConstraint, milp

    rng = np.random.default_rng(3)
    n = 60
    edges = [(u, v) for u in range(n) for v in range(u) if rng.random() < 0.1]
    w = rng.integers(1, 20, n)
    A = np.zeros((len(edges), n))
    for i, (u, v) in enumerate(edges):
        A[i, u] = A[i, v] = 1
    exact = milp(-w, integrality=np.ones(n), bounds=(0, 1), constraints=LinearConstraint(A, ub=1))
    hard = [[-(u + 1), -(v + 1)] for u, v in edges]
    answer = maxsat.solve([[v + 1] for v in range(n)], w, hard, starts=8, seed=0)
    assert answer.feasible
    assert answer.cost == w.sum() + round(exact.fun)
    assert answer.lower_bound <= answer.cost


@pytest.mark.usefixtures("compiled_loops")
def test_chains_of_implications_are_followed():
    n = 3000
    hard = [[-v, v + 1] for v in range(1, n)] + [[1]]
    answer = maxsat.solve([[-n], [-5]], hard=hard, starts=2, seed=0)
    assert answer.feasible
    assert answer.cost == 2


@pytest.mark.usefixtures("compiled_loops")
def test_random_hard_clauses_are_satisfied():
    hard = random_clauses(400, 1500, 3, 1).lists()
    answer = maxsat.solve([[v] for v in range(1, 401)], hard=hard, starts=4, seed=0)
    assert answer.feasible
    assert 0 < answer.cost < 200


def test_hard_clauses_that_cannot_be_true_are_reported():
    """Seven pigeons in six holes: no search can prove it."""
    pigeons, holes = 7, 6
    at = np.arange(1, pigeons * holes + 1).reshape(pigeons, holes)
    hard = at.tolist() + [[-int(u), -int(v)] for hole in at.T for u, v in itertools.combinations(hole, 2)]
    answer = maxsat.solve([[1]], hard=hard, starts=2, seed=0)
    assert not answer.feasible
    assert answer.violated == 1
    assert "1 hard clause FALSE" in str(answer)
    assert final_lines(answer) == ["c 1 hard clause is false in the best assignment found", "s UNKNOWN"]


def test_hard_clauses_whose_relaxation_fails_are_proven_unsatisfiable():
    hard = [[1], [-1]] + [[v] for v in range(2, 40)]
    answer = maxsat.solve([[2]], hard=hard, starts=2, seed=0)
    assert "1 hard clause FALSE: no assignment makes all of them true (proven)" in str(answer)
    assert final_lines(answer)[-1] == "s UNSATISFIABLE"
    assert answer.result.status == "infeasible"


@pytest.mark.parametrize("method", ["auto", "anneal", "enumerate"])
def test_results_say_whether_hard_clauses_are_true(method):
    problem = ClauseProblem(Clauses.of([[1]], hard=[[1, 2], [1, -2], [-1, 2], [-1, -2]], n=20))
    result = dcra.solve(problem, method=method, starts=2, seed=0)
    assert not result.feasible
    assert not result.success
    assert result.violation == problem.violation(result.x) == 1
    assert result.gap == np.inf
    assert "none that satisfies" in result.message or result.status == "infeasible"
    assert "1 FALSE" in str(result)
    np.testing.assert_array_equal(problem.violation(np.stack([result.x, result.x])), [1, 1])
    fine = dcra.solve(ClauseProblem(Clauses.of([[1]], hard=[[1, 2]], n=20)), method=method, starts=2, seed=0)
    assert fine.feasible
    assert fine.violation == 0


def test_same_seed_same_answer_at_any_number_of_workers():
    clauses = random_clauses(200, 900, 3, 0)
    one, two = (maxsat.solve(clauses, starts=6, seed=4, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.assignment, two.assignment)


def test_inputs_of_the_wrong_kind():
    with pytest.raises(ValueError, match="`clauses` must not hold the literal 0"):
        maxsat.solve([[1, 0]])
    with pytest.raises(ValueError, match="`weights` must be positive; found -1"):
        maxsat.solve([[1]], weights=[-1])
    with pytest.raises(ValueError, match=r"`weights` must have shape \(1,\)"):
        maxsat.solve([[1]], weights=[1, 2])
    with pytest.raises(ValueError, match="`weights` must be finite"):
        maxsat.solve([[1]], weights=[np.nan])
    with pytest.raises(ValueError, match=r"`weights` must sum to less than 2\^62"):
        maxsat.solve([[1], [2]], weights=[2**61, 2**61])
    with pytest.raises(TypeError, match="`weights` must be real numbers"):
        maxsat.solve([[1]], weights=["a"])
    with pytest.raises(TypeError, match="`clauses` must hold integers"):
        maxsat.solve([[1.5]])
    with pytest.raises(ValueError, match="`n` must be at least 3"):
        Clauses.of([[3]], n=2)
    with pytest.raises(ValueError, match="`n` must be below 1073741824 variables; got 4000000000"):
        maxsat.solve([[1, 4_000_000_000]])
    with pytest.raises(TypeError, match="`weights` and `hard` go with lists"):
        maxsat.solve(Clauses.of([[1]]), weights=[1])
    with pytest.raises(ValueError, match="`passes` must be at least 1"):
        maxsat.ClauseAnneal(0)
    with pytest.raises(ValueError, match="`hot` >= `cold` > 0"):
        maxsat.ClauseAnneal(10, 0.1, 0.2)
    with pytest.raises(ValueError, match="`moves` must be at least 1"):
        maxsat.ClauseWalk(0)
    with pytest.raises(ValueError, match="`noise` must be positive"):
        maxsat.ClauseWalk(1, 0.0)
    with pytest.raises(ValueError, match="method 'clause-walk' needs clauses"):
        dcra.minimize(np.eye(3), np.ones(3), method=maxsat.ClauseWalk(10))


def test_the_reporter_says_feasible_costs_once():
    lines: list[str] = []
    reporter = Reporter(Clauses.of([[1], [2]], hard=[[1, 2]]), lines.append)
    for fun in (5.0, 2.0, 2.0, 1.0):
        reporter(dcra.result.Progress(0.0, fun, 0.0))
    assert lines == ["o 2", "o 1"]


def test_the_command_line_speaks_the_evaluations_language(tmp_path, capsys):
    path = tmp_path / "small.wcnf"
    path.write_text("c a comment\nh 1 2 0\n3 -1 0\n4 -2 0\n")
    assert run(["solve", str(path), "--seed", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"c {path}: 2 variables, 2 soft and 1 hard clauses"
    assert "o 3" in lines
    assert lines[-2:] == ["s OPTIMUM FOUND", "v 10"]
    assert run(["solve", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fun"] == 3


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the files of DCRA_DATA")
@pytest.mark.usefixtures("compiled_loops")
def test_known_optima_of_the_evaluation():
    known = json.loads((DATA / "best_known.json").read_text())
    names = [name for name in sorted(known) if known[name]["published_opt_unsat"] and (DATA / name).exists()]
    for name in names[:6]:
        answer = maxsat.solve(dcra.io.read(DATA / name), starts=16, seed=0)
        assert answer.cost == known[name]["published_opt_unsat"]


@pytest.mark.parametrize(
    "changes",
    [
        {"constant": -1000.0},
        {"linear": np.where(np.arange(30) % 2, 2.0, -3.0)},
        {"quadratic": -np.eye(30)},
        {"terms": [dcra.Term("l1", np.ones((1, 30)), 4.0)]},
        {"domain": "spin"},
    ],
)
def test_other_parts_are_left_to_the_general_methods(changes):
    """What is known about the clauses says nothing about another objective."""
    problem = ClauseProblem(random_clauses(30, 150, 2, seed=0)).replace(**changes)
    compiled, specialist = compile_problem(problem, loops=True), specialist_of(problem)
    assert specialist.plan(compiled, None) is None
    assert specialist.bound_stage(compiled, 0.0, inf) is None


def test_a_bound_on_the_clauses_is_none_on_another_objective():
    problem = ClauseProblem(random_clauses(30, 150, 2, seed=0))
    own, shifted = (dcra.solve(p, starts=4, seed=0) for p in (problem, problem.replace(constant=-1000.0)))
    assert shifted.fun <= own.fun - 1000
    assert shifted.lower_bound <= own.fun - 1000


def test_clauses_under_constraints_are_still_searched_as_clauses():
    problem = ClauseProblem(random_clauses(30, 150, 2, seed=0))
    assert problem.charges_its_clauses
    assert problem.replace(constraints=dcra.exactly(9)).charges_its_clauses
    charged = dcra.Term("hinge", np.ones((1, 30)), 4.0)
    assert problem.replace(terms=(*problem.terms, charged)).charges_its_clauses
    assert not problem.replace(terms=(charged,)).charges_its_clauses
    assert not problem.replace(domain="spin").charges_its_clauses


def test_a_formula_with_a_false_clause_is_not_called_satisfiable():
    from dcra.apps.maxsat.output import status_line

    loose = maxsat.solve([[1], [-1], [2, 3]], method="flip", starts=1, seed=0)
    answer = replace(loose, result=replace(loose.result, status=Status.CONVERGED))
    assert answer.cost == 1
    assert status_line(answer) == "s UNKNOWN"
    assert status_line(replace(answer, cost=0)) == "s SATISFIABLE"
    with_hard = maxsat.solve([[1], [-1]], hard=[[2]], method="flip", starts=1, seed=0)
    with_hard = replace(with_hard, result=replace(with_hard.result, status=Status.CONVERGED))
    assert status_line(with_hard) == "s SATISFIABLE"


def test_options_that_are_none_are_named():
    with pytest.raises(
        TypeError, match=r"`\*\*options` must be one of method, .*got 'time_limt'; did you mean 'time_limit'"
    ):
        maxsat.solve([[1]], time_limt=1.0)


@pytest.mark.parametrize("method", ["auto", "exact", "enumerate"])
def test_hard_clauses_hold_beside_rows_and_in_pools(method):
    problem = ClauseProblem(Clauses.of([[3]], hard=[[1], [2]], n=3))
    one = problem.replace(constraints=dcra.exactly(1))
    result = dcra.solve(one, method=method, seed=0)
    assert (result.status, result.feasible, result.violation) == ("infeasible", False, 1.0)
    two = dcra.solve(problem.replace(constraints=dcra.exactly(2)), method=method, seed=0)
    assert (two.status, two.x.tolist(), two.fun) == ("optimal", [1.0, 1.0, 0.0], 1.0)
    pool = dcra.solve(problem, method=method, pool=4, seed=0).pool
    assert pool.values.tolist() == [0.0, 1.0]
    assert all(problem.violation(x) == 0 for x in pool.points)


@pytest.mark.parametrize("weight", [10**17, 2**61, 1e16, 2**30, 3])
def test_hard_clauses_outweigh_large_weights(weight):
    answer = maxsat.solve([[1], [2]], weights=[weight, 1], hard=[[-1]], seed=0)
    assert answer.feasible
    assert answer.cost == weight


@pytest.mark.parametrize("name", ["ptr", "literals"])
@pytest.mark.parametrize("dtype", [np.float64, np.uint64])
def test_flat_arrays_of_other_numbers_are_refused_by_name(name, dtype):
    parts = {"ptr": np.array([0, 2]), "literals": np.array([1, 2])}
    parts[name] = parts[name].astype(dtype)
    with pytest.raises(
        TypeError, match=f"`{name}` must hold integers that int64 can hold; got {np.dtype(dtype)}"
    ):
        Clauses.from_arrays(2, **parts, weight=np.ones(1, np.int64), hard=np.zeros(1, bool))
