"""Loading the loops for someone who calls often, each time with too little time for it."""

from __future__ import annotations

import itertools
import threading
import warnings
from collections import defaultdict
from typing import Any

import numpy as np

from dcra._kernels import loading

NOT_COMPILED = (
    "dcra's inner loops are not compiled yet, and the time limit is too short for that: array code, which "
    "finds less, is used instead; run `dcra warmup` once"
)

_short_calls: defaultdict[str, itertools.count[int]] = defaultdict(itertools.count)


def after_short_call(family: str = "losses") -> None:
    """At the second such call load what is compiled already in another thread: nobody waits for it.

    Where nothing is compiled yet, say so at the first.
    """
    if not loading.available():
        return
    call, cached = next(_short_calls[family]), loading.cached(family)
    if call == 0 and not cached:
        warnings.warn(NOT_COMPILED, RuntimeWarning, stacklevel=4)
    if call == 1 and cached:
        loading.behind.set()
        threading.Thread(target=_warm, args=(family,), name="dcra-warming").start()


def _warm(family: str) -> None:
    from dcra.api import minimize, solve
    from dcra.model.problem import Problem

    options: dict[str, Any] = {"starts": 1, "seed": 0, "n_jobs": 1}
    rng = np.random.default_rng(0)  # something that is not solved at a glance
    try:
        if family == "clauses":
            from dcra.apps import maxsat

            maxsat.solve(maxsat.random_clauses(40, 400, 2, seed=0), **options)
        elif family == "couplings":
            solve(Problem(quadratic=rng.standard_normal((48, 48))), **options)
        else:
            minimize(rng.standard_normal((30, 48)), np.ones(30), **options)
    finally:
        loading.behind.clear()
