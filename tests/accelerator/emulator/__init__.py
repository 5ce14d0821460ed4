"""A device that is not there: what dcra asks of CuPy, by NumPy, and its kernels by `threads.hpp`.

Arrays are NumPy's in a class of their own, which refuse to meet those of the host as CuPy's do. Kernels are
compiled by the host's C++ compiler, and their launches checked. The device is small, so that what fills a
real one fills it soon; `state` holds what tests may change.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from dcra.accelerator import loader

HEADER = Path(__file__).parent / "threads.hpp"
COMPILER = shutil.which("g++")
SHARED = "extern __shared__ __align__(128) u8 memory[];"
FLAGS = ["-std=c++17", "-O2", "-fPIC", "-shared", "-march=native", "-w"]

__version__ = "emulated"


@dataclass
class State:
    """Of the device: its size, what it refuses, and the seed of its schedule."""

    processors: int = 1
    memory: int = 1 << 30
    schedule: int = 0
    launches: int = 0


state = State()


class OutOfMemoryError(MemoryError):
    pass


class ndarray(np.ndarray):
    """An array on the device."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        for x in (*inputs, *(out or ())):
            if type(x) is np.ndarray and x.ndim:
                raise TypeError(f"{ufunc.__name__}: an array of the host meets one of the device")
        plain = [np.asarray(x) if isinstance(x, ndarray) else x for x in inputs]
        if out is not None:
            options["out"] = tuple(np.asarray(x) for x in out)
        with np.errstate(all="ignore"):  # a device has no warnings
            found = getattr(ufunc, method)(*plain, **options)
        return out[0] if out is not None else _there(found)

    def __array_function__(self, function, types, args, options):
        raise TypeError(f"np.{function.__name__} of an array on the device")

    def __setitem__(self, key, value):
        if type(value) is np.ndarray and value.ndim:
            raise TypeError("an array of the host is put into one of the device")
        super().__setitem__(_here(key), _here(value))

    def __getitem__(self, key):
        for k in key if isinstance(key, tuple) else (key,):
            if type(k) is np.ndarray and k.ndim:
                raise TypeError("an array of the host indexes one of the device")
        return _there(np.asarray(self)[_here(key)])

    def get(self):
        return np.array(self, copy=True, subok=False)

    @property
    def device(self):
        return SimpleNamespace(id=0)


def _here(x):
    if isinstance(x, tuple):
        return tuple(map(_here, x))
    return np.asarray(x) if isinstance(x, ndarray) else x


def _there(x):
    return np.asarray(x).view(ndarray)


def _on_device(function):
    """A function of NumPy for arrays of the device alone."""

    def act(*args, **options):
        made = [_here(a) if not isinstance(a, list) else [_here(x) for x in a] for a in args]
        for a in args[:1]:
            for x in a if isinstance(a, list) else [a]:
                assert type(x) is not np.ndarray, f"{function.__name__} of an array of the host"
        found = function(*made, **options)
        return tuple(map(_there, found)) if isinstance(found, tuple) else _there(found)

    return act


ascontiguousarray, clip, concatenate = map(_on_device, (np.ascontiguousarray, np.clip, np.concatenate))
flatnonzero, maximum, minimum, repeat = map(_on_device, (np.flatnonzero, np.maximum, np.minimum, np.repeat))
rint, sqrt, square, trace = map(_on_device, (np.rint, np.sqrt, np.square, np.trace))
unique, where, zeros_like = map(_on_device, (np.unique, np.where, np.zeros_like))


def _allocated(x):
    if x.nbytes > state.memory:
        raise OutOfMemoryError
    return _there(x)


def empty(shape, dtype=np.float64):
    """Of garbage, as on a device."""
    made = np.empty(shape, dtype)
    made.view(np.uint8).reshape(-1)[:] = 0xFF if made.size else 0
    return _allocated(made)


def empty_like(x):
    return empty(x.shape, x.dtype)


def zeros(shape, dtype=np.float64):
    return _allocated(np.zeros(shape, dtype))


def ones(shape, dtype=np.float64):
    return _allocated(np.ones(shape, dtype))


