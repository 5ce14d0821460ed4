"""One A, many right-hand sides: starts and right-hand sides are the same batch axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from dcra._array import Array, Host, from_numpy, is_array, namespace, to_numpy
from dcra.auto.decision import decide_batch
from dcra.batch.lockstep import Many, Stop, first_answers, solve_loops
from dcra.compiled.form import Compiled, compile_problem
from dcra.compiled.units import natural_units
from dcra.engines.base import Starts
from dcra.engines.blocks import blocks_of, first_penalty, steered, sweep
from dcra.engines.rule import Rule
from dcra.engines.sweep import initial_points
from dcra.exact.enumeration import spins_of
from dcra.model.checks import most_squared, refuse_huge, refuse_masked
from dcra.model.operators import MatrixFree, Operator
from dcra.model.problem import DOMAINS, Problem
from dcra.model.term import Term
from dcra.model.watch import OutOfTime
from dcra.polish.neighbours import Neighbours
from dcra.result import Result, Status

CHUNK = 256
"""Right-hand sides that one array sweep carries."""

SWEEPS, ARRAY_STARTS = 60, 4

LEAST_SECONDS = 1e-3
"""Of a solve, however many of them share the time."""

NOT_FINITE = "`B` must be finite; it holds NaN or infinite entries"

JUDGED_ENTRIES = 1 << 22
"""Residuals in memory at once while answers are judged."""


def solve_exactly(many: Many, stop: Stop) -> Host:
    """Spins (k, n) by trying all: the residuals without b are the same for every right-hand side."""
    compiled = many.compiled
    S = spins_of(np.arange(2**compiled.n), compiled.n)
    images = compiled.pieces[0].operator.apply(from_numpy(S, compiled.like))
    linear = compiled.linear(from_numpy(S, compiled.like))
    answers = first_answers(many, stop)
    for i, b in enumerate(many.B):
        if stop():
            break
        values = compiled.smoothed(images - from_numpy(b, compiled.like), 0.0) + linear
        answers[i] = S[int(np.argmin(to_numpy(values)))]
    return answers


def solve_arrays(many: Many, answers: Host, seed: int, starts: int, stop: Stop) -> None:
    """Better spins (k, n), by block sweeps and best-improvement flips of a chunk of right-hand sides."""
    compiled = many.compiled
    delta = natural_units(_typical(many)).delta
    k = many.B.shape[0]
    for lo in range(0, k, CHUNK):
        B = from_numpy(many.B[lo : lo + CHUNK], compiled.like)
        best = None
        for attempt in range(starts):
            if stop():
                return
            start = Starts(seed, lo + attempt * k, B.shape[0])
            S, values = _descend(compiled, _sweep(compiled, B, delta, start, stop), B, stop)
            if best is None and stop.why is not None:  # cut short: it may be worse than the first answer
                first = from_numpy(answers[lo : lo + CHUNK], compiled.like)
                best = to_numpy(_evaluate(compiled, first, B))
            if best is None:
                answers[lo : lo + CHUNK], best = S, values
            else:
                better = values < best
                answers[lo : lo + CHUNK][better], best = S[better], np.minimum(values, best)


def checked(problem: Problem, B: Any) -> Host:
    """B as numbers of the host, or an error about their type or shape."""
    r = problem.terms[0].operator.shape[0]  # soft constraints are further terms
    refuse_masked("B", B)
    host = to_numpy(B) if is_array(B) else np.asarray(B)
    if host.dtype.kind not in "fiub":
        raise TypeError(f"`B` must hold real numbers; got dtype {host.dtype}")
    if host.ndim != 2 or host.shape[0] != r:
        hint = " Did you mean `B.T`?" if host.ndim == 2 and host.shape[1] == r else ""
        raise ValueError(
            f"`B` must have shape ({r}, k), one right-hand side per column; got {host.shape}.{hint}"
        )
    if host.shape[1] == 0:
        raise ValueError("`B` must have at least one column")
    return host


def right_hand_sides(problem: Problem, B: Any) -> Host:
    """B (r, k) as rows (k, r) in float64, or an error."""
    host = checked(problem, B)
    if not np.all(np.isfinite(host)):
        raise ValueError(NOT_FINITE)
    rows = np.ascontiguousarray(host.T, np.float64)
    refuse_huge("B", rows, most_squared(problem.n_rows, problem.n))
    return rows


def solve(problem: Problem, B: Host, seed: int, starts: int | None, n_jobs: int, stop: Stop) -> Host:
    """Points (k, n) of the problem's domain for right-hand sides B (k, r)."""
    compiled = compile_problem(problem, keep_rows=True)
    choice = decide_batch(compiled, len(B)).name
    if choice == "signs":
        spins = np.where(to_numpy(compiled.c) > 0, -1.0, 1.0)[None].repeat(len(B), axis=0)
    elif choice == "enumeration":
        spins = solve_exactly(Many.of(compiled, B), stop)
    elif choice == "lockstep":
        spins = solve_loops(Many.of(compiled, B), seed, starts, n_jobs, stop)
    else:
        many = Many.of(compiled, B)
        spins = first_answers(many, stop)
        try:
            solve_arrays(many, spins, seed, starts or ARRAY_STARTS, stop)
        except OutOfTime:
            stop.end = 0.0
    return spins if problem.domain == "spin" else (spins + 1) / 2


