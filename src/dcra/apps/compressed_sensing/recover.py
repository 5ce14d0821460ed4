"""`recover`: message passing first, restarts from random fields, then the library's own search."""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from dcra._array import Host, from_numpy, to_numpy
from dcra.api import solve, watch_for, watched_operator
from dcra.apps.compressed_sensing.errors import (
    SHRUNK,
    choose_lam,
    choose_loss,
    gross_errors,
    least_at_zero,
    rounding_of,
    spread_of,
)
from dcra.apps.compressed_sensing.lockstep import pass_messages_together
from dcra.apps.compressed_sensing.messages import MessagePassing
from dcra.apps.compressed_sensing.result import Recoveries, Recovery
from dcra.apps.compressed_sensing.trimming import FAR, LEAST_SHARE, near, plausible
from dcra.apps.compressed_sensing.validation import Asked, check
from dcra.losses import L1, Loss
from dcra.model.operators import MatrixFree
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.result import Result, Status
from dcra.search.interrupts import on_interrupt

STARTS = 49
"""Starts of message passing before the search takes over, unless asked for."""

SEARCH_STARTS = 8
SEARCH_WORK = 20_000_000
"""Entries of A times starts of the search, when no time is given: a larger A gets fewer, or none."""

EXPLAINED = 0.1
"""Learned noise is believed where the residual has less than this share of the measurements' variance."""

WRONG = 0.01
"""Share of bits: what they would leave if wrong is too much to be taken for noise at once."""

LEAST_SECONDS = 1e-3
"""Of a solve that comes when the time is over."""

TRIMS = 4
"""Rounds of leaving out outliers."""

FITS = 2
"""Rounds of choosing the loss from residuals and searching with it."""

SMALLEST = 17
"""Unknowns below which the search tries all points anyway."""


