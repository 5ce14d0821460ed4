"""What a rival on quadratic objectives is, ours and those of others alike.

A rival is prepared first, without a clock: packages are imported, models built, and where a
tool has to be told its amount of work instead of its time, its pace is measured. What preparing returns is
then run against the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from dcra._array import Host, to_numpy
from dcra.api import solve
from dcra.bench.solving import thinned
from dcra.engines.base import Engine
from dcra.model.problem import Problem

WARMING = 0.2
"""Seconds of a solve before the one that counts."""


@dataclass(frozen=True)
class Allowance:
    """What every rival may use."""

    seconds: float
    seed: int
    threads: int


class QuadraticAnswer(NamedTuple):
    """A point of the domain, and where known when it got how good, and a proved lower bound."""

    x: Host
    history: list[list[float]] | None = None
    bound: float | None = None


Rival = Callable[[Problem, Allowance], Callable[[], QuadraticAnswer]]


def ours(method: str | Engine) -> Rival:
    def prepare(problem: Problem, allowed: Allowance) -> Callable[[], QuadraticAnswer]:
        solve(problem, method=method, time_limit=WARMING, seed=0, n_jobs=1)

        def answer() -> QuadraticAnswer:
            found = solve(
                problem,
                method=method,
                time_limit=allowed.seconds,
                seed=allowed.seed,
                n_jobs=allowed.threads,
            )
            history = thinned([(row.seconds, row.fun) for row in found.history])
            return QuadraticAnswer(to_numpy(found.x), history, found.lower_bound)

        return answer

    return prepare
