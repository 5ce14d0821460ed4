"""A benchmark that takes no time, with methods that go wrong in every way."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from typing import ClassVar

from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.sections import ReportTable, Section

NAME = "toy"
PATH = f"{__name__}:Toy"
DEFAULT_INSTANCES = 3


class Unavailable(Exception):
    """Stands for what a baseline raises when its licence is too small."""


def value(case: Case) -> float:
    return float(int(case.instance.rpartition("-")[2]) + (10 if case.instance.startswith("large") else 0))


class Toy(Benchmark):
    name: ClassVar[str] = NAME
    summary: ClassVar[str] = "nothing much"
    sizes: ClassVar[Sequence[str]] = ("small", "large")
    methods: ClassVar[Sequence[str]] = (
        *("good", "slow", "raises", "hangs", "crashes", "exits"),
        *("skips", "unavailable", "missing", "prints"),
    )

    def cases(self, choice: Choice) -> Iterable[Case]:
        for size in choice.sizes or self.sizes:
            for i in range(choice.instances or DEFAULT_INSTANCES):
                for method in choice.methods or ("good",):
                    yield Case(f"{size}-{i}", method, i, 0.001 if method == "hangs" else None)

    def run(self, case: Case) -> Row:
        getattr(self, f"_{case.method}")()
        return {"size": case.instance.partition("-")[0], "fun": value(case), "wall": 0.5, "cpu": 0.25}

    def report(self, rows: Sequence[Row]) -> list[Section]:
        return [ReportTable("Values", ["instance", "fun"], [[row["instance"], row["fun"]] for row in rows])]

    def _good(self) -> None:
        pass

    def _slow(self) -> None:
        time.sleep(0.02)

    def _prints(self) -> None:
        print("chatter on stdout", flush=True)
        os.write(1, b"and below Python\n")

    def _raises(self) -> None:
        raise ZeroDivisionError("no such luck")

    def _hangs(self) -> None:
        time.sleep(1e6)

    def _crashes(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def _exits(self) -> None:
        sys.exit(3)

    def _skips(self) -> None:
        raise Skip("not on this day")

    def _unavailable(self) -> None:
        raise Unavailable("the licence is too small")

    def _missing(self) -> None:
        raise ModuleNotFoundError("no module named 'oracle'")
