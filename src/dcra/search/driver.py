"""The anytime driver: a crew carries out a plan's tasks within the limits of a search."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from math import inf, isfinite
from typing import Any, TypeVar

import numpy as np

from dcra._array import Host, to_numpy
from dcra.bounds.dual import rounded_up, trivial_bound
from dcra.compiled.form import Compiled
from dcra.engines.base import News, State
from dcra.model.pool import Solutions
from dcra.model.problem import Problem
from dcra.model.watch import OutOfTime
from dcra.result import Result, Status
from dcra.search import journal
from dcra.search.interrupts import interrupt_all, on_interrupt
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.specialists import bound_stage
from dcra.search.state import DEFAULT_STARTS, Search
from dcra.search.threads import cores, one_blas_thread
from dcra.search.workers import Crew, Job, NobodyLeft

CHUNK_SECONDS = 0.002
MAX_CHUNK = 1 << 40
FIRST_CHUNK = 200_000
"""Entries of A that loops touch before anything is measured."""

WHOLE = 0.125
"""Share of the work asked for from which on a step is taken for a whole one: estimates are off."""

BOUND_SHARE = 0.1
"""Share of a time limit that the lower bound may take."""

LEAST_ROUNDS, ROUNDS_PER_START = 5, 3
"""Rounds of the dual stage when starts are counted: about a tenth of their work."""

SHORTEST_BOUNDED = 0.05
"""Seconds below which the search takes all the time, and the bound that is free must do."""

PASSES_ASIDE = 2.0
"""Passes that judging takes at the end where threads do it side by side: they share one memory."""

SLACK = 1e-5
"""An estimated objective this much above the best, relatively, is not worth judging."""

EPS = float(np.finfo(np.float64).eps)
T = TypeVar("T")


def run(search: Search, plan: Plan, on_tick: Callable[[Search], None] | None = None) -> Result:
    """Carry out a plan within the limits of a search."""
    journal.begun(search)
    with one_blas_thread(), on_interrupt(lambda: search.stop(Status.INTERRUPTED)):
        try:
            search.patient = search.pool is not None and plan.hands_in_pool(search)
            first_answer(search)
            carry_out(search, plan, on_tick)
        except OutOfTime:
            pass
        except KeyboardInterrupt:  # from a callback, or where signals are not ours to handle
            interrupt_all()
        last_answer(search)
    if search.status is None:  # a plan also ends where no further task fits into the time left
        done = search.limits.time_limit is None or plan.complete(search)
        search.status = Status.CONVERGED if done else Status.TIME_LIMIT
    result = report(search)
    journal.ended(result)
    return result


def first_answer(search: Search) -> None:
    """A point after a pass or three, x = -sign(A'f'(-b) + c), the user's, and the bound that is free."""
    compiled = search.compiled
    problem = compiled.problem
    search.scale = abs(float(problem.value_at_ones))
    begin = search.limits.clock()
    z = compiled.residual_at_zero
    size = float(np.mean(np.abs(to_numpy(z)))) if compiled.n_rows else 1.0
    g = to_numpy(compiled.pull(compiled.slopes(z, size or 1.0)))
    down = np.where(g > 0, -1.0, 1.0)
    search.fallback = down[None]
    if search.seconds_left > 0:
        opposite = -down  # the step may overshoot so far that its opposite is better
        if compiled.quadratic is not None:
            opposite = compiled.quadratic.turned(opposite, g, compiled.like)
        search.fallback = np.stack([down, opposite])
    if not search.alone:
        search.offer(search.fallback)
    if search.points is not None:
        search.offer(search.points)
    passes = (1 if search.alone else 3) + (0 if search.points is None else len(search.points))
    pass_seconds = (search.limits.clock() - begin) / passes
    search.rate = compiled.work_per_pass / max(pass_seconds, 1e-9)
    search.closing = pass_seconds * passes_at_the_end(search)
    search.bound(rounded_up(problem, trivial_bound(problem)))


def passes_at_the_end(search: Search) -> float:
    """How long judging what all workers hand in at a limit takes, in passes."""
    n_jobs = search.limits.n_jobs
    in_turn = 0.5 * n_jobs
    if search.limits.crew is not None:  # workers elsewhere leave it to this process
        return in_turn
    return min(in_turn, PASSES_ASIDE * max(1.0, n_jobs / cores()))


def last_answer(search: Search) -> None:
    """The first answer, where no other point was judged; e where there is no time for that either."""
    if search.spins is None:
        try:
            search.offer(np.ones(search.compiled.n) if search.fallback is None else search.fallback)
        except OutOfTime:
            search.take_ones()


