"""Exact solvers: brute force is the judge; limits and errors are tested with a solver made for it."""

from __future__ import annotations

import itertools
import signal
import sys
import threading
from dataclasses import dataclass
from math import inf
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint

import dcra
from dcra.baselines.cpsat import WholeModel
from dcra.baselines.delegate import Exact, Order, SolverAnswer
from dcra.baselines.gurobi import Gurobi
from dcra.baselines.lp_rounding import rounded
from dcra.exact.mixed_model import mixed_model
from dcra.losses import NAMES
from dcra.messages import SolverUnavailable
from dcra.methods import METHODS, engine_of
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.result import Status

LINEAR = ["l1", "hinge", "quantile", "epsilon_insensitive", "linf", "linear"]
QUADRATIC = ["squared", "huber", "squared_hinge"]
SOLVERS = ["milp", "gurobi", "cpsat", "scip"]


def problem_of(loss="l1", domain="spin", store=np.asarray, seed=0, n=7, r=5, whole=False):
    rng = np.random.default_rng(seed)
    draw = (lambda *size: rng.integers(-4, 5, size).astype(float)) if whole else rng.standard_normal
    A = np.asarray(draw(r, n) if whole else draw((r, n)))
    b, c, short = (np.asarray(draw(k) if whole else draw((k,))) for k in (r, n, 2))
    weight = rng.uniform(0, 2, r) if NAMES[loss].separable and not whole else 2.0
    terms = [Term(loss, store(A), b, weight), Term("hinge", store(A[:2]), short)]
    return Problem(terms, linear=c, domain=domain, constant=3.0)


def brute_force(problem):
    low = -1.0 if problem.domain == "spin" else 0.0
    return problem.objective(np.array(list(itertools.product((low, 1.0), repeat=problem.n)))).min()


def needs(method):
    package = engine_of(method).package.partition(".")[0]
    return pytest.importorskip(package)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("loss", LINEAR)
@pytest.mark.parametrize("method", SOLVERS)
def test_the_best_is_found_and_bounded(method, loss, domain, store):
    """Tolerances are no proof where values lie anywhere: `optimal` is said where no gap is left."""
    needs(method)
    problem = problem_of(loss, domain, store)
    best = brute_force(problem)
    result = dcra.solve(problem, method=method, n_jobs=1, seed=0)
    assert result.status == ("optimal" if result.gap == 0 else "converged")
    assert result.fun == pytest.approx(best, rel=1e-12)
    assert result.fun == problem.objective(result.x)
    assert best - 1e-3 * (1 + abs(best)) <= result.lower_bound <= best
    assert result.n_starts == 1 or loss == "linear"  # whose bound is known: a good incumbent is the end


@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("loss", QUADRATIC)
def test_gurobi_takes_quadratics(loss, domain):
    needs("gurobi")
    problem = problem_of(loss, domain)
    result = dcra.solve(problem, method="gurobi", n_jobs=1)
    assert result.fun == pytest.approx(brute_force(problem), rel=1e-12)
    assert result.lower_bound <= result.fun


@pytest.mark.parametrize("method", SOLVERS)
def test_whole_numbers_leave_no_gap(method):
    needs(method)
    problem = problem_of(whole=True)
    result = dcra.solve(problem, method=method, n_jobs=1)
    assert result.status == "optimal"
    assert result.gap == 0
    assert result.lower_bound == result.fun == brute_force(problem)


@pytest.mark.parametrize("scale", [1e-100, 1e-9, 1e9, 1e100])
def test_any_scale(scale):
    rng = np.random.default_rng(0)
    A, b = scale * rng.standard_normal((5, 7)), scale * rng.standard_normal(5)
    result = dcra.minimize(A, b, method="milp")
    assert result.fun == pytest.approx(brute_force(Problem([Term("l1", A, b)])), rel=1e-9, abs=0)
    assert result.gap < 1e-3


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_entries_that_are_next_to_nothing_fix_no_variable(method, epsilon):
    """HiGHS's presolve took the second point for the best, by entries of 1e-9 of their row's largest."""
    pytest.importorskip(engine_of(method).package)
    A, b = np.array([[1, 1e9, 3, 3]]), np.array([9.99999995e8])
    G = np.array([[-4.007581408692920e15, -4.030966043119365e15, 1.245160128598824e15, 1.561823030055046e15]])
    row = LinearConstraint(G, -inf, -8.355210353268507e15)
    term = Term(dcra.losses.EpsilonInsensitive(epsilon), A, b)
    problem = Problem([term], linear=[1, -1, 1e15, 3], constraints=row)
    best, second = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, 1.0, 1.0, -1.0])
    assert problem.violation(best) == 0
    result = dcra.solve(problem, method=method)
    assert result.lower_bound <= problem.objective(best) < problem.objective(second)


