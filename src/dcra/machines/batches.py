"""One A, more right-hand sides than one call should take: chunks, each solved as if it were all."""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from dcra._array import Host, is_dask, namespace, to_numpy
from dcra.machines.dispatch import Dispatch
from dcra.machines.pickles import Cargo
from dcra.machines.teams import Team, team_for
from dcra.machines.worker import Errand
from dcra.model.operators import as_operator
from dcra.named import load
from dcra.result import BatchResult, Status
from dcra.search.checks import check_count, check_jobs, check_seconds, check_seed
from dcra.search.interrupts import on_interrupt
from dcra.search.threads import default_jobs
from dcra.search.workers import PATIENCE, NobodyLeft

CHUNK = 4096
"""Columns of a chunk where nothing else is asked for: half a second of work or more."""

LAST_SECONDS = 1e-3
"""For chunks that nobody has solved by the end: first answers."""


def minimize_chunks(
    B: Any,
    shared: dict[str, Any],
    options: dict[str, Any],
    n_jobs: int | None,
    executor: Any,
    chunk: int | None,
    begun: float,
) -> BatchResult:
    """`minimize_batch` in chunks; `shared` and `options` are its arguments besides."""
    limit, jobs = check_seconds("time_limit", options["time_limit"]), check_jobs("n_jobs", n_jobs)
    width = check_count("chunk", chunk)
    options["seed"] = secrets.randbits(32) if options["seed"] is None else check_seed(options["seed"])
    if is_dask(B):
        if executor is not None:
            raise ValueError(
                "`executor` is not for lazy arrays: Dask computes them, by its own scheduler or by a client's"
            )
        return lazy(B, shared, options, width)
    columns = B if hasattr(B, "shape") else np.asarray(B)
    if len(columns.shape) != 2 or columns.shape[1] == 0:
        return _minimize(shared, columns, options)  # which says what is wrong with it
    parts = [slice(lo, lo + (width or CHUNK)) for lo in range(0, columns.shape[-1], width or CHUNK)]
    chunks = Chunks(columns, shared, options, parts, inf if limit is None else begun + limit)
    with on_interrupt(chunks.interrupt):
        if executor is None:
            chunks.solve_here(jobs)
        else:
            make, found = team_for(executor)
            chunks.solve_there(make(shared), jobs, found or default_jobs())
    return chunks.result(begun)


