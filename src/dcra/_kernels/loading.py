"""When compiled loops may be used: importing or compiling them must not eat the user's time."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path

IMPORT_SECONDS = 1.5
COMPILE_SECONDS = 20.0
SHARE = 0.2

_warm: set[str] = set()


def available() -> bool:
    """Whether Numba can be imported at all."""
    return importlib.util.find_spec("numba") is not None


def affordable(seconds_left: float | None) -> bool:
    """Whether loading the loops would cost less than a fifth of the time left; always once loaded."""
    if not available():
        return False
    if seconds_left is None or "dcra._kernels.sweep" in sys.modules:
        return True
    return (IMPORT_SECONDS if cached() else COMPILE_SECONDS) <= SHARE * seconds_left


def cached() -> bool:
    """Whether machine code from an earlier process lies on disk."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(chosen) if chosen else Path(__file__).parent / "__pycache__"
    return next(folder.rglob("*.nbi"), None) is not None


def load(announce: bool = False) -> float:
    """Import the loops; seconds it took. A first compilation is announced on stderr."""
    if "dcra._kernels.sweep" in sys.modules:
        return 0.0
    if announce and not cached():
        print("dcra: compiling its inner loops, once; this takes some seconds", file=sys.stderr)
    begin = time.perf_counter()
    from dcra._kernels import anneal, flip, state, sweep  # noqa: F401

    return time.perf_counter() - begin