@pytest.mark.parametrize("method", SOLVERS)
def test_sides_that_are_next_to_nothing_fix_no_variable(method):
    """HiGHS's presolve took 1 for the better value, by a side of 1e-6."""
    pytest.importorskip(engine_of(method).package)
    A, b = np.array([[-3.0], [1e15]], np.float32), np.array([-1, 9.99999999e8], np.float32)
    result = dcra.minimize(A, b, "hinge", domain="binary", method=method)
    assert (result.fun, result.lower_bound <= 1.0) == (1.0, True)


@pytest.mark.parametrize("loss", ["l1", "linf", "epsilon_insensitive", "quantile"])
def test_what_is_next_to_nothing_is_allowed_for(loss):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 30)) * np.where(rng.random((5, 30)) < 0.3, 1.0, 1e-8)
    problem = Problem([Term(loss, A, rng.standard_normal(5))])
    model = mixed_model(problem)
    clean = model.clean.rows.toarray() != 0
    without = Problem([Term(loss, np.where(clean[:5, :30], A, 0.0), problem.terms[0].b)])
    assert np.count_nonzero(~clean[:5, :30]) > 50
    worst = max(abs(problem.objective(s) - without.objective(s)) for s in rng.choice([-1.0, 1.0], (200, 30)))
    assert 0 < worst <= model.allowance(0.0)


def test_bounds_above_a_neighbour_are_not_believed():
    @dataclass(frozen=True)
    class Liar(Exact):
        name: ClassVar[str] = "liar"
        package: ClassVar[str] = "numpy"

        def solve(self, model: object, order: Order) -> SolverAnswer:
            return SolverAnswer(np.ones((1, 6)), 1e3, Status.OPTIMAL)

    problem = Problem([Term("l1", np.eye(6), -np.ones(6))])
    pairs = [
        np.eye(6)[[k]] - np.eye(6)[[k + 3]] for k in range(3)
    ]  # two flips away there are feasible points
    equal = problem.replace(constraints=LinearConstraint(np.concatenate(pairs), 0, 0))
    assert dcra.solve(equal, method=Liar()).status is Status.CONVERGED
    result = dcra.solve(problem, method=Liar())
    assert (result.lower_bound, result.status) == (0.0, Status.CONVERGED)  # losses are not negative
    G = LinearConstraint(np.ones((1, 6)), 6, 6)  # none of the neighbours is feasible
    assert dcra.solve(problem.replace(constraints=G), method=Liar()).status is Status.OPTIMAL


def test_whole_models_of_whole_numbers_are_exact():
    assert WholeModel(mixed_model(problem_of(whole=True))).allowance == 0
    assert 0 < WholeModel(mixed_model(problem_of())).allowance < 1e-4


def random_points(n, count=50):
    return np.random.default_rng(1).integers(0, 2, (count, n)).astype(float)


@pytest.mark.parametrize("loss", ["l1", "epsilon_insensitive", "linf"])
def test_rounding_to_whole_numbers_stays_within_its_allowance(loss):
    problem = problem_of(loss, n=30, r=20)
    model = mixed_model(problem)
    whole = WholeModel(model)
    rows = whole.row_scale * model.rows[:, : model.n]
    rows.data = np.rint(rows.data)
    low, high = (np.rint(whole.row_scale * side) for side in (model.low, model.high))
    own = model.rows[:, model.n :].toarray()
    for u in random_points(model.n):
        excess, lack = np.maximum(rows @ u - high, 0), np.maximum(low - rows @ u, 0)
        columns = np.max(np.abs(own) * np.where(own < 0, excess[:, None], lack[:, None]), axis=0)
        value = (whole.cost @ np.concatenate([u, columns])) / whole.cost_scale
        assert abs(model.unit * value + model.offset - problem.objective(2 * u - 1)) <= whole.allowance


@pytest.mark.parametrize("method", ["milp", "cpsat", "scip", "lp-rounding"])
def test_other_losses_are_refused_in_words(method):
    A = np.eye(3)
    with pytest.raises(
        ValueError, match=rf"'{method}' needs piecewise linear losses \(not Huber\); methods that fit: auto,"
    ):
        dcra.minimize(A, np.zeros(3), "huber", method=method)
    with pytest.raises(ValueError, match=r"'gurobi' needs piecewise quadratic losses \(not L2Norm\)"):
        dcra.minimize(A, np.zeros(3), "l2", method="gurobi")


@pytest.mark.parametrize("method", ["gurobi", "cpsat", "scip"])
def test_a_missing_package_is_named(method, monkeypatch):
    monkeypatch.setitem(sys.modules, engine_of(method).package, None)
    with pytest.raises(SolverUnavailable, match=rf"'{method}' needs \w+: pip install 'dcra\[{method}\]'"):
        dcra.minimize(np.eye(3), np.zeros(3), method=method)


