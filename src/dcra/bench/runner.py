"""Running a benchmark: what is not yet in its folder is run and added, row by row."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import time
from typing import Any

from dcra.bench import folder as folders
from dcra.bench import rows
from dcra.bench.base import Benchmark, Case, Choice, Row
from dcra.bench.environment import describe_environment
from dcra.bench.far_pool import FarPool
from dcra.bench.pool import Pool
from dcra.bench.registry import find_benchmark, path_of
from dcra.messages import suggest
from dcra.methods import GROUP as METHOD_GROUP
from dcra.named import offered

GRACE, SHARE = 120.0, 4.0
"""A case is given up after its budget times 1 + SHARE and GRACE seconds: importing comes on top."""

OWN_LIMIT = 3600.0
"""A method that stops by its own rule is given up after this many seconds."""

LOG = "workers.log"


@dataclass(frozen=True)
class Options:
    """How to run, whatever is run.

    Parameters
    ----------
    jobs : int
        Cases at once; more than one makes times less certain.
    threads : int
        Threads of one solve.
    grace : float
        Seconds beyond its budget after which a case is given up.
    own_limit : float
        The same for a case without a budget.
    retry : bool
        Run cases again whose rows say that they were skipped or failed.
    executor : dask.distributed.Client or concurrent.futures.Executor, optional
        Whose workers run the cases, each in a process of its own; `jobs` is how many at once then, if it is
        more than 1.
    """

    jobs: int = 1
    threads: int = 1
    grace: float = GRACE
    own_limit: float = OWN_LIMIT
    retry: bool = False
    executor: Any = None

    def __post_init__(self) -> None:
        for name in ("jobs", "threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"`{name}` must be at least 1; got {getattr(self, name)}")

    def limit(self, case: Case) -> float:
        """Seconds after which a case is given up."""
        return self.own_limit if case.budget is None else case.budget * (1 + SHARE) + self.grace


@dataclass
class RunSummary:
    """What a run has done."""

    folder: Path
    known: int = 0
    torn: int = 0
    planned: int = 0
    added: Counter[str] = field(default_factory=Counter)


Watcher = Callable[[Case, Row], None]


def run(
    name: str,
    choice: Choice,
    folder: Path,
    options: Options | None = None,
    begin: Callable[[RunSummary, list[Case]], Watcher] | None = None,
) -> RunSummary:
    """Run the cases of a choice that a folder does not have yet.

    Parameters
    ----------
    name : str
        A benchmark of `dcra.bench.registry`, or 'module:class' of one of your own.
    choice : Choice
    folder : Path
        New, or of an earlier run of the same benchmark, to which rows are added.
    options : Options, optional
    begin : callable, optional
        Called with what was found and the cases to come; what it returns is told each row.
    """
    options = options or Options()
    subject = find_benchmark(name)
    check_choice(subject, choice)
    with folders.locked(folder):
        folders.claim(folder, folders.label_of(subject, name))
        outcome = RunSummary(folder, torn=rows.repair(folder))
        done = _known(folder, options.retry)
        cases = _distinct(subject, choice)
        todo = [case for case in cases if case.key not in done]
        outcome.known, outcome.planned = len(cases) - len(todo), len(cases)
        watch = begin(outcome, todo) if begin is not None else None
        surroundings = describe_environment(options.threads, options.jobs)
        with (
            rows.Appender(folder) as file,
            _pool(name, options, folder) as pool,
        ):
            for case, result in pool.run([(case, options.limit(case)) for case in todo]):
                row = finished(name, case, result, surroundings)
                _add(file, row, folder)
                outcome.added[row["status"]] += 1
                if watch is not None:
                    watch(case, row)
    return outcome


def _pool(name: str, options: Options, folder: Path) -> Pool | FarPool:
    path, jobs, threads = path_of(name), options.jobs, options.threads
    if options.executor is None:
        return Pool(path, jobs, threads, folder / LOG)
    return FarPool(path, threads, options.executor, None if jobs == 1 else jobs)


def check_choice(subject: Benchmark, choice: Choice) -> None:
    """Refuse what a benchmark does not have."""
    if choice.preset not in ("small", "full"):
        raise ValueError(suggest("preset", choice.preset, ("small", "full")))
    for option, given, known in (
        ("sizes", choice.sizes, subject.sizes),
        ("methods", choice.methods, (*subject.methods, *offered(METHOD_GROUP))),
    ):
        for word in given or ():
            if word not in known:
                raise ValueError(suggest(option, word, known))
    if choice.instances is not None and choice.instances < 1:
        raise ValueError(f"`instances` must be at least 1; got {choice.instances}")
    if choice.budget is not None and not 0 < choice.budget < float("inf"):
        raise ValueError(f"`budget` must be a positive factor; got {choice.budget:g}")


def finished(name: str, case: Case, result: Row, surroundings: dict[str, Any]) -> Row:
    """A whole row: the case, what came of it, and where."""
    head = {"benchmark": name, **asdict(case)}
    tail = {"when": round(time(), 3), "environment": surroundings}
    return {**head, **result, **head, **tail}  # first in order, and not for a benchmark to change


def _known(folder: Path, retry: bool) -> set[str]:
    """Keys of the rows that stand; with `retry` the unfinished ones are dropped from the file first."""
    found = rows.read(folder)
    if retry:
        found = [row for row in found if row.get("status") == "ok"]
        rows.replace(folder / rows.ROWS, (rows.line_of(row) for row in found))
    return {rows.key_of(row) for row in found}


def _distinct(subject: Benchmark, choice: Choice) -> list[Case]:
    cases = subject.cases(choice) if choice.cases is None else choice.cases
    return list({case.key: case for case in cases}.values())


def cases_of(folder: Path, where: rows.Where = ()) -> list[Case]:
    """The cases of a folder's rows that meet all conditions, in the order in which they were run."""
    found = rows.read(folder)
    if not found:
        raise ValueError(f"{folder}: there are no rows")
    wanted = rows.condition(where, found)
    chosen = sorted(filter(wanted, found), key=lambda row: row.get("when") or 0.0)
    return [Case(row["instance"], row["method"], row["seed"], row.get("budget")) for row in chosen]


def _add(file: rows.Appender, row: Row, folder: Path) -> None:
    try:
        file.add(row)
    except OSError as error:
        raise OSError(
            error.errno,
            f"{folder / rows.ROWS}: {os.strerror(error.errno or 0)}; the rows so far are intact: "
            "make room and run the same command again",
        ) from error
