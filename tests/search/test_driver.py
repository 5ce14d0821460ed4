"""The anytime driver: limits by a clock that tests turn, interruption, history, degenerate problems."""

from __future__ import annotations

import itertools
import pickle
import signal
import threading
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint

import dcra
from dcra.compiled.form import compile_problem
from dcra.constrained.state import ConstrainedSearch
from dcra.engines import DCRA, Engine, State, Sweep
from dcra.engines.base import Starts
from dcra.methods import METHODS
from dcra.result import Progress, Status
from dcra.search import driver
from dcra.search.driver import CHUNK_SECONDS, absorb, carry_out_task, paced, passes_at_the_end, run
from dcra.search.plans import Outcome, Repeat, Task
from dcra.search.state import CALLBACK_INTERVAL, Limits, Search

NAMES = ("auto", "sweep", "dcra", "dcra-paper", "flip", "anneal", "tabu")
SEARCHES = [name for name in NAMES if name in METHODS]
domains = pytest.mark.parametrize("domain", ["spin", "binary"])


class Clock:
    """Each look at it takes `step` seconds."""

    def __init__(self, step):
        self.ticks = itertools.count()
        self.step = step

    def __call__(self):
        return self.step * next(self.ticks)


@dataclass(frozen=True)
class Counting(Engine):
    """Counts in Gray code from the start's number; done after `length` steps, if ever."""

    length: float = inf
    name: ClassVar[str] = "counting"

    def start(self, compiled, starts):
        return CountingState(self, compiled, starts)


class CountingState(State):
    def __init__(self, engine, compiled, starts):
        self.engine, self.n, self.first, self.count = engine, compiled.n, starts.first, 0

    def advance(self, work):
        self.count += 1

    @property
    def done(self):
        return self.count >= self.engine.length

    @property
    def steps(self):
        return self.count

    def candidates(self):
        code = 1000 * self.first + self.count
        return 1.0 - 2.0 * (((code ^ (code >> 1)) >> np.arange(self.n)) & 1)[None]


@dataclass(frozen=True)
class Signalling(Counting):
    """Sends the main thread a Ctrl-C from its first step."""

    def start(self, compiled, starts):
        return SignallingState(self, compiled, starts)


class SignallingState(CountingState):
    def advance(self, work):
        if self.first == 0 and self.count == 0:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        super().advance(work)


def problem_of(seed=0, r=30, n=24, loss="l1", **options):
    """Not small enough to be enumerated in no time, and without a tight bound."""
    rng = np.random.default_rng(seed)
    return dcra.Problem([dcra.Term(loss, rng.standard_normal((r, n)), rng.standard_normal(r))], **options)


def searched(problem, engine, **limits):
    search = Search(compile_problem(problem), Limits(**limits), seed=0, begun=0.0)
    return run(search, Repeat(engine))


def outcome(result):
    """All of a result that must not depend on time."""
    rows = [row[1:] for row in result.history]
    return result.x.tolist(), result.fun, result.lower_bound, result.status, result.n_starts, result.nit, rows


def assert_consistent(result, problem):
    assert result.success
    assert result.fun == pytest.approx(problem.objective(result.x), rel=1e-13)
    assert result.history
    assert result.history[-1].fun == result.fun
    for before, after in itertools.pairwise(result.history):
        assert after.seconds >= before.seconds
        assert after.fun <= before.fun
        assert after.lower_bound >= before.lower_bound
        assert after[1:] != before[1:]


def test_time_limit_by_the_clock():
    problem = problem_of()
    result = searched(problem, Counting(), time_limit=1.0, clock=Clock(1e-4))
    assert result.status == "time_limit"
    assert 1.0 <= result.seconds < 1.1
    assert result.n_starts == 0
    assert result.nit > 0
    assert_consistent(result, problem)


def test_starts_that_end_are_counted():
    problem = problem_of()
    result = searched(problem, Counting(length=5), time_limit=1.0, clock=Clock(1e-4))
    assert result.status == "time_limit"
    assert result.n_starts > 10
    assert_consistent(result, problem)


