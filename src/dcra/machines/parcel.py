"""How a problem travels to processes that an executor has: written once to memory that all of them map.

The first byte of that memory is the flag by which all of them learn that the search is over. A process on
another host does not find the file; it says so, and gets the bytes with the job.
"""

from __future__ import annotations

import mmap
import pickle
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from dcra.machines.pickles import ALIGNMENT, dumps
from dcra.machines.worker import Errand, carry_out

MEMORY = Path("/dev/shm")
"""Files here are memory, where there is room."""


class Missing(NamedTuple):
    """The answer of a process that does not find the problem."""


@dataclass(frozen=True)
class Parcel:
    """Where a pickled problem lies: its file, and from where to where the pickle and each array are."""

    path: str
    key: str
    spans: tuple[tuple[int, int], ...]
    enclosed: bytes | None = None  # the content of the file, for those who cannot read it

    def opened(self) -> tuple[Any, Callable[[], bool]]:
        """The problem, and whether the search is over; FileNotFoundError on another host."""
        content, halted = self._content()
        views = [memoryview(content)[lo:hi] for lo, hi in self.spans]
        return pickle.loads(views[0], buffers=views[1:]), halted

    def _content(self) -> tuple[Any, Callable[[], bool]]:
        if self.enclosed is not None:
            return self.enclosed, lambda: False
        with open(self.path, "rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return content, lambda: content[0] != 0


class Shipment:
    """A problem that has been written out for other processes, until it is closed."""

    def __init__(self, problem: Any, key: str) -> None:
        buffers: list[pickle.PickleBuffer] = []
        pickled = dumps(problem, buffers.append)
        parts = [memoryview(pickled), *(buffer.raw() for buffer in buffers)]
        spans, at = [], ALIGNMENT
        for part in parts:
            spans.append((at, at + part.nbytes))
            at = -(-(at + part.nbytes) // ALIGNMENT) * ALIGNMENT
        self.folder = Path(tempfile.mkdtemp(prefix="dcra-", dir=_room_for(at)))
        path = self.folder / "problem"
        with path.open("wb") as file:
            file.truncate(at)
            for part, (lo, _) in zip(parts, spans, strict=True):
                file.seek(lo)
                file.write(part)
        self.parcel = Parcel(str(path), key, tuple(spans))

    def enclosed(self) -> Parcel:
        """The parcel with all of its content."""
        return replace(self.parcel, enclosed=Path(self.parcel.path).read_bytes())

    def halt(self) -> None:
        with suppress(FileNotFoundError), open(self.parcel.path, "r+b") as file:
            file.write(b"\x01")

    def close(self) -> None:
        self.halt()
        shutil.rmtree(self.folder, ignore_errors=True)


def carry_out_parcel(errand: Errand, parcel: Parcel) -> Any:
    """What `carry_out` does, with what comes in a parcel and is unpacked once; `Missing` without its file."""
    kept = _opened.get(parcel.key)
    if kept is None:
        try:
            kept = parcel.opened()
        except FileNotFoundError:
            return Missing()
        _opened.clear()
        _opened[parcel.key] = kept
    return carry_out(errand, kept[0], kept[1])


_opened: dict[str, tuple[Any, Callable[[], bool]]] = {}


def _room_for(size: int) -> str | None:
    """A folder in memory if there is room, else None for the usual one."""
    with suppress(OSError):
        if shutil.disk_usage(MEMORY).free > 2 * size:
            return str(MEMORY)
    return None
