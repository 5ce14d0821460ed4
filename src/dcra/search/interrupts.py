"""Ctrl-C: the first one ends all work of ours that it meets, however deeply nested; a second one raises."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Interruption:
    """Whether some work was interrupted; true once it was."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act, self.happened = act, False

    def __bool__(self) -> bool:
        return self.happened

    def happen(self) -> None:
        if not self.happened:
            self.happened = True
            self.act()


class _Nested(threading.local):
    """The work that a thread is in the middle of, from the outside in."""

    def __init__(self) -> None:
        self.levels: list[Interruption] = []


_nested = _Nested()


@contextmanager
def on_interrupt(act: Callable[[], None] = lambda: None) -> Iterator[Interruption]:
    """Let the first Ctrl-C call `act` instead of raising wherever the main thread happens to be.

    Work may be made of other work: Ctrl-C reaches all of it, and what begins inside of interrupted work is
    interrupted from the beginning. A second Ctrl-C raises. No signal is taken care of outside the main
    thread, or where the user has a handler already.
    """
    level = Interruption(act)
    outermost = not _nested.levels
    if any(_nested.levels):
        level.happen()
    _nested.levels.append(level)
    try:
        with _handler() if outermost else _nothing():
            yield level
    finally:
        _nested.levels.pop()


def interrupt_all() -> None:
    """Interrupt the work that this thread is in the middle of."""
    for level in reversed(_nested.levels):
        level.happen()


@contextmanager
def _handler() -> Iterator[None]:
    default = signal.default_int_handler
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not default:
        yield
        return

    def handle(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, default)
        interrupt_all()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, default)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def interruptible() -> Any:
    """A context in which one Ctrl-C ends all solves: the running one, and whatever begins afterwards.

    For loops of your own, or of other libraries, around calls of this one: what runs returns the best so far
    with status `interrupted`, what begins later returns a first answer at once. The context gives an object
    that is true from Ctrl-C on.

    Examples
    --------
    >>> import dcra
    >>> with dcra.interruptible() as interrupted:
    ...     for seed in range(3):
    ...         result = dcra.minimize([[1.0, 2.0]], [1.0], seed=seed)
    ...         if interrupted:
    ...             break
    """
    return on_interrupt()