def test_no_time_at_all_still_has_an_answer():
    problem = problem_of()
    result = searched(problem, Counting(), time_limit=1e-9, clock=Clock(1.0))
    assert result.status == "time_limit"
    assert_consistent(result, problem)


def test_setup_that_does_not_fit_is_not_begun():
    """A status of `converged` would promise starts that were never made."""

    class Heavy(Counting):
        def setup_work(self, compiled):
            return 10**15

        def start(self, compiled, starts):
            raise AssertionError

    result = searched(problem_of(), Heavy(), time_limit=1.0, clock=Clock(1e-3))
    assert result.status == "time_limit"
    assert result.n_starts == 0


def test_starts_end_the_search():
    result = searched(problem_of(), Counting(length=3), starts=7, clock=Clock(1e-5))
    assert result.status == "converged"
    assert result.n_starts == 7
    assert result.nit == 21


def test_real_time_limits_hold_an_answer():
    problem = problem_of(n=60)
    for method in ("auto", "sweep", "dcra", "flip"):
        result = dcra.solve(problem, method=method, time_limit=0.05, seed=0)
        assert result.status == "time_limit"
        assert_consistent(result, problem)


@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize("starts", [1, 5, 33])
def test_starts_are_counted(method, starts):
    if method == "dcra" and starts == 33:
        method = DCRA(max_outer=5)
    problem = problem_of(3, 12, 60)
    result = dcra.solve(problem, method=method, starts=starts, seed=0)
    assert result.status == "converged"
    assert result.n_starts == starts
    assert_consistent(result, problem)


def test_thirty_two_starts_by_default():
    assert dcra.solve(problem_of(), method="flip", seed=0).n_starts == 32


@pytest.mark.parametrize("method", [*SEARCHES, DCRA.authors(), Sweep(block=4, sweeps=30)])
@pytest.mark.parametrize("loss", ["l1", "squared", "hinge"])
def test_the_seed_decides_at_any_number_of_jobs(method, loss):
    problem = problem_of(1, {"l1": 25, "squared": 60, "hinge": 90}[loss], 40, loss)
    results = [dcra.solve(problem, method=method, starts=6, seed=5, n_jobs=jobs) for jobs in (1, 2, 3, 2)]
    for result in results[1:]:
        assert outcome(result) == outcome(results[0])


@pytest.mark.parametrize("loss", ["linf", "l1"])
def test_the_seed_decides_on_array_code(loss):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    A, b = torch.asarray(rng.standard_normal((6, 30))), torch.asarray(rng.standard_normal(6))
    results = [dcra.minimize(A, b, loss, starts=3, seed=5, n_jobs=jobs) for jobs in (1, 3)]
    assert outcome(results[0]) == outcome(results[1])


def test_other_seeds_give_other_answers():
    problem = problem_of(2, 10, 60)
    answers = {tuple(dcra.solve(problem, method="flip", starts=1, seed=seed).x) for seed in range(4)}
    assert len(answers) > 1


def test_a_drawn_seed_is_stored():
    problem = problem_of(4, 10, 60)
    drawn = dcra.solve(problem, method="flip", starts=3)
    again = dcra.solve(problem, method="flip", starts=3, seed=drawn.seed)
    assert outcome(again) == outcome(drawn)
    assert again.seed == drawn.seed
    assert dcra.solve(problem, method="flip", starts=3).seed != drawn.seed


@pytest.mark.parametrize("seed", [0, 2**32, 2**64 + 3, np.int64(7)])
def test_any_whole_number_is_a_seed(seed):
    for method in ("sweep", "flip", DCRA(max_outer=3)):
        assert dcra.solve(problem_of(), method=method, starts=1, seed=seed).seed == seed


def test_a_start_that_the_time_limit_cuts_short_has_not_converged():
    result = searched(problem_of(), Counting(), starts=1, time_limit=5.0, clock=Clock(0.01))
    assert result.status == "time_limit"
    assert result.n_starts == 0


