"""The public calls: `minimize`, `solve`, `minimize_batch`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dcra._array import Array, is_in_parts
from dcra.engines.base import Engine
from dcra.losses import Loss
from dcra.messages import checked_keywords, renamed
from dcra.model.pool import Pool
from dcra.model.problem import Problem
from dcra.model.quadratic import as_quadratic
from dcra.model.term import Term
from dcra.result import BatchResult, Moment, Result
from dcra.solving.options import SolveOptions, begin, watch_for, watched_operator
from dcra.solving.since import prepare, solve_since

if TYPE_CHECKING:
    from dcra.batch.columns import BatchProgress
    from dcra.model.integers import IntegerProblem, Integers

__all__ = [
    "SolveOptions",
    "minimize",
    "minimize_batch",
    "prepare",
    "solve",
    "solve_since",
    "watch_for",
    "watched_operator",
]


@checked_keywords
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
        "linear", "capped_l1", "l2", "linf"; with its option, as in "huber:threshold=2"; an object of
        `dcra.losses`, or one with `value` and `prox`.
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
    begun = begin(device, A)
    limits = (method, time_limit, starts, target, seed, x0, callback, n_jobs)
    options = SolveOptions(*limits, gap, pool, fixed, executor, window, device)
    if is_in_parts(A):
        from dcra.machines.row_sweeps import minimize_rows

        about = {"weights": weights, "domain": domain, "linear": linear}
        return minimize_rows(
            A, b, loss, about, {"constraints": constraints, "quadratic": quadratic}, options, begun
        )
    watch = watch_for(begun, time_limit)
    kind: Any = Problem if isinstance(domain, str) else _kind_for(domain)
    with renamed("weight", "weights"):
        term = Term(loss, watched_operator(A, watch), b, 1.0 if weights is None else weights)
    problem = kind(
        term,
        linear=linear,
        quadratic=None if quadratic is None else as_quadratic(quadratic, watch),
        domain=domain,
        constraints=constraints,
    )
    return solve_since(begun, problem, options, progress)


def _kind_for(domain: Any) -> Any:
    """The kind of problem that has a domain which is not a name."""
    from dcra.model.integers import IntegerProblem, Integers

    return IntegerProblem if isinstance(domain, Integers) else Problem


@checked_keywords
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
        keeps the others. Of one point, also {index: value}, or by names as in `fixed`.
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
        Variables that have a value already; in an array, NaN means free. Where a file or labels gave the
        variables names, {name: value}. The bound and the pool are those of
        the points that agree with it.
    executor : dask.distributed.Client or concurrent.futures.Executor, optional
        Who takes starts to their ends, instead of threads: see docs/scale.md.
    window : int, optional
        Where starts are counted, how many may be under way at a time, 8 by default. The answer depends on
        it, so that it is part of the result; as many workers have something to do.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> import dcra
    >>> near = dcra.Term("l1", np.eye(3), [2.0, -1.0, 0.5])
    >>> result = dcra.solve(dcra.Problem([near], linear=[0.0, 0.0, 1.0]), seed=0)
    >>> result.x, result.fun, result.status.value
    (array([ 1., -1., -1.]), 1.5, 'optimal')
    """
    limits = (method, time_limit, starts, target, seed, x0, callback, n_jobs)
    options = SolveOptions(*limits, gap, pool, fixed, executor, window, device)
    return solve_since(begin(device, getattr(problem, "like", None)), problem, options, progress)


@checked_keywords
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
    device: str | None = None,
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
        Show a progress bar on a terminal or in a notebook.
    device : {"cpu", "cuda", "cuda:1", ...}, optional
        Where "auto" anneals, as in `solve`: docs/accelerators.md. Not with `executor` or `chunk`.

    With `linear` for each column, `constraints`, `x0`, `callback` or `progress`, columns are solved one after
    another; these do not go with `executor` or `chunk`.

    Returns
    -------
    BatchResult
        With x of shape (n, k) and fun of shape (k,); under constraints, feasible of shape (k,).

    Examples
    --------
    >>> import numpy as np
    >>> import dcra
    >>> batch = dcra.minimize_batch(np.eye(2), np.array([[3.0, -2.0], [1.0, -1.0]]), seed=0)
    >>> batch.x
    array([[ 1., -1.],
           [ 1., -1.]])
    >>> batch.fun
    array([2., 1.])
    """
    begun = begin(device, A)
    from dcra.solving.batches import Asked, run_batch

    options = Asked(method, time_limit, starts, seed, n_jobs, executor, chunk, device)
    about = {"loss": loss, "weights": weights, "domain": domain, "linear": linear, "constraints": constraints}
    with renamed("weight", "weights"):
        return run_batch(A, B, about, options, x0, (callback, progress), begun)
