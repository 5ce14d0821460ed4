"""Tasks, and the plain plans: which starts come next, and when there are no more."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dcra
from dcra.compiled.form import compile_problem
from dcra.engines.base import Engine, Starts, State
from dcra.exact.enumeration import SEGMENTS, Enumerate
from dcra.search.plans import Exhaust, Once, Outcome, Plan, Repeat, Task, next_starts
from dcra.search.state import DEFAULT_STARTS, Limits, Search


@dataclass(frozen=True, eq=False)
class Together(Engine):
    """`size` starts at a time; its states remember what they were begun with."""

    size: int = 1
    setup: int = 0
    name: ClassVar[str] = "together"

    def batch(self, compiled):
        return self.size

    def setup_work(self, compiled):
        return self.setup

    def start(self, compiled, starts):
        return Begun(compiled, starts)


class Begun(State):
    done = True

    def __init__(self, compiled, starts):
        self.compiled, self.starts = compiled, starts

    def advance(self, work):
        pass

    def candidates(self):
        return np.ones((self.starts.count, self.compiled.n))


class Silent(Plan):
    """Has no tasks."""

    def next(self, search):
        return None


def compiled_problem(n=4):
    return compile_problem(dcra.Problem([dcra.Term("l1", np.eye(n), 0.5)]), loops=False)


def search_for(n=4, points=None, **limits):
    given_points = None if points is None else np.asarray(points, float)
    return Search(
        compiled_problem(n), Limits(clock=lambda: 0.0, **limits), seed=5, begun=0.0, points=given_points
    )


def spins(k, n=4):
    return np.where(np.random.default_rng(k).random((k, n)) < 0.5, -1.0, 1.0)


def all_tasks(plan, search, most=1000):
    tasks = []
    while len(tasks) < most and (task := plan.next(search)) is not None:
        tasks.append(task)
    return tasks


def test_a_task_begins_on_the_problem_as_it_was_given_or_on_its_own():
    search, other, starts = search_for(), compiled_problem(), Starts(5, 0, 1)
    assert Task(Together(), starts).begin(search).compiled is search.compiled
    state = Task(Together(), starts, compiled=other).begin(search)
    assert state.compiled is other
    assert state.starts is starts


def test_a_task_in_the_hands_of_another_plan():
    search, outer, owner = search_for(), Silent(), Silent()
    task = Task(Together(), Starts(5, 0, 1), compiled=compiled_problem(), counts=False)
    within = task.within(owner)
    assert (within.inner, within.owner) == (task, owner)
    assert (within.engine, within.starts, within.compiled) == (task.engine, task.starts, task.compiled)
    assert not within.counts
    assert within.begin(search).compiled is task.compiled
    twice = within.within(outer)
    assert (twice.inner, twice.owner) == (within, outer)
    assert (task.inner, task.owner) == (None, None)
    assert Task(Together(), Starts(5, 0, 1)).within(owner).counts


@pytest.mark.parametrize(("counts", "n_starts"), [(True, 3), (False, 0)])
def test_only_starts_that_count_are_counted(counts, n_starts):
    from dcra.search.driver import run

    class Three(Plan):
        given = 0

        def next(self, search):
            self.given += 1
            return Task(Together(), Starts(5, self.given, 1), counts=counts) if self.given <= 3 else None

    assert run(search_for(starts=9), Three()).n_starts == n_starts


@given(
    size=st.integers(1, 9), starts=st.one_of(st.none(), st.integers(1, 40)), given_points=st.integers(0, 6)
)
def test_repeat_makes_every_start_once(size, starts, given_points):
    search = search_for(points=spins(given_points) if given_points else None, starts=starts)
    tasks = all_tasks(Repeat(Together(size)), search)
    numbers = [first + i for task in tasks for first in [task.starts.first] for i in range(task.starts.count)]
    assert numbers == list(range(starts or DEFAULT_STARTS))
    assert search.started == len(numbers)
    assert all(task.starts.count <= size and task.starts.seed == 5 for task in tasks)
    assert all(task.counts and task.compiled is None for task in tasks)


def test_repeat_goes_on_where_only_time_ends_it():
    assert len(all_tasks(Repeat(Together(3)), search_for(time_limit=1.0), most=100)) == 100


def test_repeat_begins_nothing_that_does_not_fit_into_the_time_left():
    search = search_for(time_limit=2.0)
    search.rate = 100.0
    assert Repeat(Together(setup=200)).next(search) is not None
    assert Repeat(Together(setup=201)).next(search) is None
    assert search.started == 1


def test_one_start_is_enough_for_an_engine_that_always_ends_in_the_same_answer():
    search, plan = search_for(), Once(Together())
    (_task,) = all_tasks(plan, search)
    assert not plan.complete(search)
    search.finished = 1
    assert plan.complete(search)


def test_once_takes_all_points_that_are_given():
    points = spins(3)
    search, plan = search_for(points=points), Once(Together())
    tasks = all_tasks(plan, search)
    np.testing.assert_array_equal(np.concatenate([task.starts.points for task in tasks]), points)
    for k in range(4):
        search.finished = k
        assert plan.complete(search) == (k == 3)


def test_once_keeps_to_the_number_of_starts():
    assert len(all_tasks(Once(Together()), search_for(points=spins(5), starts=2))) == 2


def test_exhaust_covers_every_point_once():
    search = search_for(n=11)
    tasks = all_tasks(Exhaust(), search)
    assert [task.starts.first for task in tasks] == list(range(SEGMENTS))
    spans = []
    for task in tasks:
        assert isinstance(task.engine, Enumerate)
        state = task.begin(search)
        spans.append((state.position, state.hi))
    assert spans[0][0] == 0
    assert spans[-1][1] == 2**11
    assert all(before[1] == after[0] for before, after in pairwise(spans))
    assert Exhaust.exact
    assert not Repeat.exact


def test_exhaust_takes_an_engine_of_its_own():
    engine = Together()
    assert all_tasks(Exhaust(engine), search_for())[0].engine is engine


def test_starts_without_points_are_left_to_the_engine():
    search = search_for()
    first, second = next_starts(search, 3), next_starts(search, 2)
    assert (first.first, first.count, first.points) == (0, 3, None)
    assert (second.first, second.count, second.points) == (3, 2, None)
    assert search.started == 5


@given(known=st.integers(1, 7), sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_the_first_starts_begin_at_the_points_given(known, sizes):
    points = spins(known)
    kept = points.copy()
    search = search_for(points=points)
    made = 0
    for size in sizes:
        starts = next_starts(search, size)
        assert (starts.first, starts.count) == (made, size)
        if made >= known:
            assert starts.points is None
        else:
            assert starts.points.shape == (size, 4)
            assert set(np.unique(starts.points)) <= {-1.0, 1.0}
            here = points[made : made + size]
            np.testing.assert_array_equal(starts.points[: len(here)], here)
            starts.points[:] = 0  # the engine's own
        made += size
    np.testing.assert_array_equal(search.points, kept)


def test_the_rest_of_a_batch_is_random_and_the_same_for_a_seed():
    rest = [next_starts(search_for(n=30, points=spins(1, 30)), 4).points[1:] for _ in range(2)]
    np.testing.assert_array_equal(*rest)
    assert len(np.unique(rest[0], axis=0)) == 3


def test_a_plan_may_ignore_outcomes_and_changes():
    plan, search = Silent(), search_for()
    plan.learn(search, Task(Together(), Starts(5, 0, 1)), Outcome(np.ones((1, 4)), None, 0.0), inf)
    plan.adopt(search.compiled)
    assert search.status is None