@pytest.mark.parametrize("b", [[3.0], [4.0]])
def test_without_a_limit_no_time_is_up(b):
    """All residues are looked at, of equations without a solution and with one."""
    A = np.array([[2.0, 4, 6, 8, 10, 12, 14, 16]])
    result = dcra.minimize(A, b, domain="binary", method="meet", seed=0)
    assert result.status == ("converged" if b == [3.0] else "optimal")
    assert dcra.minimize(A, [3.0], domain="binary", method="meet", time_limit=60).status == "converged"


def test_an_engine_that_runs_once_leaves_time_for_the_bound():
    problem = problem_of(r=60, n=8)
    result = dcra.solve(problem, method="mpec-epm-table", seed=0)
    assert result.status in ("converged", "optimal")
    assert result.lower_bound > 0.1 * result.fun


def test_target():
    problem = problem_of()
    best = dcra.solve(problem, method="sweep", starts=4, seed=0).fun
    result = dcra.solve(problem, method="sweep", starts=4, seed=0, target=best)
    assert result.status == "target"
    assert result.fun == best
    easy = dcra.solve(problem, target=1e9, seed=0)  # by the first answer, which only "auto" is offered
    assert easy.status == "target"
    assert easy.n_starts == 0
    hard = dcra.solve(problem, method="flip", starts=2, seed=0, target=-1.0)
    assert hard.status == "converged"


@pytest.mark.parametrize("step", [10 * CALLBACK_INTERVAL, CALLBACK_INTERVAL / 100])
def test_callback_sees_improvements_now_and_then(step):
    seen, threads = [], set()

    def callback(progress):
        seen.append(progress)
        threads.add(threading.current_thread())

    problem = problem_of()
    limits = {"starts": 40, "clock": Clock(step), "callback": callback}
    result = searched(problem, Counting(length=50), **limits)
    assert result.status == "converged"
    assert threads == {threading.main_thread()}
    assert seen
    assert all(isinstance(row, Progress) for row in seen)
    assert set(seen) <= set(result.history)
    assert all(a[1:] != b[1:] and a.seconds < b.seconds for a, b in itertools.pairwise(seen))
    assert len(seen) <= 1 + result.seconds / CALLBACK_INTERVAL


def test_callback_stops():
    problem = problem_of()
    for jobs in (1, 2):  # of an engine that would go on for ever
        result = dcra.solve(problem, method=Counting(), n_jobs=jobs, callback=lambda progress: True)
        assert result.status == "callback"
        assert result.n_starts == 0
    assert_consistent(result, problem)
    for answer in (None, False, 0, ""):
        result = dcra.solve(problem, method="flip", starts=1, seed=0, callback=lambda progress, a=answer: a)
        assert result.status == "converged"


def test_errors_of_a_callback_are_the_users():
    def callback(progress):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        dcra.solve(problem_of(), method="flip", seed=0, callback=callback)


def test_errors_of_an_engine_are_raised():
    class Broken(Counting):
        def start(self, compiled, starts):
            raise ZeroDivisionError("engine")

    with pytest.raises(ZeroDivisionError, match="engine"):
        dcra.solve(problem_of(), method=Broken(), seed=0)


@pytest.mark.parametrize("at", [1, 2])
def test_interrupt_in_the_main_thread(at):
    calls = itertools.count(1)

    def callback(progress):
        if next(calls) == at:
            raise KeyboardInterrupt

    problem = problem_of()
    result = searched(problem, Counting(length=50), starts=40, clock=Clock(1.0), callback=callback)
    assert result.status == "interrupted"
    assert result.n_starts < 40
    assert_consistent(result, problem)


@pytest.mark.parametrize(("status", "counts"), [("interrupted", True), ("target", False)])
def test_points_of_running_tasks_count_after_an_interrupt(status, counts):
    compiled = compile_problem(dcra.Problem([dcra.Term("l1", np.eye(3), np.ones(3))]))
    search = Search(compiled, Limits(), 0, 0.0)
    engine = Counting()
    task = Task(engine, Starts(0, 0, 1))
    search.stop(Status(status))
    absorb(search, Repeat(engine), task, Outcome(np.ones((1, 3)), engine.start(compiled, task.starts), 0.1))
    assert (search.fun == 0) is counts


