"""What the benchmarks of quadratic objectives share: their cases, their rivals and their rows."""

from __future__ import annotations

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.quadratic_exact import gurobi, highs
from dcra.bench.quadratic_report import sections
from dcra.bench.quadratic_rivals import Allowance, QuadraticAnswer, Rival, ours
from dcra.bench.quadratic_samplers import bifurcation, dwave_annealing, dwave_tabu, openjij, quasi_quantum
from dcra.bench.sections import Section
from dcra.engines.dcra import DCRA
from dcra.model.problem import Problem

OURS = ("auto", "anneal", "tabu", "sweep", "dcra", "sdp-rounding", "shapeak", "flip", "random")

RIVALS: dict[str, Rival] = {
    **{name: ours(name) for name in OURS},
    "dcra-alone": ours(DCRA()),
    "dwave-sa": dwave_annealing(1),
    "dwave-sa-8": dwave_annealing(8),
    "dwave-tabu": dwave_tabu,
    "bifurcation": bifurcation,
    "openjij": openjij,
    "qqa": quasi_quantum,
    "highs": highs,
    "gurobi": gurobi,
}


def clocked(solve: Callable[[], QuadraticAnswer]) -> tuple[QuadraticAnswer, Row]:
    """An answer, and what a row says of how it came: seconds, history, bound."""
    wall, cpu = time.perf_counter(), time.process_time()
    answer = solve()
    row: Row = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    for name in ("history", "bound"):
        if getattr(answer, name) is not None:
            row[name] = getattr(answer, name)
    return answer, row


def data_file(*parts: str) -> Path:
    """A file below DCRA_DATA."""
    folder = os.environ.get("DCRA_DATA")
    path = Path(folder or "", *parts)
    if folder is None or not path.is_file():
        raise Skip(f"{'/'.join(parts)} is not below DCRA_DATA")
    return path


def data_names(folder: str, pattern: str, least: int = 0, most: int = 10**9) -> list[str]:
    """Names of files below DCRA_DATA that begin with a size between two, shortest first."""
    root = os.environ.get("DCRA_DATA")
    files = Path(root, folder).glob(pattern) if root else []
    found = [f.relative_to(Path(root or "")).as_posix() for f in files if least <= _size(f) <= most]
    return sorted(found, key=lambda name: (len(name), name))


def _size(file: Path) -> int:
    """The number that a file begins with, -1 where it is none."""
    with file.open(errors="replace") as lines:
        word = next(lines, "").split()[:1]
    return int(word[0]) if word and word[0].isdigit() else -1


def listed_energies(folder: str, name: str) -> list[float]:
    """What `optimal_energy.txt` of a folder says of an instance: nothing, or one number."""
    try:
        lines = data_file(*folder.split("/"), "optimal_energy.txt").read_text().splitlines()
    except Skip:
        return []
    words = [line.split() for line in lines if line.strip()]
    return [float(value) for stem, value, *_ in words if stem == name]


class QuadraticBenchmark(Benchmark):
    """A benchmark of problems with a quadratic objective alone: budgets x instances x methods."""

    budgets: ClassVar[dict[str, Sequence[float]]]
    """Seconds of each preset."""
    seeds: ClassVar[int] = 3
    goal: ClassVar[str]
    large: ClassVar[int]
    """Files with more variables are reported apart."""

    def warm(self, case: Case) -> None:
        """Rivals are prepared on the instance itself."""

    @abstractmethod
    def instances(self, size: str) -> list[str]:
        """Names of the instances of a size."""

    @abstractmethod
    def problem(self, instance: str) -> Problem:
        """The instance of a name."""

    @abstractmethod
    def listed(self, instance: str) -> list[float]:
        """The best objectives that lists of others give, where they disagree several."""

    def cases(self, choice: Choice) -> Iterable[Case]:
        sizes = choice.sizes or (self.sizes if choice.preset == "full" else self.sizes[:2])
        methods = choice.methods or self.methods
        most = choice.instances or (1000 if choice.preset == "full" else 2)
        seeds = self.seeds if choice.preset == "full" else 1
        for budget in self.budgets[choice.preset]:
            for seed in range(seeds):
                for size in sizes:
                    for instance in self.instances(size)[:most]:
                        for method in methods:
                            yield Case(instance, method, seed, budget * (choice.budget or 1.0))

    def run(self, case: Case) -> Row:
        problem = self.problem(case.instance)
        assert case.budget is not None
        solve = RIVALS[case.method](problem, Allowance(case.budget, case.seed, self.threads))
        answer, row = clocked(solve)
        x = problem.check_point("x", answer.x)
        return {"fun": problem.objective(x), **row, "n": problem.n, "listed": self.listed(case.instance)}

    def report(self, rows: Sequence[Row]) -> list[Section]:
        return sections(self.name, self.goal, rows, self.large)
