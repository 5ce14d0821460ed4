"""Points of a sparse quadratic objective that take from each other what is better there, on the host.

Where two points differ, the parts that couplings connect can be flipped one by one. A child has the better of
each part: on graphs in few dimensions, what annealing reaches in thousands of passes is far behind that.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from dcra._array import Host, is_numpy
from dcra.compiled.form import Compiled

CROSSINGS = 8
"""Of a child, at least."""

AT_ONCE = 64
"""Crossings between two looks at the clock."""

ENTRY_SECONDS = 1e-8
"""Of a crossing for each variable and each coupling, before anything is measured."""


class Crossing:
    """Crossings of one problem, and their pace; `children` are those of the last call."""

    def __init__(self, compiled: Compiled) -> None:
        self.able = compiled.loops and is_numpy(compiled.like)
        self.compiled = compiled
        self.seconds = ENTRY_SECONDS * (compiled.n + compiled.work_per_pass)
        self.children: Host = np.empty((0, compiled.n))
        self.gained = True  # whether the best child was better than its parents, when last asked

    def cross(self, parents: Host, count: int, seed: int) -> Iterator[None]:
        """The first of some points, the better the earlier, take from any: `count` times in turn."""
        from dcra._kernels.crossover import cross

        tables, rng = self.compiled.quadratic_tables, np.random.default_rng(seed)
        S = parents.astype(tables.dtype)
        several = min(len(S), max(1, count // CROSSINGS))
        fields = [tables.fields(s) for s in S[:several]]
        scores = [np.full(2, tables.value(s, g)) for s, g in zip(S, fields, strict=False)]
        best = min(score[0] for score in scores)
        scratch = np.empty(S.shape[1], np.int64), np.empty(S.shape[1], np.int64)
        either = not tables.field.any()  # nothing tells up from down
        for at in range(0, count, AT_ONCE):
            begun, some = time.perf_counter(), range(at, min(at + AT_ONCE, count))
            for i, other in zip(
                (t % several for t in some), rng.integers(len(S), size=len(some)), strict=True
            ):
                sign = -1.0 if either and S[i] @ S[other] < 0 else 1.0
                cross(tables.C, S[i], fields[i], scores[i], S[other], sign, *scratch)
            self.seconds = (time.perf_counter() - begun) / len(some)
            yield
        self.children = S[:several].astype(np.float64)
        self.gained = min(score[0] for score in scores) < best
