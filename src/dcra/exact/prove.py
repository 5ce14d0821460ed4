"""Proofs by branch and bound: the best point of a sum of kinks, and that no other is better."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts
from dcra.exact.branch import Branch, BranchState, Taken, form_of
from dcra.exact.certificate import Certificate
from dcra.exact.couplings_tree import CouplingsProof
from dcra.exact.dual_tree import DualProof
from dcra.exact.incumbent import Incumbent
from dcra.exact.kinks import KinkForm, Unfit, mesh_at
from dcra.exact.lone_norm import is_lone_norm, squared
from dcra.exact.patience import ENDLESS, Patience
from dcra.exact.prepared_proof import PreparedProof
from dcra.exact.proof_log import ProofLog
from dcra.exact.proof_tree import Closed, ProofTree
from dcra.exact.squares import Squares
from dcra.exact.squaring import Squaring
from dcra.exact.tree_proof import TreeProof
from dcra.exact.trees import TreeKind, tree_kind
from dcra.model.problem import Problem


@dataclass(frozen=True)
class Prove(Engine):
    """A tree of relaxations, until nothing in it can be better than the best point.

    Parameters
    ----------
    record : int
        Bytes of what was concluded that are kept for `Result.proof`.
    patience : Patience
        When to give up; never by default.
    delegates : bool
        Whether clauses are handed to RC2 of python-sat where that is installed, which is quicker, but leaves
        no tree for `Result.proof`.
    keep : int
        Points that are to be the best ones, where there are couplings alone.
    """

    record: int = 256 << 20
    patience: Patience = ENDLESS
    delegates: bool = True
    keep: int = 1

    name: ClassVar[str] = "exact"
    needs: ClassVar[frozenset[str]] = frozenset({"tree"})
    plan: ClassVar[str] = "prove"
    takes_constraints: ClassVar[bool] = True
    travels: ClassVar[bool] = False  # the search asks its tree for the proof; its nodes may travel

    def start(self, compiled: Compiled, starts: Starts) -> TreeProof:
        kind = tree_kind(compiled.problem)
        if kind is TreeKind.COUPLINGS:
            return CouplingsProof(compiled, starts.points, self.record, self.keep, self.patience)
        if kind is TreeKind.DUALS:
            return DualProof(compiled, starts.points, self.patience)
        return ProofState(compiled, starts.points, self.record, self.patience)


class ProofState(PreparedProof):
    """The tree of one sum of kinks; `advance` takes its nodes on itself, one after the other."""

    closing = 4.0
    form: KinkForm | None
    tree: ProofTree

    def __init__(
        self, compiled: Compiled, points: Host | None, record: int = 0, patience: Patience | None = None
    ) -> None:
        super().__init__(compiled, points, patience or ENDLESS)
        self.record = record
        self.current: BranchState | None = None
        if self.prepared:
            self.begin(None)

    def begin(self, squares: Squares | None) -> None:
        compiled, points = self.compiled, self.points
        x = None if points is None else compiled.in_domain(points[0])
        try:
            form = form_of(compiled, mesh_at(self._summed(squares), x), squares)
        except Unfit:
            return
        self.incumbent = Incumbent(compiled, form)
        self.tree = ProofTree(form, self._first_slopes(form, points), self.incumbent)
        self.log = ProofLog(form, self.record if type(form) is KinkForm else 0)
        self.form = form  # last: whoever finds it finds a tree
        if points is not None:
            self._offer(points)

    def _summed(self, squares: Squares | None) -> Problem:
        """The problem whose kinks are summed."""
        problem = self.compiled.problem
        if squares is not None:
            return squares.stand_in(problem)
        return squared(problem) if is_lone_norm(problem) else problem

    def _first_slopes(self, form: KinkForm, points: Host | None) -> Host:
        """Where the relaxation begins: the slopes at a point that is known, or at the middle of the box."""
        middle = np.full(form.n, (form.low + form.high) / 2)
        x = middle if points is None else self.compiled.in_domain(np.atleast_2d(points)[0])
        slopes = np.where(form.A @ x > form.b, form.hi, form.lo)
        return np.where(np.isfinite(slopes), slopes, 0.0)

    def hand_out(self) -> Branch | Squaring | None:
        if not self.prepared:
            return self.first_task()
        while self.form is not None:
            found = self.tree.hand_out(self.log.left if self.log.complete else 0)
            if not isinstance(found, Closed):
                return found
            self.log.take(found.records)
            self._look_at(self.compiled.encode(found.leaves))
        return None

    def take_back(self, taken: Taken | Squares | None, spins: Host) -> None:
        if not isinstance(taken, Taken):
            self.begin_with(taken)
            return
        self.tree.take_back(taken)
        self.log.join(taken.written)
        self._offer(spins)
        self._look_at(self.compiled.encode(taken.leaves))
        self._tell()

    def advance(self, work: int) -> None:
        if self.done:
            return
        if not self.prepared:
            self.prepare(work)
            return
        if self.current is None:
            branch = self.hand_out()
            self.current = BranchState(branch, self.compiled) if isinstance(branch, Branch) else None
            return
        before = self.work_done
        self.current.advance(self.patience.portion(before, work))
        if self.current.improved:
            self._offer(self.current.candidates())
        if not self.current.done and self.patience.may_end(before, self.work_done):
            self.given_up = self.patience.exhausted(self.work_done, self.progress)
        if self.current.done or self.given_up:
            self.take_back(self.current.taken(), self.current.candidates())
            self.current = None

    @property
    def work_done(self) -> int:
        return self.tree.work + (0 if self.current is None else int(self.current.work))

    @property
    def progress(self) -> float:
        """About how much of the work is done: what is closed or, before that, what the root has fixed."""
        closed, fixed = self.tree.closed, int(np.count_nonzero(self.tree.fixed))
        if self.current is not None:
            closed += self.current.own.node.share - self.current.share
            fixed += self.current.fixed
        return float(max(closed, (fixed / self.compiled.n) ** 2))

    @property
    def done(self) -> bool:
        if self.form is None:
            return self.prepared
        return (self.tree.done and self.current is None) or self.given_up

    @property
    def nodes(self) -> int:
        if self.form is None:
            return 0
        return self.tree.nodes + (0 if self.current is None else self.current.nodes)

    @property
    def fixed(self) -> Host | None:
        return None if self.form is None else np.asarray(self.tree.fixed != 0)

    def certificate(self) -> Certificate | None:
        """The proof, once the tree is closed; None where it was not, or took too much to write down."""
        closed = self.form is not None and self.tree.done and self.fun < inf
        if not closed or not self.log.complete or type(self.form) is not KinkForm:
            return None
        events, ends, values = self.log.arrays()
        point = np.where(self.spins > 0, 1, -1)
        assert self.form is not None
        return Certificate(
            events, ends, values, self._shown(self.form), point, np.array(self.form.mesh), self.form
        )

    def _shown(self, form: KinkForm) -> float:
        """What the proof says that no point falls below, as far as whoever judges its leaves again sees."""
        from dcra.model.exact_value import is_rational  # slow to load

        least = self.judge.least
        if least == inf:
            return self.incumbent.cutoff
        if not all(map(is_rational, self.compiled.problem.terms)):
            least -= 2 * self.judge.largest_error  # another order of float64's sums may err the other way
        return min(self.incumbent.cutoff, form.in_units(least))
