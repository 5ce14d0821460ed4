"""One A and many right-hand sides: in lockstep, in chunks, or one after another."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Array, Host, from_numpy, is_dask
from dcra.accelerator.device import check_device, number_of
from dcra.auto.placement import place
from dcra.batch import arrays
from dcra.batch.columns import BatchProgress, per_column, solve_columns
from dcra.batch.lockstep import Stop
from dcra.engines.base import Engine
from dcra.methods import resolve
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.model.vanishing import refuse_vanishing
from dcra.result import BatchResult, Result, Status
from dcra.search.checks import check_callable, check_count, check_jobs, check_seconds, check_seed
from dcra.search.interrupts import on_interrupt
from dcra.search.threads import default_jobs, one_blas_thread
from dcra.solving.options import SolveOptions, watch_for, watched_operator
from dcra.solving.since import solve_since


class Asked(NamedTuple):
    """How a batch is to be solved, as the user gave it."""

    method: str | Engine
    time_limit: float | None
    starts: int | None
    seed: int | None
    n_jobs: int | None
    executor: Any
    chunk: int | None
    device: str | None = None


class Started(NamedTuple):
    """A batch that has begun: when it ends, how one column is solved, its seed, the library of its answer."""

    stop: Stop
    one: Callable[..., Result]
    method: str
    seed: int
    like: Array

    def result(self, X: Host, fun: Host, feasible: Host | None = None) -> BatchResult:
        """The answers X (k, n), one a column."""
        return BatchResult(
            x=from_numpy(np.ascontiguousarray(X.T), self.like),
            fun=fun,
            status=self.stop.why or Status.CONVERGED,
            seconds=self.stop.seconds,
            seed=self.seed,
            method=self.method,
            feasible=feasible,
        )


def run_batch(
    A: Any, B: Any, about: dict[str, Any], asked: Asked, x0: Any, watching: tuple[Any, bool], begun: float
) -> BatchResult:
    """`minimize_batch`: `about` holds the rest of the problem, `watching` the callback and `progress`."""
    linear, constraints = about["linear"], about["constraints"]
    several = linear is not None and np.ndim(linear) == 2
    apart = several or x0 is not None or watching[0] is not None or watching[1]
    if asked.executor is not None or asked.chunk is not None or is_dask(B):
        _refuse_device(asked.device)
        if apart or not (isinstance(constraints, tuple | list) and not constraints):
            raise ValueError(
                "`executor`, `chunk` and a Dask array B go with one `linear` for all columns, and without "
                "`constraints`, `x0`, `callback` and `progress`; leave these out, or solve column by column"
            )
        return _in_chunks(A, B, about, asked, begun)
    watch, weights = watch_for(begun, asked.time_limit), about["weights"]
    started = _start(asked, begun)
    term = Term(about["loss"], watched_operator(A, watch), 0.0, 1.0 if weights is None else weights)
    shared = None if several else linear
    problem = Problem([term], linear=shared, domain=about["domain"], constraints=constraints)
    if not several:
        refuse_vanishing(problem)
    started = started._replace(like=problem.home)
    problem = place(problem, asked.device) if started.method == "auto" else problem
    apart = apart or problem.constraints is not None or problem.soft is not None
    if (far := _far_away(problem, B, asked, started, apart)) is not None:
        return far
    rows = arrays.right_hand_sides(problem, B)
    if apart:
        return _one_by_one(problem, rows, (linear, x0), started, watching)
    return _together(problem, rows, asked, started)


def _refuse_device(device: str | None) -> None:
    if check_device(device) not in (None, "cpu"):
        raise ValueError(
            f"`device` {device!r} does not go with `executor`, `chunk` or a Dask array B, whose chunks are "
            "solved by CPUs; leave one of them out"
        )


def _far_away(problem: Problem, B: Any, asked: Asked, started: Started, apart: bool) -> BatchResult | None:
    """On the device that was asked for; None where the CPU is to solve it."""
    where = check_device(asked.device)
    if where is None or where == "cpu":
        return None
    if started.method != "auto":
        raise ValueError(f"`device` {where!r} is for method 'auto' alone; got method {started.method!r}")
    if apart:
        raise ValueError(
            f"`device` {where!r} goes with one `linear` for all columns, and without `constraints`, `x0`, "
            "`callback` and `progress`; leave these or `device` out"
        )
    from dcra.batch import far

    starts = check_count("starts", asked.starts)
    found = far.solve(problem, B, started.seed, starts, started.stop, number_of(where))
    return None if found is None else started.result(found.X.T, found.fun)


def _in_chunks(A: Any, B: Any, about: dict[str, Any], asked: Asked, begun: float) -> BatchResult:
    """By other machines, or of a Dask array."""
    from dcra.machines.batches import minimize_chunks

    shared = {"A": A} | {name: about[name] for name in ("loss", "weights", "domain", "linear")}
    options = {name: getattr(asked, name) for name in ("method", "time_limit", "starts", "seed")}
    return minimize_chunks(B, shared, options, asked.n_jobs, asked.executor, asked.chunk, begun)


def _start(asked: Asked, begun: float) -> Started:
    """The limits, checked."""
    count = check_count("starts", asked.starts)
    stop = Stop(check_seconds("time_limit", asked.time_limit), begun)
    check_jobs("n_jobs", asked.n_jobs)
    seed = secrets.randbits(32) if asked.seed is None else check_seed(asked.seed)
    options = SolveOptions(asked.method, starts=count, seed=seed, n_jobs=asked.n_jobs)
    return Started(stop, partial(_solve_one, options), resolve(asked.method)[0], seed, None)


def _solve_one(options: SolveOptions, problem: Problem, **own: Any) -> Result:
    return solve_since(time.perf_counter(), problem, replace(options, **own))


def _together(problem: Problem, rows: Host, asked: Asked, started: Started) -> BatchResult:
    """All columns in lockstep by "auto", or the distinct ones by another method."""
    distinct, where = np.unique(rows, axis=0, return_inverse=True)
    stop, starts = started.stop, check_count("starts", asked.starts)
    jobs = check_jobs("n_jobs", asked.n_jobs) or default_jobs()
    with one_blas_thread(), on_interrupt(stop.interrupt):
        if started.method == "auto":
            X = arrays.solve(problem, distinct, started.seed, starts, jobs, stop)
        else:
            X = arrays.solve_each(problem, distinct, started.one, stop)
        fun = arrays.judge(problem, X, distinct)
    inverse = where.reshape(-1)
    return started.result(X[inverse], fun[inverse])


def _one_by_one(
    problem: Problem, B: Host, given: tuple[Any, Any], started: Started, watching: tuple[Any, bool]
) -> BatchResult:
    """One column after another, each with a linear term, a start and constraints of its own."""
    from dcra.progress import counted

    linear, x0 = given
    x0 = x0.x if isinstance(x0, BatchResult) else x0
    k, stop = len(B), started.stop
    parts = per_column("linear", linear, problem.n, k), per_column("x0", x0, problem.n, k)
    callback, progress = check_callable(watching[0]), watching[1]

    with on_interrupt(stop.interrupt), counted(k, progress) as show:

        def tell(row: BatchProgress) -> bool:
            show(row.done)
            try:
                return callback is not None and bool(callback(row))
            except StopIteration:
                return True

        X, fun, feasible = solve_columns(problem, B, parts, started.one, stop, tell)
    return started.result(X, fun, None if problem.constraints is None else feasible)
