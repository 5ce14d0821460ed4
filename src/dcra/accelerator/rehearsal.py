"""The way of a search on a device, gone through once in a process before one with a clock takes it.

The context of the device, modules, libraries and CuPy's own kernels are made when they are first used: in a
second where all of it lies on disk, in a dozen where it has to be compiled. A search with less time than that
leaves it to a thread aside, and finds it done the next time. A small file beside CuPy's compiled kernels says
that they are all there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from dcra.accelerator import device, loader
from dcra.accelerator.form import OutOfReach
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts
from dcra.foreign import Lock

COMPILE_SECONDS, LOAD_SECONDS, NEXT_SECONDS = 15.0, 1.5, 0.2
"""What it takes where kernels are to be compiled, are on disk, and where others were loaded before."""

COMPILE_SHARE, LOAD_SHARE = 0.2, 0.5
"""Of the time left that compiling and loading may take."""

FEW = 256
"""Replicas of a rehearsal, or right-hand sides."""


class Way(NamedTuple):
    """The kernels that a search takes, and the number of the device."""

    kernels: tuple[loader.Kernel, ...]
    number: int


_known: set[Way] = set()
_asked: set[Way] = set()
_one_at_a_time = Lock()


def ready_in_time(way: Way, seconds_left: float | None, rehearse: Callable[[], None]) -> bool:
    """Whether a search can begin: its way is known, or time suffices for a rehearsal, which is held then."""
    if way in _known:
        return True
    if seconds_left is None or _affordable(way, seconds_left):
        _hold(way, rehearse)
        return True
    if way not in _asked:
        _asked.add(way)
        threading.Thread(target=_hold, args=(way, rehearse)).start()
    return False


def play(engine: Engine, compiled: Compiled, count: int) -> None:
    """Some starts of an engine, from beginning to end."""
    state = engine.start(compiled, Starts(0, 0, count))
    while not state.done:
        state.advance(1)
    state.candidates()


def _affordable(way: Way, seconds_left: float) -> bool:
    if not _mark(way).exists():
        return COMPILE_SHARE * seconds_left >= COMPILE_SECONDS
    return LOAD_SHARE * seconds_left >= (NEXT_SECONDS if _known else LOAD_SECONDS)


def _hold(way: Way, rehearse: Callable[[], None]) -> None:
    """Load the kernels and go the way once, unless somebody has.

    The end of the process waits for the kernel at hand: a compiler cannot be left behind.
    """
    with _one_at_a_time.held:
        if way in _known:
            return
        for kernel in way.kernels:
            if not threading.main_thread().is_alive():
                return
            loader.load(kernel, way.number)
        with suppress(device.library().cuda.memory.OutOfMemoryError, OutOfReach), device.memory_watched():
            rehearse()  # what keeps a problem from the device is for the search to tell
        with suppress(OSError):  # where nothing can be written, the next process compiles again
            _mark(way).touch()
        _known.add(way)


def _mark(way: Way) -> Path:
    """The file that says that all was compiled, for this device and these versions."""
    cupy = device.library()
    what = [(loader.source_of(k.source), loader.options_of(k)) for k in way.kernels]
    versions = cupy.cuda.nvrtc.getVersion() if hasattr(cupy.cuda, "nvrtc") else ()
    about = (what, device.capability(way.number), cupy.__version__, versions)
    return _folder() / f"dcra-{sha256(repr(about).encode()).hexdigest()[:32]}"


@cache
def _folder() -> Path:
    return Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")