def carry_out(search: Search, plan: Plan, on_tick: Callable[[Search], None] | None) -> None:
    """Let a crew carry out the plan's tasks, and the bound as soon as there is a first answer."""
    bounded = plan.exact or search.seconds_left < SHORTEST_BOUNDED

    def next_job() -> Job | None:
        nonlocal bounded
        if not bounded and search.finished > 0:
            bounded = True
            fun, form = search.fun, search.relaxation
            return Job(
                lambda tick: raise_bound(search, fun, form, tick), lambda bound: take_bound(search, bound)
            )
        try:
            task = plan.next(search)
        except OutOfTime:
            return None
        if task is None:
            return None
        counts_now = lambda: crew.is_next(job)  # noqa: E731
        job: Job = Job(
            lambda tick: in_time(lambda: carry_out_task(search, task, tick, crew.lock, counts_now)),
            lambda outcome: None if outcome is None else in_time(lambda: absorb(search, plan, task, outcome)),
            task if task.engine.travels else None,
        )
        return job

    def tick() -> None:
        search.tell()
        if on_tick is not None:
            on_tick(search)

    crew = crew_of(search, next_job, tick)
    try:
        crew.run(search.limits.n_jobs, search.halt)
        if not bounded and not search.halted():
            search.bound(raise_bound(search, search.fun, search.relaxation, tick))
        if plan.exact and not search.halted():
            search.proven_pool, search.patient = plan.hands_in_pool(search), False
            search.prove(rounded_up(search.compiled.problem, plan.least))
        search.tell()
    except NobodyLeft as fault:
        search.stop(Status.INTERRUPTED)
        warnings.warn(f"{fault}; this is the best point so far", RuntimeWarning, stacklevel=2)
    finally:
        search.patient = False
        if search.spins is not None and search.gap_closed():
            search.finish()
        search.halt()


def crew_of(search: Search, next_job: Callable[[], Job | None], tick: Callable[[], None]) -> Crew:
    """Threads, or whoever the limits name."""
    limits = search.limits
    in_order = limits.time_limit is None
    if limits.crew is None:
        return Crew(next_job, search.halted, tick, in_order, limits.window)
    left = lambda: search.seconds_left - search.closing  # noqa: E731
    return limits.crew(next_job, search.halted, tick, in_order, limits.window, seconds_left=left)


def in_time(work: Callable[[], T]) -> T | None:
    """What comes of some work; None where a product came too late."""
    try:
        return work()
    except OutOfTime:
        return None


def carry_out_task(
    search: Search,
    task: Task,
    tick: Callable[[], None],
    lock: AbstractContextManager[Any],
    may_tell: Callable[[], bool],
) -> Outcome:
    """Advance a task in steps of about two milliseconds, so that limits hold; news wait for their turn."""
    clock = search.limits.clock
    entered = clock()
    state = task.begin(search)

    def look() -> None:
        if may_tell() and (news := state.take_news()):
            with lock:
                take_in(search, news)
        tick()

    work = search.chunk or first_chunk(search.compiled)
    search.chunk = advance_in_steps(state, work, search.halted, look, clock)
    spins, seconds = state.candidates(), clock() - entered
    return Outcome(spins, state, seconds, judged_aside(search, task, state, spins))


def judged_aside(search: Search, task: Task, state: State, spins: Host) -> Host | None:
    """Objectives of what a task has found, judged by its own thread: at a limit all threads come at once.

    Where starts are counted none: what is worth a judgement depends on the best so far, which has an order.
    """
    if search.limits.time_limit is None or not worth_judging(search, estimate(task, state)):
        return None
    return in_time(lambda: search.judged(spins))


def estimate(task: Task, state: State) -> float | None:
    """What a task's own sums say of its best point; another form has other roundings."""
    return state.estimate() if task.compiled is None else None


def worth_judging(search: Search, fun: float | None) -> bool:
    """Whether points of this estimate may be better than the best, or are wanted anyway."""
    return fun is None or search.pool is not None or fun <= search.fun + SLACK * abs(search.fun)


def advance_in_steps(
    state: State,
    work: int,
    halted: Callable[[], bool],
    look: Callable[[], None],
    clock: Callable[[], float],
) -> int:
    """Advance a state until it is done or `halted`, looking around in between; the work of the last step."""
    try:
        while not state.done and not halted():
            begin, before = clock(), state.work
            state.advance(work)
            work = paced(work, clock() - begin, state.work - before)
            look()
    except OutOfTime:
        pass
    return work


def take_in(search: Search, news: list[News]) -> None:
    """Judge what a task has found on its way."""
    for item in news:
        if len(item.spins):
            search.offer(item.spins)
        search.bound(rounded_up(search.compiled.problem, item.lower_bound))


def first_chunk(compiled: Compiled) -> int:
    """Work to begin with: what loops do in less than a millisecond, or a pass of array code."""
    return FIRST_CHUNK if compiled.loops else compiled.work_per_pass


