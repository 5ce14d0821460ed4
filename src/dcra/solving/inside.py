"""Solves inside a solve: for a pool, for bits of whole numbers, for what is not fixed, for partial starts."""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf

import numpy as np

from dcra._array import Host, to_numpy
from dcra.exact.couplings_form import couplings_alone
from dcra.exact.trees import TreeKind, tree_kind
from dcra.methods import resolve
from dcra.model.fixing import Fixing, fixing, partial_points
from dcra.model.infeasibility import Contradiction
from dcra.model.integers import IntegerProblem
from dcra.model.pool import Pool, as_pool
from dcra.model.problem import Problem
from dcra.result import Result, Status
from dcra.search.checks import check_callable
from dcra.search.completed import completed, of_all_variables, only_point
from dcra.search.decoded import decoded, in_numbers, of_own_rows, wider_pool
from dcra.search.interrupts import on_interrupt
from dcra.search.next_best import PROVING, with_next_best
from dcra.solving.options import SolveOptions
from dcra.solving.since import solve_since

LEAST_SECONDS = 1e-3
"""Of a solve for another point of a pool, below which it is not begun."""

FILL_SHARE = 0.2
"""Share of the time left that filling in partial starts may take."""


def with_pool(problem: Problem, result: Result, options: SolveOptions, begun: float) -> Result:
    """The result with the true pool, where the method proves its answers one at a time."""
    asked, engine, limit = as_pool(options.pool), resolve(options.method)[1], options.time_limit
    if asked is None or engine is None or engine.plan not in PROVING:
        return result
    if engine.plan == "prove" and couplings_alone(problem):  # the next best ones have constraints
        return result

    def solve_one(twin: Problem) -> Result | None:
        if engine.plan == "prove" and tree_kind(twin) is TreeKind.NONE:  # its rows are too many
            return None
        left = None if limit is None else begun + limit - time.perf_counter()
        if left is not None and left < LEAST_SECONDS:
            return None
        bare = replace(options, pool=None, x0=None, target=None, gap=None, callback=None, time_limit=left)
        return solve_since(time.perf_counter(), twin, bare)

    found = with_next_best(problem, result, asked, solve_one)
    return replace(found, seconds=time.perf_counter() - begun)


def solve_integers(begun: float, problem: IntegerProblem, options: SolveOptions, progress: bool) -> Result:
    """Solve for the bits of whole numbers."""
    given, fixed, limit = options.x0, options.fixed, options.time_limit
    if given is not None:
        given = problem.encode("x0", given.x if isinstance(given, Result) else given)
    asked, engine = as_pool(options.pool, problem.n), resolve(options.method)[1]
    proves = engine is not None and engine.plan in (*PROVING, "exhaust")
    one_code = proves and asked is not None and asked.distance == 1
    bits = replace(
        options,
        x0=given,
        fixed=None if fixed is None else problem.fixed_bits(fixed),
        callback=in_numbers(problem, check_callable(options.callback)),
        pool=asked if one_code else wider_pool(asked),
    )
    with on_interrupt() as interrupted:
        result = solve_since(begun, problem.with_one_code() if one_code else problem.bits, bits, progress)
        result = of_own_rows(problem, result) if one_code else result
        if fixed is not None:  # a descent would move what is fixed
            problem = problem.narrowed(fixed)

        def left() -> float:
            end = inf if limit is None else begun + limit
            return 0.0 if interrupted else end - time.perf_counter()

        done = decoded(problem, result, asked, left, one_code)
    unproven = done.status in (Status.CONVERGED, Status.TIME_LIMIT)
    status = Status.INTERRUPTED if interrupted and unproven else done.status
    return replace(done, status=status, seconds=time.perf_counter() - begun)


def solve_the_rest(begun: float, problem: Problem, options: SolveOptions, progress: bool) -> Result:
    """Solve for the variables that are free, and put the others back in."""
    pool, problem = as_pool(options.pool, problem.n), problem.narrowable()
    given, part = options.x0, fixing(problem, options.fixed)
    if given is not None:
        given = partial_points(problem, "x0", given.x if isinstance(given, Result) else given)
        given = given[:, part.free]
    callback = of_all_variables(part, check_callable(options.callback))
    asked = pool
    if pool is not None and pool.distance > max(1, part.free.size):  # no two points differ in so many
        pool = Pool(1)
    rest = replace(options, fixed=None, x0=given, callback=callback, pool=pool)
    if not part.free.size:
        rest.limits(problem)  # checked, though nothing is left to search
        return only_point(part, asked, rest.seed, resolve(rest.method)[0], begun)
    left, error = _of_the_rest(part), part.error
    return completed(part, error, solve_since(begun, left, rest, progress), asked)


def _of_the_rest(part: Fixing) -> Problem:
    """The problem of what is not fixed; where its rows cannot hold, the error says that something is."""
    try:
        return part.problem
    except Contradiction as error:
        raise Contradiction(f"with `fixed`, whose variables are left out of these sums, {error}") from error


def starting_points(problem: Problem, options: SolveOptions, seed: int, begun: float) -> Host:
    """The points to start from, (k, n) on the host; what they leave open is filled in."""
    x0 = options.x0
    points = partial_points(problem, "x0", x0.x if isinstance(x0, Result) else x0).copy()
    partial = np.flatnonzero(np.isnan(points).any(axis=1))
    limit, now = options.time_limit, time.perf_counter()
    share = None if limit is None else max(FILL_SHARE * (begun + limit - now) / max(1, partial.size), 1e-4)
    for i in partial:
        rest = SolveOptions(time_limit=share, starts=1, seed=seed, n_jobs=options.n_jobs)
        points[i] = _filled_in(problem, points[i], rest)
    return points


def _filled_in(problem: Problem, values: Host, options: SolveOptions) -> Host:
    """The given part of a point with what a descent finds for the rest; with constraints, if that can be."""
    try:
        part = Fixing(problem, values)
        _ = part.problem
    except ValueError:  # no point with this part satisfies the constraints
        part = Fixing(problem.replace(constraints=()), values)
    return part.complete(to_numpy(solve_since(time.perf_counter(), part.problem, options).x))