def test_interrupt_while_waiting():
    """A real signal, while workers are busy for ever."""
    problem = problem_of()
    result = searched(problem, Signalling(), n_jobs=2, starts=2)
    assert result.status == "interrupted"
    assert result.message == "interrupted; this is the best point so far"
    assert_consistent(result, problem)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("method", SEARCHES)
@domains
def test_x0_is_never_lost(method, domain):
    problem = problem_of(5, 20, 30, domain=domain)
    best = dcra.solve(problem, method="flip", starts=200, seed=1)
    low = -1.0 if domain == "spin" else 0.0
    others = np.where(np.random.default_rng(0).random((2, 30)) < 0.5, low, 1.0)
    for x0 in (best, best.x, best.x.astype(int).tolist(), np.stack([*others, best.x])):
        result = dcra.solve(problem, method=method, starts=1, seed=0, x0=x0)
        assert result.fun <= best.fun


def test_x0_is_start_zero():
    """Flips from a given point end in its own valley; more starts than points are random ones."""
    problem = problem_of(6, 30, 40)
    x0 = np.where(np.random.default_rng(0).random((2, 40)) < 0.5, -1.0, 1.0)
    one = dcra.solve(problem, method="flip", starts=1, seed=0, x0=x0[0])
    assert outcome(one) == outcome(dcra.solve(problem, method="flip", starts=1, seed=0, x0=x0[0]))
    other = dcra.solve(problem, method="flip", starts=1, seed=0, x0=x0[1])
    assert one.x.tolist() != other.x.tolist()
    both = dcra.solve(problem, method="flip", starts=2, seed=0, x0=x0)
    assert both.fun <= min(one.fun, other.fun)
    assert dcra.solve(problem, method="flip", starts=5, seed=0, x0=x0).n_starts == 5


def test_x0_from_another_library(xp):
    problem = problem_of()
    x0 = xp.asarray(np.ones(24))
    assert dcra.solve(problem, method="flip", starts=1, seed=0, x0=x0).fun <= problem.objective(np.ones(24))


def all_points(n, domain):
    bits = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    return bits if domain == "binary" else 2 * bits - 1


def degenerate(name, rng):
    A, b = rng.standard_normal((6, 7)), rng.standard_normal(6)
    if name == "one variable":
        return A[:, :1], b
    if name == "one row":
        return A[:1], b[:1]
    if name == "one entry":
        return A[:1, :1], b[:1]
    if name == "zero columns":
        A[:, [0, 3]] = 0
    elif name == "zero rows":
        A[[1, 4]] = 0
    elif name == "duplicate rows":
        return A[[0, 0, 1, 1, 1, 2]], b[[0, 0, 1, 1, 1, 2]]
    elif name == "duplicate columns":
        return A[:, [0, 0, 0, 1, 1, 2, 2]], b
    elif name == "all zero":
        return 0 * A, b
    elif name == "all zero, and b":
        return 0 * A, 0 * b
    elif name == "b is zero":
        return A, 0 * b
    elif name == "exact fit":
        return A, A @ np.ones(7)
    return A, b


DEGENERATE = [
    "one variable",
    "one row",
    "one entry",
    "zero columns",
    "zero rows",
    "duplicate rows",
    "duplicate columns",
    "all zero",
    "all zero, and b",
    "b is zero",
    "exact fit",
]


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("loss", ["l1", "squared", "linf", "logistic"])
@domains
def test_degenerate_problems(name, loss, domain, rng):
    A, b = degenerate(name, rng)
    problem = dcra.Problem([dcra.Term(loss, A, b)], domain=domain)
    best = problem.objective(all_points(problem.n, domain)).min()
    for given in (A, sparse.csr_array(A)):
        result = dcra.minimize(given, b, loss, domain=domain, seed=0)
        assert result.fun == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert result.status == "optimal"
    for method in ("sweep", DCRA(max_outer=5), Sweep(block=3, sweeps=10), "flip"):
        result = dcra.minimize(A, b, loss, domain=domain, method=method, starts=2, seed=0)
        assert result.fun >= best - 1e-9 * (1 + abs(best))
        assert result.lower_bound <= best + 1e-9 * (1 + abs(best))


