"""What runs on a worker: starts of a problem that came once, and is kept in its compiled form.

A job is a pure function of the problem, the engine's options and the starts, so that a job that was lost is
simply done again.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dcra._kernels import library
from dcra.compiled.form import Compiled, compile_problem
from dcra.engines.base import Engine, News, Starts
from dcra.engines.ended import Ended, packed
from dcra.model.problem import Problem
from dcra.model.watch import Watch
from dcra.named import load
from dcra.search.driver import advance_in_steps
from dcra.search.threads import one_blas_thread

KEPT_PROBLEMS, KEPT_FORMS = 2, 3
"""Problems that a worker keeps, and forms of each: penalties of constraints make a new one as they grow."""


@dataclass(frozen=True, eq=False)
class Order:
    """Some starts of an engine, on a form that `Compiled.made_by` names."""

    engine: Engine
    starts: Starts
    made_by: tuple[Any, ...]

    @classmethod
    def of(cls, task: Any) -> Order:
        starts = task.starts
        if starts.points is not None:
            starts = replace(starts, points=packed(starts.points))
        return cls(task.engine, starts, () if task.compiled is None else task.compiled.made_by)

    def begun(self, compiled: Compiled) -> Any:
        points = self.starts.points
        starts = self.starts if points is None else replace(self.starts, points=points.astype(float))
        return self.engine.start(compiled, starts)


class Reply(NamedTuple):
    """What became of an order, and the seconds it took."""

    state: Ended
    seconds: float


class Worker(NamedTuple):
    """Who has done it."""

    host: str
    process: int
    loops: bool
    why_not: str

    @classmethod
    def here(cls) -> Worker:
        return cls(socket.gethostname(), os.getpid(), library.available(), library.why_not())


class Answer(NamedTuple):
    """A reply to each order, None to those that came after the end, and who has done them."""

    replies: list[Reply | None]
    worker: Worker


@dataclass(frozen=True)
class Errand:
    """What a job brings along besides the problem."""

    key: str
    version: str
    orders: tuple[Order, ...]
    seconds: float  # until the search ends, as of when it was sent


def carry_out(errand: Errand, problem: Problem, halted: Callable[[], bool] | None = None) -> Answer:
    """Take the starts of all orders to their ends, or as far as they come."""
    require_version(errand.version)
    end = time.perf_counter() + errand.seconds
    stopped = halted or (lambda: errand.key in _halted)

    def over() -> bool:
        return time.perf_counter() >= end or stopped()

    with one_blas_thread():
        replies = [None if over() else _reply(errand, problem, order, over) for order in errand.orders]
    return Answer(replies, Worker.here())


def _reply(errand: Errand, problem: Problem, order: Order, over: Callable[[], bool]) -> Reply:
    entered = time.perf_counter()
    shop = workshop(errand.key, problem)
    compiled = shop.form(order.made_by).watched(Watch(time.perf_counter, ended=over))
    state = order.begun(compiled)
    news: list[News] = []
    work = shop.chunk or compiled.work_per_pass
    shop.chunk = advance_in_steps(
        state, work, over, lambda: news.extend(state.take_news()), time.perf_counter
    )
    ended = Ended(state)
    ended.add_news(news)
    return Reply(ended, time.perf_counter() - entered)


class Workshop:
    """A problem, and the forms of it that were asked for last."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem.watched(Watch(time.perf_counter))  # the clock of another machine is none
        self.chunk = 0
        self.lock = threading.Lock()
        self.forms: OrderedDict[Any, Compiled] = OrderedDict()

    def form(self, made_by: tuple[Any, ...]) -> Compiled:
        with self.lock:
            plain = self.forms.get(()) or self._keep((), compile_problem(self.problem))
            key = tuple(part if isinstance(part, str) else part.tobytes() for part in made_by)
            return self.forms.get(key) or self._keep(key, load(made_by[0])(plain, *made_by[1:]))

    def _keep(self, key: Any, form: Compiled) -> Compiled:
        self.forms[key] = form
        while len(self.forms) > KEPT_FORMS:  # the oldest, but for the plain one
            del self.forms[next(known for known in self.forms if known)]
        return form


_shops: OrderedDict[str, Workshop] = OrderedDict()
_halted: set[str] = set()
_lock = threading.Lock()


def workshop(key: str, problem: Problem) -> Workshop:
    """Where a problem is worked on."""
    with _lock:
        if key not in _shops:
            _shops[key] = Workshop(problem)
        _shops.move_to_end(key)
        while len(_shops) > KEPT_PROBLEMS:
            _shops.popitem(last=False)
        return _shops[key]


def halt(key: str) -> None:
    """Let all jobs of a search return what they have, and forget its problem."""
    with _lock:
        _halted.add(key)
        _shops.pop(key, None)


async def halt_soon(key: str) -> None:
    """`halt`, for engines that run what need not be waited for as coroutines."""
    halt(key)


def require_version(theirs: str) -> None:
    from dcra import __version__  # the root is complete by the time that anything is carried out

    if theirs != __version__:
        raise RuntimeError(
            f"a worker has dcra {__version__}, the caller dcra {theirs}: install the same version on both"
        )