def test_a_small_licence_is_said(monkeypatch):
    class GurobiError(Exception):
        errno, message = 10010, "Model too large for size-limited license"

    def env(params):
        raise GurobiError

    monkeypatch.setattr(Gurobi, "load", lambda self: SimpleNamespace(GurobiError=GurobiError, Env=env))
    with pytest.raises(SolverUnavailable, match="no licence for this model of 6 columns and 3 rows: M"):
        dcra.minimize(np.eye(3), np.zeros(3), method="gurobi")


@dataclass(frozen=True)
class Scripted(Exact):
    """Finds all ones, says so, then runs until it is stopped; what it was ordered is kept."""

    orders: ClassVar[list[Order]] = []
    name: ClassVar[str] = "scripted"
    stoppable: bool = True
    act: object = None

    def load(self):
        return None

    def solve(self, model, order):
        self.orders.append(order)
        stopped = threading.Event()
        if self.stoppable:
            order.on_stop(stopped.set)
        order.found(np.ones(model.n))
        if self.act:
            self.act()
        stopped.wait(60 if self.stoppable else 5)
        return SolverAnswer(np.ones((1, model.n)), -1e9, None)


def test_a_callback_stops_a_solver():
    seen = []
    problem = problem_of()
    result = dcra.solve(problem, method=Scripted(), callback=lambda row: seen.append(row) or True)
    assert result.status == "callback"
    assert (result.x == 1).all()
    assert seen[-1].fun == result.fun == problem.objective(np.ones(7))
    assert Scripted.orders[-1].stopping


def test_a_target_stops_a_solver():
    problem = problem_of()
    result = dcra.solve(problem, method=Scripted(), target=problem.objective(np.ones(7)))
    assert result.status == "target"


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("stoppable", [True, False])
def test_ctrl_c_returns_the_best_so_far(stoppable, jobs):
    """A solver that cannot be stopped is left behind."""
    engine = Scripted(stoppable, lambda: signal.raise_signal(signal.SIGINT))
    result = dcra.solve(problem_of(), method=engine, n_jobs=jobs)
    assert result.status == "interrupted"
    assert (result.x == 1).all()


def test_solvers_are_told_limits_and_points():
    problem = problem_of(domain="binary")
    x0 = np.eye(7)[:2]
    dcra.solve(
        problem, method=Scripted(), time_limit=50.0, seed=5, n_jobs=3, x0=x0, callback=lambda row: True
    )
    order = Scripted.orders[-1]
    assert (order.seed, order.threads) == (5, 3)
    np.testing.assert_array_equal(order.points, x0)
    assert 0 < order.seconds_left() < 50


def test_errors_of_a_solver_are_raised():
    class Broken(Scripted):
        def solve(self, model, order):
            raise ZeroDivisionError("solver")

    with pytest.raises(ZeroDivisionError, match="solver"):
        dcra.solve(problem_of(), method=Broken())


def test_a_proof_that_the_judge_does_not_see_does_not_count():
    class Boastful(Scripted):
        def solve(self, model, order):
            return SolverAnswer(np.ones((1, model.n)), -1e9, Status.OPTIMAL)

    assert dcra.solve(problem_of(), method=Boastful()).status == "converged"


def test_a_solver_without_a_point_is_not_given_ours():
    class Empty(Scripted):
        def solve(self, model, order):
            return SolverAnswer(np.empty((0, model.n)))

    result = dcra.solve(problem_of(), method=Empty())
    assert result.n_starts == 0
    assert result.status == "converged"
    assert [row.fun for row in result.history] == [result.fun]


@pytest.mark.parametrize("method", ["gurobi", "cpsat"])
def test_solvers_begin_where_they_are_told(method):
    needs(method)
    problem = problem_of(n=10, r=8)
    model = mixed_model(problem)
    u = np.random.default_rng(3).integers(0, 2, (1, 10)).astype(float)
    order = Order(lambda: inf, threads=1, seed=0, starts=None, points=u)
    engine_of(method).solve(model, order)
    seen = [order.news.get_nowait() for _ in range(order.news.qsize())]
    first = next(news.points for news in seen if len(news.points))
    np.testing.assert_array_equal(first, u)


@pytest.mark.usefixtures("compiled_loops")
def test_lp_rounding_bounds_by_the_relaxation():
    problem = problem_of("l1", n=12, r=20)
    result = dcra.solve(problem, method="lp-rounding", starts=6, seed=1)
    again = dcra.solve(problem, method="lp-rounding", starts=6, seed=1)
    assert result.fun == again.fun
    assert (result.status, result.n_starts) == ("converged", 6)
    other = dcra.solve(problem, method="sweep", starts=8, seed=0)  # whose dual stage ends within 0.5 %
    assert other.lower_bound - 1e-6 <= result.lower_bound <= 1.02 * other.lower_bound
    assert result.lower_bound <= brute_force(problem) <= result.fun