@pytest.mark.parametrize("scale", [1e-150, 1e-80, 1e-20, 1e20, 1e80, 1e150])
@pytest.mark.parametrize("loss", ["l1", "squared"])
@domains
def test_any_scale(scale, loss, domain, rng):
    A, b = rng.standard_normal((7, 8)), rng.standard_normal(7)
    plain = dcra.minimize(A, b, loss, domain=domain, seed=0)
    problem = dcra.Problem([dcra.Term(loss, A, b)], domain=domain)
    usual = np.median(problem.objective(all_points(8, domain)))
    unit = scale**2 if loss == "squared" else scale
    result = dcra.minimize(scale * A, scale * b, loss, domain=domain, seed=0)
    assert result.status == "optimal"
    assert result.fun == pytest.approx(unit * plain.fun, rel=1e-9, abs=0)
    np.testing.assert_array_equal(result.x, plain.x)
    for method in ("sweep", "flip", DCRA(max_outer=20), Sweep(block=3, sweeps=20), "anneal"):
        if method in METHODS or isinstance(method, Engine):
            result = dcra.minimize(scale * A, scale * b, loss, domain=domain, method=method, starts=4, seed=0)
            assert unit * plain.fun * (1 - 1e-9) <= result.fun <= unit * usual
            assert result.lower_bound <= unit * plain.fun * (1 + 1e-9)


@domains
def test_columns_of_very_different_size(domain, rng):
    """A column a million times the others must not make the rest look like rounding."""
    A, b = rng.standard_normal((5, 6)), rng.standard_normal(5)
    A[:, 0] *= 1e6
    problem = dcra.Problem([dcra.Term("l1", A, b + A[:, 0])], domain=domain)
    best = problem.objective(all_points(6, domain)).min()
    assert dcra.solve(problem, seed=0).fun == pytest.approx(best, rel=1e-9)


def test_results_travel():
    result = dcra.solve(problem_of(), method="flip", starts=2, seed=0)
    copy = pickle.loads(pickle.dumps(result))
    assert outcome(copy) == outcome(result)
    assert "objective" in str(result)
    assert result.to_dict()["fun"] == result.fun
    with pytest.raises(AttributeError):
        result.fun = 0.0


def test_optimal_is_announced_when_the_bound_meets_the_value():
    """Whole numbers: a bound above 2 is 3."""
    rng = np.random.default_rng(0)
    A = rng.integers(-1, 2, (30, 50))
    x = np.where(rng.random(50) < 0.5, -1, 1)
    result = dcra.minimize(A, A @ x, "l1", method="sweep", x0=x, seed=0)
    assert result.status == "optimal"
    assert result.fun == 0
    assert result.n_starts == 0


def test_engines_may_be_the_users():
    result = dcra.solve(problem_of(), method=Counting(length=4), starts=3, seed=0)
    assert result.method == "counting"
    assert (result.n_starts, result.nit) == (3, 12)


