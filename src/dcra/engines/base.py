"""The contract of an engine: take starts to local answers, a little work at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NamedTuple

from dcra._array import Host
from dcra.compiled.form import Compiled


@dataclass(frozen=True, eq=False)
class Starts:
    """Starts number `first`, `first + 1`, ... of a seed.

    Whatever is random in start i depends on (seed, i) alone. `points` (count, n) holds given initial spins.
    """

    seed: int
    first: int
    count: int
    points: Host | None = None


class State(ABC):
    """Where some starts stand. Owned by one thread at a time."""

    @abstractmethod
    def advance(self, work: int) -> None:
        """Go on, touching about `work` entries of A, then return; no-op once `done`."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether all starts have come to their ends."""

    @abstractmethod
    def candidates(self) -> Host:
        """The spins these starts stand for now, (count, n) on the host."""

    def estimate(self) -> float | None:
        """The objective of the best candidate up to rounding, where it is known without a pass over A."""
        return None

    @property
    def steps(self) -> int:
        """Iterations made so far, over all starts."""
        return 0

    @property
    def work(self) -> float:
        """Entries of A touched so far; 0 where that is not counted."""
        return 0.0

    @property
    def pace(self) -> float:
        """Entries of A that a step touches, in the mean; 0 where that is not known."""
        return self.work / self.steps if self.steps else 0.0

    @property
    def stages(self) -> tuple[State, ...]:
        """The states that this one is made of, in the order of their turns."""
        return (self,)

    @property
    def facts(self) -> dict[str, Any]:
        """What only its own plan reads of it: plain values by name, and states it is made of."""
        return {}

    def take_news(self) -> list[News]:
        """What is known since the last call and need not wait for the end; asked for between two advances."""
        return []


class News(NamedTuple):
    """Points met on the way, spins (k, n), and a lower bound of the objective."""

    spins: Host
    lower_bound: float = -inf


class InTurn(State):
    """One start after another; `current` is the number of the one at work.

    A subclass sets up what all starts share and then calls `__init__`, which begins the first.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.current = -1
        self._steps, self._work = 0, 0.0
        self._next_start()

    @abstractmethod
    def begin(self) -> None:
        """Set up start number `current`."""

    @abstractmethod
    def search(self, work: int) -> bool:
        """Go on for about `work` entries; True when this start is finished."""

    def keep(self, finished: bool) -> None:
        """Note the answer of the current start, as far as it has come."""

    def advance(self, work: int) -> None:
        if self.done:
            return
        finished = self.search(work)
        self.keep(finished)
        if finished:
            self._next_start()

    def _next_start(self) -> None:
        self.current += 1
        if not self.done:
            self.begin()

    @property
    def done(self) -> bool:
        return self.current >= self.count

    @property
    def steps(self) -> int:
        return self._steps

    @property
    def work(self) -> float:
        return self._work


class Engine(ABC):
    """Options of a method, as a frozen dataclass; `start` gives a resumable state."""

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset()
    """What a problem must offer: keys of `dcra.methods.NEEDS`."""
    plan: ClassVar[str] = "repeat"
    """How its starts are scheduled: a key of `dcra.methods.PLANS`."""
    takes_constraints: ClassVar[bool] = False
    """Whether it keeps constraints itself, so that they need not become penalties."""
    travels: ClassVar[bool] = True
    """Whether its starts may be taken to their ends on another machine: not where it waits for others."""

    def batch(self, compiled: Compiled) -> int:
        """How many starts go together; a function of the problem alone."""
        return 1

    def setup_work(self, compiled: Compiled) -> int:
        """Entries of A touched by `start` itself, which cannot be interrupted."""
        return 2 * compiled.work_per_pass

    @abstractmethod
    def start(self, compiled: Compiled, starts: Starts) -> State:
        """The state of `starts.count` starts, which `advance` takes on from there."""