def paced(asked: int, seconds: float, done: float = 0.0) -> int:
    """The work that would have taken CHUNK_SECONDS, no more than twice what was asked for.

    Where `done`, what was touched of it, is known, a step that ended early and quickly says nothing.
    """
    if seconds > CHUNK_SECONDS:
        return max(1, int(min(asked, done or asked) * CHUNK_SECONDS / seconds))
    if 0 < done < WHOLE * asked:
        return asked
    return min(MAX_CHUNK, int(asked * min(2.0, CHUNK_SECONDS / max(seconds, 1e-6))))


def take_bound(search: Search, bound: float) -> None:
    """Take note of a bound; where starts are counted, not of one that the end of the search cut short."""
    if search.limits.time_limit is not None or search.status in (None, Status.INTERRUPTED):
        search.bound(bound)


def raise_bound(search: Search, fun: float, relaxation: Compiled, tick: Callable[[], None]) -> float:
    """The dual stage, within its share of the time; `fun` is the objective of a known point."""
    clock = search.limits.clock
    limit = search.limits.time_limit
    known = fun if isfinite(fun) else -inf
    end = inf if limit is None else clock() + BOUND_SHARE * limit
    starts = search.limits.most_starts
    if search.on_device:  # where thousands of them are as quick as one
        starts = min(starts, DEFAULT_STARTS)
    rounds = inf if limit is not None else LEAST_ROUNDS + ROUNDS_PER_START * starts
    work = first_chunk(search.compiled)
    own = relaxation is search.compiled
    form = search.working if own and search.working is not None else relaxation
    stage = in_time(lambda: bound_stage(form, known, inf if limit is None else BOUND_SHARE * limit))
    if stage is None:
        return -inf
    while not stage.done and not search.halted() and clock() < end and stage.rounds < rounds:
        begin = clock()
        in_time(partial(stage.advance, work))
        if limit is not None:  # else rounds are counted, and steps must be the same each time
            work = paced(work, clock() - begin)
        tick()
    return rounded_up(search.compiled.problem, stage.bound - relaxation.forgiven)


def absorb(search: Search, plan: Plan, task: Task, outcome: Outcome) -> None:
    state = outcome.state
    take_in(search, state.take_news())
    if search.status not in (None, Status.INTERRUPTED):
        return  # outcomes after the end depend on the number of workers; after Ctrl-C, every point counts
    fun = estimate(task, state)
    if fun is None or worth_judging(search, fun):
        fun = search.offer(outcome.spins, outcome.values)
    search.nit += state.steps
    if state.done:
        search.finished += task.starts.count if task.counts else 0
        plan.learn(search, task, outcome, fun)


def report(search: Search) -> Result:
    compiled = search.compiled
    with nullcontext() if search.watch is None else search.watch.opened():
        search.settle()
    tiny = search.rounding()
    assert search.spins is not None
    assert search.status is not None
    return Result(
        x=compiled.decode(search.spins),
        fun=search.fun + 0.0,  # no negative zeros
        lower_bound=0.0 + (min(search.lower_bound, search.fun) if search.feasible else search.lower_bound),
        status=search.status,
        history=tuple(search.history),
        n_starts=search.finished,
        nit=search.nit,
        seconds=search.seconds,
        seed=search.seed,
        method=search.method,
        tiny=tiny,
        feasible=search.feasible,
        violation=search.violation,
        window=search.limits.window,
        n_constraints=compiled.problem.n_constraints,
        constraint_kind=compiled.problem.constraint_kind,
        penalty_weights=search.penalty_weights,
        violated=search.violated,
        conflict=search.conflict,
        **soft_report(compiled.problem, compiled.in_domain(search.spins)),
        names=compiled.problem.variable_names,
        pool=solutions(search),
        target=search.limits.target,
        nodes=0 if search.proof is None else search.proof.nodes,
        fixed=None if search.proof is None else search.proof.fixed,
        certificate=None if search.proof is None else search.proof.certificate(),
    )


def soft_report(problem: Problem, x: Host) -> dict[str, Any]:
    """What a result says about soft constraints at x (n,)."""
    rows = problem.soft
    if rows is None:
        return {}
    return {"n_soft": len(rows), "soft_cost": rows.cost(x), "soft_violations": rows.violations(x)}


def solutions(search: Search) -> Solutions | None:
    """The pool of a search, where one was asked for."""
    if search.pool is None:
        return None
    compiled = search.compiled
    spins, _ = search.pool.best(search.spins if search.feasible else None)
    with nullcontext() if search.watch is None else search.watch.opened():
        off = compiled.problem.violation(compiled.decode(spins))
        spins = spins[off == np.min(off, initial=inf)]  # hard clauses are none of the rows that all satisfy
        values = np.asarray([float(compiled.judged(point[None])[0]) for point in spins])  # as `fun` was
    order = np.argsort(values, kind="stable")
    proven = search.proven_pool and search.pool.complete
    return Solutions(compiled.decode(spins[order]), values[order] + 0.0, proven, search.pool.asked.size)
