"""The crew of a search whose workers are elsewhere; this thread hands out tasks and takes note of outcomes.

Tasks are chosen, and outcomes counted, as `search.workers.Crew` does: where starts are counted, the answer is
the same. What cannot travel - the lower bound, solvers that wait for others - is done by threads here.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from dcra.machines.teams import MOST_LOSSES, Team
from dcra.machines.worker import Answer, Errand, Order, Reply, Worker
from dcra.search.plans import Outcome
from dcra.search.workers import PATIENCE, Crew, Job, NobodyLeft, workers

GRACE = 0.3
"""Seconds that workers have to hand in what they have, once the search is over."""

MARGIN, MARGIN_SHARE = 0.05, 0.02
"""Workers end this much before a time limit, for the way back: seconds, or a share of the time left."""

ERRAND_SECONDS = 0.25
"""About what an errand should take at least: orders that take less go together, as the window allows."""

SILENCE, ABSENCE = 1.0, 10.0
"""Seconds of silence after which it is asked whether anybody is left, and how long to wait for others."""


@dataclass(eq=False)
class Flight:
    """An errand under way, and the jobs it is for."""

    jobs: list[Job]
    future: Future[Any]
    errand: Errand | None = None  # None for what a thread does here
    losses: int = 0


class FarCrew(Crew):
    """Carries out jobs by a team; the parameters are those of `Crew`.

    Parameters
    ----------
    team : Team
    abreast : int
        Errands under way at a time, at most.
    seconds_left : callable
        Until the search ends.
    """

    def __init__(self, *args: Any, team: Team, abreast: int, seconds_left: Callable[[], float]) -> None:
        super().__init__(*args)
        self.team, self.abreast, self.seconds_left = team, abreast, seconds_left
        self.events: SimpleQueue[Flight] = SimpleQueue()
        self.flying: list[Flight] = []
        self.stranded: list[Flight] = []  # whose workers were lost
        self.n_workers = 1
        self.pace = 0.0  # seconds of an order, in the mean of late
        self.heard = time.perf_counter()
        self.hosts: set[str] = set()

    def run(self, n_workers: int, halt: Callable[[], None]) -> None:
        """Work with `n_workers` of the team; `halt` makes those who work here end."""
        self.n_workers = n_workers
        try:
            while self._go_on():
                self._hear(PATIENCE)
                self.tick()
            if self.flying:
                halt()
                self._call_in()
        except BaseException:
            halt()
            raise
        finally:
            self.team.close()
            for flight in self.flying:
                flight.future.cancel()
        if self.error is not None:
            raise self.error

    def _go_on(self) -> bool:
        """Send out what there is to do; whether there is anything to wait for."""
        if self.halted() or self.error is not None:
            return False
        self._send_again()
        with self.lock:
            self._fill()
        while len(self.flying) < self.abreast and self._is_ready():
            self._send(self._together())
        return bool(self.flying or self.stranded)

    def _is_ready(self) -> bool:
        """Whether there is a job to send; under a time limit it is chosen now, by what is known now."""
        with self.lock:
            return bool(self.ready) or (not self.in_order and self._choose())

    def _together(self) -> list[Job]:
        """The jobs of the next errand."""
        jobs = [self.ready.popleft()]
        most = self.window // (2 * self.n_workers) if self.in_order and self.pace else 1
        while (
            jobs[0].task is not None
            and len(jobs) < min(most, ERRAND_SECONDS / max(self.pace, 1e-9))
            and self.ready
            and self.ready[0].task is not None
        ):
            jobs.append(self.ready.popleft())
        return jobs

    def _send(self, jobs: list[Job]) -> None:
        if jobs[0].task is None:
            self._watch(Flight(jobs, workers().submit(jobs[0].run, _nothing)))
            return
        left = self.seconds_left()
        errand = self.team.errand(
            tuple(Order.of(job.task) for job in jobs), left - min(MARGIN, MARGIN_SHARE * left)
        )
        self._watch(Flight(jobs, self._handed(errand), errand))

    def _handed(self, errand: Errand) -> Future[Any]:
        try:
            return self.team.send(errand)
        except BrokenExecutor as loss:
            raise NobodyLeft(gone(loss)) from loss
        except RuntimeError as error:  # what all executors of the standard library say of their end
            raise ValueError(f"`executor` takes no work any more: {error}") from error

    def _watch(self, flight: Flight) -> None:
        self.flying.append(flight)
        flight.future.add_done_callback(lambda _: self.events.put(flight))

    def _hear(self, seconds: float) -> None:
        """Wait for somebody to be done, and take note of all who are."""
        try:
            flight = self.events.get(timeout=seconds)
        except Empty:
            afar = any(flight.errand is not None for flight in self.flying)
            if afar and time.perf_counter() - self.heard > SILENCE and not self.halted():
                self._somebody()
            return
        while True:
            self.flying.remove(flight)
            self._land(flight)
            if self.events.empty():
                return
            flight = self.events.get()

    def _land(self, flight: Flight) -> None:
        self.heard = time.perf_counter()
        try:
            answer = flight.future.result()
        except (BrokenExecutor, CancelledError) as loss:
            self._lose(flight, loss)
            return
        except Exception as error:
            if type(error).__name__ in ("KilledWorker", "FutureCancelledError"):
                self._lose(flight, error)
            else:
                self.error = self.error or explained(error)
            return
        if flight.errand is None:
            self._hand_in(flight.jobs[0], answer)
            return
        again = self.team.again(flight.errand, answer)
        if again is not None:
            self._watch(Flight(flight.jobs, again, flight.errand))
            return
        self._accept(answer, flight.jobs)

    def _accept(self, answer: Answer, jobs: list[Job]) -> None:
        self._greet(answer.worker)
        for job, reply in zip(jobs, answer.replies, strict=True):
            if reply is not None:
                self.pace = 0.5 * (self.pace or reply.seconds) + 0.5 * reply.seconds
            self._hand_in(job, None if reply is None else _outcome(reply))

    def _greet(self, worker: Worker) -> None:
        """Say once of a host that its workers have no compiled loops."""
        if worker.loops or worker.host in self.hosts:
            return
        self.hosts.add(worker.host)
        warnings.warn(
            f"workers on {worker.host} have no compiled loops ({worker.why_not}): they use array code, and "
            "may find other answers",
            RuntimeWarning,
            stacklevel=2,
        )

    def _lose(self, flight: Flight, loss: BaseException) -> None:
        """Keep an errand that was lost until somebody is there who could carry it out."""
        if self.halted():
            return
        if flight.errand is None or not self.team.recovers or flight.losses >= MOST_LOSSES:
            raise NobodyLeft(gone(loss))
        self.stranded.append(flight)

    def _send_again(self) -> None:
        """After losses: let those who are there carry out what others have left."""
        if self.stranded and self._somebody():
            self.team.recover()
            for flight in self.stranded:
                assert flight.errand is not None
                sent = self._handed(flight.errand)
                self._watch(Flight(flight.jobs, sent, flight.errand, flight.losses + 1))
            self.stranded.clear()

    def _somebody(self) -> bool:
        """Whether anybody is left; an error where nobody has been for long."""
        if not self.team.is_empty():
            self.heard = time.perf_counter()
            return True
        if time.perf_counter() - self.heard > ABSENCE:
            raise NobodyLeft(f"`executor` has had no worker for {ABSENCE:g} seconds")
        return False

    def _call_in(self) -> None:
        """The search is over: let everybody return what they have, and do not wait long."""
        self.team.halt()
        end = time.perf_counter() + GRACE
        while self.flying and (time.perf_counter() < end or self._busy_here()):
            self._hear(PATIENCE)
            self.tick()
        for job in list(self.open):  # jobs that never came back keep none of the others waiting
            if job.finished:
                self.open.remove(job)
                job.absorb(job.outcome)

    def _busy_here(self) -> bool:
        return any(flight.errand is None for flight in self.flying)


def gone(loss: BaseException) -> str:
    return f"the workers of `executor` are gone ({type(loss).__name__}: {loss})"


def explained(error: Exception) -> Exception:
    """What a worker failed with, in a sentence where the reason is known."""
    if isinstance(error, ModuleNotFoundError) and str(error.name or "").split(".")[0] == "dcra":
        return RuntimeError(
            f"a worker of `executor` has no {error.name}: install the caller's version of dcra there"
        )
    return error


def _outcome(reply: Reply) -> Outcome:
    return Outcome(reply.state.candidates(), reply.state, reply.seconds)


def _nothing() -> None:
    """The tick of threads that are not the main one."""
