"""What all trees that prove have in common: the best point, the bound, leaves that are judged, and news."""

from __future__ import annotations

from abc import abstractmethod
from math import inf, isfinite
from typing import Any, Protocol

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, News, State
from dcra.exact.couplings_certificate import AnyCertificate
from dcra.exact.incumbent import Incumbent, Units, feasible
from dcra.exact.judging import Judge
from dcra.exact.patience import ENDLESS, Patience

WORTH_TELLING = 0.01
"""Share of the gap by which a bound must rise to be news."""


class Tree(Protocol):
    """Nodes that are open; `bound` is what no point falls below, unless it is a leaf that was handed in."""

    nodes: int

    @property
    def done(self) -> bool: ...

    @property
    def n_open(self) -> int: ...

    @property
    def bound(self) -> float: ...


class TreeProof(State):
    """The tree of one problem; `least` is what no feasible point falls below, inf where there is none.

    Nodes are handed out to whoever takes them on; `advance` takes them on itself, until it is given up.
    """

    closing = 1.0
    """How many times what is no gap is near enough to the best value to end a search."""

    form: Units | None
    tree: Tree
    incumbent: Incumbent

    def __init__(self, compiled: Compiled, patience: Patience) -> None:
        self.compiled, self.patience = compiled, patience
        self.given_up = False
        self.judge = Judge(compiled)
        self.told, self.news = -inf, list[News]()
        self.form = None

    @abstractmethod
    def hand_out(self) -> Engine | None:
        """The next node to be taken on; None where there is none at present."""

    @abstractmethod
    def take_back(self, taken: Any, spins: Host) -> None:
        """Take note of what became of a node, and of a better point (k, n) if there was one."""

    @property
    @abstractmethod
    def fixed(self) -> Host | None:
        """Which variables were fixed at the root, (n,) bool."""

    def certificate(self) -> AnyCertificate | None:
        """The proof, once the tree is closed; None where it was not, or cannot be written down."""
        return None

    def go_on(self) -> None:
        """However long it takes, from where it was given up."""
        self.patience, self.given_up = ENDLESS, False

    def hear_of(self, spins: Host) -> None:
        """Take note of points (k, n) that others have found."""
        if self.form is not None:
            self._offer(spins)

    def _look_at(self, spins: Host) -> None:
        """Judge points (k, n) that are leaves: the proof rests on them."""
        if not len(spins):
            return
        self._offer(spins)
        if len(spins := feasible(self.compiled, spins)):
            self.judge.look_at(spins)

    def _offer(self, spins: Host) -> None:
        """Judge points; a better one lowers the cutoff, and is news."""
        if len(spins) and self.incumbent.offer(spins):
            self.news.append(News(self.incumbent.spins[None]))

    @property
    def fun(self) -> float:
        return inf if self.form is None else self.incumbent.fun

    @property
    def spins(self) -> Host:
        return np.ones(self.compiled.n) if self.form is None else self.incumbent.spins

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
        if not self.tree.done and bound > self.fun - self.closing * self.incumbent.drop:
            return
        rise = WORTH_TELLING * (self.fun - bound) if isfinite(self.fun) and isfinite(bound) else 0.0
        if isfinite(bound) and (bound > self.told + rise or self.told == -inf):
            self.told = bound
            self.news.append(News(np.empty((0, self.compiled.n)), bound))

    def take_news(self) -> list[News]:
        news, self.news = self.news, []
        return news

    @property
    def nodes(self) -> int:
        return 0 if self.form is None else self.tree.nodes

    @property
    def n_open(self) -> int:
        return 0 if self.form is None else self.tree.n_open

    @property
    def steps(self) -> int:
        return self.nodes

    def candidates(self) -> Host:
        return self.spins[None]
