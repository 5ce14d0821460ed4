"""How many threads there are, and who has them."""

from __future__ import annotations

import os

from dcra.foreign import one_blas_thread

__all__ = ["cores", "default_jobs", "one_blas_thread"]


def default_jobs() -> int:
    """As many as there are cores, or DCRA_NUM_THREADS where that is set."""
    chosen = os.environ.get("DCRA_NUM_THREADS", "")
    if chosen.isdigit() and int(chosen) > 0:
        return int(chosen)
    return cores()


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
