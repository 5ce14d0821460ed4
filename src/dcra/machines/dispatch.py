"""Errands under way: who carries them out, what comes back, and what is sent again after a loss."""

from __future__ import annotations

import time
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from dcra.machines.teams import Team
from dcra.machines.worker import Errand
from dcra.search.workers import NobodyLeft

SILENCE, ABSENCE = 1.0, 30.0
"""Seconds of silence after which it is asked whether anybody is left, and how long to wait for others."""

MOST_LOSSES = 20
"""Times that an errand is sent again before a search gives up."""

LOSSES = ("KilledWorker", "FutureCancelledError")
"""Names of Dask's own errors for work that was lost with its workers."""


@dataclass(eq=False)
class Flight:
    """An errand under way, and what it is for."""

    tag: Any
    future: Future[Any]
    errand: Errand | None = None  # None for what a thread does here
    losses: int = 0


class Landed(NamedTuple):
    """What has come back; `afar` says whether from the team, or from a thread of ours."""

    tag: Any
    answer: Any
    afar: bool


class Dispatch:
    """Sends errands to a team and hears of them; for one thread."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.events: SimpleQueue[Flight] = SimpleQueue()
        self.flying: list[Flight] = []
        self.stranded: list[Flight] = []  # whose workers were lost
        self.heard = time.perf_counter()

    def __len__(self) -> int:
        return len(self.flying) + len(self.stranded)

    def send(self, tag: Any, errand: Errand, losses: int = 0) -> None:
        try:
            sent = self.team.send(errand)
        except BrokenExecutor as loss:
            raise NobodyLeft(gone(loss)) from loss
        except RuntimeError as error:  # what all executors of the standard library say of their end
            raise ValueError(f"`executor` takes no work any more: {error}") from error
        except OSError:  # a worker that has died may be on its scheduler's list for a while
            self.stranded.append(Flight(tag, Future(), errand, losses))
        else:
            self.watch(Flight(tag, sent, errand, losses))

    def watch(self, flight: Flight) -> None:
        self.flying.append(flight)
        flight.future.add_done_callback(lambda _: self.events.put(flight))

    def hear(self, seconds: float, ending: bool = False) -> list[Landed]:
        """Wait for somebody to be done; all who are. `ending` says that what is lost now is not missed."""
        landed: list[Landed] = []
        try:
            flight = self.events.get(timeout=seconds)
        except Empty:
            if not ending:
                self._look_around()
            return landed
        while True:
            self.flying.remove(flight)
            landed += self._land(flight, ending)
            if self.events.empty():
                return landed
            flight = self.events.get()

    def _land(self, flight: Flight, ending: bool) -> list[Landed]:
        self.heard = time.perf_counter()
        try:
            answer = flight.future.result()
        except (Exception, CancelledError) as error:
            lost = isinstance(error, BrokenExecutor | CancelledError) or type(error).__name__ in LOSSES
            if not lost:
                raise explained(error) from None
            if not ending:
                self._lose(flight, error)
            return []
        again = None if flight.errand is None else self.team.again(flight.errand, answer)
        if again is None:
            return [Landed(flight.tag, answer, flight.errand is not None)]
        self.watch(Flight(flight.tag, again, flight.errand, flight.losses))
        return []

    def _lose(self, flight: Flight, loss: BaseException) -> None:
        """Keep an errand that was lost until somebody is there who could carry it out."""
        if flight.errand is None or not self.team.recovers or flight.losses >= MOST_LOSSES:
            raise NobodyLeft(gone(loss))
        self.stranded.append(flight)

    def send_again(self) -> None:
        """After losses: let those who are there carry out what others have left."""
        if not self.stranded:
            return
        if not self.team.is_empty():
            self.team.recover()
            stranded, self.stranded = self.stranded, []
            for flight in stranded:
                assert flight.errand is not None
                self.send(flight.tag, flight.errand, flight.losses + int(flight.future.done()))
        self._expect_somebody(not self.stranded)

    def _look_around(self) -> None:
        afar = any(flight.errand is not None for flight in self.flying)
        if afar and time.perf_counter() - self.heard > SILENCE:
            self._expect_somebody(not self.team.is_empty())

    def _expect_somebody(self, present: bool) -> None:
        """An error where nobody has been there for long."""
        if present:
            self.heard = time.perf_counter()
        elif time.perf_counter() - self.heard > ABSENCE:
            raise NobodyLeft(f"`executor` has had no worker for {ABSENCE:g} seconds")

    @property
    def busy_here(self) -> bool:
        return any(flight.errand is None for flight in self.flying)

    def close(self) -> None:
        """Let all workers end; what they have not begun is cancelled."""
        self.team.close()
        for flight in self.flying:
            flight.future.cancel()


def gone(loss: BaseException) -> str:
    return f"the workers of `executor` are gone ({type(loss).__name__}: {loss})"


def explained(error: BaseException) -> BaseException:
    """What a worker failed with, in a sentence where the reason is known."""
    if isinstance(error, ModuleNotFoundError) and str(error.name or "").split(".")[0] == "dcra":
        return RuntimeError(
            f"a worker of `executor` has no {error.name}: install the caller's version of dcra there"
        )
    return error