class Chunks:
    """Chunks of columns, and the answers to those that have been solved."""

    def __init__(
        self, B: Any, shared: dict[str, Any], options: dict[str, Any], parts: list[slice], end: float
    ) -> None:
        self.B, self.shared, self.options, self.parts, self.end = B, shared, options, parts, end
        self.answers: dict[int, BatchResult] = {}
        self.why: Status | None = None

    def interrupt(self) -> None:
        self.why = self.why or Status.INTERRUPTED

    @property
    def over(self) -> bool:
        if self.why is None and time.perf_counter() >= self.end:
            self.why = Status.TIME_LIMIT
        return self.why is not None

    def solve_here(self, n_jobs: int | None) -> None:
        for index in range(len(self.parts)):
            if self.over:
                return
            asked = self._asked(len(self.parts) - index) | {"n_jobs": n_jobs}
            self.answers[index] = _minimize(self.shared, self.columns(index), asked)

    def solve_there(self, team: Team, n_jobs: int | None, n_workers: int) -> None:
        dispatch = Dispatch(team)
        try:
            self._dispatch(dispatch, n_jobs or 2 * n_workers, n_workers)
        except NobodyLeft as fault:
            self.interrupt()
            warnings.warn(f"{fault}; the answers are the best so far", RuntimeWarning, stacklevel=5)
        finally:
            dispatch.close()

    def _dispatch(self, dispatch: Dispatch, abreast: int, n_workers: int) -> None:
        waiting = iter(range(len(self.parts)))
        more = True
        while (more or len(dispatch)) and not self.over:
            dispatch.send_again()
            while more and len(dispatch) < abreast:
                index = next(waiting, None)
                more = index is not None
                if index is not None:
                    rounds = -(-(len(self.parts) - index) // n_workers)
                    dispatch.send(index, self._errand(dispatch.team, index, rounds))
            for index, answer, _ in dispatch.hear(PATIENCE):
                self.answers[index] = answer

    def _errand(self, team: Team, index: int, rounds: int) -> ColumnsErrand:
        asked = self._asked(rounds) | {"n_jobs": 1}
        return ColumnsErrand(team.key, team.version, inf, Cargo(self.columns(index)), asked)

    def _asked(self, rounds: int) -> dict[str, Any]:
        """The options of a chunk: with a time limit, its share of the seconds left."""
        left = self.end - time.perf_counter()
        limit = None if self.end == inf else max(left / rounds, LAST_SECONDS)
        return self.options | {"time_limit": limit}

    def columns(self, index: int) -> Host:
        return np.ascontiguousarray(to_numpy(self.B[:, self.parts[index]]))

    def result(self, begun: float) -> BatchResult:
        """All answers, first ones where there was no time for others."""
        missing = [index for index in range(len(self.parts)) if index not in self.answers]
        if missing:  # all of them at once: each call would look at A again
            columns = [self.columns(index) for index in missing]
            asked = self.options | {"time_limit": LAST_SECONDS, "n_jobs": 1}
            rest = _minimize(self.shared, np.concatenate(columns, axis=1), asked)
            ends = np.cumsum([0, *(part.shape[1] for part in columns)])
            for index, lo, hi in zip(missing, ends[:-1], ends[1:], strict=True):
                self.answers[index] = replace(rest, x=rest.x[:, int(lo) : int(hi)], fun=rest.fun[lo:hi])
        found = [self.answers[index] for index in range(len(self.parts))]
        cut = next((one.status for one in found if one.status is not Status.CONVERGED), Status.CONVERGED)
        return BatchResult(
            x=namespace(found[0].x).concat([one.x for one in found], axis=1),
            fun=np.concatenate([one.fun for one in found]),
            status=self.why or cut,
            seconds=time.perf_counter() - begun,
            seed=self.options["seed"],
            method=found[0].method,
        )


@dataclass(frozen=True, eq=False)
class ColumnsErrand(Errand):
    """Solve a chunk."""

    cargo: Any
    options: dict[str, Any]

    def carry_out(self, shared: Any, over: Callable[[], bool]) -> BatchResult:
        return _minimize(shared, self.cargo.shared, self.options)


def _minimize(shared: dict[str, Any], columns: Host, options: dict[str, Any]) -> BatchResult:
    minimize: Callable[..., BatchResult] = load("dcra.api:minimize_batch")
    return minimize(B=columns, **shared, **options)


def lazy(B: Any, shared: dict[str, Any], options: dict[str, Any], chunk: int | None) -> BatchResult:
    """x and fun as Dask arrays of which nothing is computed yet, one block for each chunk of columns."""
    from dask import array, delayed

    if options["time_limit"] is not None:
        raise ValueError("`time_limit` is not for lazy arrays, which are computed when they are needed")
    r, n = as_operator(shared["A"]).shape
    if B.ndim != 2 or B.shape[0] != r:
        raise ValueError(f"`B` must have shape ({r}, k), one right-hand side per column; got {B.shape}")
    label, _ = load("dcra.methods:resolve")(options["method"])
    B = B.rechunk({0: -1, 1: chunk} if chunk else {0: -1})
    common, solve_block = delayed(shared, traverse=False), delayed(_codes, nout=2, pure=True)
    codes, values = [], []
    for block in B.to_delayed().ravel():
        x, fun = solve_block(common, block, options)
        codes.append(x)
        values.append(fun)
    widths = B.chunks[1]
    return BatchResult(
        x=array.concatenate(_blocks(codes, [(n, w) for w in widths], np.int8), axis=1),
        fun=array.concatenate(_blocks(values, [(w,) for w in widths], np.float64)),
        status=Status.CONVERGED,
        seconds=0.0,
        seed=options["seed"],
        method=label,
    )


def _blocks(parts: list[Any], shapes: list[tuple[int, ...]], dtype: Any) -> Iterator[Any]:
    from dask import array

    return (array.from_delayed(part, shape, dtype) for part, shape in zip(parts, shapes, strict=True))


def _codes(shared: dict[str, Any], columns: Host, options: dict[str, Any]) -> tuple[Host, Host]:
    """The answers to a chunk, a byte for each variable, and their objectives."""
    found = _minimize(shared, columns, options | {"n_jobs": 1})
    return to_numpy(found.x).astype(np.int8), found.fun
