"""Cases on the workers of an executor, each in a child process of its own, as on one machine."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from types import TracebackType
from typing import Any

from dcra.bench.base import Case, Row
from dcra.bench.pool import Worker
from dcra.machines.dispatch import Dispatch
from dcra.machines.teams import team_for
from dcra.machines.worker import Errand
from dcra.search.threads import default_jobs
from dcra.search.workers import PATIENCE


class FarPool:
    """What `Pool` is, elsewhere. Rows name their host, and say that others ran at the same time."""

    def __init__(self, path: str, threads: int, executor: Any, jobs: int | None = None) -> None:
        make, found = team_for(executor)
        self.path, self.threads = path, threads
        self.abreast = jobs or found or default_jobs()
        self.dispatch = Dispatch(make(None))

    def run(self, cases: Sequence[tuple[Case, float]]) -> Iterator[tuple[Case, Row]]:
        """Outcomes of cases (each with its limit in seconds) as they come."""
        waiting, team = list(reversed(cases)), self.dispatch.team
        while waiting or len(self.dispatch):
            self.dispatch.send_again()
            while waiting and len(self.dispatch) < self.abreast:
                case, limit = waiting.pop()
                errand = CaseErrand(team.key, team.version, inf, self.path, self.threads, case, limit)
                self.dispatch.send(case, errand)
            for case, row, _ in self.dispatch.hear(PATIENCE):
                yield case, {**row, "side_by_side": self.abreast}

    def __enter__(self) -> FarPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispatch.close()


@dataclass(frozen=True, eq=False)
class CaseErrand(Errand):
    """Run a case in a child process."""

    path: str
    threads: int
    case: Case
    limit: float

    def carry_out(self, shared: Any, over: Callable[[], bool]) -> Row:
        with tempfile.TemporaryFile() as log:
            worker = Worker(self.path, self.threads, log)
            try:
                row = worker.run(self.case, self.limit)
            finally:
                worker.discard()
        return {**row, "host": socket.gethostname()}
