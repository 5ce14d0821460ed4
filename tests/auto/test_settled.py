"""A tree that shares the time once a search has settled."""

import numpy as np
import pytest

import dcra
from dcra.auto import settled
from dcra.auto.agreement import AGREED
from dcra.auto.decision import decide
from dcra.auto.settled import Settled, Slice
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.exact.patience import Patience
from dcra.exact.prove import Prove
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.state import Limits, Search

LONG = 600.0
"""Seconds that no proof here needs: a limit, not a budget."""


def noise(loss="l1", n=34, r=34, seed=0, **options):
    rng = np.random.default_rng(seed)
    return dcra.Problem([dcra.Term(loss, rng.standard_normal((r, n)), rng.standard_normal(r))], **options)


def couplings(n=40, seed=0):
    Q = np.random.default_rng(seed).integers(-50, 51, (n, n)).astype(float)
    return dcra.Problem(quadratic=Q + Q.T)


def search_for(problem, seconds=LONG, **limits):
    clock = iter(np.arange(0.0, 1e6, 0.5)).__next__
    return Search(compile_problem(problem), Limits(time_limit=seconds, clock=clock, **limits), 0, 0.0)


class Ends(Plan):
    """Descents that end at the values given, one after another."""

    def __init__(self, values):
        self.values = list(values)

    def next(self, search):
        return Task(Prove(), Starts(0, 0, 1)) if self.values else None


def play(plan, search, values):
    """Let a search end at values; the tasks that the plan handed out."""
    tasks = []
    for value in values:
        task = plan.next(search)
        tasks.append(task)
        if isinstance(task, settled.SliceTask):
            plan.at_work = False
            continue
        search.fun = min(search.fun, value)
        plan.learn(search, task, Outcome(np.ones((1, 3)), None, 1.0), value)
    return tasks


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("problem", [noise(), noise("squared"), couplings(), noise("linf", n=18, r=20)])
def test_what_a_tree_can_prove_ends_long_before_the_limit(problem):
    found = dcra.solve(problem, time_limit=LONG, seed=0)
    assert found.status is dcra.Status.OPTIMAL
    assert found.seconds < LONG / 4
    assert found.fun == pytest.approx(dcra.solve(problem, method="exact", seed=0).fun, rel=1e-12)


def test_a_tree_comes_when_descents_agree():
    search = search_for(noise())
    plan = Settled(Ends(range(100)))
    tasks = play(plan, search, [3.0, *[2.0] * AGREED, 2.0])
    assert not any(isinstance(task, settled.SliceTask) for task in tasks[:-1])
    assert isinstance(tasks[-1], settled.SliceTask)
    assert tasks[-1].seconds == pytest.approx(1.0 + AGREED)  # as long as the search has had


def test_a_better_value_begins_the_count_anew():
    plan, search = Settled(Ends(range(100))), search_for(noise())
    play(plan, search, [2.0] * (AGREED - 1) + [1.0])
    assert plan.agreement.count == 1
    play(plan, search, [1.5] * AGREED)
    assert plan.agreement.count == 1


def test_descents_from_known_points_do_not_count():
    plan, search = Settled(Ends(range(100))), search_for(noise())
    search.fun = 1.0
    given = Task(Prove(), Starts(0, 0, 1, np.ones((1, 34)))).within(plan.general)
    plan.learn(search, given, Outcome(np.ones((1, 34)), None, 1.0), 1.0)
    assert plan.agreement.count == 0


class Unmade:
    """A tree that another thread is about to make."""

    def __getattr__(self, name):
        raise AssertionError(f"looked at .{name}")


def test_a_tree_that_another_thread_has_is_not_looked_at():
    search = search_for(noise())
    plan = Settled(Ends(range(100)))
    tasks = play(plan, search, [3.0, *[2.0] * AGREED, 2.0])
    assert isinstance(tasks[-1], settled.SliceTask)
    plan.at_work, plan.tree = True, Unmade()
    assert not isinstance(plan.next(search), settled.SliceTask)


def test_what_was_given_up_is_gone_on_with():
    problem = noise(n=20, r=20)
    compiled = compile_problem(problem)
    tree = Prove(patience=Patience(1e3, 1e3)).start(compiled, Starts(0, 0, 1, np.ones((1, 20))))
    while not tree.done:
        tree.advance(1000)
    assert tree.given_up
    search = search_for(problem)
    search.proof = tree
    plan = Settled(Ends([]))
    assert plan.tree_of(search, Prove(), Starts(0, 0, 1)) is tree
    assert not tree.done


@pytest.mark.parametrize("problem", [noise(n=12, r=12), noise("linf", n=12, r=12), couplings(20)])
def test_slices_add_up(problem):
    """A tree in pieces finds what it finds in one."""
    compiled = compile_problem(problem)
    whole, parts = (Prove().start(compiled, Starts(0, 0, 1, np.ones((1, compiled.n)))) for _ in range(2))
    while not whole.done:
        whole.advance(10**6)
    ticks = iter(range(10**9)).__next__
    while not parts.done:
        piece = Slice(parts, ticks() + 3, ticks)
        while not piece.done:
            piece.advance(2000)
    assert parts.least == whole.least > -np.inf


@pytest.mark.parametrize("patience", [Patience(0.0, 0.0), Patience(1e4, 1e4)], ids=["none", "little"])
@pytest.mark.parametrize("problem", [noise("linf", n=30, r=60), couplings(60)])
def test_every_tree_can_be_given_up(problem, patience):
    compiled = compile_problem(problem)
    tree = Prove(patience=patience).start(compiled, Starts(0, 0, 1, np.ones((1, compiled.n))))
    while not tree.done:
        tree.advance(10**5)
    assert tree.given_up
    assert tree.least == -np.inf
    assert tree.bound <= tree.fun
    assert tree.certificate() is None


@pytest.mark.usefixtures("compiled_loops")
def test_where_there_is_one():
    assert "settled proof" in decide(search_for(noise())).names
    assert "settled proof" in decide(search_for(couplings(60))).names
    assert "settled proof" not in decide(search_for(noise(), seconds=None)).names
    assert "settled proof" not in decide(search_for(couplings(3000), seconds=5.0)).names