def full(shape, value, dtype=np.float64):
    return _allocated(np.full(shape, value, dtype))


def arange(*args, dtype=None):
    return _there(np.arange(*args, dtype=dtype))


def asarray(x, dtype=None):
    """From the host or as it lies; a copy, since a device's memory is another."""
    return x if isinstance(x, ndarray) and dtype in (None, x.dtype) else _allocated(np.array(x, dtype))


def from_dlpack(x):
    return _there(np.from_dlpack(x))


def asnumpy(x):
    assert isinstance(x, ndarray)
    return x.get()


class RawModule:
    def __init__(self, code: str, options: tuple[str, ...]) -> None:
        common = (loader.FOLDER / "common.cuh").read_text()
        assert code.startswith(common)
        macros = dict(o[2:].split("=") for o in options if o.startswith("-D"))
        parts = f"#define PARTS {macros.pop('PARTS', 1)}\n"
        defined = "".join(f"#define {name} {value}\n" for name, value in macros.items())
        own = code.removeprefix(common).replace(SHARED, "u8* const memory = own_memory();")
        self.code = f'{parts}#include "{HEADER}"\n{defined}{own}'

    def get_function(self, name: str) -> Kernel:
        return Kernel(_compiled(self.code), name)


@cache
def _compiled(code: str) -> Any:
    names = re.findall(r"__global__ void (?:CLUSTER )?(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\(", code)
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "kernel.cpp", Path(folder) / "kernel.so"
        source.write_text(code + "".join(f"\nEMULATED({name})" for name in names))
        done = subprocess.run(
            [COMPILER, *FLAGS, str(source), "-o", str(library)], capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stderr[:4000])
        return ctypes.CDLL(str(library))


class Kernel:
    num_regs, max_dynamic_shared_size_bytes = 1, 48 * 1024

    def __init__(self, library: Any, name: str) -> None:
        self.run = getattr(library, f"run_{name}")
        self.run.restype = ctypes.c_char_p
        self.name = name

    def __call__(self, grid, block, args, shared_mem=0):
        assert shared_mem <= self.max_dynamic_shared_size_bytes, "shared memory that was not asked for"
        kept = [_argument(a) for a in args]
        places = (ctypes.c_void_p * len(kept))(*(ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in kept))
        state.launches += 1
        sizes = (ctypes.c_uint32(v) for v in (grid[0], block[0], shared_mem))
        fault = self.run(*sizes, places, ctypes.c_uint32(len(kept)), ctypes.c_uint32(state.schedule))
        if fault:
            raise RuntimeError(f"kernel {self.name}: {fault.decode()}")


SCALARS = {"int32": ctypes.c_int32, "uint32": ctypes.c_uint32, "float32": ctypes.c_float}


def _argument(a: Any) -> Any:
    if isinstance(a, ndarray):
        assert a.flags.c_contiguous, "a kernel is given an array that is not contiguous"
        return ctypes.c_void_p(a.ctypes.data)
    return SCALARS[a.dtype.name](a.item())


class _Device:
    attributes = {"ClockRate": 1_000_000}  # noqa: RUF012

    def __init__(self, number: int = 0) -> None:
        self.id = number

    def __enter__(self):
        return self

    def __exit__(self, *what):
        return None


class _Event:
    """Time goes on by a millisecond with every launch: plans do not depend on the host."""

    def record(self):
        self.at = state.launches

    def synchronize(self):
        pass


def _properties(number: int) -> dict[str, Any]:
    return {
        "major": 9,
        "minor": 0,
        "multiProcessorCount": state.processors,
        "sharedMemPerBlockOptin": 232_448,
        "name": b"an emulated device",
    }


cuda = SimpleNamespace(
    Device=_Device,
    Event=_Event,
    get_elapsed_time=lambda before, after: float(after.at - before.at),
    memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
    runtime=SimpleNamespace(
        free=lambda pointer: None,
        getDeviceCount=lambda: 1,
        getDeviceProperties=_properties,
        memGetInfo=lambda: (state.memory, state.memory),
    ),
)


def get_default_memory_pool():
    return SimpleNamespace(free_bytes=lambda: 0, free_all_blocks=lambda: None)
