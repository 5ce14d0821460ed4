"""Every point of a constrained problem: the best feasible one, or else the least violating."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.exact.enumeration import SEGMENTS, spins_of

CHUNK = 4096


@dataclass(frozen=True)
class EnumerateFeasible(Engine):
    """All feasible points of a segment."""

    name: ClassVar[str] = "enumerate"
    needs: ClassVar[frozenset[str]] = frozenset({"small"})

    def start(self, compiled: Compiled, starts: Starts) -> State:
        lo, hi = (2**compiled.n * i // SEGMENTS for i in (starts.first, starts.first + 1))
        return FeasibleSegment(compiled, lo, hi)


class FeasibleSegment(State):
    """The best feasible point, or else the least violating, among positions lo..hi of the Gray sequence."""

    def __init__(self, compiled: Compiled, lo: int, hi: int) -> None:
        self.compiled, self.position, self.hi = compiled, lo, hi
        self.best, self.spins = (inf, inf), np.ones(compiled.n)

    def advance(self, work: int) -> None:
        if self.done:
            return
        problem = self.compiled.problem
        codes = np.arange(self.position, min(self.hi, self.position + CHUNK))
        spins = spins_of(codes, self.compiled.n)
        assert problem.constraints is not None
        violation = problem.constraints.violation(on_host(self.compiled, spins))
        least = violation == violation.min()
        values = problem.objective(self.compiled.decode(spins[least]))
        best = int(np.argmin(values))
        self.position += codes.size
        if (violation.min(), values[best]) < self.best:
            self.best, self.spins = (float(violation.min()), float(values[best])), spins[least][best]

    @property
    def done(self) -> bool:
        return self.position >= self.hi

    def candidates(self) -> Host:
        return self.spins[None]


def on_host(compiled: Compiled, spins: Host) -> Host:
    """Points of the problem's domain, in float64 on the host."""
    return spins if compiled.problem.domain == "spin" else (spins + 1) / 2
