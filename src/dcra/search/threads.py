"""How many threads there are, and who has them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Parallel work is ours: BLAS inside it stays on one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def default_jobs() -> int:
    """Cores this process may use, or DCRA_NUM_THREADS where that is set."""
    chosen = os.environ.get("DCRA_NUM_THREADS", "")
    if chosen.isdigit() and int(chosen) > 0:
        return int(chosen)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
