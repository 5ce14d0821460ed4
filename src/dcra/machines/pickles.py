"""Problems as bytes: what can be pickled, and arrays that come to lie where they should."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

ALIGNMENT = 64
"""Bytes. Products by BLAS of arrays at odd addresses are made of copies, and may round differently."""


class Cargo:
    """A problem whose arrays, after a journey as buffers of pickle's fifth protocol, are aligned again."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.buffers: list[pickle.PickleBuffer] = []
        self.pickled = dumps(problem, self.buffers.append)

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.pickled, *self.buffers)


class Arrived:
    """A problem that has come to a worker."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem


def _arrived(pickled: bytes, *buffers: Any) -> Arrived:
    return Arrived(pickle.loads(pickled, buffers=map(_aligned, buffers)))


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
