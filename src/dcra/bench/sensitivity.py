"""Benchmark `sensitivity`: how much the parameters of engines `dcra` and `sweep` matter.

The studies `paper-rank`, `paper-rho` and `paper-delta` vary `DCRA.paper()` in absolute units, as the paper's
Figure 1 does; those without the prefix vary our default in the natural units of each problem.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple

from dcra.bench.base import Benchmark, Case, Choice, Row
from dcra.bench.floor import l1_floor
from dcra.bench.gaussian import instance, size_of
from dcra.bench.sections import Section
from dcra.bench.solving import judged
from dcra.compiled.units import Units
from dcra.engines.base import Engine, Starts
from dcra.engines.dcra import DCRA
from dcra.engines.sweep import Sweep

RANKS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
HALF_DECADES = tuple(10 ** (k / 2) for k in range(-6, 7))
DECADES = HALF_DECADES[::2]
TRIALS, FEW_TRIALS, SMALL_TRIALS, LARGE_RANK = 50, 10, 3, 50
CHUNK = 1 << 24


class Study(NamedTuple):
    """One parameter: what it is called, its values, those of the small preset, and the engine it makes.

    `make` is given a value, the natural units of the problem, and p = n + 1.
    """

    engine: str
    label: str
    values: Sequence[float]
    few: Sequence[float]
    make: Callable[[float, Units, int], Engine]


def _rank(value: float, units: Units, p: int) -> Engine:
    return DCRA(rank=min(int(value), p), rank_one=True)


def _scaled(delta: Sequence[float], factor: float) -> tuple[float, ...]:
    return tuple(factor * part for part in delta)


def _paper_rank(value: float, units: Units, p: int) -> Engine:
    return DCRA.paper(rank=min(int(value), p), rank_one=True)


STUDIES: dict[str, Study] = {
    "paper-rank": Study("dcra-paper", "m (the paper's 5)", RANKS, RANKS[:7], _paper_rank),
    "paper-rho": Study(
        "dcra-paper",
        "initial rho (the paper's 1)",
        HALF_DECADES,
        DECADES,
        lambda value, units, p: DCRA.paper(rho_init=value),
    ),
    "paper-delta": Study(
        "dcra-paper",
        "delta (ours for it: 5)",
        HALF_DECADES,
        DECADES,
        lambda value, units, p: DCRA.paper(smoothing=value),
    ),
    "rank": Study("dcra", "m (default 5)", RANKS, RANKS[:7], _rank),
    "rho": Study(
        "dcra",
        "initial rho / natural unit (default 0.01)",
        HALF_DECADES,
        DECADES,
        lambda value, units, p: DCRA(rho_init=value * units.rho),
    ),
    "delta": Study(
        "dcra",
        "delta / natural unit (default 1)",
        HALF_DECADES,
        DECADES,
        lambda value, units, p: DCRA(smoothing=_scaled(units.delta, value)),
    ),
    "sweeps": Study(
        "sweep",
        "sweeps (default 200)",
        (10, 20, 50, 100, 200, 500, 1000, 2000),
        (10, 50, 200, 1000),
        lambda value, units, p: Sweep(sweeps=int(value)),
    ),
    "sweep-delta": Study(
        "sweep",
        "delta / natural unit (default 1)",
        HALF_DECADES,
        DECADES,
        lambda value, units, p: Sweep(smoothing=_scaled(units.delta, value)),
    ),
    "sweep-kappa": Study(
        "sweep",
        "kappa (default 0.7)",
        (0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 5),
        (0.2, 0.5, 1, 5),
        lambda value, units, p: Sweep(kappa=value),
    ),
    "sweep-momentum": Study(
        "sweep",
        "momentum (default 0.5)",
        (0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
        (0.01, 0.3, 0.5, 0.7),
        lambda value, units, p: Sweep(momentum=value),
    ),
    "sweep-shape": Study(
        "sweep",
        "shape of the penalty (default 0.3)",
        (0.01, 0.1, 0.2, 0.3, 0.4, 0.5),
        (0.01, 0.3, 0.5),
        lambda value, units, p: Sweep(shape=value),
    ),
    "sweep-power": Study(
        "sweep",
        "exponent of the schedule (default 0.35)",
        (0.15, 0.25, 0.35, 0.5, 0.7, 1),
        (0.25, 0.35, 0.5),
        lambda value, units, p: Sweep(power=value),
    ),
    "sweep-block": Study(
        "sweep",
        "columns of a block (default 1)",
        (1, 4, 16, 64, 256),
        (1, 16, 256),
        lambda value, units, p: Sweep(block=int(value)),
    ),
}
"""By name. The penalty of `sweep` has no scale of its own: it is steered."""


class Sensitivity(Benchmark):
    """One start of a plain engine, without polish, for every value of a parameter."""

    name: ClassVar[str] = "sensitivity"
    summary: ClassVar[str] = "the paper's parameter study: objective and time of one start, value by value"
    sizes: ClassVar[Sequence[str]] = ("500x300", "1000x600")
    methods: ClassVar[Sequence[str]] = tuple(STUDIES)

    def cases(self, choice: Choice) -> Iterable[Case]:
        small = choice.preset == "small"
        for size in choice.sizes or (self.sizes[:1] if small else self.sizes):
            for name in choice.methods or self.methods:
                study = STUDIES[name]
                for value in study.few if small else study.values:
                    for trial in range(choice.instances or trials(name, value, small)):
                        yield Case(f"l1-{size}-{trial}", method_name(name, value), trial)

    def run(self, case: Case) -> Row:
        from dcra.compiled.form import compile_problem
        from dcra.compiled.units import natural_units
        from dcra.search.threads import one_blas_thread

        name, value = study_of(case.method)
        problem = instance(case.instance)
        n, d = size_of(case.instance)
        compiled = compile_problem(problem)
        engine = STUDIES[name].make(value, natural_units(compiled), n + 1)
        with one_blas_thread():
            wall, cpu = time.perf_counter(), time.process_time()
            state = engine.start(compiled, Starts(case.seed, 0, 1))
            while not state.done:
                state.advance(CHUNK)
            spins = state.candidates()[0]
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        return {
            "size": f"{n}x{d}",
            "study": name,
            "value": min(value, n + 1) if name.endswith("rank") else value,
            "fun": judged(problem, compiled.decode(spins)),
            "wall": wall,
            "cpu": cpu,
            "steps": state.steps,
            "floor": l1_floor(n, d),
        }

    def warm(self, case: Case) -> None:
        from dcra.bench.solving import warm

        warm(STUDIES[study_of(case.method)[0]].engine)

    def report(self, rows: Sequence[Row]) -> list[Section]:
        from dcra.bench.sensitivity_report import sections

        return sections(rows)


def trials(name: str, value: float, small: bool) -> int:
    """Trials of a value: fewer where each is long."""
    if small:
        return SMALL_TRIALS
    return FEW_TRIALS if name.endswith("rank") and value > LARGE_RANK else TRIALS


def method_name(study: str, value: float) -> str:
    """A study and a value in one word."""
    return f"{study}={value:.3g}"


def study_of(method: str) -> tuple[str, float]:
    """The study and the exact value behind `method_name`."""
    study = method.partition("=")[0]
    return study, next(value for value in STUDIES[study].values if method_name(study, value) == method)
