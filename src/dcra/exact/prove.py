"""Proofs by branch and bound: the best point of a sum of kinks, and that no other is better."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import ClassVar, NamedTuple

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, News, Starts, State
from dcra.exact.certificate import Certificate
from dcra.exact.judging import Judge
from dcra.exact.kinks import KinkForm, Unfit, kink_form, mesh_at
from dcra.exact.proof_log import ProofLog
from dcra.exact.proof_tree import Found, ProofTree
from dcra.model.rounding import error_at

WHOLE_DROP = 0.5
"""How far below the best value a bound may stay where values are whole numbers."""

CLOSING = 4.0
"""How many times that is near enough to the best value to end a search."""

WORTH_TELLING = 0.01
"""Share of the gap by which a bound must rise to be news."""


class Patience(NamedTuple):
    """Work (entries of A) after which a tree is given up, and after which it is whatever it promises.

    Between the two it goes on as long as its progress says that it will be done before the second.
    """

    least: float = inf
    most: float = inf

    def portion(self, done: int, work: int) -> int:
        """Work up to the next of the places at which it may end, whatever the pauses are."""
        if self.least == inf:
            return work
        step = max(1.0, self.least / 8)
        return int(min(work, step - done % step + 1))

    def exhausted(self, tree: ProofTree) -> bool:
        if tree.work <= self.least:
            return False
        return tree.work > self.most * min(1.0, tree.progress)


ENDLESS = Patience()


@dataclass(frozen=True)
class Prove(Engine):
    """A tree of relaxations, until nothing in it can be better than the best point.

    Parameters
    ----------
    record : int
        Bytes of what was concluded that are kept for `Result.proof`.
    patience : Patience
        When to give up; never by default.
    """

    record: int = 256 << 20
    patience: Patience = ENDLESS

    name: ClassVar[str] = "exact"
    needs: ClassVar[frozenset[str]] = frozenset({"kinks"})
    plan: ClassVar[str] = "prove"
    takes_constraints: ClassVar[bool] = True
    travels: ClassVar[bool] = False  # the search asks its tree for the proof

    def start(self, compiled: Compiled, starts: Starts) -> ProofState:
        return ProofState(compiled, starts.points, self.record, self.patience)


class ProofState(State):
    """The tree of one problem; `least` is what no feasible point falls below, inf where there is none."""

    def __init__(
        self, compiled: Compiled, points: Host | None, record: int = 0, patience: Patience | None = None
    ) -> None:
        self.compiled, self.patience = compiled, patience or ENDLESS
        self.given_up, self.drop = False, 0.0
        self.judge = Judge(compiled)
        self.fun, self.spins = inf, np.ones(compiled.n)
        self.told, self.news = -inf, list[News]()
        self.form: KinkForm | None = None
        try:
            x = None if points is None else compiled.in_domain(np.atleast_2d(points)[0])
            self.form = kink_form(compiled.problem, mesh_at(compiled.problem, x))
        except Unfit:
            return
        self.tree = ProofTree(self.form, self._first_slopes(points), compiled.loops)
        self.log = ProofLog(self.form, record)
        if points is not None:
            self._offer(points)

    def _first_slopes(self, points: Host | None) -> Host:
        """Where the relaxation begins: the slopes at a point that is known, or at the middle of the box."""
        form = self.form
        assert form is not None
        middle = np.full(form.n, (form.low + form.high) / 2)
        x = middle if points is None else self.compiled.in_domain(np.atleast_2d(points)[0])
        slopes = np.where(form.A @ x > form.b, form.hi, form.lo)
        return np.where(np.isfinite(slopes), slopes, 0.0)

    def advance(self, work: int) -> None:
        if self.done:
            return
        found = self.tree.advance(self.patience.portion(self.tree.work, work))
        self.log.take(found.records)
        self._take(found)
        self.given_up = not self.tree.done and self.patience.exhausted(self.tree)
        if self.given_up:
            self.tree.pause()
        self._tell()

    def _take(self, found: Found) -> None:
        points = np.concatenate([found.points, found.leaves])
        if len(points):
            self._offer(self.compiled.encode(points))
        if len(leaves := self._feasible(self.compiled.encode(found.leaves))):
            self.judge.look_at(leaves)

    def _feasible(self, spins: Host) -> Host:
        constraints = self.compiled.problem.constraints
        if constraints is None or not len(spins):
            return spins
        feasible = constraints.violation(self.compiled.in_domain(spins)) == 0
        return np.asarray(spins[feasible])

    def _offer(self, spins: Host) -> None:
        """Judge points; a better one lowers the cutoff, and is news."""
        spins = self._feasible(np.atleast_2d(spins))
        if not len(spins):
            return
        values = self.compiled.judged(spins)
        best = int(np.argmin(np.where(np.isnan(values), inf, values)))
        if not values[best] < self.fun:
            return
        self.fun, self.spins = float(values[best]), spins[best].copy()
        self.news.append(News(self.spins[None]))
        assert self.form is not None
        self.tree.best = min(self.tree.best, self.form.in_units(self.fun))
        self.drop = self._drop()
        self.tree.cutoff = min(self.tree.cutoff, self.form.in_units(self.fun - self.drop))

    def _drop(self) -> float:
        """What is no gap: rounding, or less than the least difference of two values."""
        problem = self.compiled.problem
        if problem.integer_valued:
            return WHOLE_DROP
        return error_at(problem, self.compiled.exact_points(self.spins))

    @property
    def bound(self) -> float:
        """What no feasible point falls below."""
        if self.form is None:
            return -inf
        if self.tree.done and self.fun == inf:
            return inf
        return min(self.form.objective(self.tree.bound), self.judge.least)

    @property
    def least(self) -> float:
        return self.bound if self.form is not None and self.tree.done else -inf

    def _tell(self) -> None:
        """Report a bound that has risen; not one that would end the search before the tree is closed."""
        bound = self.bound
        if not self.tree.done and bound > self.fun - CLOSING * self.drop:
            return
        rise = WORTH_TELLING * (self.fun - bound) if isfinite(self.fun) and isfinite(bound) else 0.0
        if isfinite(bound) and (bound > self.told + rise or self.told == -inf):
            self.told = bound
            self.news.append(News(np.empty((0, self.compiled.n)), bound))

    def take_news(self) -> list[News]:
        news, self.news = self.news, []
        return news

    @property
    def done(self) -> bool:
        return self.form is None or self.tree.done or self.given_up

    @property
    def nodes(self) -> int:
        return 0 if self.form is None else self.tree.nodes

    @property
    def n_open(self) -> int:
        return 0 if self.form is None else self.tree.n_open

    @property
    def steps(self) -> int:
        return self.nodes

    @property
    def fixed(self) -> Host | None:
        """Which variables were fixed at the root, (n,) bool."""
        return None if self.form is None else np.asarray(self.tree.fixed != 0)

    def certificate(self) -> Certificate | None:
        """The proof, once the tree is closed; None where it was not, or took too much to write down."""
        closed = self.form is not None and self.tree.done and self.fun < inf
        if not closed or not self.log.complete:
            return None
        events, ends, values = self.log.arrays()
        point = np.where(self.spins > 0, 1, -1)
        assert self.form is not None
        return Certificate(events, ends, values, self.tree.cutoff, point, np.array(self.form.mesh), self.form)

    def candidates(self) -> Host:
        return self.spins[None]
