"""What a benchmark is: cases that can be run one at a time, in any order, and rows that add up to a report.

A benchmark makes every instance from its name, so that a case can be run again anywhere, and returns
one row of plain JSON values. It knows nothing of files, progress or processes: that is the runner's part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dcra.bench.sections import Section

Row = dict[str, Any]
"""One outcome: names and numbers that JSON can hold."""


class Skip(Exception):
    """Raised by `Benchmark.run` when a case cannot be run here; its text is the reason that the row gives."""


@dataclass(frozen=True)
class Case:
    """One method on one instance.

    Parameters
    ----------
    instance : str
        A name from which the instance can be made again, such as "l1-100x50-3".
    method : str
        Who solves it.
    seed : int
        The solver's seed.
    budget : float, optional
        Wall seconds; None lets the method stop by its own rule.
    """

    instance: str
    method: str
    seed: int = 0
    budget: float | None = None

    @property
    def key(self) -> str:
        """What tells this case from every other of its benchmark."""
        budget = "own" if self.budget is None else f"{self.budget:g}s"
        return f"{self.instance}|{self.method}|{self.seed}|{budget}"


@dataclass(frozen=True)
class Choice:
    """What a user asked for; None leaves it to the preset.

    Parameters
    ----------
    preset : str
        "small" finishes in about two minutes, "full" is the published study.
    sizes, methods : sequence of str, optional
        Names of the benchmark's own sizes and methods.
    instances : int, optional
        Instances per size.
    budget : float, optional
        A factor on the benchmark's own seconds.
    own : bool
        Let every method stop by its own rule instead, in benchmarks that have such cases.
    cases : sequence of Case, optional
        These, whatever else is chosen: those of rows that were published, say.
    """

    preset: str = "small"
    sizes: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    instances: int | None = None
    budget: float | None = None
    own: bool = False
    cases: Sequence[Case] | None = None


class Benchmark(ABC):
    """One study: a module of `dcra.bench` with a subclass of this, named in `dcra.bench.registry`."""

    name: ClassVar[str]
    summary: ClassVar[str]
    version: ClassVar[int] = 1
    """Raised when rows of before can no longer be compared with those of now."""
    sizes: ClassVar[Sequence[str]]
    methods: ClassVar[Sequence[str]]
    threads: int = 1
    """Threads that a solve may use; the runner sets it."""

    def warm(self, case: Case) -> None:
        """Import what a case needs, before its clock starts; called once per method in every process."""
        from dcra.bench.solving import warm

        warm(case.method)

    @abstractmethod
    def cases(self, choice: Choice) -> Iterable[Case]:
        """The cases of a choice, cheapest first; `choice` names only sizes and methods that exist."""

    @abstractmethod
    def run(self, case: Case) -> Row:
        """Solve one case and judge the answer in float64; raises `Skip` where that is not possible here.

        The row has at least "fun" (the judged objective), "wall" and "cpu" (seconds of the solve, without
        the making of the instance). The runner adds the case, the versions and the machine.
        """

    def message(self, rows: Sequence[Row]) -> str:
        """Two sentences on what the finished rows show: the page begins with them."""
        from dcra.bench.in_short import best_objectives

        return best_objectives(rows, self.methods)

    @abstractmethod
    def report(self, rows: Sequence[Row]) -> list[Section]:
        """Tables, figures and sentences, from the finished rows alone."""
