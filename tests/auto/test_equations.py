"""Equations beside a search: who is asked next, by a clock that tests turn, and who hears of the outcome."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint

import dcra
from dcra.auto.equations import Beside, LatticePlan, MeetPlan, PairingPlan
from dcra.auto.meeting import (
    FIRST_SHARE,
    LATTICE_OVERTIME,
    LONGEST,
    OVERTIME,
    SHORTEST_PAIRING,
    Meeting,
    meeting_of,
)
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.exact import box_points, closest_pairs, meet_in_the_middle
from dcra.exact.closest_pairs import Closest
from dcra.exact.meet_in_the_middle import SEGMENTS, Meet
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.state import Limits, Search


class Clock:
    """Stands still until it is moved."""

    now = 0.0

    def __call__(self):
        return self.now


class Told(Plan):
    """Gives `count` tasks of `seconds` each and keeps what it is told about them."""

    def __init__(self, seconds=1.0, count=inf, counts=True):
        self.seconds, self.count, self.counts = seconds, count, counts
        self.given, self.heard, self.adopted = [], [], []

    def next(self, search):
        if len(self.given) >= self.count:
            return None
        task = Task(Meet(), Starts(0, len(self.given), 1), counts=self.counts)
        self.given.append(task)
        return task

    def learn(self, search, task, outcome, fun):
        self.heard.append((task, outcome, fun))

    def adopt(self, compiled):
        self.adopted.append(compiled)


def search_for(problem=None, clock=None, **limits):
    problem = problem or Problem([Term("l1", np.eye(4), 0.0)])
    return Search(compile_problem(problem), Limits(clock=clock or Clock(), **limits), seed=3, begun=0.0)


def leaf(task):
    """The task as the plan that it is from has made it."""
    while task.inner is not None:
        task = task.inner
    return task


def author(plans, task):
    (found,) = [plan for plan in plans if leaf(task) in plan.given]
    return found


def take_turns(beside, plans, until, clock):
    """Carry out tasks one after the other; the seconds that each plan has had."""
    search, spent = search_for(clock=clock), dict.fromkeys(plans, 0.0)
    while clock.now < until:
        task = beside.next(search)
        plan = author(plans, task)
        clock.now += plan.seconds
        spent[plan] += plan.seconds
        beside.learn(search, task, Outcome(np.ones((1, 4)), None, plan.seconds), clock.now)
    return spent


@given(
    share=st.floats(0.05, 0.95),
    special=st.floats(0.1, 5.0),
    general=st.floats(0.1, 5.0),
)
def test_each_plan_has_its_share_of_the_time(share, special, general):
    """Never further from it than by the longest task."""
    clock, plans = Clock(), (Told(special), Told(general))
    for until in (10.0, 50.0, 200.0):
        beside = Beside(*plans, share)
        clock.now = 0.0
        spent = take_turns(beside, plans, until, clock)
        assert abs(spent[plans[0]] - share * clock.now) <= max(special, general) + 1e-9
        assert beside.ahead == pytest.approx(spent[plans[0]] - share * clock.now, abs=1e-9)


def test_where_the_share_is_one_the_general_plan_has_what_is_left():
    clock, plans = Clock(), (Told(1.0, count=7), Told(2.0))
    spent = take_turns(Beside(*plans, 1.0), plans, 20.0, clock)
    assert spent == {plans[0]: 7.0, plans[1]: 14.0}
    assert [task.starts.first for task, _, _ in plans[0].heard] == list(range(7))


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_what_one_plan_leaves_is_for_the_other(share):
    clock, plans = Clock(), (Told(1.0, count=2), Told(1.0, count=3))
    beside, search = Beside(*plans, share), search_for(clock=clock)
    tasks = [beside.next(search) for _ in range(5)]
    assert {author(plans, task) for task in tasks} == set(plans)
    assert beside.next(search) is None
    assert not beside.exact


def test_outcomes_go_back_to_the_plan_that_a_task_is_from():
    """In any order, and to the very task that the plan had made."""
    plans = Told(counts=False), Told()
    beside, search = Beside(*plans, 0.5), search_for()
    tasks = []
    for _ in range(3):
        tasks.append(beside.next(search))
        beside.ahead = -1.0 if beside.ahead >= 0 else 1.0
    tasks.reverse()
    outcomes = [Outcome(np.ones((1, 4)), None, 0.0) for _ in tasks]
    for k, (task, outcome) in enumerate(zip(tasks, outcomes, strict=True)):
        beside.learn(search, task, outcome, float(k))
    for task, outcome in zip(tasks, outcomes, strict=True):
        assert task.counts == task.inner.counts == author(plans, task).counts
        assert (task.inner, outcome, float(tasks.index(task))) in author(plans, task).heard
    assert sum(len(plan.heard) for plan in plans) == 3


def test_nested_plans_have_their_shares_and_their_outcomes():
    clock, plans = Clock(), (Told(0.5), Told(0.7), Told(1.1))
    inner = Beside(plans[1], plans[2], 0.25)
    spent = take_turns(Beside(plans[0], inner, 0.6), plans, 400.0, clock)
    shares = {plan: seconds / clock.now for plan, seconds in spent.items()}
    assert list(shares.values()) == pytest.approx([0.6, 0.4 * 0.25, 0.4 * 0.75], abs=0.01)
    for plan in plans:
        assert [task for task, _, _ in plan.heard] == plan.given


def test_a_plan_beside_two_others_on_the_left():
    clock, plans = Clock(), (Told(0.5), Told(0.7), Told(1.1))
    inner = Beside(plans[0], plans[1], 0.5)
    spent = take_turns(Beside(inner, plans[2], 0.8), plans, 400.0, clock)
    assert [s / clock.now for s in spent.values()] == pytest.approx([0.4, 0.4, 0.2], abs=0.01)
    assert all([task for task, _, _ in plan.heard] == plan.given for plan in plans)


def test_changed_penalties_are_for_the_general_plan():
    plans, compiled = (Told(), Told(), Told()), search_for().compiled
    Beside(plans[0], Beside(plans[1], plans[2], 0.5), 0.5).adopt(compiled)
    assert [plan.adopted for plan in plans] == [[], [], [compiled]]


def whole(m, n, seed=0, spread=30, **parts):
    """m equations between n variables in {0,1} that some point solves."""
    rng = np.random.default_rng((m, n, seed))
    A = rng.integers(0, spread, (m, n)).astype(float)
    return Problem([Term("l1", A, A @ rng.integers(0, 2, n))], domain="binary", **parts)


def done_with(plan, search):
    """All tasks of a plan, their outcomes taken note of in order."""
    while (task := plan.next(search)) is not None:
        state = task.begin(search)
        while not state.done:
            state.advance(1 << 20)
        fun = search.offer(state.candidates())
        plan.learn(search, task, Outcome(state.candidates(), state, 0.0), fun)


def test_meeting_goes_through_all_residues_once():
    search = search_for(whole(2, 12))
    plan = MeetPlan(Meet())
    tasks = [plan.next(search) for _ in range(SEGMENTS)]
    assert plan.next(search) is None
    assert [task.starts.first for task in tasks] == list(range(SEGMENTS))
    assert not any(task.counts for task in tasks)
    assert all(task.starts.seed == 3 and task.engine is plan.engine for task in tasks)
    assert search.started == 0


@pytest.mark.parametrize("constant", [0.0, 7.0, -3.0])
def test_a_solution_that_the_last_residue_brings_is_the_least(constant):
    """The bound that holds where there is no solution must not follow one."""
    search = search_for(whole(2, 12, constant=constant))
    plan = MeetPlan(Meet())
    plan.done = SEGMENTS - 1
    search.bound(constant)
    search.fun, search.spins = constant, np.ones(12)
    plan.learn(search, Task(plan.engine, Starts(3, SEGMENTS - 1, 1)), None, constant)
    assert search.lower_bound == constant


@pytest.mark.parametrize("constant", [0.0, 7.0])
def test_where_no_point_solves_the_equations_the_next_value_is_a_bound(constant):
    problem = Problem(
        [Term("l1", np.array([[10.0, 11, 12, 13, 14, 15]]), 31)], domain="binary", constant=constant
    )
    search = search_for(problem)
    done_with(MeetPlan(Meet()), search)
    assert search.lower_bound == 1 + constant


def test_losses_that_are_not_whole_get_no_bound_from_it():
    problem = Problem([Term("huber", np.array([[10.0, 11, 12, 13, 14, 15]]), 31)], domain="binary")
    search = search_for(problem)
    done_with(MeetPlan(Meet()), search)
    assert search.lower_bound == -inf


def test_where_equations_are_required_the_best_solution_is_the_optimum():
    rng = np.random.default_rng(0)
    A, c = rng.integers(0, 9, (2, 12)).astype(float), rng.standard_normal(12)
    b = A @ rng.integers(0, 2, 12)
    problem = Problem(linear=c, domain="binary", constraints=LinearConstraint(A, b, b))
    points = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    solutions = points[np.all(points @ A.T == b, axis=1)]
    assert len(solutions) > 1
    result = dcra.solve(problem, method="meet", seed=0)
    assert result.fun == pytest.approx((solutions @ c).min())
    assert result.status == "optimal"


def test_pairings_are_numbered():
    search = search_for(whole(8, 80))
    plan = PairingPlan()
    tasks = [plan.next(search) for _ in range(3)]
    assert [task.starts.first for task in tasks] == [0, 1, 2]
    assert all(isinstance(task.engine, Closest) and task.starts.seed == 3 for task in tasks)


def test_pairings_end_with_the_starts():
    search = search_for(whole(8, 80), starts=2)
    plan = PairingPlan()
    assert plan.next(search) is not None
    search.started = 2
    assert plan.next(search) is None


def test_what_meeting_promises_depends_on_the_time(monkeypatch):
    compiled = compile_problem(whole(4, 36))
    monkeypatch.setattr(box_points, "seconds_for", lambda system: inf)
    for needed in (0.01, 1.0, 100.0):
        monkeypatch.setattr(meet_in_the_middle, "seconds_for", lambda system, loops, needed=needed: needed)
        monkeypatch.setattr(closest_pairs, "suitable", lambda compiled, system: True)
        assert meeting_of(compiled, None) == (Meeting(1.0) if needed <= LONGEST else Meeting())
        for seconds in needed * np.array([0.5 / OVERTIME, 1.01 / OVERTIME, 0.99, 1.0, 1.01]) / FIRST_SHARE:
            first, some = needed <= FIRST_SHARE * seconds, needed <= OVERTIME * seconds
            share = 1.0 if first else 0.5 if some else 0.0
            assert meeting_of(compiled, seconds) == Meeting(share, not first and seconds >= SHORTEST_PAIRING)
    monkeypatch.setattr(closest_pairs, "suitable", lambda compiled, system: False)
    assert meeting_of(compiled, 10.0) == Meeting()


@pytest.mark.usefixtures("compiled_loops")
def test_what_lattices_get_depends_on_the_time(monkeypatch):
    compiled = compile_problem(whole(4, 36))
    monkeypatch.setattr(meet_in_the_middle, "seconds_for", lambda system, loops: inf)
    monkeypatch.setattr(closest_pairs, "suitable", lambda compiled, system: False)
    for needed in (0.01, 1.0, 100.0):
        monkeypatch.setattr(box_points, "seconds_for", lambda system, needed=needed: needed)
        assert meeting_of(compiled, None).lattice == (needed <= LONGEST)
        for seconds in needed * np.array(
            [0.5 / LATTICE_OVERTIME, 1.01 / LATTICE_OVERTIME, 1.01 / FIRST_SHARE]
        ):
            first, some = needed <= FIRST_SHARE * seconds, needed <= LATTICE_OVERTIME * seconds
            share = 1.0 if first else 0.5 if some else 0.0
            assert meeting_of(compiled, seconds) == Meeting(lattice=share)


@pytest.mark.usefixtures("compiled_loops")
def test_lattices_come_first_where_they_are_quicker_and_one_solution_is_enough(monkeypatch):
    problem = whole(4, 36)
    A, b = problem.terms[0].operator.dense(), problem.terms[0].b
    linear = np.ones(36)
    required = Problem(linear=linear, domain="binary", constraints=LinearConstraint(A, b, b))
    monkeypatch.setattr(meet_in_the_middle, "seconds_for", lambda system, loops: 1.0)
    for needed, share in ((0.5, 1.0), (1.5, 0.0)):
        monkeypatch.setattr(box_points, "seconds_for", lambda system, needed=needed: needed)
        assert meeting_of(compile_problem(problem), 100.0) == Meeting(1.0, lattice=share)
        assert meeting_of(compile_problem(required), 100.0) == Meeting(1.0)
    assert meeting_of(compile_problem(problem, loops=False), 100.0) == Meeting(1.0)


@pytest.mark.parametrize("most", [3, None])
def test_bases_are_numbered_and_are_no_starts(most):
    search, plan = search_for(whole(8, 80), starts=5), LatticePlan(most)
    tasks = [plan.next(search) for _ in range(3)]
    assert [task.starts.first for task in tasks] == [0, 1, 2]
    assert not any(task.counts for task in tasks)
    if most is None:
        search.started = 5
    assert plan.next(search) is None


def test_more_variables_than_lists_can_hold(monkeypatch):
    monkeypatch.setattr(closest_pairs, "suitable", lambda compiled, system: True)
    monkeypatch.setattr(box_points, "seconds_for", lambda system: inf)
    compiled = compile_problem(whole(10, 90))
    assert meeting_of(compiled, None) == Meeting()
    assert meeting_of(compiled, 1e9) == Meeting(0.0, pairs=True)


@pytest.mark.parametrize(
    "problem",
    [
        Problem([Term("l1", np.random.default_rng(0).standard_normal((3, 30)), 0.0)]),  # not whole
        Problem([Term("hinge", np.ones((3, 30)), 1.0)]),  # zero at more than a point
        Problem([Term("l1", np.ones((3, 30)), 1.0)], linear=np.ones(30)),
        whole(1, 40, spread=2),  # a search meets one of so many solutions
        whole(40, 40),  # rows enough to go by
    ],
)
def test_problems_that_are_no_equations(problem):
    compiled = compile_problem(problem)
    assert meeting_of(compiled, None) == meeting_of(compiled, 100.0) == Meeting()
