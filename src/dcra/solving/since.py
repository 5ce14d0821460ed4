"""One solve, from a problem and options to its result."""

from __future__ import annotations

import secrets
from math import inf
from typing import TYPE_CHECKING, Any

from dcra._array import Array, Host
from dcra._kernels import library
from dcra.accelerator.device import check_device
from dcra.auto.placement import device_under, place
from dcra.compiled.form import compile_problem
from dcra.foreign import one_blas_thread
from dcra.methods import make_plan, resolve
from dcra.model.pool import as_pool
from dcra.model.problem import Problem
from dcra.model.vanishing import refuse_vanishing
from dcra.model.watch import OutOfTime, Watch
from dcra.result import Result
from dcra.search.checks import check_seed
from dcra.search.driver import run
from dcra.search.interrupts import on_interrupt
from dcra.search.kept import Kept
from dcra.search.plans import Nothing, Plan
from dcra.search.state import Search
from dcra.solving.options import SolveOptions

if TYPE_CHECKING:
    from dcra.model.integers import IntegerProblem


def prepare(problem: Problem, options: SolveOptions, begun: float) -> tuple[Search, Plan]:
    """The search for a problem and the plan of its method; seconds count from `begun`."""
    label, engine = resolve(options.method)
    auto = engine is None
    device = check_device(options.device)
    if device not in (None, "cpu") and not auto:
        raise ValueError(f"`device` {device!r} is for method 'auto' alone; got method {label!r}")
    if auto:
        problem = place(problem.as_searched(), device)
        device = device or device_under(problem)
    refuse_vanishing(problem)
    limits = options.limits(problem)
    asked = as_pool(options.pool, problem.n)
    chosen = secrets.randbits(32) if options.seed is None else check_seed(options.seed)
    points = _points(problem, options, chosen, begun)
    library.warn_if_missing()
    end = inf if limits.time_limit is None else begun + limits.time_limit
    watch = Watch(limits.clock, end)
    compiled = compile_problem(problem.watched(watch))
    given = compiled.encode(points) if points is not None else None
    kind = Search
    if problem.constraints is not None:
        from dcra.constrained.state import ConstrainedSearch as kind
    search = kind(compiled, limits, chosen, begun, given, alone=not auto, method=label, device=device)
    search.pool = None if asked is None else Kept(asked, problem.n)
    search.look_at(watch)
    if auto and search.seconds_left <= 0:  # taking the problem in was all there was time for
        return search, Nothing()
    try:
        return search, make_plan(search, engine)
    except OutOfTime:
        return search, Nothing()


def solve_since(
    begun: float, problem: Problem | IntegerProblem, options: SolveOptions, progress: bool = False
) -> Result:
    """`solve` for a caller whose own work since `begun` is part of the call."""
    if not isinstance(problem, Problem):
        return _solve_whole_numbers(begun, problem, options, progress)
    if options.fixed is not None:
        from dcra.solving.inside import solve_the_rest

        return at_home(solve_the_rest(begun, problem, options, progress), problem)
    with one_blas_thread(), on_interrupt():  # one Ctrl-C, be it while a start is filled in
        search, plan = prepare(problem, options, begun)
        if progress:
            from dcra.progress import live

            with live(search) as on_tick:
                result = run(search, plan, on_tick)
        else:
            result = run(search, plan, options.on_tick)
        if options.pool is not None:
            from dcra.solving.inside import with_pool

            result = with_pool(problem, result, options, begun)
    here = search.compiled.problem.like is problem.like
    return at_home(result if here else _moved(result, problem.like), problem)


def _solve_whole_numbers(begun: float, problem: Any, options: SolveOptions, progress: bool) -> Result:
    """`solve_since` for what is not a `Problem`, which is an error unless it is one of whole numbers."""
    from dcra.model.integers import IntegerProblem

    if not isinstance(problem, IntegerProblem):
        raise TypeError(f"`problem` must be a dcra.Problem; got {type(problem).__name__}")
    from dcra.solving.inside import solve_integers

    return at_home(solve_integers(begun, problem, options, progress), problem.model)


def _points(problem: Problem, options: SolveOptions, seed: int, begun: float) -> Host | None:
    """The points to start from, (k, n) on the host; what they leave open is filled in."""
    if options.x0 is None:
        return None
    from dcra.solving.inside import starting_points

    return starting_points(problem, options, seed, begun)


def at_home(result: Result, problem: Problem) -> Result:
    """The result with points in the library that A came in, where that is not the one of the search."""
    return result if problem.home is problem.like else _moved(result, problem.home)


def _moved(result: Result, like: Array) -> Result:
    from dcra.search.completed import moved

    return moved(result, like)
