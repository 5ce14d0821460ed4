"""Method "auto" on an accelerator and on the CPU beside it: the same instances, the same seconds.

Arrays are NumPy's in float32: seconds go from arrays on the host to x on the host. Kernels are compiled
before the clock starts. The CPU has as many threads as --threads says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import ClassVar

import numpy as np

from dcra import api
from dcra._array import Host
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.compare import columns, grouped
from dcra.bench.floor import l1_floor
from dcra.bench.gaussian import size_of
from dcra.bench.maxcut import MaxCut, complete_graph
from dcra.bench.sections import ReportTable, Section, Text
from dcra.bench.solving import summarise_solve, timed
from dcra.model.problem import Problem
from dcra.model.term import Term

PLACES = ("cuda", "cpu")
SMALL, FEW = (8, (0.05, 0.5)), 3
SIZES: dict[str, tuple[int, tuple[float | None, ...]]] = {
    "l1-60x60": SMALL,
    "l1-100x100": SMALL,
    "l1-140x140": SMALL,
    "l1-200x200": SMALL,
    "l1-300x300": (6, (0.05, 1.0)),
    "l1-1000x1000": (6, (0.25, 1.0, 5.0)),
    "l1-2000x2000": (6, (1.0, 5.0)),
    "l1-3000x2000": (6, (1.0, 5.0, 20.0)),
    "l1-3000x4000": (2, (1.0, 5.0)),
    "l1-6000x6000": (2, (1.0, 5.0)),
    "l1-10000x12000": (2, (1.0, 5.0)),
    "complete-2000": (6, (0.3, 1.0)),
    "gset": (1000, (5.0,)),
    "gset-large": (1000, (20.0,)),
    "batch-100-800x800": (1, (None, 1.0)),
    "batch-1000-64x32": (1, (None, 2.0)),
    "batch-1000000-64x32": (1, (None, 2.0)),
    "batch-1000000-32x64": (1, (None, 2.0)),
}
"""Sizes, variables x rows; how many instances of each, three at most from 5 s on; and the seconds of each,
where None is the method's own end."""

LONG = 5.0
FIRST_SEED = 40_000
"""Of the instances: not those that anything was tuned on."""

BANK_BYTES = 128
"""That the shared memory of a processor moves in a cycle."""


def generator(number: int) -> np.random.Generator:
    return np.random.default_rng(FIRST_SEED + number)


@cache
def rehearse(what: str) -> None:
    """Have the kernels for problems of one kind compiled, and the device ready; once in a process."""
    problem = dense(*size_of(what), -1) if what.startswith("l1") else problem_of(what)
    api.solve(problem, starts=1, seed=0, device="cuda")


def dense(n: int, r: int, number: int) -> Problem:
    """A, then b, standard normal."""
    rng = generator(number)
    return Problem([Term("l1", rng.standard_normal((r, n), np.float32), rng.standard_normal(r, np.float32))])


def problem_of(instance: str) -> Problem:
    """The problem of a name: l1-300x300-0, complete-2000-0, or gset/G1.txt."""
    if "/" in instance:
        return MaxCut().problem(instance)
    kind, size, number = instance.split("-")
    if kind == "l1":
        return dense(*size_of(size), int(number))
    n = int(size)
    i, j, weight = complete_graph(n, generator(int(number)))
    W = np.zeros((n, n), np.float32)
    W[i, j] = W[j, i] = weight
    return Problem(quadratic=W / 4, constant=-float(weight.sum()) / 2)


class DeviceBenchmark(Benchmark):
    """Objectives at equal time, a device beside the processor's cores."""

    name: ClassVar[str] = "device"
    summary: ClassVar[str] = "Method auto on an accelerator and on the CPU: losses, cuts, batches"
    sizes: ClassVar[Sequence[str]] = tuple(SIZES)
    methods: ClassVar[Sequence[str]] = PLACES

    def cases(self, choice: Choice) -> Iterable[Case]:
        small = choice.preset == "small"
        for size in choice.sizes or (self.sizes[:5] if small else self.sizes):
            most, seconds = SIZES[size]
            for method in choice.methods or self.methods:
                for budget in seconds[:1] if small else seconds:
                    count = min(most, choice.instances or most, FEW if (budget or 0.0) >= LONG else most)
                    scaled = None if budget is None else budget * (choice.budget or 1.0)
                    for instance in names(size, 1000 if size.startswith("gset") else count):
                        yield Case(instance, method, 0, scaled)

    def warm(self, case: Case) -> None:
        """Kernels depend on the size: each case warms its own."""

    def run(self, case: Case) -> Row:
        if case.method == "cuda":
            from dcra.accelerator.device import why_not

            if reason := why_not():
                raise Skip(reason)
        return batch(case) if case.instance.startswith("batch") else single(case, self.threads)

    def report(self, rows: Sequence[Row]) -> list[Section]:
        words = (
            "Method auto, by NumPy arrays in float32 that go to the device and back; kernels are compiled "
            "before the clock starts. Floor: the value below which a point almost surely does not exist."
        )
        return [Text("A device, and the processor beside it", [words]), means(rows), paces(rows)]


