"""The public calls: `minimize`, `solve`, `minimize_batch`."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dcra._array import Array, Host, from_numpy, is_dask, is_in_parts, on_accelerator, to_numpy
from dcra._kernels import library
from dcra.accelerator.device import check_device
from dcra.auto.placement import device_under, home_of, place
from dcra.compiled.form import compile_problem
from dcra.engines.base import Engine
from dcra.losses import Loss
from dcra.methods import make_plan, resolve
from dcra.model.fixing import Fixing, fixing, partial_points
from dcra.model.integers import IntegerProblem, Integers
from dcra.model.operators import as_operator
from dcra.model.pool import Pool, as_pool
from dcra.model.problem import Problem
from dcra.model.quadratic import as_quadratic
from dcra.model.term import Term
from dcra.model.watch import OutOfTime, Watch
from dcra.result import BatchResult, Moment, Result, Status
from dcra.search.checks import (
    check_callable,
    check_count,
    check_gap,
    check_jobs,
    check_seconds,
    check_seed,
    check_target,
)
from dcra.search.completed import completed, moved, of_all_variables, only_point
from dcra.search.decoded import decoded, in_numbers, wider_pool
from dcra.search.driver import run
from dcra.search.interrupts import on_interrupt
from dcra.search.kept import Kept
from dcra.search.next_best import PROVING, with_next_best
from dcra.search.plans import Nothing, Plan
from dcra.search.state import Limits, Search
from dcra.search.threads import default_jobs, one_blas_thread
from dcra.search.workers import WINDOW

if TYPE_CHECKING:
    from dcra.batch.columns import BatchProgress


def minimize(
    A: Any,
    b: Array,
    loss: str | Loss = "l1",
    *,
    weights: float | Array | None = None,
    domain: str | Integers = "spin",
    linear: Array | None = None,
    constraints: Any = (),
    quadratic: Any = None,
    method: str | Engine = "auto",
    time_limit: float | None = None,
    starts: int | None = None,
    target: float | None = None,
    seed: int | None = None,
    x0: Array | Result | None = None,
    callback: Callable[[Moment], Any] | None = None,
    n_jobs: int | None = None,
    device: str | None = None,
    progress: bool = False,
    gap: float | None = None,
    pool: int | Pool | None = None,
    fixed: Any = None,
    executor: Any = None,
    window: int | None = None,
) -> Result:
    """Minimise f(Ax - b) + c'x + x'Qx over x in {-1,1}^n or {0,1}^n.

    Parameters
    ----------
    A : (r, n) array, scipy.sparse matrix or LinearOperator; or in parts
        A Dask array chunked by rows, or a list of files that hold some rows each, stays in those parts and
        may be larger than the memory of one machine: see docs/scale.md.
    b : (r,) array
    loss : str or Loss
        "l1", "squared", "huber", "hinge", "squared_hinge", "quantile", "epsilon_insensitive", "logistic",
        "linear", "capped_l1", "l2", "linf", an object of `dcra.losses`, or one with `value` and `prox`.
    weights : float or (r,) array, optional
        Row weights of the loss.
    domain : {"spin", "binary"} or Integers
        {-1,1}^n, {0,1}^n, or whole numbers by `dcra.integers(low, high)`.
    linear : (n,) array, optional
        c.
    constraints : constraint, or sequence or mapping of them
        What x must satisfy besides: LinearConstraint, `exactly`, `at_most`, `at_least`, `clause`, `one_of`,
        `implies`, `soft`. `Result.feasible` says whether it does.
    quadratic : (n, n) array, scipy.sparse matrix or LinearOperator, optional
        Q.

    The remaining parameters are those of `solve`.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> import dcra
    >>> A = np.array([[1.0, 2.0], [3.0, -1.0]])
    >>> dcra.minimize(A, A @ [1, -1]).x
    array([ 1., -1.])
    """
    begun = time.perf_counter()
    limits = (method, time_limit, starts, target, seed, x0, callback, n_jobs)
    options = SolveOptions(*limits, gap, pool, fixed, executor, window, device)
    if is_in_parts(A):
        from dcra.machines.row_sweeps import minimize_rows

        about = {"weights": weights, "domain": domain, "linear": linear}
        return minimize_rows(
            A, b, loss, about, {"constraints": constraints, "quadratic": quadratic}, options, begun
        )
    watch = watch_for(begun, time_limit)
    kind: Any = IntegerProblem if isinstance(domain, Integers) else Problem
    problem = kind(
        [Term(loss, watched_operator(A, watch), b, 1.0 if weights is None else weights)],
        linear=linear,
        quadratic=None if quadratic is None else as_quadratic(quadratic, watch),
        domain=domain,
        constraints=constraints,
    )
    return solve_since(begun, problem, options, progress)


def solve(
    problem: Problem | IntegerProblem,
    *,
    method: str | Engine = "auto",
    time_limit: float | None = None,
    starts: int | None = None,
    target: float | None = None,
    seed: int | None = None,
    x0: Array | Result | None = None,
    callback: Callable[[Moment], Any] | None = None,
    n_jobs: int | None = None,
    device: str | None = None,
    progress: bool = False,
    gap: float | None = None,
    pool: int | Pool | None = None,
    fixed: Any = None,
    executor: Any = None,
    window: int | None = None,
) -> Result:
    """Solve a `Problem`.

    Parameters
    ----------
    problem : Problem or IntegerProblem
    method : str or Engine
        "auto", another name of `dcra.methods`, or an engine with options such as `DCRA(rank=5)`.
    time_limit : float, optional
        Seconds, from entry to return.
    starts : int, optional
        Initial points to take to local answers; 32 when neither this nor a time limit is given. The answer
        then depends on the seed and the window alone, whatever `n_jobs` and `executor` are.
    target : float, optional
        Stop at this value of the objective.
    seed : int, optional
        Drawn, and stored in the result, when not given.
    x0 : (n,) or (k, n) array or Result, optional
        Points to start from. NaN means that a variable is not given: it is filled in by a first descent that
        keeps the others.
    callback : callable, optional
        Called with (seconds, fun, lower_bound) at the beginning and on improvements, at most 20 times a
        second; its argument also has `x`, a copy of the point made on asking. Returning anything true, or
        raising StopIteration, stops the search. `fun` is inf while a method has no point yet.
    n_jobs : int, optional
        Threads; all cores by default, and for -1. With an executor, jobs under way at a time: enough for all
        workers by default.
    device : {"cpu", "cuda", "cuda:1", ...}, optional
        Where "auto" searches. By default arrays are searched where they lie, small ones on the CPU; "cuda"
        takes NumPy's there, where the problem is large enough and the kernels know its losses.
    progress : bool
        Show a progress display on a terminal or in a notebook.
    gap : float, optional
        Stop where (fun - lower_bound) / |fun| is at most this.
    pool : int or Pool, optional
        Keep this many of the points met, the best ones, in `Result.pool`; `dcra.Pool(size, distance)` keeps
        points of which any two differ in at least `distance` variables.
    fixed : {index: value} or (n,) array, optional
        Variables that have a value already; in an array, NaN means free. The bound and the pool are those of
        the points that agree with it.
    executor : dask.distributed.Client or concurrent.futures.Executor, optional
        Who takes starts to their ends, instead of threads: see docs/scale.md.
    window : int, optional
        Where starts are counted, how many may be under way at a time, 8 by default. The answer depends on
        it, so that it is part of the result; as many workers have something to do.
    """
    limits = (method, time_limit, starts, target, seed, x0, callback, n_jobs)
    options = SolveOptions(*limits, gap, pool, fixed, executor, window, device)
    return solve_since(time.perf_counter(), problem, options, progress)


def watch_for(begun: float, time_limit: float | None) -> Watch | None:
    """The watch of a call that began then; None where its time is not limited."""
    limit = check_seconds("time_limit", time_limit)
    return None if limit is None else Watch(time.perf_counter, begun + limit)


def watched_operator(A: Any, watch: Watch | None) -> Any:
    """A, or, of a LinearOperator whose products may be slow, what the time suffices for."""
    return A if watch is None or not callable(getattr(A, "matvec", None)) else as_operator(A, watch)


@dataclass(frozen=True, eq=False)
class SolveOptions:
    """What a solve is asked for, as the user gave it."""

    method: str | Engine = "auto"
    time_limit: float | None = None
    starts: int | None = None
    target: float | None = None
    seed: int | None = None
    x0: Array | Result | None = None
    callback: Callable[[Moment], Any] | None = None
    n_jobs: int | None = None
    gap: float | None = None
    pool: int | Pool | None = None
    fixed: Any = None
    executor: Any = None
    window: int | None = None
    device: str | None = None
    on_tick: Callable[[Search], None] | None = None  # called often by whoever drives the search

    def limits(self, problem: Problem) -> Limits:
        """The limits, checked; one thread drives an accelerator, with one beside it if A is on the host."""
        jobs = check_jobs("n_jobs", self.n_jobs)
        if self.device not in (None, "cpu"):
            jobs = min(jobs or default_jobs(), 2)
        limits = Limits(
            time_limit=check_seconds("time_limit", self.time_limit),
            starts=check_count("starts", self.starts),
            target=check_target(self.target),
            callback=check_callable(self.callback),
            n_jobs=1 if on_accelerator(problem.like) else jobs or default_jobs(),
            clock=time.perf_counter,
            gap=check_gap(self.gap),
            window=check_count("window", self.window) or WINDOW,
        )
        if self.executor is None:
            return limits
        from dcra.machines.hiring import with_executor

        return with_executor(limits, self.executor, problem, jobs)


def prepare(problem: Problem, options: SolveOptions, begun: float) -> tuple[Search, Plan]:
    """The search for a problem and the plan of its method; seconds count from `begun`."""
    label, engine = resolve(options.method)
    auto = engine is None
    device = check_device(options.device)
    if device not in (None, "cpu") and not auto:
        raise ValueError(f"`device` {device!r} is for method 'auto' alone; got method {label!r}")
    if auto:
        problem = place(problem, device)
        device = device or device_under(problem)
    limits = options.limits(problem)
    asked = as_pool(options.pool)
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
    try:
        return search, make_plan(search, engine)
    except OutOfTime:
        return search, Nothing()


def solve_since(
    begun: float, problem: Problem | IntegerProblem, options: SolveOptions, progress: bool = False
) -> Result:
    """`solve` for a caller whose own work since `begun` is part of the call."""
    if isinstance(problem, IntegerProblem):
        return at_home(_solve_integers(begun, problem, options, progress), problem.model)
    if not isinstance(problem, Problem):
        raise TypeError(f"`problem` must be a dcra.Problem; got {type(problem).__name__}")
    if options.fixed is not None:
        rest = _solve_the_rest(begun, fixing(problem, options.fixed), options, progress)
        return at_home(rest, problem)
    with on_interrupt():  # one Ctrl-C, be it while a start is filled in
        search, plan = prepare(problem, options, begun)
        if progress:
            from dcra.progress import live

            with live(search) as on_tick:
                result = run(search, plan, on_tick)
        else:
            result = run(search, plan, options.on_tick)
        result = _with_pool(problem, result, options, begun)
    here = search.compiled.problem.like is problem.like
    return at_home(result if here else moved(result, problem.like), problem)


def _with_pool(problem: Problem, result: Result, options: SolveOptions, begun: float) -> Result:
    """The result with the true pool, where the method proves its answers one at a time."""
    asked, engine, limit = as_pool(options.pool), resolve(options.method)[1], options.time_limit
    if asked is None or engine is None or engine.plan not in PROVING:
        return result

    def solve_one(twin: Problem) -> Result:
        left = None if limit is None else max(begun + limit - time.perf_counter(), LEAST_SECONDS)
        bare = replace(options, pool=None, x0=None, target=None, gap=None, callback=None, time_limit=left)
        return solve_since(time.perf_counter(), twin, bare)

    found = with_next_best(problem, result, asked, solve_one)
    return replace(found, seconds=time.perf_counter() - begun)


def at_home(result: Result, problem: Problem) -> Result:
    """The result with points in the library that A came in, where that is not the one of the search."""
    home = home_of(problem)
    return result if home is problem.like else moved(result, home)


def _solve_integers(begun: float, problem: IntegerProblem, options: SolveOptions, progress: bool) -> Result:
    """Solve for the bits of whole numbers."""
    given, fixed, limit = options.x0, options.fixed, options.time_limit
    if given is not None:
        given = problem.encode("x0", given.x if isinstance(given, Result) else given)
    bits = replace(
        options,
        x0=given,
        fixed=None if fixed is None else problem.fixed_bits(fixed),
        callback=in_numbers(problem, check_callable(options.callback)),
        pool=wider_pool(options.pool),
    )
    result = solve_since(begun, problem.bits, bits, progress)
    if fixed is not None:  # a descent would move what is fixed
        problem = problem.narrowed(fixed)
    left = lambda: inf if limit is None else begun + limit - time.perf_counter()  # noqa: E731
    done = decoded(problem, result, options.pool, left)
    return replace(done, seconds=time.perf_counter() - begun)


def _solve_the_rest(begun: float, fixing: Fixing, options: SolveOptions, progress: bool) -> Result:
    """Solve for the variables that are free, and put the others back in."""
    given, problem = options.x0, fixing.whole
    if given is not None:
        given = partial_points(problem, "x0", given.x if isinstance(given, Result) else given)
        given = given[:, fixing.free]
    callback = of_all_variables(fixing, check_callable(options.callback))
    rest = replace(options, fixed=None, x0=given, callback=callback)
    if not fixing.free.size:
        rest.limits(problem)  # checked, though nothing is left to search
        return only_point(fixing, as_pool(rest.pool), rest.seed, resolve(rest.method)[0], begun)
    return completed(fixing, solve_since(begun, fixing.problem, rest, progress))


def minimize_batch(
    A: Any,
    B: Array,
    loss: str | Loss = "l1",
    *,
    weights: float | Array | None = None,
    domain: str = "spin",
    linear: Array | None = None,
    method: str | Engine = "auto",
    time_limit: float | None = None,
    starts: int | None = None,
    seed: int | None = None,
    n_jobs: int | None = None,
    executor: Any = None,
    chunk: int | None = None,
    constraints: Any = (),
    x0: Array | BatchResult | None = None,
    callback: Callable[[BatchProgress], Any] | None = None,
    progress: bool = False,
) -> BatchResult:
    """Minimise f(Ax - b) + c'x for every column b of B.

    Parameters
    ----------
    A, loss, weights, domain
        As in `minimize`.
    B : (r, k) array, or a Dask array
        Right-hand sides. Equal columns are solved once. Of a Dask array nothing is computed: x and fun of the
        result are Dask arrays, x of type int8, and its chunks of columns are solved one by one.
    linear : (n,) or (n, k) array, optional
        c, or one for each column.
    method : str or Engine
        "auto" anneals many right-hand sides in lockstep; anything else solves them one after another.
    time_limit : float, optional
        Seconds for all of them; "auto" takes them, unless every answer has been found again and again.
    starts : int, optional
        Starts of each right-hand side. By default "auto" spends a fixed amount of work, more on each the
        fewer there are, and the others take 32.
    seed, n_jobs
        As in `solve`. The answers depend on the seed alone, whatever `n_jobs` is.
    executor : dask.distributed.Client or concurrent.futures.Executor, optional
        Whose workers solve chunks of columns, each by one thread: see docs/scale.md.
    chunk : int, optional
        Columns that are solved together, as if they were all; the answers depend on it. All of them by
        default, 4096 with an executor.
    constraints
        What every column of x must satisfy, as in `minimize`.
    x0 : (n,) or (n, k) array or BatchResult, optional
        Where to start, for all columns or for each; NaN as in `solve`.
    callback : callable, optional
        Called with (seconds, done, total, fun) after every column; returning anything true, or raising
        StopIteration, ends the batch.
    progress : bool
        Show a progress bar on a terminal.

    With `linear` for each column, or any of the last four, columns are solved one after another; they do not
    go with `executor` or `chunk`.

    Returns
    -------
    BatchResult
        With x of shape (n, k) and fun of shape (k,); under constraints, feasible of shape (k,).
    """
    begun = time.perf_counter()
    several = linear is not None and np.ndim(linear) == 2
    apart = several or x0 is not None or callback is not None or progress
    if executor is not None or chunk is not None or is_dask(B):
        if apart or not (isinstance(constraints, tuple | list) and not constraints):
            raise ValueError(
                "`executor`, `chunk` and a Dask array B go with one `linear` for all columns, and without "
                "`constraints`, `x0`, `callback` and `progress`; leave these out, or solve column by column"
            )
        from dcra.machines.batches import minimize_chunks

        shared = {"A": A, "loss": loss, "weights": weights, "domain": domain, "linear": linear}
        options = {"method": method, "time_limit": time_limit, "starts": starts, "seed": seed}
        return minimize_chunks(B, shared, options, n_jobs, executor, chunk, begun)
    from dcra.batch import arrays, lockstep

    watch, count = watch_for(begun, time_limit), check_count("starts", starts)
    stop = lockstep.Stop(check_seconds("time_limit", time_limit), begun)
    jobs = check_jobs("n_jobs", n_jobs) or default_jobs()
    chosen = secrets.randbits(32) if seed is None else check_seed(seed)
    label, _ = resolve(method)
    term = Term(loss, watched_operator(A, watch), 0.0, 1.0 if weights is None else weights)
    problem = Problem([term], linear=None if several else linear, domain=domain, constraints=constraints)
    like = home_of(problem)
    problem = place(problem) if label == "auto" else problem
    rows = arrays.right_hand_sides(problem, B)
    if apart or problem.constraints is not None or problem.soft is not None:
        one = partial(solve, method=method, starts=count, seed=chosen, n_jobs=n_jobs)
        started = _Started(stop, label, chosen, like)
        return _solve_columns(problem, rows, (linear, x0), one, started, (callback, progress))
    distinct, where = np.unique(rows, axis=0, return_inverse=True)

    with one_blas_thread(), on_interrupt(stop.interrupt):
        if label == "auto":
            X = arrays.solve(problem, distinct, chosen, count, jobs, stop)
        else:
            one = partial(solve, method=method, starts=count, seed=chosen, n_jobs=n_jobs)
            X = arrays.solve_each(problem, distinct, one, stop)
        fun = arrays.judge(problem, X, distinct)
    inverse = where.reshape(-1)
    return BatchResult(
        x=from_numpy(np.ascontiguousarray(X[inverse].T), like),
        fun=fun[inverse],
        status=stop.why or Status.CONVERGED,
        seconds=time.perf_counter() - begun,
        seed=chosen,
        method=label,
    )


class _Started(NamedTuple):
    """A batch that has begun: when it ends, what it is called, its seed, and the library of its answer."""

    stop: Any
    method: str
    seed: int
    like: Array


def _solve_columns(
    problem: Problem, B: Host, given: Any, one: Any, started: _Started, watching: Any
) -> BatchResult:
    """A batch one column after another."""
    from dcra.batch.columns import per_column, solve_columns
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

        X, fun, feasible = solve_columns(problem, B, parts, one, stop, tell)
    return BatchResult(
        x=from_numpy(np.ascontiguousarray(X.T), started.like),
        fun=fun,
        status=stop.why or Status.CONVERGED,
        seconds=stop.seconds,
        seed=started.seed,
        method=started.method,
        feasible=None if problem.constraints is None else feasible,
    )


LEAST_SECONDS = 1e-3
"""Of a solve that comes when the time is over."""

FILL_SHARE = 0.2
"""Share of the time left that filling in partial starts may take."""


def _points(problem: Problem, options: SolveOptions, seed: int, begun: float) -> Host | None:
    """The points to start from, (k, n) on the host; what they leave open is filled in."""
    x0 = options.x0
    if x0 is None:
        return None
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