def test_roundings_follow_the_relaxation():
    u = np.array([0.0, 1.0, 0.5, 0.2])
    points = rounded(u, seed=0, count=4001)
    np.testing.assert_array_equal(points[0], [0, 1, 0, 0])
    np.testing.assert_allclose(points[1:].mean(axis=0), u, atol=0.03)
    np.testing.assert_array_equal(rounded(u, 0, 5), points[:5])


def test_every_solver_is_a_method():
    assert set(SOLVERS) <= set(METHODS)


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("domain", ["spin", "binary"])
def test_solvers_take_constraints_as_they_are(method, domain):
    needs(method)
    from scipy.optimize import LinearConstraint

    rng = np.random.default_rng(3)
    A, b = rng.standard_normal((6, 9)), rng.standard_normal(6)
    constraints = [dcra.exactly(4), LinearConstraint(rng.integers(-3, 4, (2, 9)), -2.5, 3.25)]
    problem = dcra.Problem([dcra.Term("l1", A, b)], domain=domain, constraints=constraints)
    low = -1.0 if domain == "spin" else 0.0
    points = np.array(list(itertools.product((low, 1.0), repeat=9)))
    fine = points[problem.violation(points) == 0]
    result = dcra.solve(problem, method=method, n_jobs=1)
    assert result.feasible
    assert result.fun == pytest.approx(problem.objective(fine).min())
    assert result.lower_bound <= result.fun


@pytest.mark.parametrize("method", ["milp", "gurobi"])
def test_solvers_say_that_nothing_is_feasible(method):
    needs(method)
    from scipy.optimize import LinearConstraint

    rows = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0]])  # a triangle, each edge cut: never
    problem = dcra.Problem(linear=np.ones(4), domain="binary", constraints=LinearConstraint(rows, 1, 1))
    result = dcra.solve(problem, method=method, n_jobs=1)
    assert result.status == "infeasible"
    assert not result.feasible


@pytest.mark.parametrize("weight", [1e4, 1e6, 1e9])
def test_a_heavy_row_is_no_excuse(weight):
    """Tolerances are worth the weight of a row; what they leave open is not called optimal."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        A = rng.integers(-3, 4, (6, 8)).astype(float)
        b = A @ rng.choice([-1.0, 1.0], 8) + rng.integers(-1, 2, 6)
        problem = Problem([Term("l1", A, b, np.array([weight, 1, 1, 1, 1, 1]))])
        best = brute_force(problem)
        result = dcra.solve(problem, method="milp", seed=0)
        assert result.lower_bound <= best
        assert result.status != "optimal" or result.fun == best


def test_solvers_do_not_take_entries_for_zero():
    """HiGHS calls this infeasible, and it is not: beside 1e15 it does not see the other entries."""
    from scipy.optimize import LinearConstraint

    rows = LinearConstraint([[-2.0, 1e15, -3.0]], 999999999999995.0, 999999999999995.0)
    problem = Problem(linear=[-1.0, 1.0, 1.0], constraints=rows)
    assert problem.violation([1, 1, 1]) == 0
    result = dcra.solve(problem, method="milp", seed=0)
    assert result.status != "infeasible"
    assert result.lower_bound <= problem.objective([1, 1, 1])


def test_nothing_is_infeasible_without_constraints():
    """A side of 1e39 in units of the row is infinite to HiGHS."""
    problem = Problem([Term("epsilon_insensitive", [[4.5e-31]], [1e8])])
    result = dcra.solve(problem, method="milp", seed=0)
    assert result.status != "infeasible"
    assert result.lower_bound <= brute_force(problem)


def test_presolve_draws_no_conclusion_from_rounding():
    """A bound of a residual that its row met up to rounding, and a tiny entry, fixed the variable wrongly."""
    A = np.array([-4.6621837125749495e6, -7.7633091540062466e1, 1.7868778049495227e-8, 4.2979830971240390e-4])
    A = np.append(
        A, [8.7358938032837639e-3, -1.7269439115847438e-1, 2.5654894456504155e2, -1.507117559696937e-2]
    )
    b = np.array([2.040953295964220e14, -2.396370986285995e15, -2.481874470274820e14, -3.859042361894763e15])
    b = np.append(
        b, [-4.138360341117052e15, -1.651215496763168e15, -2.081543814443770e14, -3.425530167463698e15]
    )
    problem = Problem([Term("quantile", A[:, None], b, 1e-30)], linear=np.array([-5e29]))
    result = dcra.solve(problem, method="milp")
    assert result.x == [1]
    assert result.lower_bound <= result.fun
