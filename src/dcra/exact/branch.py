"""A node of a proof's tree taken on by itself: what threads and other machines do of a tree.

What it finds depends on what was known when it was chosen, and on nothing else: the tree is the same whoever
takes on its nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dcra._array import Host
from dcra._kernels.branching import Answer, Event
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.exact.coupled_kinks import coupled_form
from dcra.exact.incumbent import Incumbent
from dcra.exact.kinks import KinkForm, kink_form
from dcra.exact.lone_norm import is_lone_norm, norm_form
from dcra.exact.plain_subtree import PlainSubtree
from dcra.exact.proof_log import ProofLog, Written
from dcra.exact.squares import Squares
from dcra.exact.subtree import Gains, OpenNode, Subtree


class Taken(NamedTuple):
    """What became of a node: conclusions, what was fixed at the root (k, 4), leaves (k, n), open nodes."""

    number: int
    written: Written | None
    at_root: Host
    leaves: Host
    left: list[OpenNode]
    learned: Gains
    nodes: int
    work: int


@dataclass(frozen=True, eq=False)
class Branch(Engine):
    """An open node, for at most `budget` nodes below it.

    `cutoff` and `best` are values in the form's units; `fun` is what a point must fall below to be told.
    Nodes below are numbered from `numbers`; what is concluded may take `record` bytes. `squares` stand for
    couplings.
    """

    mesh: tuple[float, ...]
    node: OpenNode
    gains: Gains
    numbers: int
    budget: int
    cutoff: float
    best: float
    fun: float
    record: int
    squares: Squares | None = None

    name: ClassVar[str] = "exact"

    def start(self, compiled: Compiled, starts: Starts) -> BranchState:
        return BranchState(self, compiled)


def form_of(compiled: Compiled, mesh: tuple[float, ...], squares: Squares | None = None) -> KinkForm:
    """The sum of kinks of a problem, made once."""
    return compiled.once(_make_form, mesh, squares)


def _make_form(compiled: Compiled, mesh: tuple[float, ...], squares: Squares | None) -> KinkForm:
    if squares is not None:
        return coupled_form(compiled.problem, squares, mesh)
    return (norm_form if is_lone_norm(compiled.problem) else kink_form)(compiled.problem, mesh)


class BranchState(State):
    """The tree below a node; better points become known at once to itself, and at its end to others."""

    def __init__(self, own: Branch, compiled: Compiled) -> None:
        self.own, self.compiled = own, compiled
        form = self.form = form_of(compiled, own.mesh, own.squares)
        self.incumbent = Incumbent(compiled, form)
        self.incumbent.cutoff, self.incumbent.best = own.cutoff, own.best
        self.incumbent.fun = own.fun
        self.learned = Gains(form.n, own.gains)
        self.below: Subtree | PlainSubtree
        if compiled.loops:
            self.below = Subtree(form, own.node, self.learned, own.numbers, own.budget)
        else:
            self.below = PlainSubtree(form, own.node, own.numbers, own.budget)
        self.answer = Answer.TIRED
        self.log = ProofLog(form, own.record)
        self.at_root = [np.zeros((0, 4), np.int64)]
        self.leaves = [np.zeros((0, form.n))]
        self.improved = False
        self._work = 0

    def advance(self, work: int) -> None:
        if self.done:
            return
        best = self.incumbent
        self.answer = self.below.advance(work, best.cutoff, best.best)
        self._work += self.below.worked
        if self.answer in (Answer.FOUND, Answer.REACHED):
            point = self.below.point(leaf=self.answer is Answer.REACHED)
            if self.answer is Answer.REACHED:
                self.leaves.append(point)
            self.improved |= best.offer(self.compiled.encode(point))
        records = self.below.take_records()
        self.log.take(records)
        if self.own.node.number == 0:
            self.at_root.append(records.events[records.events[:, 1] == 0])

    @property
    def done(self) -> bool:
        return self.answer in (Answer.CLOSED, Answer.SPLIT)

    @property
    def bound(self) -> float:
        """What no point below falls under, or else it is worse than the best."""
        return self.below.bound

    @property
    def share(self) -> float:
        """What is open of the whole tree, were it full."""
        return self.below.share

    @property
    def fixed(self) -> int:
        """How many variables the root has fixed, if this is the root."""
        kinds = np.concatenate(self.at_root)[:, 0]
        return int(np.count_nonzero((kinds == Event.TO_LOW) | (kinds == Event.TO_HIGH)))

    @property
    def nodes(self) -> int:
        return self.below.nodes

    @property
    def work(self) -> float:
        return self._work

    def taken(self) -> Taken:
        """All there is to know, also before the end: what is not closed is left open."""
        left = [] if self.answer is Answer.CLOSED else self.below.open_nodes()
        leaves = np.concatenate(self.leaves)
        learned, at_root = self.learned.less(self.own.gains), np.concatenate(self.at_root)
        number, written = self.own.node.number, self.log.written()
        return Taken(number, written, at_root, leaves, left, learned, self.nodes, self._work)

    @property
    def facts(self) -> dict[str, Any]:
        return {"taken": self.taken()}

    def candidates(self) -> Host:
        """The best point, where it is better than what was known."""
        return self.incumbent.spins[None] if self.improved else np.empty((0, self.form.n))

    def estimate(self) -> float | None:
        return self.incumbent.fun if self.improved else inf

    @property
    def steps(self) -> int:
        return self.nodes
