"""What the benchmarks of quadratic objectives within counts share: cases, rows and report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from dcra.bench.base import Benchmark, Case, Choice, Row
from dcra.bench.compare import DEFINITIONS, columns, duel, grouped, mean
from dcra.bench.quadratic import clocked
from dcra.bench.quadratic_rivals import Allowance, Rival
from dcra.bench.sections import ReportTable, Section, Text
from dcra.model.problem import Problem

RULES = (
    "Every method has the same wall-clock seconds and threads. Packages are imported and models built "
    "before the clock starts. A cell is empty where some instance has no answer within the counts."
)


class CountedBenchmark(Benchmark):
    """Sizes x instances x methods, all at one budget; an instance is its size and a number."""

    seconds: ClassVar[float]
    few: ClassVar[Sequence[str]]
    """Sizes of the small preset, with one instance each."""
    asked: ClassVar[Sequence[str]] = ()
    """Sizes that no preset has: they must be asked for."""
    count: ClassVar[int]
    """Instances of a size in the full one."""
    goal: ClassVar[str]
    rivals: ClassVar[dict[str, Rival]]

    def warm(self, case: Case) -> None:
        """Rivals are prepared on the instance itself."""

    @abstractmethod
    def problem(self, size: str, index: int) -> Problem:
        """The instance of a size and a number."""

    def cases(self, choice: Choice) -> Iterable[Case]:
        small = choice.preset == "small"
        full = [size for size in self.sizes if size not in self.asked]
        for size in choice.sizes or (self.few if small else full):
            for k in range(choice.instances or (1 if small else self.count)):
                for method in choice.methods or self.methods:
                    yield Case(f"{size}-{k}", method, k, self.seconds * (choice.budget or 1.0))

    def run(self, case: Case) -> Row:
        size, _, index = case.instance.rpartition("-")
        problem = self.problem(size, int(index))
        assert case.budget is not None
        allowed = Allowance(case.budget, case.seed, self.threads)
        answer, row = clocked(self.rivals[case.method](problem, allowed))
        x = problem.check_point("x", answer.x)
        row |= {"fun": problem.objective(x), "feasible": problem.violation(x) == 0}
        return row | {"size": size, "n": problem.n}

    def message(self, rows: Sequence[Row]) -> str:
        return super().message([row for row in rows if row["feasible"]])

    def report(self, rows: Sequence[Row]) -> list[Section]:
        methods = [method for method in self.methods if any(row["method"] == method for row in rows)]
        sections: list[Section] = [Text(self.summary, [self.goal, RULES, DEFINITIONS])]
        for budget, part in sorted(grouped(rows, "budget").items()):
            sizes = grouped(part, "size")
            cells = columns(sizes, methods, mean_objective)
            lines = [[size, *line] for size, line in zip(sizes, cells, strict=True)]
            title = f"Mean objective after {budget:g} s"
            sections.append(ReportTable(title, ["size", *methods], lines, best="min", best_from=1))
            sections.append(_duels(budget, part, methods[0]))
        return sections


def mean_objective(rows: Sequence[Row]) -> float | None:
    """Over instances, where all have an answer within the counts."""
    return mean(rows, "fun") if all(row["feasible"] for row in rows) else None


def _duels(budget: float, rows: Sequence[Row], ours: str) -> ReportTable:
    by = grouped([row for row in rows if row["feasible"]], "method")
    lines = []
    for method, theirs in by.items():
        found = duel(by.get(ours, []), theirs) if method != ours else None
        if found is not None:
            lines.append([method, found.pairs, found.wins, found.ties, found.losses])
    heads = [f"{ours} against", "instances", "wins", "ties", "losses"]
    return ReportTable(
        f"{ours} against each, after {budget:g} s", heads, lines, "Where both have an answer.", 3
    )
