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

MODULES = {
    "losses": "dcra._kernels.sweep",
    "couplings": "dcra._kernels.quadratic",
    "swaps": "dcra._kernels.swaps",
    "clauses": "dcra._kernels.clauses",
}
"""Families of loops, and the module that tells that one is loaded."""

IMPORT_SECONDS = {"losses": 0.8, "couplings": 0.55, "swaps": 0.6, "clauses": 0.5}
COMPILE_SECONDS = {"losses": 14.0, "couplings": 5.0, "swaps": 6.0, "clauses": 4.5}
SHARE = 0.8
"""Share of the time that loading may take: what the loops find in the rest, array code does not in all."""

behind = threading.Event()
"""Set while another thread loads the loops: until it is done, callers do without them."""


@cache
def available() -> bool:
    """Whether Numba can be imported at all."""
    return importlib.util.find_spec("numba") is not None


def loaded(family: str = "losses") -> bool:
    return MODULES[family] in sys.modules and not behind.is_set()


def affordable(seconds_left: float | None, family: str = "losses") -> bool:
    """Whether loading the loops would cost less than its share of the time left; always once loaded."""
    if not available():
        return False
    if seconds_left is None or loaded(family):
        return True
    needed = IMPORT_SECONDS if cached(family) else COMPILE_SECONDS
    return needed[family] <= SHARE * seconds_left


def cached(family: str = "losses") -> bool:
    """Whether an earlier process has left machine code of these very loops on disk."""
    return _stamp(family).exists()


def load(announce: bool = False, family: str = "losses") -> float:
    """Import the loops; seconds it took. A first compilation is announced on stderr."""
    if loaded(family):
        return 0.0
    if announce and not cached(family):
        print("dcra: compiling its inner loops, once; this takes some seconds", file=sys.stderr)
    begin = time.perf_counter()
    if family == "couplings":
        from dcra._kernels import crossover, quadratic  # noqa: F401
    elif family == "swaps":
        from dcra._kernels import swaps  # noqa: F401
    elif family == "clauses":
        from dcra._kernels import clauses  # noqa: F401
    else:
        from dcra._kernels import anneal, flip, state, sweep  # noqa: F401

    return time.perf_counter() - begin


@cache
def remember(family: str = "losses") -> None:
    """Note on disk, once, that the loops have been compiled; a folder that cannot be written is no harm."""
    if not cached(family):
        with contextlib.suppress(OSError):
            _stamp(family).parent.mkdir(parents=True, exist_ok=True)
            _stamp(family).touch()


@cache
def _stamp(family: str) -> Path:
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(chosen) if chosen else Path(__file__).parent / "__pycache__"
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return folder / f"{family}-{digest.hexdigest()[:16]}"
