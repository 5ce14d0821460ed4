"""Kernel sources, compiled by NVRTC when they are first needed and kept on disk by CuPy.

CuPy's folder of compiled kernels is keyed by source, options, device and compiler.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dcra.accelerator import device
from dcra.foreign import Lock

FOLDER = Path(__file__).parent / "kernels"

_compiling = Lock()


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


def load(wanted: Kernel, number: int) -> Any:
    """The kernel, ready to be launched on a device."""
    with _compiling.held:
        return _load(wanted, number)


@cache
def _load(wanted: Kernel, number: int) -> Any:
    cupy = device.library()
    with cupy.cuda.Device(number):
        module = cupy.RawModule(code=source_of(wanted.source), options=options_of(wanted))
        found = module.get_function(wanted.function)
        if wanted.shared_bytes > 48 * 1024:
            found.max_dynamic_shared_size_bytes = wanted.shared_bytes
        assert found.num_regs > 0  # compiled now, not at the first launch
    return found


def options_of(wanted: Kernel) -> tuple[str, ...]:
    macros = tuple(f"-D{name}={value}" for name, value in wanted.macros)
    return ("-std=c++17", "--use_fast_math", *macros)
