"""When compiled loops may be used: importing or compiling them must not eat the user's time."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sys
import threading
import time
from functools import cache
from pathlib import Path

IMPORT_SECONDS = 1.5
COMPILE_SECONDS = 20.0
SHARE = 0.2

behind = threading.Event()
"""Set while another thread loads the loops: until it is done, callers do without them."""


@cache
def available() -> bool:
    """Whether Numba can be imported at all."""
    return importlib.util.find_spec("numba") is not None


def loaded() -> bool:
    return "dcra._kernels.sweep" in sys.modules and not behind.is_set()


def affordable(seconds_left: float | None, share: float = SHARE) -> bool:
    """Whether loading the loops would cost less than a share of the time left; always once loaded."""
    if not available():
        return False
    if seconds_left is None or loaded():
        return True
    return (IMPORT_SECONDS if cached() else COMPILE_SECONDS) <= share * seconds_left


def cached() -> bool:
    """Whether an earlier process has left machine code of these very loops on disk."""
    return _stamp().exists()


def load(announce: bool = False) -> float:
    """Import the loops; seconds it took. A first compilation is announced on stderr."""
    if loaded():
        return 0.0
    if announce and not cached():
        print("dcra: compiling its inner loops, once; this takes some seconds", file=sys.stderr)
    begin = time.perf_counter()
    from dcra._kernels import anneal, flip, state, sweep  # noqa: F401

    return time.perf_counter() - begin


def remember() -> None:
    """Note on disk that the loops have been compiled; a folder that cannot be written is no harm."""
    if not cached():
        with contextlib.suppress(OSError):
            _stamp().parent.mkdir(parents=True, exist_ok=True)
            _stamp().touch()


@cache
def _stamp() -> Path:
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(chosen) if chosen else Path(__file__).parent / "__pycache__"
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return folder / f"compiled-{digest.hexdigest()[:16]}"
