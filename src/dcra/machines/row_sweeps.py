"""Block sweeps over partitions of rows, with one round trip for each block.

Every sweep begins with fresh residuals, so that what is lost with a machine is made again from the point
where the sweep began.
"""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.compiled.units import ANSWER_SHARE, WIDENING
from dcra.engines.blocks import steered
from dcra.engines.rule import Rule
from dcra.engines.sweep import SPREAD
from dcra.machines import partition
from dcra.machines.partition import Span, Survey
from dcra.machines.rows import Rows, partitions, site_of
from dcra.result import Moment, Progress, Result, Status
from dcra.search.checks import check_callable, check_count, check_seconds, check_seed, check_target
from dcra.search.interrupts import on_interrupt
from dcra.search.workers import NobodyLeft

WIDTH = 256
"""Columns of a block: a round trip costs as much as the products of a million entries or so."""

STARTS, SWEEPS, FLIP_PASSES = 4, 60, 100
"""Starts that are swept together, sweeps of each, and passes of flips of the best, at most."""


@dataclass(eq=False)
class RowSearch:
    """A search over partitions: its limits, and the best point so far."""

    rows: Rows
    n: int
    domain: str
    linear: Host
    begun: float
    seed: int
    limit: float | None
    target: float | None
    callback: Callable[[Any], Any] | None
    spins: Host | None = None
    fun: float = inf
    lower_bound: float = -inf
    status: Status | None = None
    history: list[Progress] = field(default_factory=list)
    nit: int = 0

    @property
    def over(self) -> bool:
        if self.limit is not None and time.perf_counter() - self.begun >= self.limit:
            self.stop(Status.TIME_LIMIT)
        return self.status is not None

    def stop(self, status: Status) -> None:
        self.status = self.status or status

    def in_domain(self, S: Host) -> Host:
        return S if self.domain == "spin" else (S + 1) / 2

    def offer(self, S: Host) -> None:
        """Judge spins (k, n) in float64, and keep the best."""
        points = self.in_domain(S)
        values = self.rows.added(self.rows.everywhere(partition.judge, points)) + points @ self.linear
        best = int(np.argmin(values))
        if values[best] < self.fun:
            self.fun, self.spins = float(values[best]), S[best].copy()
            row = Progress(time.perf_counter() - self.begun, self.fun, self.lower_bound)
            self.history.append(row)
            if self.callback is not None and self._wants_to_end(self.callback, row):
                self.stop(Status.CALLBACK)
            if self.fun <= self.lower_bound:
                self.stop(Status.OPTIMAL)
            elif self.target is not None and self.fun <= self.target:
                self.stop(Status.TARGET)

    def _wants_to_end(self, callback: Callable[[Moment], Any], row: Progress) -> bool:
        """Tell the callback of a row, and of the best point on asking."""
        spins = self.spins
        copy = lambda: None if spins is None else self.in_domain(spins.copy())  # noqa: E731
        try:
            return bool(callback(Moment.of(row, copy)))
        except StopIteration:
            return True


def minimize_rows(
    A: Any, b: Any, loss: Any, about: dict[str, Any], others: dict[str, Any], options: Any, begun: float
) -> Result:
    """`minimize` for an A in partitions of rows: a Dask array, or a list of files.

    `about` are the weights, the domain and c; `others` what problems may have besides, but not here.
    """
    _refuse_others(others, options)
    rows, n = partitions(A, b, loss, about, site_of(options.executor))
    linear = np.zeros(n) if about["linear"] is None else np.asarray(about["linear"], np.float64)
    if linear.shape != (n,):
        raise ValueError(f"`linear` must have shape ({n},) to match the columns of `A`; got {linear.shape}")
    search = RowSearch(
        rows,
        n,
        about["domain"],
        linear,
        begun,
        secrets.randbits(32) if options.seed is None else check_seed(options.seed),
        check_seconds("time_limit", options.time_limit),
        check_target(options.target),
        check_callable(options.callback),
    )
    count = check_count("starts", options.starts) or STARTS
    with on_interrupt(lambda: search.stop(Status.INTERRUPTED)):
        try:
            Sweeping(search).run(count, SWEEPS)
            if not search.over:
                descend(search)
        except NobodyLeft as fault:
            if search.spins is None:
                raise
            search.stop(Status.INTERRUPTED)
            warnings.warn(f"{fault}; this is the best point so far", RuntimeWarning, stacklevel=3)
    assert search.spins is not None
    return Result(
        x=search.in_domain(search.spins),
        fun=search.fun,
        lower_bound=min(search.lower_bound, search.fun),
        status=search.status or Status.CONVERGED,
        history=tuple(search.history),
        n_starts=count,
        nit=search.nit,
        seconds=time.perf_counter() - begun,
        seed=search.seed,
        method="row sweeps",
    )


