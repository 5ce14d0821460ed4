"""Plans that take turns."""

from types import SimpleNamespace

import pytest

from dcra.auto.turns import LEAD, Turns
from dcra.engines.base import Starts
from dcra.search.plans import Outcome, Plan, Task


class Fixed(Plan):
    """Tasks without end, or `count` of them; what it is told is kept."""

    def __init__(self, count=10**9):
        self.count, self.told, self.adopted = count, [], None

    def next(self, search):
        if self.count == 0:
            return None
        self.count -= 1
        return Task(None, Starts(0, 0, 1))

    def learn(self, search, task, outcome, fun):
        self.told.append(fun)

    def adopt(self, compiled):
        self.adopted = compiled


def play(turns, values, rounds, work=1):
    """How often each plan was asked, where its answers have these values."""
    asked = dict.fromkeys(turns.plans, 0)
    for _ in range(rounds):
        task = turns.next(None)
        asked[task.owner] += 1
        turns.learn(None, task, Outcome(None, SimpleNamespace(work=work), 0.0), values[task.owner])
    return [asked[plan] for plan in turns.plans]


def test_the_first_begins_and_those_under_way_count():
    first, second = Fixed(), Fixed()
    turns = Turns(first, second)
    assert [turns.next(None).owner for _ in range(4)] == [first, second, first, second]


def test_the_one_that_leads_gets_most_of_the_work():
    first, second = Fixed(), Fixed()
    asked = play(Turns(first, second), {first: 2.0, second: 1.0}, 400)
    assert asked[1] / asked[0] == pytest.approx(LEAD, rel=0.05)


def test_equals_share_alike():
    first, second = Fixed(), Fixed()
    assert play(Turns(first, second), {first: 1.0, second: 1.0}, 100) == [50, 50]


def test_one_that_has_nothing_to_do_leaves_its_turns_to_the_other():
    first, second = Fixed(count=3), Fixed()
    turns = Turns(first, second)
    assert play(turns, {first: 1.0, second: 2.0}, 20) == [3, 17]
    assert first.told == [1.0] * 3


def test_none_where_none_has_any():
    assert Turns(Fixed(0), Fixed(0)).next(None) is None


def test_a_changed_problem_goes_to_all_and_leads_are_forgotten():
    first, second = Fixed(), Fixed()
    turns = Turns(first, second)
    play(turns, {first: 2.0, second: 1.0}, 10)
    problem = object()
    turns.adopt(problem)
    assert first.adopted is second.adopted is problem
    assert turns.best[first] == turns.best[second]
