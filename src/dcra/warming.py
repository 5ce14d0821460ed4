"""Loading the loops for someone who calls often, each time with too little time for it."""

from __future__ import annotations

import itertools
import threading
from collections import defaultdict

import numpy as np

from dcra._kernels import loading

_short_calls: defaultdict[str, itertools.count[int]] = defaultdict(itertools.count)


def after_short_call(family: str = "losses") -> None:
    """From the second such call on, load what is compiled already in another thread: nobody waits for it."""
    if loading.available() and next(_short_calls[family]) == 1 and loading.cached(family):
        loading.behind.set()
        threading.Thread(target=_warm, args=(family,), name="dcra-warming").start()


def _warm(family: str) -> None:
    from dcra.api import minimize

    try:
        if family == "clauses":
            from dcra.apps import maxsat

            maxsat.solve([[v, v + 1] for v in range(1, 40)], starts=1, seed=0, n_jobs=1)
        else:
            minimize(np.eye(30, 48), np.ones(30), starts=1, seed=0, n_jobs=1)
    finally:
        loading.behind.clear()
