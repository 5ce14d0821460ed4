"""Kernel sources, compiled by NVRTC when they are first needed and kept on disk by CuPy.

CuPy's folder of compiled kernels is keyed by source, options, device and compiler. A small file of ours
beside them says which are there, so that a search with little time knows before it asks: compilation takes
seconds.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from dcra.accelerator import device

FOLDER = Path(__file__).parent / "kernels"

COMPILE_SECONDS = 12.0
"""What all kernels of one problem take to compile, at most."""

_compiling = threading.Lock()
_asked: set[tuple[tuple[Kernel, ...], int]] = set()
_ready: set[tuple[tuple[Kernel, ...], int]] = set()


class Macros(NamedTuple):
    """Macros of kernels/spins.cu: replicas of a block, and how couplings are stored."""

    WARPS: int
    STORE: int


class Kernel(NamedTuple):
    """A function of a source file, with the macros it is compiled for."""

    source: str
    function: str
    macros: tuple[tuple[str, int], ...]
    shared_bytes: int = 0


def kernel(source: str, function: str, shape: Any = (), shared_bytes: int = 0) -> Kernel:
    """The kernel of a shape, a named tuple of its macros."""
    macros = tuple(shape._asdict().items()) if shape else ()
    return Kernel(source, function, macros, shared_bytes)


@cache
def source_of(name: str) -> str:
    return "\n".join((FOLDER / file).read_text() for file in ("common.cuh", f"{name}.cu"))


def ready(kernels: list[Kernel], number: int) -> bool:
    """Whether all of them are compiled already, here or on disk."""
    asked = (tuple(kernels), number)
    if asked not in _ready and all(_mark(k, number).exists() for k in kernels):
        _ready.add(asked)
    return asked in _ready


def compile_aside(kernels: list[Kernel], number: int) -> None:
    """Compile in a thread of its own, for searches to come; once for each problem's kernels.

    The end of the process waits for the kernel at hand: a compiler cannot be left behind.
    """
    if (asked := (tuple(kernels), number)) not in _asked:
        _asked.add(asked)
        threading.Thread(target=_compile_while_running, args=(kernels, number)).start()


def _compile_while_running(kernels: list[Kernel], number: int) -> None:
    for wanted in kernels:
        if threading.main_thread().is_alive():
            load(wanted, number)


def load(wanted: Kernel, number: int) -> Any:
    """The kernel, ready to be launched on a device."""
    with _compiling:
        return _load(wanted, number)


@cache
def _load(wanted: Kernel, number: int) -> Any:
    cupy = device.library()
    with cupy.cuda.Device(number):
        module = cupy.RawModule(code=source_of(wanted.source), options=_options(wanted))
        found = module.get_function(wanted.function)
        if wanted.shared_bytes > 48 * 1024:
            found.max_dynamic_shared_size_bytes = wanted.shared_bytes
        assert found.num_regs > 0  # compiled now, not at the first launch
    with suppress(OSError):  # where nothing can be written, the next process compiles again
        _mark(wanted, number).touch()
    return found


def _options(wanted: Kernel) -> tuple[str, ...]:
    macros = tuple(f"-D{name}={value}" for name, value in wanted.macros)
    return ("-std=c++17", "--use_fast_math", *macros)


def _mark(wanted: Kernel, number: int) -> Path:
    """The file that says that a kernel was compiled, for this device and these versions."""
    cupy = device.library()
    what = (source_of(wanted.source), _options(wanted), device.capability(number), cupy.__version__)
    versions = cupy.cuda.nvrtc.getVersion() if hasattr(cupy.cuda, "nvrtc") else ()
    return _folder() / f"dcra-{sha256(repr((what, versions)).encode()).hexdigest()[:32]}"


@cache
def _folder() -> Path:
    return Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")
