"""Right-hand sides one after another, each with a linear term, a start and constraints of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host, from_numpy, is_array, namespace, to_numpy
from dcra.batch.arrays import LEAST_SECONDS
from dcra.batch.lockstep import Stop
from dcra.messages import shown
from dcra.model.checks import refuse_masked
from dcra.model.problem import DOMAINS, Problem
from dcra.model.term import Term
from dcra.result import Result, Status


class BatchProgress(NamedTuple):
    """What a callback of a batch is given after every column: how many are done, and the last objective."""

    seconds: float
    done: int
    total: int
    fun: float


class Answers(NamedTuple):
    """Points (k, n), their objectives (k,), and whether they are feasible (k,)."""

    X: Host
    fun: Host
    feasible: Host


def per_column(name: str, given: Any, n: int, k: int) -> Host | None:
    """Vectors (k, n), one for each column, from an array (n,) or (n, k); None where none is given."""
    if given is None:
        return None
    refuse_masked(name, given)
    try:
        host = np.asarray(to_numpy(given) if is_array(given) else given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`{name}` must hold real numbers; got {shown(given)}") from error
    if host.shape not in ((n,), (n, k)):
        raise ValueError(
            f"`{name}` must have shape ({n},), or ({n}, {k}) for one in each column; got {host.shape}"
        )
    return np.ascontiguousarray(np.broadcast_to(host[:, None] if host.ndim == 1 else host, (n, k)).T)


def solve_columns(
    problem: Problem,
    B: Host,
    parts: tuple[Host | None, Host | None],
    solve_one: Callable[..., Result],
    stop: Stop,
    tell: Callable[[BatchProgress], Any],
) -> Answers:
    """Answers to right-hand sides B (k, r); `parts` are linear terms and starts (k, n), where given."""
    term, (linear, points) = problem.terms[0], parts
    X = np.full((len(B), problem.n), DOMAINS[problem.domain][1])
    fun, feasible = np.empty(len(B)), np.zeros(len(B), bool)
    for i, b in enumerate(B):
        if stop():  # what is left undone is judged as it stands
            fun[i:] = _as_it_stands(problem, X[i], B[i:], None if linear is None else linear[i:])
            feasible[i:] = problem.violation(X[i]) == 0
            break
        own = Term(term.loss, term.operator, b, term.weight)
        changes: dict[str, Any] = {"terms": [own, *problem.terms[1:]]}  # soft constraints are terms, too
        if linear is not None:
            changes["linear"] = linear[i]
        one = problem.replace(**changes)
        share = max(stop.left / (len(B) - i), LEAST_SECONDS) if stop.timed else None
        result = solve_one(one, time_limit=share, x0=None if points is None else points[i])
        X[i], fun[i], feasible[i] = to_numpy(result.x), result.fun, result.feasible
        if result.status is Status.INTERRUPTED:
            stop.why = result.status
        elif tell(BatchProgress(stop.seconds, i + 1, len(B), float(fun[i]))):
            stop.why = Status.CALLBACK
    return Answers(X, fun, feasible)


def _as_it_stands(problem: Problem, x: Host, B: Host, linear: Host | None) -> Host:
    """Objectives (k,) of one point for right-hand sides B (k, r), with linear terms (k, n) where given."""
    term, *others = problem.terms
    wide = namespace(problem.like).float64
    point = from_numpy(x, problem.like, wide)
    z = term.operator.exact_residual(point, 0.0) - from_numpy(B, problem.like, wide)
    values = to_numpy(term.value_at(z)) + problem.constant + sum(float(one.value(point)) for one in others)
    if linear is not None:
        return np.asarray(values + linear @ x)
    return np.asarray(values if problem.linear is None else values + float(point @ problem.linear))
