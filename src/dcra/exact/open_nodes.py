"""Nodes of a tree that are open: those that wait, least bound first, and those that somebody has taken on."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from dcra.exact.incumbent import Incumbent


class Node(Protocol):
    @property
    def bound(self) -> float: ...

    @property
    def number(self) -> int: ...


N = TypeVar("N", bound=Node)


class OpenNodes(Generic[N]):
    """A node is closed once no point in it falls below the cutoff of the `incumbent`."""

    def __init__(self, root: N, incumbent: Incumbent) -> None:
        self.incumbent = incumbent
        self.open: list[tuple[float, int, N]] = [(root.bound, root.number, root)]
        self.away: dict[int, N] = {}

    @property
    def done(self) -> bool:
        return not self.away and not self.open

    @property
    def n_open(self) -> int:
        return len(self.open) + len(self.away)

    @property
    def bound(self) -> float:
        """What no point falls below, unless it is one of the leaves that were handed out."""
        waiting = [self.open[0][0]] if self.open else []
        return min([self.incumbent.cutoff, *waiting, *(node.bound for node in self.away.values())])
