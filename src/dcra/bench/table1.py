"""Benchmark `table1`: the paper's random l1 problems, at its seconds, at ten times those, and to the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from dcra.bench.base import Benchmark, Case, Choice, Row
from dcra.bench.floor import l1_floor
from dcra.bench.gaussian import instance, random_value, size_of
from dcra.bench.paper import PAPER
from dcra.bench.sections import Section
from dcra.bench.solving import summarise_solve, timed

OURS = ("auto", "sweep", "dcra", "anneal", "tabu", "flip")
RIVALS = (
    "dcra-paper",
    "random",
    "mpec-epm",
    "mpec-epm-table",
    "mpec-adm",
    "l2box-admm",
    "shapeak",
    "subgradient",
    "lp-rounding",
    "milp",
    "gurobi",
    "cpsat",
    "scip",
)
FOREVER = ("milp", "gurobi", "cpsat", "scip", "anneal", "tabu")
"""Methods with no end of their own before the optimum is proven, or none at all."""

PLAIN = ("auto",)
"""Methods whose starts build on each other: their own end is that of a plain call, not of one start."""

SMALL_SIZES, SMALL_INSTANCES, INSTANCES = 6, 2, 100
FACTORS = {"small": (1.0,), "full": (1.0, 10.0)}


class Table1(Benchmark):
    """min |Ax - b|_1 over spins, A and b standard normal."""

    name: ClassVar[str] = "table1"
    summary: ClassVar[str] = "the paper's Table 1: random l1 problems, 15 sizes, every rival"
    sizes: ClassVar[Sequence[str]] = tuple(f"{n}x{d}" for n, d in PAPER)
    methods: ClassVar[Sequence[str]] = OURS + RIVALS

    def cases(self, choice: Choice) -> Iterable[Case]:
        small = choice.preset == "small"
        sizes = choice.sizes or (self.sizes[:SMALL_SIZES] if small else self.sizes)
        count = choice.instances or (SMALL_INSTANCES if small else INSTANCES)
        for size in sizes:
            seconds = PAPER[size_of(size)].dcra_seconds
            for i in range(count):
                for method in choice.methods or self.methods:
                    for budget in budgets(choice, method, seconds):
                        yield Case(f"l1-{size}-{i}", method, i, budget)

    def run(self, case: Case) -> Row:
        n, d = size_of(case.instance)
        problem = instance(case.instance)
        limits: dict[str, Any] = {"time_limit": case.budget}
        if case.budget is None:
            limits = {} if case.method in PLAIN else {"starts": 1}
        solved = timed(problem, case.method, seed=case.seed, n_jobs=self.threads, **limits)
        seconds = PAPER[n, d].dcra_seconds
        return {
            "size": f"{n}x{d}",
            "factor": None if case.budget is None else round(case.budget / seconds, 6),
            **summarise_solve(problem, solved),
            "floor": l1_floor(n, d),
            "random": random_value(case.instance),
        }

    def report(self, rows: Sequence[Row]) -> list[Section]:
        from dcra.bench.table1_report import sections

        return sections(rows)


def budgets(choice: Choice, method: str, seconds: float) -> list[float | None]:
    """Seconds of a method's cases on one instance; None is its own end."""
    ends = [] if method in FOREVER else [None]
    if choice.own:
        return [*ends]
    if choice.budget is not None:
        return [choice.budget * seconds]
    return [*(factor * seconds for factor in FACTORS[choice.preset]), *ends]
