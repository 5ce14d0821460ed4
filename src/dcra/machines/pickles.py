"""Problems as bytes: what can be pickled, and arrays that come to lie where they should."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

ALIGNMENT = 64
"""Bytes. Products by BLAS of arrays at odd addresses are made of copies, and may round differently."""


class Cargo:
    """What is shared; after a journey as buffers of pickle's fifth protocol its arrays are aligned again.

    So they are after every further journey, from worker to worker or by way of a scheduler.
    """

    def __init__(self, shared: Any) -> None:
        self.shared = shared
        self.buffers: list[pickle.PickleBuffer] = []
        self.pickled = dumps(shared, self.buffers.append)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        parts = self.buffers if protocol >= 5 else [bytes(buffer.raw()) for buffer in self.buffers]
        return _arrived, (self.pickled, *parts)


def _arrived(pickled: bytes, *buffers: Any) -> Cargo:
    cargo = object.__new__(Cargo)
    aligned = [_aligned(buffer) for buffer in buffers]
    cargo.shared = pickle.loads(pickled, buffers=aligned)
    cargo.pickled, cargo.buffers = pickled, [pickle.PickleBuffer(view) for view in aligned]
    return cargo


def _aligned(buffer: Any) -> memoryview:
    """The buffer, copied where it lies at an odd address."""
    view = memoryview(buffer).cast("B")
    if not view.nbytes or np.frombuffer(view, np.uint8).ctypes.data % ALIGNMENT == 0:
        return view
    room = np.empty(view.nbytes + ALIGNMENT, np.uint8)
    begin = -room.ctypes.data % ALIGNMENT
    copy = room[begin : begin + view.nbytes]
    copy[:] = np.frombuffer(view, np.uint8)
    copy.flags.writeable = False
    return copy.data


def dumps(value: Any, keep: Callable[[pickle.PickleBuffer], Any]) -> bytes:
    """A pickle, by cloudpickle where there is one and pickle does not reach; or an error in one sentence."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        reached = b"__main__" not in pickled
    except Exception as error:
        if _cloudpickle() is None:
            raise unpicklable(error) from error
        reached = False
    if not reached and (cloudpickle := _cloudpickle()) is not None:
        buffers.clear()
        try:
            pickled = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        except Exception as error:
            raise unpicklable(error) from error
    for buffer in buffers:
        keep(buffer)
    return bytes(pickled)


def _cloudpickle() -> Any:
    try:
        import cloudpickle
    except ImportError:
        return None
    return cloudpickle


def unpicklable(error: Exception) -> TypeError:
    return TypeError(
        "`executor` needs a problem that can be pickled, and this one cannot "
        f"({type(error).__name__}: {error}): define its loss and its operators at the top of a module"
    )
