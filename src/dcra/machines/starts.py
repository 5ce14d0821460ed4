"""Starts of a problem that came once, and is kept in its compiled form."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dcra.compiled.form import Compiled, compile_problem
from dcra.engines.base import Engine, News, Starts
from dcra.engines.ended import Ended, packed
from dcra.machines.worker import Errand, Worker
from dcra.model.problem import Problem
from dcra.model.watch import Watch
from dcra.named import load
from dcra.search.driver import advance_in_steps

KEPT_FORMS = 3
"""Forms of a problem that a worker keeps: penalties of constraints make a new one as they grow."""


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


class Answer(NamedTuple):
    """A reply to each order, None to those that came after the end, and who has done them."""

    replies: list[Reply | None]
    worker: Worker


@dataclass(frozen=True, eq=False)
class StartsErrand(Errand):
    """Take the starts of all orders to their ends, or as far as they come."""

    orders: tuple[Order, ...]

    def carry_out(self, shared: Problem, over: Callable[[], bool]) -> Answer:
        replies = [None if over() else self._reply(shared, order, over) for order in self.orders]
        return Answer(replies, Worker.here())

    def _reply(self, problem: Problem, order: Order, over: Callable[[], bool]) -> Reply:
        entered = time.perf_counter()
        shop: Workshop = self.kept(lambda: Workshop(problem))
        compiled = shop.form(order.made_by).watched(Watch(time.perf_counter, ended=over))
        state = order.begun(compiled)
        news: list[News] = []
        shop.chunk = advance_in_steps(
            state,
            shop.chunk or compiled.work_per_pass,
            over,
            lambda: news.extend(state.take_news()),
            time.perf_counter,
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
