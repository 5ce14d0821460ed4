"""The crew of a search whose workers are elsewhere; this thread hands out tasks and takes note of outcomes.

Tasks are chosen, and outcomes counted, as `search.workers.Crew` does: where starts are counted, the answer is
the same. What cannot travel - the lower bound, solvers that wait for others - is done by threads here.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

from dcra._kernels import library
from dcra.machines.dispatch import Dispatch, Flight
from dcra.machines.starts import Answer, Order, Reply, StartsErrand
from dcra.machines.teams import Team
from dcra.machines.worker import Worker
from dcra.search.plans import Outcome
from dcra.search.workers import PATIENCE, Crew, Job, workers

GRACE = 0.3
"""Seconds that workers have to hand in what they have, once the search is over."""

MARGIN, MARGIN_SHARE = 0.05, 0.02
"""Workers end this much before a time limit, for the way back: seconds, or a share of the time left."""

ERRAND_SECONDS = 0.25
"""About what an errand should take at least: orders that take less go together, as the window allows."""


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
        self.dispatch = Dispatch(team)
        self.n_workers = 1
        self.pace = 0.0  # seconds of an order, in the mean of late
        self.hosts: set[str] = set()

    def run(self, n_workers: int, halt: Callable[[], None]) -> None:
        """Work with `n_workers` of the team; `halt` makes those who work here end."""
        self.n_workers = n_workers
        try:
            while self._go_on():
                self._hear()
            if len(self.dispatch):
                halt()
                self._call_in()
        except BaseException:
            halt()
            raise
        finally:
            self.dispatch.close()

    def _go_on(self) -> bool:
        """Send out what there is to do; whether there is anything to wait for."""
        if self.halted():
            return False
        self.dispatch.send_again()
        with self.lock:
            self._fill()
        while len(self.dispatch) < self.abreast and self._is_ready():
            self._send(self._together())
        return len(self.dispatch) > 0

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
            self.dispatch.watch(Flight(jobs, workers().submit(jobs[0].run, _nothing)))
            return
        left = self.seconds_left()
        orders = tuple(Order.of(job.task) for job in jobs)
        seconds = left - min(MARGIN, MARGIN_SHARE * left)
        self.dispatch.send(jobs, StartsErrand(self.team.key, self.team.version, seconds, orders))

    def _hear(self, ending: bool = False) -> None:
        for jobs, answer, afar in self.dispatch.hear(PATIENCE, ending):
            if afar:
                self._accept(answer, jobs)
            else:
                self._hand_in(jobs[0], answer)
        self.tick()

    def _accept(self, answer: Answer, jobs: list[Job]) -> None:
        self._greet(answer.worker)
        for job, reply in zip(jobs, answer.replies, strict=True):
            if reply is not None:
                self.pace = 0.5 * (self.pace or reply.seconds) + 0.5 * reply.seconds
            self._hand_in(job, None if reply is None else _outcome(reply))

    def _greet(self, worker: Worker) -> None:
        """Say once of a host that its workers have no compiled loops, where there are some here."""
        if worker.loops or not library.available() or worker.host in self.hosts:
            return
        self.hosts.add(worker.host)
        warnings.warn(
            f"workers on {worker.host} have no compiled loops ({worker.why_not}): they use array code, and "
            "may find other answers",
            RuntimeWarning,
            stacklevel=2,
        )

    def _call_in(self) -> None:
        """The search is over: let everybody return what they have, and do not wait long."""
        self.team.halt()
        end = time.perf_counter() + GRACE
        while self.dispatch.flying and (time.perf_counter() < end or self.dispatch.busy_here):
            self._hear(ending=True)
        for job in list(self.open):  # jobs that never came back keep none of the others waiting
            if job.finished:
                self.open.remove(job)
                job.absorb(job.outcome)


def _outcome(reply: Reply) -> Outcome:
    return Outcome(reply.state.candidates(), reply.state, reply.seconds)


def _nothing() -> None:
    """The tick of threads that are not the main one."""
