"""Workers: all jobs are done, order is kept where it counts, errors come out."""

from __future__ import annotations

import threading

import pytest

from dcra.search.workers import WINDOW, Crew, Job


def crew_of(jobs, *, in_order, halted=lambda: False):
    queue = iter(jobs)
    return Crew(lambda: next(queue, None), halted, lambda: None, in_order)


@pytest.mark.parametrize("n_workers", [1, 2, 5])
@pytest.mark.parametrize("in_order", [True, False])
def test_every_job_is_done_once(n_workers, in_order):
    seen = []
    jobs = [Job(lambda tick, k=k: k, seen.append) for k in range(50)]
    crew_of(jobs, in_order=in_order).run(n_workers, lambda: None)
    assert sorted(seen) == list(range(50))
    if in_order:
        assert seen == sorted(seen)


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_what_is_known_when_a_job_is_chosen(n_workers):
    known, absorbed = [], []

    def next_job():
        if len(known) == 40:
            return None
        known.append(len(absorbed))
        return Job(lambda tick: None, absorbed.append)

    Crew(next_job, lambda: False, lambda: None, in_order=True).run(n_workers, lambda: None)
    assert known == [max(0, k - WINDOW + 1) for k in range(40)]


@pytest.mark.parametrize("n_workers", [1, 3])
def test_an_error_ends_the_work(n_workers):
    def fail(tick):
        raise ArithmeticError("job 7")

    jobs = [Job(fail if k == 7 else lambda tick: None, lambda outcome: None) for k in range(100)]
    with pytest.raises(ArithmeticError, match="job 7"):
        crew_of(jobs, in_order=False).run(n_workers, lambda: None)


@pytest.mark.parametrize("in_order", [True, False])
def test_an_error_in_what_another_thread_makes_of_an_outcome_comes_out(in_order):
    raised = threading.Event()

    def here():
        return threading.current_thread() is threading.main_thread()

    def absorb(outcome):
        if not here():
            raised.set()
            raise ArithmeticError("absorbed elsewhere")

    crew = crew_of([Job(lambda tick: None, absorb) for _ in range(40)], in_order=in_order)
    take = crew._take
    crew._take = lambda tick: take(tick) if not here() or raised.wait(10) else None  # others come first
    with pytest.raises(ArithmeticError, match="absorbed elsewhere"):
        crew.run(3, lambda: None)


@pytest.mark.parametrize("n_workers", [1, 3])
def test_an_interrupt_halts_all(n_workers):
    halted = threading.Event()

    def interrupt(tick):
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        halted.wait()

    jobs = (Job(interrupt, lambda outcome: None) for _ in range(1000))
    crew = crew_of(jobs, in_order=False, halted=halted.is_set)
    with pytest.raises(KeyboardInterrupt):
        crew.run(n_workers, halted.set)
    assert halted.is_set()


@pytest.mark.parametrize("where", ["callback", "engine"])
def test_an_error_ends_the_other_threads(where):
    """Their jobs would last for ever: only being told to end lets them go."""
    over, begun = threading.Event(), threading.Event()

    def endless(tick):
        begun.set()
        assert over.wait(60)

    def failing(tick):
        assert begun.wait(60)
        raise LookupError("mine")

    jobs = [Job(failing, lambda outcome: None), Job(endless, lambda outcome: None)]
    crew = crew_of(jobs if where == "callback" else jobs[::-1], in_order=True)
    with pytest.raises(LookupError, match="mine"):
        crew.run(2, over.set)


def test_news_wait_for_their_turn():
    crew = crew_of([], in_order=True)
    first, second = (Job(lambda tick: None, lambda outcome: None) for _ in range(2))
    assert not crew.is_next(first)
    crew.open.extend([first, second])
    assert crew.is_next(first)
    assert not crew.is_next(second)
    crew._hand_in(first, None)
    assert crew.is_next(second)
    assert crew_of([], in_order=False).is_next(second)
