"""The shared library of compiled loops: which one this processor gets, and why there is none.

There are dcra_v2, dcra_v3 and dcra_v4 on x86-64, for those levels of processors, and dcra_native elsewhere.
The best that runs is loaded, once, on first use; DCRA_SIMD=v2, v3 or v4 asks for one of them.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from dcra import _kernels

LEVELS = ("v4", "v3", "v2")
MISSING = "dcra was installed without its compiled loops: there was no C++ compiler"
OLD = "this processor is older than x86-64-v2, which dcra's compiled loops need"
STALE = "dcra's compiled loops were not made of the sources that lie beside them"
CURES = {
    MISSING: "install a C++ compiler and run `pip install --force-reinstall --no-deps dcra`",
    OLD: "a newer processor runs them",
    STALE: "run `pip install --editable .` in the checkout again",
}
SUFFIX = ".dll" if os.name == "nt" else ".so"


def available() -> bool:
    """Whether the loops can be called."""
    return not why_not()


def level() -> str | None:
    """ "v2", "v3", "v4" or "native"; None without a library."""
    return _chosen()[0]


def why_not() -> str:
    """What keeps the loops from being called, in one sentence; empty when nothing does."""
    return _chosen()[2]


def cure() -> str:
    """What can be done about that."""
    return CURES.get(why_not(), "")


@cache
def warn_if_missing() -> None:
    """Say once in a process that array code does the work."""
    if not available():
        warnings.warn(
            f"{why_not()}: array code, which finds less, is used; {cure()}", RuntimeWarning, stacklevel=6
        )


def folder() -> str:
    """Where the library lies."""
    found = _path(level() or "")
    assert found is not None
    return os.path.dirname(found)


def library() -> ctypes.CDLL:
    found = _chosen()[1]
    if found is None:
        raise ImportError(why_not())
    return found


@cache
def _chosen() -> tuple[str | None, ctypes.CDLL | None, str]:
    """(level, library, why not)."""
    asked = os.environ.get("DCRA_SIMD", "")
    built = {name: path for name in (*LEVELS, "native") if (path := _path(name))}
    if asked and asked not in (*LEVELS, "native"):
        raise ValueError(f"DCRA_SIMD must be v2, v3 or v4, or not set; got {asked!r}")
    if not built:
        return None, None, MISSING
    if asked and asked not in built:
        raise ValueError(f"DCRA_SIMD={asked}: this installation has only {', '.join(built)}")
    lowest = ctypes.CDLL(list(built.values())[-1])
    if _stamp_of_sources() not in ("", _stamp(lowest)):
        return None, None, STALE
    able = ["native"] if "native" in built else _able(lowest, built)
    if asked and asked not in able:
        raise ValueError(f"DCRA_SIMD={asked}: this processor can only do {', '.join(able) or 'less than v2'}")
    if not able:
        return None, None, OLD
    name = asked or able[0]
    return name, ctypes.CDLL(built[name]), ""


def _stamp(found: ctypes.CDLL) -> str:
    """Of the sources that a library was made of; empty where it is so old that it has none."""
    try:
        return str(entry(found, "cpu_stamp", ctypes.c_char_p)().decode())
    except ValueError:
        return ""


def _stamp_of_sources() -> str:
    """The stamp that CMakeLists.txt makes of the sources, where this is a checkout; empty elsewhere."""
    checkout = os.path.abspath(os.path.join(os.path.dirname(__file__), *3 * [os.pardir]))
    native = os.path.join(checkout, "native")
    if not os.path.exists(os.path.join(checkout, "CMakeLists.txt")) or not os.path.isdir(native):
        return ""
    names = sorted(name for name in os.listdir(native) if name.endswith((".cpp", ".hpp")))
    stamps = []
    for name in names:
        with open(os.path.join(native, name), "rb") as source:
            stamps.append(hashlib.sha256(source.read()).hexdigest())
    return hashlib.sha256("".join(stamps).encode()).hexdigest()


def _able(lowest: ctypes.CDLL, built: dict[str, str]) -> list[str]:
    """What this processor can do of what was built, the best first."""
    number = entry(lowest, "cpu_level", ctypes.c_int64)()
    return [name for name in built if int(name[1]) <= number]


def entry(found: ctypes.CDLL, symbol: str, returns: type | None, *takes: type) -> Callable[..., Any]:
    """The function whose address the library exports under this name; it runs without the GIL."""
    address = ctypes.c_void_p.in_dll(found, symbol).value
    return ctypes.CFUNCTYPE(returns, *takes)(address)


def _path(name: str) -> str | None:
    """An editable installation has its libraries and its sources in different folders."""
    for folder in _kernels.__path__:
        path = os.path.join(folder, f"dcra_{name}{SUFFIX}")
        if os.path.exists(path):
            return path
    return None
