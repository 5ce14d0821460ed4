"""Benchmark `ablation`: every constant of the searches of method "auto" halved and doubled, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from dcra.bench.base import Benchmark, Case, Choice, Row
from dcra.bench.compare import grouped
from dcra.bench.sections import Cell, ReportTable, Section, Text
from dcra.bench.solving import summarise_solve, timed
from dcra.model.constraints import exactly
from dcra.model.problem import Problem
from dcra.model.term import Term

FACTORS, FEW_FACTORS = (0.25, 0.5, 2.0, 4.0), (0.5, 2.0)
SECONDS = 0.3
SMALL_COUNT, FULL_COUNT = 2, 20
PLAIN = "as it is"
CERTAIN = 2.0
"""Standard errors beyond which a change is more than chance."""

Random = np.random.Generator


def _wide(rng: Random) -> Problem:
    return Problem([Term("l1", rng.standard_normal((50, 100)), rng.standard_normal(50))])


def _square(rng: Random) -> Problem:
    return Problem([Term("l1", rng.standard_normal((300, 300)), rng.standard_normal(300))])


def _coupled(rng: Random) -> Problem:
    return Problem(quadratic=rng.integers(-100, 101, (400, 400)).astype(float))


def _graph(rng: Random, n: int = 400, degree: float = 6.0) -> Any:
    from scipy import sparse

    upper = sparse.triu(sparse.random_array((n, n), density=degree / n, rng=rng), 1)
    weights = sparse.csc_array(upper).sign()
    return weights + weights.T


def _cut(rng: Random) -> Problem:
    return Problem(quadratic=_graph(rng))


def _halves(rng: Random) -> Problem:
    return Problem(quadratic=-_graph(rng), constraints=exactly(200))


def _count(rng: Random) -> Problem:
    A, b = rng.standard_normal((200, 200)), rng.standard_normal(200)
    return Problem([Term("l1", A, b)], constraints=exactly(100))


KINDS: dict[str, Callable[[Random], Problem]] = {
    "losses-100x50": _wide,
    "losses-300x300": _square,
    "quadratic-400": _coupled,
    "cut-400": _cut,
    "halves-400": _halves,
    "count-200": _count,
}

LOSSES, QUADRATIC = ("losses-100x50", "losses-300x300"), ("quadratic-400", "cut-400")

CONSTANTS: dict[str, tuple[Sequence[str], str]] = {
    "auto.descents": (
        LOSSES,
        "FIRST_GRANT, FULL_SHARE, LONGEST, ENOUGH, SWEEP_SHARE, MIN_SWEEPS, MIN_PASSES, HOT, COLD",
    ),
    "engines.sweep": (LOSSES, "SPREAD"),
    "polish.anneal": (LOSSES, "CAUTION"),
    "polish.flip": (LOSSES, "PATIENCE"),
    "auto.annealing": (
        QUADRATIC,
        "HOT, GENTLE, COLD, FIRST_PASSES, ENOUGH, SQUARE_SHARE, GROWTH, SHARE, ELITE, AGAIN",
    ),
    "polish.quadratic": (QUADRATIC, "UNIT"),
    "constrained.counted": (("halves-400",), "ROOM"),
    "constrained.quadratic_swap": (("halves-400",), "COLD, RATE"),
    "constrained.penalties": (("count-200",), "GROWTH, FIRMNESS"),
    "constrained.plan": (("count-200",), "SWAP_SHARE, MIN_PASSES"),
    "constrained.swap": (("count-200",), "TRIES"),
    "constrained.repair": (("count-200",), "TENURE"),
}
"""By module: the kinds of problems whose search they steer, and their names."""

KNOBS: dict[str, Sequence[str]] = {
    f"{module}.{name}": kinds for module, (kinds, names) in CONSTANTS.items() for name in names.split(", ")
}


class Ablation(Benchmark):
    """The objective of `auto` with one constant of its searches changed, beside that with none changed."""

    name: ClassVar[str] = "ablation"
    summary: ClassVar[str] = "constants of the searches, each halved and doubled, at equal time"
    sizes: ClassVar[Sequence[str]] = tuple(KINDS)
    methods: ClassVar[Sequence[str]] = tuple(KNOBS)

    def cases(self, choice: Choice) -> Iterable[Case]:
        small = choice.preset == "small"
        for kind in choice.sizes or self.sizes:
            knobs = [knob for knob in choice.methods or self.methods if kind in KNOBS[knob]]
            factors = FEW_FACTORS if small else FACTORS
            changes = [PLAIN, *(f"{knob} x {factor:g}" for knob in knobs for factor in factors)]
            for i in range(choice.instances or (SMALL_COUNT if small else FULL_COUNT)):
                for change in changes if knobs else ():
                    yield Case(f"{kind}-{i}", change, i, SECONDS * (choice.budget or 1.0))

    def run(self, case: Case) -> Row:
        kind, _, number = case.instance.rpartition("-")
        problem = KINDS[kind](np.random.default_rng((list(KINDS).index(kind), int(number))))
        knob, _, factor = case.method.partition(" x ")
        options = {"seed": case.seed, "n_jobs": self.threads, "time_limit": case.budget}
        if case.method == PLAIN:
            return {"kind": kind, **summarise_solve(problem, timed(problem, "auto", **options))}
        with changed(knob, float(factor)) as value:
            solved = timed(problem, "auto", **options)
        row = {"kind": kind, "knob": knob, "factor": float(factor), "value": value}
        return row | summarise_solve(problem, solved)

    def warm(self, case: Case) -> None:
        """There is nothing to prepare: the loops come with the package."""

    def report(self, rows: Sequence[Row]) -> list[Section]:
        words = (
            "Each constant is multiplied by a factor while the others stay; instances, seeds and seconds are "
            "the same. The change is that of the mean objective, relative to its size, negative where the "
            f"factor is better; a star marks changes of more than {CERTAIN:g} standard errors of the paired "
            "differences."
        )
        found = grouped(rows, "kind")
        tables = [_table(kind, found[kind]) for kind in KINDS if kind in found]
        return [Text("Constants of the searches", [words]), *tables]


@contextmanager
def changed(knob: str, factor: float) -> Iterator[float]:
    """A constant times a factor for a while; whole numbers stay whole and at least 1."""
    path, _, name = knob.rpartition(".")
    module = import_module(f"dcra.{path}")
    before = getattr(module, name)
    value = max(1, round(before * factor)) if isinstance(before, int) else before * factor
    setattr(module, name, value)
    try:
        yield value
    finally:
        setattr(module, name, before)


def _table(kind: str, rows: Sequence[Row]) -> ReportTable:
    """A line for each constant, a column for each factor."""
    plain = {row["instance"]: row["fun"] for row in rows if row["method"] == PLAIN}
    size = float(np.mean(np.abs(list(plain.values())))) if plain else 1.0
    factors = sorted({row["factor"] for row in rows if "factor" in row})
    lines: list[list[Cell]] = []
    for knob, own in grouped([row for row in rows if "knob" in row], "knob").items():
        pairs: dict[float, list[float]] = {factor: [] for factor in factors}
        for row in own:
            if row["instance"] in plain:
                pairs[row["factor"]].append(row["fun"] - plain[row["instance"]])
        lines.append([knob, *(_change(differences, size) for differences in pairs.values())])
    title = f"{kind}: mean objective {size:.5g} as it is"
    return ReportTable(title, ["constant", *(f"x {factor:g}" for factor in factors)], lines)


def _change(differences: Sequence[float], size: float) -> Cell:
    """The mean of paired differences in per cent of the objective, starred where it is not chance."""
    if not differences:
        return None
    mean = float(np.mean(differences))
    error = float(np.std(differences, ddof=1)) / len(differences) ** 0.5 if len(differences) > 1 else np.inf
    return f"{100 * mean / size:+.2f} %{' *' if abs(mean) > CERTAIN * error else ''}"
