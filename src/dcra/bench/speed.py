"""How fast the engine is, beside what the machine can do: sweeps, sparse data, batches, a new process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from dcra.bench.base import Benchmark, Case, Choice, Row
from dcra.bench.compare import grouped, mean
from dcra.bench.in_short import NOTHING
from dcra.bench.sections import ReportTable, Section, Text
from dcra.bench.speed_parts import MEASURES, SWEEPS

SIZES = {
    "start-50x100": "auto",
    "process-50x100": "auto",
    "sweep-300x300": "sweep",
    "sweep-1000x1000": "sweep",
    "sweep-2000x3000": "sweep",
    "sweep-5000x5000": "sweep",
    "sparse-1000000": "sweep",
    "batch-60000-10x64": "auto",
    "batch-10000-512x32": "auto",
    "sparse-10000000": "sweep",
}
"""Parts, with rows x variables, nonzeros or right-hand sides, and the method of each."""

FULL_COUNT = 3

WORDS = (
    "Sweeps: entries of a dense float32 A that a sweep takes in a CPU second, beside a dot product of A with "
    f"itself. Sparse: {SWEEPS} sweeps with the lower bound, ten nonzeros in each column; memory in units of "
    "A's own. Batches: many right-hand sides of one A, to their own end. A new process: the imports of "
    "NumPy and of dcra, the first solve and the second; and, from outside, a process that imports, solves in "
    "0.02 s and ends. Matrices are rows x variables; threads as in --threads."
)


class Speed(Benchmark):
    """Rates and seconds; a case is a part, and its seed counts repetitions."""

    name: ClassVar[str] = "speed"
    summary: ClassVar[str] = (
        "Rates of sweeps, seconds of batches and sparse data, the first call of a process"
    )
    sizes: ClassVar[Sequence[str]] = tuple(SIZES)
    methods: ClassVar[Sequence[str]] = ("auto", "sweep")

    def cases(self, choice: Choice) -> Iterator[Case]:
        for seed in range(choice.instances or (1 if choice.preset == "small" else FULL_COUNT)):
            for size in choice.sizes or self.sizes:
                if SIZES[size] in (choice.methods or self.methods):
                    yield Case(size, SIZES[size], seed)

    def run(self, case: Case) -> Row:
        part, _, size = case.instance.partition("-")
        return {"part": part, **MEASURES[part](size, case.seed, self.threads)}

    def message(self, rows: Sequence[Row]) -> str:
        parts = grouped(rows, "part")
        words = [say(grouped(parts[part], "instance")) for part, say in IN_SHORT.items() if part in parts]
        return " ".join(words) or NOTHING

    def report(self, rows: Sequence[Row]) -> list[Section]:
        parts = grouped(rows, "part")
        tables = [_table(part, parts[part]) for part in COLUMNS if part in parts]
        return [Text("How fast it is", [WORDS]), *tables]


TIMES = {"seconds": "wall", "CPU seconds": "cpu"}
LAPS = {"NumPy's import": "numpy", "dcra's import": "imported", "first solve": "first", "second": "second"}
COLUMNS: dict[str, tuple[str, dict[str, str]]] = {
    "sweep": ("Sweeps", {"entries per CPU second": "rate", "dot product": "dot", "share of it": "share"}),
    "sparse": ("Sparse data", TIMES | {"memory of A": "memory"}),
    "batch": ("Batches", TIMES | {"mean objective": "fun"}),
    "start": ("A new process", LAPS),
    "process": ("A process as a whole", TIMES),
}
"""Titles, and what columns are called and hold."""


def _table(part: str, rows: Sequence[Row]) -> ReportTable:
    title, columns = COLUMNS[part]
    cells = [
        [instance.partition("-")[2], len(group), *(mean(group, field) for field in columns.values())]
        for instance, group in grouped(rows, "instance").items()
    ]
    return ReportTable(title, ["size", "runs", *columns], cells, "Means over runs.", 3)


def _largest(groups: dict[Any, list[Row]]) -> tuple[str, list[Row]]:
    """What comes last in the list of sizes, by its size."""
    instance = max(groups, key=lambda name: list(SIZES).index(name) if name in SIZES else -1)
    return instance.partition("-")[2], groups[instance]


def _said_of_sweeps(groups: dict[Any, list[Row]]) -> str:
    size, rows = _largest(groups)
    return f"Sweeps over {size} read A at {mean(rows, 'share'):.0%} of the rate of a dot product."


def _said_of_sparse(groups: dict[Any, list[Row]]) -> str:
    size, rows = _largest(groups)
    taken = f"{mean(rows, 'wall'):.1f} s and {mean(rows, 'memory'):.1f} times the memory of A"
    return f"{SWEEPS} sweeps over {size} nonzeros take {taken}."


IN_SHORT = {"sweep": _said_of_sweeps, "sparse": _said_of_sparse}