@pytest.mark.parametrize("seed", range(5))
def test_columns_of_very_different_size_do_not_make_a_proof(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((5, 6))
    A[:, 0] *= 1e11
    b = rng.standard_normal(5) - A[:, 0]
    result = dcra.minimize(A, b, seed=0)
    points = np.array(list(product([-1.0, 1.0], repeat=6)))
    assert result.fun == pytest.approx(np.abs(points @ A.T - b).sum(axis=1).min(), rel=1e-3)


def test_steps_are_paced_by_what_they_did():
    assert paced(1000, CHUNK_SECONDS / 4) == 2000
    assert paced(1000, CHUNK_SECONDS / 4, done=900) == 2000
    assert paced(1000, CHUNK_SECONDS / 4, done=10) == 1000  # it ended early: nothing is known
    assert paced(1000, 10 * CHUNK_SECONDS) == 100
    assert paced(1000, 10 * CHUNK_SECONDS, done=500) == 50
    assert paced(1, 1.0) == 1


def test_short_runs_do_not_make_the_next_one_blind():
    """Each takes less than a step may; what one is asked for must not double from run to run."""
    work = 1 << 20
    for _ in range(40):
        work = paced(work, CHUNK_SECONDS / 10, done=1 << 16)
    assert work == 1 << 20


@pytest.mark.parametrize("limited", [True, False])
def test_answers_are_judged_by_the_threads_that_found_them_where_a_limit_ends_all_at_once(limited):
    compiled = compile_problem(dcra.Problem([dcra.Term("l1", np.eye(3), np.ones(3))]))
    search = Search(compiled, Limits(time_limit=100.0 if limited else None, clock=Clock(0.01)), 0, 0.0)
    task = Task(Counting(length=1), Starts(0, 0, 1))
    outcome = carry_out_task(search, task, lambda: None, threading.Lock(), lambda: True)
    assert (outcome.values is not None) is limited
    if limited:
        assert outcome.values.tolist() == compiled.judged(outcome.spins).tolist()
        absorb(search, Repeat(task.engine), task, outcome._replace(values=np.array([-7.0])))
        assert search.fun == -7.0  # what the thread says is not worked out again


def test_what_the_rows_rule_out_has_no_value():
    problem = dcra.Problem(
        [dcra.Term("l1", np.eye(3), np.ones(3))], constraints=LinearConstraint(np.ones((1, 3)), 1, 3)
    )
    search = ConstrainedSearch(compile_problem(problem), Limits(time_limit=1.0), 0, 0.0)
    spins = np.array([[1.0, 1.0, -1.0], [-1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])
    values = search.judged(spins)
    assert values.tolist() == [2.0, inf, 0.0]
    assert search.offer(spins, values) == search.fun == 0.0
    assert search.offer(spins[1:2], values[1:2]) == inf
    assert search.offer(np.empty((0, 3))) == inf  # a tree that met nothing better


@pytest.mark.parametrize(("jobs", "passes"), [(1, 0.5), (2, 1.0), (4, 2.0), (16, 2.0), (64, 8.0)])
def test_time_kept_for_the_last_judgements_grows_with_threads_beyond_the_cores(jobs, passes, monkeypatch):
    monkeypatch.setattr(driver, "cores", lambda: 16)
    compiled = compile_problem(dcra.Problem([dcra.Term("l1", np.eye(3), np.ones(3))]))
    assert passes_at_the_end(Search(compiled, Limits(n_jobs=jobs), 0, 0.0)) == passes
    away = Search(compiled, Limits(n_jobs=jobs, crew=object), 0, 0.0)
    assert passes_at_the_end(away) == 0.5 * jobs


def test_bounds_under_constraints_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((40, 60)), rng.standard_normal(40)
    G = rng.integers(1, 9, (12, 60))
    middle = G.sum(axis=1) // 3
    asked = {
        "method": "flip",
        "starts": 24,
        "seed": 0,
        "constraints": LinearConstraint(G, middle - 2, middle),
    }
    found = [dcra.minimize(A, b, domain="binary", n_jobs=jobs, **asked) for jobs in (1, 2, 8)]
    assert len({result.lower_bound for result in found}) == 1


def test_no_gap_counts_as_rounding_where_that_is_not_known():
    """A loss of one's own, and a constant beside which everything looks small."""

    class Absolute:
        convex = True

        def value(self, z):
            return float(np.abs(z).sum())

        def prox(self, z, step):
            return np.sign(z) * np.maximum(np.abs(z) - step, 0)

    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 40))
    b = A @ rng.choice([-1.0, 1.0], 40)
    result = dcra.solve(dcra.Problem([dcra.Term(Absolute(), A, b)], constant=1e10), starts=1, seed=3)
    assert result.status != "optimal" or result.fun <= 1e10 + 1e-3
    assert np.isfinite(result.tiny)
