"""Many problems: one after another here, or side by side, one to a worker."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from dcra.engines.base import Engine
from dcra.machines.dispatch import Dispatch
from dcra.machines.pickles import Cargo
from dcra.machines.teams import Team, team_for
from dcra.machines.worker import Errand
from dcra.model.integers import IntegerProblem
from dcra.model.problem import Problem
from dcra.named import load
from dcra.result import Result, Status
from dcra.search.checks import check_count, check_jobs, check_seconds, check_seed, check_target
from dcra.search.state import Search
from dcra.search.threads import default_jobs
from dcra.search.workers import PATIENCE


def solve_many(
    problems: Iterable[Problem | str | Path],
    *,
    method: str | Engine = "auto",
    time_limit: float | None = None,
    starts: int | None = None,
    target: float | None = None,
    seed: int | None = None,
    n_jobs: int | None = None,
    window: int | None = None,
    executor: Any = None,
) -> Iterator[tuple[int, Result]]:
    """Solve many problems; what comes are pairs (index, result), as they are ready.

    Parameters
    ----------
    problems : iterable of Problem, or of file names
        Taken as they are needed, a few more than there are workers. Files are read where they are solved.
    method, time_limit, starts, target, window
        As in `solve`, for each problem.
    seed : int, optional
        The same for all: result i is that of `solve(problems[i], seed=seed)`.
    n_jobs : int, optional
        Problems under way at a time; enough for all workers by default. Without an executor, the threads that
        solve one problem after another.
    executor : dask.distributed.Client or concurrent.futures.Executor, optional
        Whose workers solve the problems, one thread each: see docs/scale.md.

    Examples
    --------
    >>> import numpy as np
    >>> import dcra
    >>> problems = (dcra.Problem(linear=np.array([1.0, -k])) for k in range(1, 4))
    >>> {index: result.fun for index, result in dcra.solve_many(problems, seed=0)}
    {0: -2.0, 1: -3.0, 2: -4.0}
    """
    jobs = check_jobs("n_jobs", n_jobs)
    options = load("dcra.api:SolveOptions")(
        method,
        check_seconds("time_limit", time_limit),
        check_count("starts", starts),
        check_target(target),
        None if seed is None else check_seed(seed),
        n_jobs=jobs,
        window=check_count("window", window),
    )
    if executor is None:
        return _one_by_one(problems, options)
    make, found = team_for(executor)
    return _side_by_side(
        problems, replace(options, n_jobs=1), make(None), jobs or 2 * (found or default_jobs())
    )


def _one_by_one(problems: Iterable[Any], options: Any) -> Iterator[tuple[int, Result]]:
    for index, problem in enumerate(problems):
        result = load("dcra.api:solve_since")(time.perf_counter(), opened(problem), options)
        yield index, result
        if result.status is Status.INTERRUPTED:
            return


def _side_by_side(
    problems: Iterable[Any], options: Any, team: Team, abreast: int
) -> Iterator[tuple[int, Result]]:
    waiting = enumerate(problems)
    dispatch = Dispatch(team)
    try:
        more = True
        while more or len(dispatch):
            dispatch.send_again()
            while more and len(dispatch) < abreast:
                index, problem = next(waiting, (-1, None))
                more = index >= 0
                if more:
                    dispatch.send(index, _errand(team, problem, options))
            for index, result, _ in dispatch.hear(PATIENCE):
                yield index, result
    finally:
        dispatch.close()


def _errand(team: Team, problem: Any, options: Any) -> SolveErrand:
    """A drawn seed goes along, so that an errand that is done again gives the same."""
    seed = secrets.randbits(32) if options.seed is None else options.seed
    cargo = Cargo(problem if isinstance(problem, str | Path | Problem | IntegerProblem) else opened(problem))
    return SolveErrand(team.key, team.version, inf, cargo, replace(options, seed=seed))


def opened(problem: Any) -> Problem | IntegerProblem:
    """The problem, read from its file where it is a name."""
    if isinstance(problem, str | Path):
        read: Problem = load("dcra.io:read")(problem)
        return read
    if not isinstance(problem, Problem | IntegerProblem):
        raise TypeError(
            f"`problems` must hold dcra.Problem objects or file names; got {type(problem).__name__}"
        )
    return problem


@dataclass(frozen=True, eq=False)
class SolveErrand(Errand):
    """Solve one problem."""

    cargo: Any
    options: Any

    def carry_out(self, shared: Any, over: Callable[[], bool]) -> Result:
        def look(search: Search) -> None:
            if over():
                search.stop(Status.INTERRUPTED)

        problem = opened(self.cargo.shared)
        options = replace(self.options, on_tick=look)
        result: Result = load("dcra.api:solve_since")(time.perf_counter(), problem, options)
        return result