def solve_each(problem: Problem, B: Host, solve_one: Callable[..., Result], stop: Stop) -> Host:
    """Points (k, n), one right-hand side after another."""
    term = problem.terms[0]
    X = np.full((len(B), problem.n), DOMAINS[problem.domain][1])
    for i, b in enumerate(B):
        if stop():
            break
        one = problem.replace(terms=[Term(term.loss, term.operator, b, term.weight)])
        share = None if stop.end == inf else max(stop.left / (len(B) - i), LEAST_SECONDS)
        result = solve_one(one, time_limit=share)
        X[i] = to_numpy(result.x)
        if result.status is Status.INTERRUPTED:
            stop.why = result.status
    return X


def judge(problem: Problem, X: Host, B: Host) -> Host:
    """F of each row of X (k, n) for its own right-hand side in B (k, r), in float64."""
    term = problem.terms[0]
    values = np.empty(len(X))
    step = max(1, JUDGED_ENTRIES // max(1, B.shape[1]))
    for lo in range(0, len(X), step):
        x = from_numpy(X[lo : lo + step], problem.like, namespace(problem.like).float64)
        b = from_numpy(B[lo : lo + step], problem.like, namespace(problem.like).float64)
        z = _images(term.operator, x) - b
        rows = term.value_at(z)
        linear = 0.0 if problem.linear is None else x @ problem.linear
        values[lo : lo + step] = to_numpy(rows + linear)
    return values + problem.constant


def _images(operator: Operator, x: Array) -> Array:
    """A x in float64 for x (k, n); of products only, the image of e is known already."""
    if not isinstance(operator, MatrixFree):
        return operator.exact_residual(x, 0.0)
    others = np.any(x != 1, axis=1)
    images = np.tile(operator.row_sums, (len(x), 1))
    if others.any():
        images[others] = replace(operator, watch=None).apply(x[others])
    return images


def _typical(many: Many) -> Compiled:
    """The problem with one of its right-hand sides, to take units from."""
    piece = many.compiled.pieces[0]
    b = from_numpy(many.B[len(many.B) // 2], many.compiled.like)
    return replace(many.compiled, pieces=(replace(piece, b=b),))


def _sweep(compiled: Compiled, B: Array, delta: Any, starts: Starts, stop: Stop) -> Array:
    blocks = blocks_of(compiled)
    rng = np.random.default_rng((starts.seed, starts.first, 1))
    X = from_numpy(initial_points(compiled, starts), compiled.like)
    Z = _residual(compiled, X, B)
    xp, rule = namespace(X), Rule()
    first = rho = first_penalty(compiled, blocks, delta, X.shape[0])
    before: Array | None = xp.asarray(X, copy=True)
    for s in range(SWEEPS):
        if stop():
            break
        order = rng.permutation(len(blocks))
        X, Z, before = sweep(compiled, blocks, order, X, Z, rho, delta, rule, before)
        rho = steered(rho, first, X, (s + 1) / SWEEPS, rule)
    return xp.where(X >= 0, xp.ones_like(X), -xp.ones_like(X))


def _descend(compiled: Compiled, S: Array, B: Array, stop: Stop) -> tuple[Host, Host]:
    """Flip the best variable of every row until none improves; spins and values."""
    xp = namespace(S)
    neighbours, spins = Neighbours(compiled), to_numpy(S).copy()
    active = np.arange(len(spins))
    for _ in range(10 * compiled.n):
        if active.size == 0 or stop():
            break
        Z = _residual(compiled, from_numpy(spins[active], compiled.like), B[xp.asarray(active)])
        best = neighbours.best(spins[active], Z)
        active, flipped = active[best.gain > 0], best.variable[best.gain > 0]
        spins[active, flipped] *= -1
    values = _evaluate(compiled, from_numpy(spins, compiled.like), B)
    return spins, to_numpy(values).astype(np.float64)


def _evaluate(compiled: Compiled, S: Array, B: Array) -> Array:
    """The objective of spins S (k, n), each row with its own right-hand side."""
    return compiled.smoothed(_residual(compiled, S, B), 0.0) + compiled.linear(S)


def _residual(compiled: Compiled, X: Array, B: Array) -> Array:
    return compiled.pieces[0].operator.apply(X) - B