class Sweeping:
    """Block sweeps of some starts at once, as `engines.blocks` makes them, with A elsewhere."""

    def __init__(self, search: RowSearch) -> None:
        self.search, self.rule = search, Rule()
        self.spans = [Span(lo, min(search.n, lo + WIDTH)) for lo in range(0, search.n, WIDTH)]
        half = 1.0 if search.domain == "spin" else 0.5
        self.c = half * search.linear
        signs = np.where(np.random.default_rng(0).random(search.n) < 0.5, -1.0, 1.0)
        found: list[Survey] = search.rows.site.gather(
            search.rows.everywhere(partition.survey, self.spans, signs)
        )
        self.delta, self.curvatures = _scales(found)
        offset = search.linear.sum() * (0.5 if search.domain == "binary" else 0.0)
        search.lower_bound = sum(one.trivial for one in found) + offset - float(np.abs(self.c).sum())

    def run(self, count: int, sweeps: int) -> None:
        search = self.search
        rng = np.random.default_rng((search.seed, 0))
        X = rng.uniform(-SPREAD, SPREAD, (count, search.n))
        before = X.copy()
        first = np.full((count, 1), float(np.mean(self.curvatures)) / 64 or 1.0)
        rho = first
        for sweep in range(1, sweeps + 1):
            self._sweep(X, before, rho, rng.permutation(len(self.spans)))
            if search.over:
                break
            rho = steered(rho, first, X, sweep / sweeps, self.rule)
            search.nit += count
            if sweep == 1:  # a first answer
                search.offer(_corners(X))
        search.offer(_corners(X))

    def _sweep(self, X: Host, before: Host, rho: Host, order: Host) -> None:
        """One pass over the blocks; X and `before` change."""
        rows = self.search.rows
        spans = [self.spans[q] for q in order]
        pairs = rows.everywhere(partition.begin, X, spans[0], self.delta)
        for k, span in enumerate(spans):
            G = rows.sums(pairs)
            by = self._step(X, before, rho, G, span, self.curvatures[order[k]])
            if self.search.over:
                return
            if k + 1 < len(spans):
                pairs = rows.onwards(partition.move, pairs, span, by, spans[k + 1], self.delta)

    def _step(self, X: Host, before: Host, rho: Host, G: Host, span: Span, curvature: float) -> Host:
        """Move a block's columns; by how much."""
        rule, here = self.rule, slice(span.lo, span.hi)
        old = X[:, here].copy()
        G = G + self.c[here] - 2 * rho * old * (1 + rule.shape * (1 - old * old))
        L = rule.kappa * curvature
        last = rule.momentum * (old - before[:, here])
        new = np.clip(old - G / L + last, -1.0, 1.0) if L > 0 else np.where(G == 0, old, -np.sign(G))
        before[:, here], X[:, here] = old, new
        return new - old


def descend(search: RowSearch) -> None:
    """From the best point, until a pass finds none: of each block those flips that gain most together.

    Flips that gain are put in order, the best one first, and as many of them made as change F most.
    """
    assert search.spins is not None
    rows, x = search.rows, search.spins.copy()
    spans = [Span(lo, min(search.n, lo + WIDTH)) for lo in range(0, search.n, WIDTH)]
    charge = search.linear * (1.0 if search.domain == "spin" else 0.5)
    pairs = rows.everywhere(partition.begin_flips, x, spans[0])
    quiet = 0
    for k in range(FLIP_PASSES * len(spans)):
        span, following = spans[k % len(spans)], spans[(k + 1) % len(spans)]
        changes = rows.sums(pairs) - 2 * charge[span.lo : span.hi] * x[span.lo : span.hi]
        gaining = np.flatnonzero(changes < 0)
        flips = span.lo + gaining[np.argsort(changes[gaining])]
        quiet = 0 if len(flips) else quiet + 1
        if quiet == len(spans) or search.over:
            break
        if len(flips) > 1:
            together = rows.added(rows.onwards(partition.prefixes, pairs, flips, x))
            together -= 2 * np.cumsum(charge[flips] * x[flips])
            flips = flips[: np.argmin(together) + 1]
        x = x.copy()
        x[flips] = -x[flips]
        pairs = rows.onwards(partition.flip, pairs, flips, x, following)
    search.offer(x[None])


def _corners(X: Host) -> Host:
    return np.where(X >= 0, 1.0, -1.0)


def _scales(found: list[Survey]) -> tuple[float, list[float]]:
    """The natural smoothing, and the curvature of each block at it."""
    count = max(1, sum(one.rows for one in found))
    smooth = all(one.smooth for one in found)
    typical = np.sqrt(sum(one.squares for one in found) / count) or 1.0
    size = sum(one.size for one in found) / count
    delta = 0.0 if smooth else float(ANSWER_SHARE * WIDENING * size / typical) or 1.0
    bend = max(one.curvature for one in found) / (1.0 if smooth else delta)
    grams = [sum(blocks) for blocks in zip(*(one.grams for one in found), strict=True)]
    return delta, [bend * float(np.linalg.eigvalsh(gram)[-1]) for gram in grams]


def _refuse_others(others: dict[str, Any], options: Any) -> None:
    """What only a matrix on one machine can have."""
    asked = {name: value for name, value in others.items() if value is not None and value != ()}
    asked |= {
        name: value
        for name in ("x0", "gap", "pool", "fixed")
        if (value := getattr(options, name)) is not None
    }
    asked |= {} if options.method == "auto" else {"method": options.method}
    if asked:
        raise ValueError(
            f"`{min(asked)}` is not for an `A` in parts: losses of Ax - b and a linear term are, by 'auto'"
        )
