"""Which device the kernels would run on, and what is missing where there is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any

from dcra._array import Array, device_of, on_accelerator

LEAST_CAPABILITY = (9, 0)
"""Bulk copies into shared memory came with it."""

CURE = "pip install 'dcra[cuda]'"


def library() -> Any:
    """CuPy; imported here and nowhere else."""
    import cupy

    return cupy


def number_under(x: Array) -> int | None:
    """The number of the CUDA device that an array of any library lies on; None where it lies elsewhere."""
    if not on_accelerator(x) or "cuda" not in (where := str(device_of(x)).lower()):
        return None
    return int("".join(filter(str.isdigit, where)) or 0)


def number_of(device: str) -> int:
    """The number of a device called "cuda" or "cuda:1"."""
    return int(device.partition(":")[2] or 0)


def check_device(device: object) -> str | None:
    """`device` as the user gave it: None, "cpu", "cuda" or "cuda:1"; the latter two must be there."""
    if device is None:
        return None
    if not isinstance(device, str):
        raise TypeError(f"`device` must be a string; got {type(device).__name__}")
    if device == "cpu":
        return device
    if not re.fullmatch(r"cuda(:\d+)?", device):
        raise ValueError(f"`device` must be 'cpu', 'cuda' or 'cuda:1'; got {device!r}")
    if missing := why_not(number_of(device)):
        raise ValueError(f"`device` {device!r} cannot be used: {missing}")
    return device


@cache
def why_not(number: int = 0) -> str:
    """What keeps the kernels from running on a device; empty where nothing does."""
    if find_spec("cupy") is None:
        return f"CuPy is not installed; {CURE}"
    try:
        runtime = library().cuda.runtime
        count = runtime.getDeviceCount()
        if number >= count:
            return f"CuPy finds {count} CUDA device{'s' if count > 1 else ''}"
        with library().cuda.Device(number):
            runtime.free(0)  # makes its context, which takes a while, and fails where others may not use it
    except Exception as error:
        return f"CuPy finds no CUDA device that can be used ({_first_line(error)})"
    major, minor = capability(number)
    if (major, minor) < LEAST_CAPABILITY:
        return f"the kernels need compute capability 9.0; this device has {major}.{minor}"
    return ""


def capability(number: int) -> tuple[int, int]:
    properties = _properties(number)
    return properties["major"], properties["minor"]


def multiprocessors(number: int) -> int:
    return int(_properties(number)["multiProcessorCount"])


def shared_memory(number: int) -> int:
    """Bytes of shared memory that one block may have."""
    return int(_properties(number)["sharedMemPerBlockOptin"])


def free_memory(number: int) -> int:
    """Bytes that can still be had, CuPy's own pool included."""
    cupy = library()
    with cupy.cuda.Device(number):
        free, _ = cupy.cuda.runtime.memGetInfo()
        return int(free + cupy.get_default_memory_pool().free_bytes())


@contextmanager
def memory_watched() -> Iterator[None]:
    """CUDA's libraries say each in its own words that there is no memory; here all raise CuPy's error."""
    try:
        yield
    except Exception as error:
        if any(words in str(error) for words in ("cudaErrorMemoryAllocation", "ALLOC_FAILED")):
            raise library().cuda.memory.OutOfMemoryError(0, 0, 0) from error
        raise


def name(number: int) -> str:
    return str(_properties(number)["name"].decode())


def in_words() -> str:
    """One sentence: what searches arrays on an accelerator here."""
    missing = why_not()
    if not missing:
        return f"dcra's own kernels, on {name(0)}"
    if find_spec("torch") is not None:
        return f"array code, by torch where it has a device: {missing}"
    return f"none: {missing}"


@cache
def _properties(number: int) -> dict[str, Any]:
    return dict(library().cuda.runtime.getDeviceProperties(number))


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