def names(size: str, count: int) -> list[str]:
    """Instances of a size."""
    if size.startswith("gset"):
        return MaxCut().instances(size)
    return [f"{size}-{k}" for k in range(count)]


def single(case: Case, threads: int) -> Row:
    """One problem; device="cuda" means it, however small the problem is."""
    from dcra.auto import placement

    problem = problem_of(case.instance)
    kind = size_name(case.instance)
    placement.REPLICA_ENTRIES = 0
    if case.method == "cuda":
        rehearse(case.instance if problem.quadratic is not None else kind)
    options = {"time_limit": case.budget, "seed": case.seed, "device": case.method}
    row = summarise_solve(problem, timed(problem, "auto", **options)) | {"size": kind, "n": problem.n}
    if problem.quadratic is not None:
        return row | {"listed": MaxCut().listed(case.instance)}
    row["floor"] = l1_floor(*size_of(kind))
    return row | (pace(kind) if case.method == "cuda" else {})


def batch(case: Case) -> Row:
    """Many right-hand sides of one A."""
    _, count, size, number = case.instance.split("-")
    n, r = size_of(size)
    A, B = arrays(n, r, int(count), int(number))
    api.minimize_batch(A, B[:, :64], starts=1, seed=0, device=case.method)  # kernels are compiled
    found = api.minimize_batch(A, B, time_limit=case.budget, seed=case.seed, device=case.method)
    mean = float(np.mean(found.fun))
    return {"fun": mean, "wall": found.seconds, "cpu": None, "size": size_name(case.instance), "n": n}


@cache
def arrays(n: int, r: int, count: int, number: int) -> tuple[Host, Host]:
    rng = generator(number)
    return rng.standard_normal((r, n), np.float32), rng.standard_normal((r, count), np.float32)


@cache
def pace(size: str) -> Row:
    """Seconds of a sweep and of an annealing pass of all replicas, and the share of the bandwidth of shared
    memory that a sweep's tiles and sums take, at the highest clock."""
    from dcra.accelerator import device
    from dcra.accelerator.replicas import Replicas
    from dcra.compiled.form import compile_problem
    from dcra.engines.base import Starts

    replicas = Replicas(compile_problem(dense(*size_of(size), -1)), 0, np.inf)
    for _ in range(2):
        replicas.begin(Starts(0, 0, replicas.count))
        replicas.sweep(0, 200, 200)
        replicas.annealer.load(replicas.sweeper.signs())
        replicas.anneal(np.zeros(20), 0, 0)
    shape, steps = replicas.shapes.sweep, replicas.sweeper.steps
    tiles = shape.rows // shape.PARTS * shape.width * 2  # bytes of a step: written once, read twice
    sums = 2 * shape.WARPS * shape.width**2 * (4 if shape.M == 1 else 2)
    moved = steps * (3 * tiles + sums) * shape.BLOCKS
    clock = device.library().cuda.Device(0).attributes["ClockRate"] * 1e3
    share = moved / (BANK_BYTES * clock * replicas.sweep_seconds)
    return {"sweep": replicas.sweep_seconds, "pass": replicas.pass_seconds, "bandwidth": share}


def size_name(instance: str) -> str:
    if "/" in instance:
        return "gset"
    return instance.rpartition("-")[0]


def value(row: Row) -> float:
    """Objective over floor; of cuts the gap in per cent to the best that is listed; else the objective."""
    if row.get("listed"):
        best = min(row["listed"])
        return float(100 * (row["fun"] - best) / abs(best))
    return float(row["fun"] / row.get("floor", 1.0))


def means(rows: Sequence[Row]) -> ReportTable:
    """Means of `value`, by size and seconds."""
    groups = grouped(rows, "size", "budget")
    found = columns(groups, PLACES, lambda own: float(np.mean([value(row) for row in own])))
    cells = [[*key, *line] for key, line in zip(groups, found, strict=True)]
    caption = "l1: objective over floor; G-set: gap to the best listed cut in per cent; others: objective."
    return ReportTable("Means", ("size", "seconds", *PLACES), cells, caption, 5)


def paces(rows: Sequence[Row]) -> ReportTable:
    """Of each size that kernels took."""
    cells = []
    for size, group in grouped([row for row in rows if row.get("sweep")], "size").items():
        row = group[0]
        cells.append([size, 1e6 * row["sweep"], 1e6 * row["pass"], row["bandwidth"]])
    head = ("size", "sweep, us", "pass, us", "share of shared memory's bandwidth")
    return ReportTable("Paces", head, cells, "Of all replicas together.", 3)
