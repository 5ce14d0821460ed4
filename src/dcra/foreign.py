"""Libraries that are loaded on first use: by one thread at a time, and with their BLAS kept in its place.

SciPy's modules import each other in circles: a thread that comes while another is importing them may find one
without its contents. And SciPy brings a BLAS of its own, which a solve that is running has not limited yet.

Locks are those of this module everywhere: a forked child finds them free, for none of the threads that may
have held them is there.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet


class Lock:
    """`with lock.held:` keeps other threads out; the one inside may enter again."""

    def __init__(self) -> None:
        self.held = threading.RLock()
        _locks.add(self)


_locks: WeakSet[Lock] = WeakSet()


def _renew_all() -> None:
    for lock in _locks:
        lock.held = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)


class BlasThreads:
    """How many solves ask BLAS to stay on one thread, and what each library had before the first of them."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.solves = 0
        self.before: list[tuple[Any, int]] = []  # libraries that are limited, with their own thread counts
        self.seen = self.seen_of_others = 0  # modules there were when libraries were looked for
        self.known: list[Any] = []

    def enter(self) -> None:
        with self.lock.held:
            self.solves += 1
            if self.solves == 1:
                self._limit(self._libraries())
            else:
                self.look_again()

    def leave(self) -> None:
        with self.lock.held:
            self.solves -= 1
            if self.solves == 0:
                for library, count in self.before:
                    _set_threads(library, count)
                self.before = []

    def look_again(self) -> None:
        """Limit what was loaded since a solve began."""
        with self.lock.held:
            if self.solves and self._something_came():
                limited = {library.filepath for library, _ in self.before}
                self._limit([found for found in self._libraries() if found.filepath not in limited])

    def _limit(self, libraries: list[Any]) -> None:
        for library in libraries:
            self.before.append((library, library.num_threads))
            _set_threads(library, 1)

    def _libraries(self) -> list[Any]:
        """The libraries that are loaded now; they are looked for only where modules were imported."""
        if self._something_came():
            from threadpoolctl import ThreadpoolController

            self.known = ThreadpoolController().select(user_api="blas").lib_controllers
            self.seen, self.seen_of_others = len(sys.modules), _modules_of_others()
        return self.known

    def _something_came(self) -> bool:
        """Whether modules were loaded since; ours, which come as they are needed, bring no BLAS."""
        if self.seen == len(sys.modules):
            return False
        if self.seen_of_others == _modules_of_others():
            self.seen = len(sys.modules)
            return False
        return True


def _modules_of_others() -> int:
    return sum(not name.startswith("dcra.") for name in tuple(sys.modules))


def _set_threads(library: Any, count: int) -> None:
    """Whichever thread was the last to do so: threadpoolctl else leaves it to the first that ever did."""
    free = getattr(library, "clear_controlling_thread", lambda force: None)
    free(force=True)
    library.set_num_threads(count)
    free(force=True)


_blas = BlasThreads()
_importing = Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Parallel work is ours: BLAS inside it stays on one thread, until the last of several solves ends."""
    _blas.enter()
    try:
        yield
    finally:
        _blas.leave()


@contextmanager
def importing() -> Iterator[None]:
    """Import a module of SciPy inside: no other thread does at the same time, and its BLAS is limited."""
    with _importing.held:
        yield
    limit_what_was_loaded()


def limit_what_was_loaded() -> None:
    """Where a solve runs: bring a BLAS that somebody has loaded since it began to one thread, too."""
    _blas.look_again()


def is_sparse(A: object) -> bool:
    """Whether A is a matrix of scipy.sparse, which whoever has made one has imported."""
    test = getattr(sys.modules.get("scipy.sparse"), "issparse", None)  # none while it is being imported
    return test is not None and bool(test(A))
