"""What every worker does, whatever it was sent for: it carries out errands until they, or their search, end.

An errand is a pure function of what it brings along and of what its team has shipped once, so that one that
was lost is simply done again.
"""

from __future__ import annotations

import os
import socket
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dcra._kernels import library
from dcra.foreign import Lock
from dcra.search.threads import one_blas_thread

KEPT, REMEMBERED = 2, 10_000
"""Teams whose things a worker keeps, and of how many it knows that they have ended."""


@dataclass(frozen=True, eq=False)
class Errand(ABC):
    """Something to do for a team, within some seconds from when it was sent."""

    key: str
    version: str
    seconds: float

    @abstractmethod
    def carry_out(self, shared: Any, over: Callable[[], bool]) -> Any:
        """Do it with what the team has shipped, until it is done or `over`."""

    def kept(self, make: Callable[[], Any]) -> Any:
        """What this process keeps for the team, made by the first errand that asks."""
        with _lock.held:
            if self.key not in _kept:
                _kept[self.key] = make()
            _kept.move_to_end(self.key)
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
            return _kept[self.key]


class Worker(NamedTuple):
    """Who has carried it out."""

    host: str
    process: int
    loops: bool
    why_not: str

    @classmethod
    def here(cls) -> Worker:
        return cls(socket.gethostname(), os.getpid(), library.available(), library.why_not())


def carry_out(errand: Errand, shared: Any, halted: Callable[[], bool] | None = None) -> Any:
    """Carry out an errand here; `halted` says whether its team has ended."""
    require_version(errand.version)
    end = time.perf_counter() + errand.seconds
    stopped = halted or (lambda: errand.key in _halted)

    def over() -> bool:
        return time.perf_counter() >= end or stopped()

    with one_blas_thread():
        return errand.carry_out(shared, over)


_kept: OrderedDict[str, Any] = OrderedDict()
_halted: OrderedDict[str, None] = OrderedDict()
_lock = Lock()


def halt(key: str) -> None:
    """Let all errands of a team return what they have, and forget what was kept for it."""
    with _lock.held:
        _halted[key] = None
        while len(_halted) > REMEMBERED:
            _halted.popitem(last=False)
        _kept.pop(key, None)


async def halt_soon(key: str) -> None:
    """`halt`, for engines that run what need not be waited for as coroutines."""
    halt(key)


def require_version(theirs: str) -> None:
    from dcra import __version__  # the root is complete by the time that anything is carried out

    if theirs != __version__:
        raise RuntimeError(
            f"a worker has dcra {__version__}, the caller dcra {theirs}: install the same version on both"
        )
