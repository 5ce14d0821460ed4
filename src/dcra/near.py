"""Near solutions of many equations: some of the equations hold exactly, the others as nearly as possible.

A random part of the variables is free, the rest are fixed. Meeting in the middle gives points at which a few
equations, chosen at random, hold; of these the one is kept whose other residuals are smallest. Each equation
that holds exactly is as good as looking at some hundred times as many points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log2, pi, sqrt
from typing import Any, ClassVar

import numpy as np

from dcra.compiled import Compiled
from dcra.constraints import Host
from dcra.engines.base import Engine, Starts, State
from dcra.equations import Equations, equations_of
from dcra.meet import Quarters

MAX_FREE = 76
"""Free variables at most: lists of 2^19 sums."""

RESIDUES = 12
"""Residues looked at before other variables are set free."""

MOST_LEFT = 4
"""Equations that may be left inexact: beyond, the closest pairs of sums come nearer."""

CHUNK = 1 << 14
"""Sums of a half that are matched in one step."""

DRAWS = 512
"""Ways to fix variables from which the most central is taken."""


def sizes(equations: Equations) -> tuple[int, int]:
    """Numbers of exact equations and of free variables for which matches are as many as sums."""
    norms = np.sqrt(np.mean(equations.B.astype(float) ** 2, axis=1) / 4)
    spread = float(np.median(norms))  # of an equation, for each root of a free variable
    exact, free = 0, 0
    while exact < len(equations.d):
        n = 8.0
        for _ in range(20):  # n / 2 = log2 of the values that the exact equations take together
            n = 2 * (exact + 1) * max(1.0, log2(sqrt(2 * pi * n) * max(spread, 1.0)))
        if n > min(MAX_FREE, equations.n):
            break
        exact, free = exact + 1, int(n)
    return exact, free


def worthwhile(equations: Equations) -> bool:
    """Whether so few equations are left to chance that exact ones make up for the points not looked at."""
    exact = sizes(equations)[0]
    return not equations.required and exact >= 2 and len(equations.d) - exact <= MOST_LEFT


@dataclass(frozen=True)
class Near(Engine):
    """One set of free variables and exact equations for each start."""

    name: ClassVar[str] = "near"
    needs: ClassVar[frozenset[str]] = frozenset({"equations"})

    def start(self, compiled: Compiled, starts: Starts) -> NearState:
        equations = equations_of(compiled.problem)
        assert equations is not None
        return NearState(equations, np.random.default_rng((starts.seed, starts.first, 5)))


class NearState(State):
    """The best point so far."""

    def __init__(self, equations: Equations, rng: np.random.Generator) -> None:
        self.equations, self.rng = equations, rng
        m, n = equations.B.shape
        exact, free = sizes(equations)
        self.free = rng.permutation(n)[:free]
        rows = rng.permutation(m)
        self.exact, self.other = rows[:exact], rows[exact:]
        self.t = self._central_point()
        self.B = equations.B[:, self.free]
        fixed = self.t.copy()
        fixed[self.free] = 0
        self.d = equations.d - equations.B @ fixed
        self.least: float = np.inf
        self._done = False
        self._steps_left = self._search()

    def _central_point(self) -> Host:
        """Fixed values that leave the free variables about half of their sums to reach."""
        B, d = self.equations.B, self.equations.d
        T = self.rng.integers(0, 2, (DRAWS, self.equations.n))
        held = T.copy()
        held[:, self.free] = 0
        lack = d - held @ B.T - 0.5 * B[:, self.free].sum(axis=1)
        return np.asarray(T[np.argmin(np.sum(lack**2, axis=1))])

    def advance(self, work: int) -> None:
        if not self._done:
            self._done = next(self._steps_left, True)

    def _search(self) -> Iterator[bool]:
        """The search in steps of some hundredths of a second; yields whether it has ended."""
        system = Equations(self.B[self.exact], self.d[self.exact], required=True)
        quarters = Quarters(system, int(self.rng.integers(2**31)), run_bits=0)
        yield False
        sums = [subset_sums(self.B[self.other, lo:hi]) for lo, hi in quarters.spans]
        for _ in range(RESIDUES):
            yield False
            sides = quarters.sides(int(self.rng.integers(quarters.modulus)))
            for lo in range(0, sides.wanted.size, CHUNK):
                yield False
                self._judge(quarters, sums, quarters.matches(sides, lo, lo + CHUNK))
        yield True

    def _judge(self, quarters: Quarters, sums: list[Host], subsets: list[Host]) -> None:
        """Keep the match whose other residuals are smallest."""
        if subsets[0].size == 0:
            return
        residual = sum(of_subset[subset] for of_subset, subset in zip(sums, subsets, strict=True))
        loss: Any = np.abs(residual - self.d[self.other]).sum(axis=1)
        best = int(np.argmin(loss))
        if loss[best] < self.least:
            self.least = float(loss[best])
            self.t[self.free] = quarters.points([subset[best : best + 1] for subset in subsets])[0]

    @property
    def done(self) -> bool:
        return self._done

    def candidates(self) -> Host:
        return 2.0 * self.t[None] - 1


def subset_sums(B: Host) -> Host:
    """The sums of all subsets of the columns of B, (2^k, rows); bit j of a subset is column j."""
    small = np.abs(B).sum(axis=1).max(initial=0) < 2**29  # sums of four still fit
    sums = np.zeros((1, B.shape[0]), np.int32 if small else np.int64)
    for column in B.T.astype(sums.dtype):
        sums = np.concatenate([sums, sums + column])
    return sums
