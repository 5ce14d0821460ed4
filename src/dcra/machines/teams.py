"""Whom `executor=` names: a client of Dask, or any executor of concurrent.futures.

A team brings what all its errands share, such as a problem, to its workers once, and hands them errands. How
that travels, who does it, and what is done again after a worker was lost is up to the engine.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Executor, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from dcra.machines.parcel import Missing, Shipment, carry_out_parcel
from dcra.machines.pickles import Cargo
from dcra.machines.worker import Errand, carry_out, halt, halt_soon


class Team(ABC):
    """The workers of one search or batch.

    Parameters
    ----------
    shared : object
        What all errands need, such as a problem.
    """

    def __init__(self, shared: Any) -> None:
        from dcra import __version__

        self.shared, self.version = shared, __version__
        self.key = uuid.uuid4().hex

    @abstractmethod
    def send(self, errand: Errand) -> Future[Any]:
        """Let somebody carry out an errand; what is shared goes out with the first."""

    def again(self, errand: Errand, answer: Any) -> Future[Any] | None:
        """Send an errand once more, where the answer asks for that; None for one that is final."""
        return None

    recovers = False
    """Whether the engine goes on with other workers after some were lost."""

    def recover(self) -> None:  # noqa: B027
        """Get ready to send errands again that were lost with their workers."""

    def is_empty(self) -> bool:
        """Whether there is nobody left."""
        return False

    @abstractmethod
    def halt(self) -> None:
        """Let all workers return what they have."""

    def close(self) -> None:
        self.halt()


class ThreadTeam(Team):
    """Threads of this process: nothing travels."""

    def __init__(self, shared: Any, executor: Executor) -> None:
        super().__init__(shared)
        self.executor = executor

    def send(self, errand: Errand) -> Future[Any]:
        return self.executor.submit(carry_out, errand, self.shared)

    def halt(self) -> None:
        halt(self.key)


class ProcessTeam(Team):
    """Processes, which map what is shared; those on other hosts get it with an errand."""

    def __init__(self, shared: Any, executor: Executor) -> None:
        super().__init__(shared)
        self.executor = executor
        self.shipment: Shipment | None = None

    def send(self, errand: Errand) -> Future[Any]:
        if self.shipment is None:
            self.shipment = Shipment(self.shared, self.key)
        return self.executor.submit(carry_out_parcel, errand, self.shipment.parcel)

    def again(self, errand: Errand, answer: Any) -> Future[Any] | None:
        if not isinstance(answer, Missing):
            return None
        assert self.shipment is not None
        return self.executor.submit(carry_out_parcel, errand, self.shipment.enclosed())

    def halt(self) -> None:
        if self.shipment is not None:
            self.shipment.halt()

    def close(self) -> None:
        if self.shipment is not None:
            self.shipment.close()


class DaskTeam(Team):
    """Workers of a Dask cluster: what is shared is scattered to all of them, and kept by each."""

    recovers = True

    def __init__(self, shared: Any, client: Any) -> None:
        super().__init__(shared)
        self.client = client
        self.scattered: Any = None
        self.halted = False

    def send(self, errand: Errand) -> Future[Any]:
        if self.scattered is None:
            self.scattered = self.client.scatter(Cargo(self.shared), broadcast=True, hash=False)
        return promised(self.client.submit(carry_out_arrived, errand, self.scattered, pure=False))

    def recover(self) -> None:
        """The last copy of what is shared may have gone with its worker: it is scattered again."""
        if self.scattered is not None and self.scattered.status != "finished":
            self.scattered = None

    def is_empty(self) -> bool:
        try:
            return self.client.status != "running" or not self.client.nthreads()
        except OSError:  # nor is there a scheduler
            return True

    def halt(self) -> None:
        if self.halted:
            return
        self.halted = True
        with suppress(OSError, ValueError):
            self.client.run(halt_soon, self.key, wait=False, on_error="ignore")

    def close(self) -> None:
        self.halt()
        self.scattered = None


def promised(future: Any) -> Future[Any]:
    """A future of Dask as one of the standard library, which hears of all that may become of it.

    A result may be lost with its worker between its end and its journey; Dask's own executor would not tell.
    """
    promise: Future[Any] = Future()

    def hand_over(done: Any) -> None:
        with suppress(InvalidStateError):  # it was cancelled meanwhile
            try:
                answer = done.result()
            except BaseException as error:
                promise.set_exception(error)
            else:
                promise.set_result(answer)

    promise.add_done_callback(lambda one: future.cancel() if one.cancelled() else None)
    future.add_done_callback(hand_over)
    return promise


def carry_out_arrived(errand: Errand, arrived: Cargo) -> Any:
    """What `carry_out` does, with what lies with the worker."""
    return carry_out(errand, arrived.shared)


def team_for(executor: Any) -> tuple[Callable[[Any], Team], int | None]:
    """What makes a team of an executor's workers, and how many they are; None where that is not known."""
    if callable(getattr(executor, "scatter", None)) and callable(getattr(executor, "get_executor", None)):
        return lambda shared: DaskTeam(shared, executor), _count_dask(executor)
    if not isinstance(executor, Executor):
        raise TypeError(
            "`executor` must be None, a dask.distributed.Client or a concurrent.futures.Executor; "
            f"got {type(executor).__name__}"
        )
    kind = ThreadTeam if isinstance(executor, ThreadPoolExecutor) else ProcessTeam
    return lambda shared: kind(shared, executor), _count(executor)


def _count_dask(client: Any) -> int:
    """The threads of all workers."""
    if getattr(client, "asynchronous", False):
        raise TypeError("`executor` must be a client that was not made with asynchronous=True")
    if client.status != "running":
        raise ValueError(f"`executor` is a client without a scheduler: its status is {client.status!r}")
    return sum(client.nthreads().values())


def _count(executor: Executor) -> int | None:
    for name in ("_max_workers", "num_workers"):
        found = getattr(executor, name, None)
        if isinstance(found, int) and found > 0:
            return found
    return None