def recover(
    A: Any,
    y: Any,
    *,
    sparsity: float | None = None,
    lam: float | None = None,
    noise: float | None = None,
    loss: str | Loss | None = None,
    time_limit: float | None = None,
    starts: int | None = None,
    seed: int | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Recover x in {0,1}^N from y = A x, or from y = A x + errors.

    Parameters
    ----------
    A : (M, N) array, scipy.sparse matrix or LinearOperator
    y : (M,) or (M, k) array
        Measurements; with k columns, k signals are recovered by one A.
    sparsity : float, optional
        Share of ones, in (0, 1). Estimated from y when not given.
    lam : float, optional
        Weight of the number of ones in the objective. When not given: 0 for exact measurements, else the
        weight at which the objective is the posterior of x.
    noise : float, optional
        Standard deviation of the measurements' errors; 0 says that they are exact. Found out when not given.
    loss : str or Loss, optional
        f in f(Ax - y) + lam e'x. When not given: l1 for exact measurements, squared where `noise` is given
        or the errors look Gaussian, Huber's or l1 where some or many of them are outliers.
    time_limit : float, optional
        Seconds, for all columns of y together.
    starts : int, optional
        Starts of message passing for each signal; 49 by default. Most signals need one.
    seed, n_jobs
        As in `dcra.solve`.

    Returns
    -------
    Recovery, or Recoveries for y of shape (M, k)

    Examples
    --------
    >>> from dcra.apps.compressed_sensing import instance, recover
    >>> A, y, x = instance(500, alpha=0.5, rho=0.2, seed=0)
    >>> found = recover(A, y, seed=0)
    >>> found.matched, bool((found.x == x).all())
    (True, True)
    """
    begun = time.perf_counter()
    A = watched_operator(A, watch_for(begun, time_limit))
    asked = check(A, y, sparsity, lam, noise, loss, time_limit, starts)
    chosen = secrets.randbits(32) if seed is None else seed
    session = RecoveryCall(asked, begun, chosen, n_jobs)
    with on_interrupt(session.interrupted.set):
        if np.ndim(y) == 1:
            one = session.recover(asked.rows[0], None)
            return replace(one, seconds=time.perf_counter() - begun)
        known = pass_messages_together(asked, session.over) if len(asked.rows) > 1 else [None]
        every = enumerate(zip(asked.rows, known, strict=True))
        each = tuple(session.recover(row, x, len(known) - i) for i, (row, x) in every)
    return Recoveries(each, time.perf_counter() - begun)


@dataclass(frozen=True)
class RecoveryCall:
    """One call: what was asked for, since when, with which seed."""

    asked: Asked
    begun: float
    seed: int
    n_jobs: int | None
    interrupted: threading.Event = field(default_factory=threading.Event)

    def over(self, share: float = 1.0) -> bool:
        """Whether this share of the time limit has passed, or Ctrl-C was pressed."""
        limit = inf if self.asked.time_limit is None else self.asked.time_limit
        return self.interrupted.is_set() or time.perf_counter() - self.begun >= share * limit

    def recover(self, y: Host, known: Host | None, left: int = 1) -> Recovery:
        """The next of `left` signals that share the time; `known` is a point that is believed to match."""
        entered = time.perf_counter()
        limit = inf if self.asked.time_limit is None else self.asked.time_limit
        attempt = Attempt(self, y, entered + (self.begun + limit - entered) / left)
        if known is not None and attempt.matches(known):
            attempt.x, attempt.stages = known, [MessagePassing.name]
        elif left < len(self.asked.rows) and self.over():
            attempt.give_up()
        else:
            attempt.search_without_outliers()
        return replace(attempt.report(), seconds=time.perf_counter() - entered)


class Attempt:
    """The search for one signal, stage by stage, until one of them matches."""

    def __init__(self, session: RecoveryCall, y: Host, end: float = inf) -> None:
        self.session, self.asked, self.y, self.end = session, session.asked, y, end
        self.exact = Problem([Term(L1(), self.asked.A, y)], domain="binary")
        self.operator = self.exact.terms[0].operator
        self.tolerance = rounding_of(y, self.operator)
        self.x: Host | None = None
        self.result: Result | None = None
        self.searched: tuple[Loss, float] = self.exact.terms[0].loss, 0.0  # f and lam that `result` is about
        self.starts = 0
        self.stages: list[str] = []
        self.loss: Loss = self.asked.loss or L1()
        self.lam = self.asked.lam or 0.0
        self.sigma = self.asked.noise or 0.0

    def search(self, all_right: bool = False) -> None:
        """Find the signal; `all_right` says that no measurement has a gross error."""
        if self.exact.n < SMALLEST or self.operator.shape[0] == 1:
            self._run(self._objective(), "auto")
            return
        if self.asked.noise:
            self._fit_noise(self.asked.noise, all_right)
            return
        if self._exactly(MessagePassing(self._mean), 1) or self._over:
            return
        if not all_right and self.asked.noise is None and self._without_gross_errors():
            return
        learned = None if self.asked.noise == 0 else self._with_learned_noise()
        if learned is not None and self._explains(learned):
            self._fit(learned)
            return
        if self._over or self._exactly(MessagePassing(self._mean), self.asked.starts or STARTS):
            return
        found = self._search(self.exact)
        if learned is not None and not self.matches(found):
            self._fit(found if gross_errors(self.residual(found), self.residual(learned)) else learned)

    def search_without_outliers(self) -> None:
        """Search without measurements that no signal explains; then with all, and a robust loss."""
        kept = plausible(self.y, self.operator) if self.asked.noise != 0 else np.ones(self.y.size, bool)
        if kept.all():
            self.search()
        else:
            self._trim(kept, all_right=False)

    def _fit_noise(self, noise: float, all_right: bool) -> None:
        """Message passing that is told the noise; what leaves far more than that has other errors, too."""
        x = self._run(self.exact, MessagePassing(self._mean, noise**2), 1)
        odd = not all_right and spread_of(self.residual(x)) > SHRUNK * noise
        if not (odd and not self._over and self._without_gross_errors()):
            self._fit(x)

    def _without_gross_errors(self) -> bool:
        """Whether most measurements are explained, and few are wrong; the signal is then that of the most."""
        if not self.operator.has_columns:
            return False
        before = self.x
        x = self._run(self.exact, MessagePassing(self._mean, wary=True), 1)
        self.x = before
        u = self.residual(x)
        kept = np.abs(u) <= max(FAR * spread_of(u), self.tolerance)
        explained = float(np.var(u[kept])) < EXPLAINED * float(np.var(self.y))
        if kept.all() or np.mean(kept) < LEAST_SHARE or not explained:
            return False
        self._trim(kept)
        return True

    def _trim(self, kept: Host, all_right: bool = True) -> None:
        """Search with the measurements that are kept, leaving out more of them, or fewer, by the answer."""
        for _ in range(TRIMS):
            x, matched = self._search_among(kept, all_right)
            before, u = kept, self.residual(x)
            kept = near(np.where(np.abs(u) <= self.tolerance, 0.0, u), before)
            if matched or self._over or np.array_equal(kept, before):
                break
        self.x = x
        if matched and not self._over:  # a wrong bit whose rows were all left out costs them all
            x = self._run(self.exact, "flip", 1, x)
        if matched:
            self._choose(x)
        else:
            self._fit(x)

    def _search_among(self, kept: Host, all_right: bool) -> tuple[Host, bool]:
        """What is found from some measurements, and whether it matches all of these."""
        assert not isinstance(self.asked.A, MatrixFree)
        among = self.asked.A.rows(np.flatnonzero(kept))
        asked = self.asked._replace(A=among, rows=self.y[None, kept])
        part = Attempt(replace(self.session, asked=asked), self.y[kept], self.end)
        part.search(all_right)
        assert part.x is not None
        self.starts += part.starts
        self.stages += part.stages
        self.result = None  # what was proven of some measurements says nothing about all
        return part.x, part.matches(part.x)

    def give_up(self) -> None:
        """Signs of A'(y - Ae/2), where the time is over before a search could begin."""
        middle = self.y - 0.5 * np.asarray(to_numpy(self.operator.row_sums))
        x = np.asarray(to_numpy(self.operator.adjoint(from_numpy(middle, self.operator.like))))
        self.x, self.stages = np.where(x > 0, 1.0, 0.0), ["signs"]

    def matches(self, x: Host) -> bool:
        return self._rows_matched(self.residual(x)) == self.y.size

    def _rows_matched(self, u: Host) -> int:
        return int(np.count_nonzero(np.abs(u) <= self.tolerance))

    def residual(self, x: Host) -> Host:
        return np.asarray(to_numpy(self.exact.terms[0].residual(self.exact.check_point("x", x))))

    def report(self) -> Recovery:
        assert self.x is not None
        u = self.residual(self.x)
        matched = self._rows_matched(u) == self.y.size
        if matched and not self.asked.noise:  # whatever was tried on the way
            self.loss, self.lam = self.asked.loss or L1(), self.asked.lam or 0.0
        objective = float(self._objective().objective(self.x))
        single = getattr(self.operator.A, "dtype", None) == np.float32
        return Recovery(
            x=self.x.astype(np.float32) if single else self.x,
            residual=u,
            rows_matched=self._rows_matched(u),
            objective=objective,
            lower_bound=min(self._bound(), objective),
            loss=self.loss,
            lam=self.lam,
            noise=0.0 if matched and not self.asked.noise else self.sigma,
            status=self._status(matched, objective),
            n_starts=self.starts,
            seconds=0.0,
            seed=self.session.seed,
            method=", ".join(dict.fromkeys(self.stages)),
        )

    def _bound(self) -> float:
        """What was proven of the objective, or of one that is less, for ones cost less in it."""
        loss, lam = self.searched
        if self.result is None or loss != self.loss or lam > self.lam:
            return min(0.0, self.lam * self.exact.n) if self.loss.positive else -inf
        return self.result.lower_bound

    def _status(self, matched: bool, objective: float) -> Status:
        """A match is the best there is, unless ones cost something or other residuals cost less."""
        if matched:
            best = self.lam == 0 and least_at_zero(self.loss, self.y.size)
            return Status.OPTIMAL if best or self._proven(objective) else Status.TARGET
        if self.session.interrupted.is_set():
            return Status.INTERRUPTED
        if self.result is None:
            return Status.TIME_LIMIT
        if self.result.status is Status.OPTIMAL and not self._proven(objective):
            return Status.TIME_LIMIT if self._over else Status.CONVERGED
        return self.result.status

    def _proven(self, objective: float) -> bool:
        """Whether this objective was searched, and x is as good as the point that was proven the best."""
        result, same = self.result, self.searched == (self.loss, self.lam)
        if result is None or result.status is not Status.OPTIMAL or not same:
            return False
        return objective - result.fun <= result.tiny

    @property
    def _mean(self) -> float | None:
        return None if self.asked.sparsity is None else 2 * self.asked.sparsity - 1

    @property
    def _seconds_left(self) -> float | None:
        end = 0.0 if self.session.interrupted.is_set() else self.end
        return None if end == inf else max(end - time.perf_counter(), LEAST_SECONDS)

    @property
    def _over(self) -> bool:
        """Whether no further stage is to begin."""
        return self._seconds_left == LEAST_SECONDS

    def _objective(self) -> Problem:
        if self.lam == 0 and self.loss == self.exact.terms[0].loss:
            return self.exact
        linear = None if self.lam == 0 else np.full(self.exact.n, self.lam)
        return Problem([Term(self.loss, self.asked.A, self.y)], linear=linear, domain="binary")

    def _exactly(self, engine: MessagePassing, starts: int) -> bool:
        """Whether message passing, or flips of single bits where it ended, match the measurements."""
        x = self._run(self.exact, engine, starts)
        if self.matches(x) or self._over:
            return self.matches(x)
        return self.operator.has_columns and self.matches(self._run(self.exact, "flip", 1, x))

    def _with_learned_noise(self) -> Host:
        before = self.x
        x = self._run(self.exact, MessagePassing(self._mean, learn_noise=True), 1)
        self.x = before
        return x

    def _explains(self, x: Host) -> bool:
        """Whether x leaves little of y, and less than a few wrong bits would: noise, then."""
        u = self.residual(x)
        norms = np.asarray(to_numpy(self.operator.column_norms), np.float64)
        wrong_bits = WRONG * float(norms @ norms)
        return float(np.var(u)) < EXPLAINED * float(np.var(self.y)) and float(u @ u) < wrong_bits

    def _fit(self, x: Host) -> None:
        """Choose what was not given from the residuals of x, search that objective from there, and again.

        What is chosen and not searched is not kept: the answer is judged by the objective it was found by.
        """
        self.x = x
        before = None
        for _ in range(FITS):
            searched = self.loss, self.lam
            self._choose(x)
            if (self.loss, self.sigma) == before or self.matches(x) or self._over:
                if before is not None:
                    self.loss, self.lam = searched
                return
            before = self.loss, self.sigma
            x = self._search(self._objective(), x)

    def _choose(self, x: Host) -> None:
        u = self.residual(x)
        u = np.where(np.abs(u) <= self.tolerance, 0.0, u)
        self.sigma = self.asked.noise or spread_of(u)
        if self.asked.loss is None:
            self.loss = choose_loss(u)
        if self.asked.lam is None:
            share = self.asked.sparsity or float(np.mean(x))
            density = float(np.clip(share, 1 / (2 * x.size), 1 - 1 / (2 * x.size)))
            self.lam = choose_lam(self.loss, self.sigma, density)

    def _search(self, problem: Problem, x0: Host | None = None) -> Host:
        starts = SEARCH_STARTS
        if self.asked.time_limit is None:
            starts = min(SEARCH_STARTS, SEARCH_WORK // self.operator.entries)
        if starts == 0:
            assert self.x is not None
            return self.x
        return self._run(problem, "auto", starts, self.x if x0 is None else x0)

    def _run(self, problem: Problem, method: Any, starts: int | None = None, x0: Any = None) -> Host:
        exactly = problem is self.exact
        self.searched = (problem.terms[0].loss, 0.0 if exactly else self.lam)
        self.result = solve(
            problem,
            method=method,
            starts=starts,
            time_limit=self._seconds_left,
            target=self.tolerance * self.y.size if exactly else None,
            seed=self.session.seed,
            x0=x0,
            n_jobs=self.session.n_jobs,
        )
        if self.result.status is Status.INTERRUPTED:
            self.session.interrupted.set()
        self.starts += self.result.n_starts
        self.stages.append(self.result.method)
        x = np.asarray(to_numpy(self.result.x), np.float64)
        if self.x is None or not exactly or self.result.fun <= self.exact.objective(self.x):
            self.x = x
        return x
