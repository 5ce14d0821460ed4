"""The X-step of supervised hashing alone: one W, the targets of many samples, every solver on the same."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.compare import grouped
from dcra.bench.sections import Cell, ReportTable, Section, Text

CLASSES = 10
SAMPLES, FEW_SAMPLES = 59_000, 2000
SHOWN = 100
"""Distinct targets that rivals are given where there are many; their seconds are scaled to all."""

RIVALS = ("flip", "subgradient", "dcra", "anneal", "mpec-epm", "l2box-admm")
MULTI = ("flip x32", "anneal x32", "tabu x32", "dcra x32")
"""Rivals from as many starts as in a plain call."""

SECONDS = (0.01, 0.03, 0.1, 0.2, 0.5)
"""Limits under which "auto" is watched where it has few targets."""

WORDS = (
    "min over signs x of |W x - y|_1 for the target y of every sample; equal targets are solved once. "
    "'classes': y are labels in 10 classes, W is the random one that the paper's method begins with. "
    "'features': y are the 512 GIST numbers of CIFAR-10 images at unit length, W is their ridge regression "
    "on the signs of their principal components, turned at random. The last number of a name is that of the "
    "samples. Rivals take one start, as in `SupervisedHashing`, or 32."
)


class Targets(NamedTuple):
    """W (d, r), distinct targets as columns (d, k), and how many samples have each."""

    W: Host
    Y: Host
    counts: Host


class XStepBenchmark(Benchmark):
    """Cases are named KIND-BITS-SAMPLES: "features-32-59000"."""

    name = "xstep"
    summary = "the X-step of supervised hashing: every solver on the same W and targets"
    sizes = ("classes-16", "classes-32", "features-16", "features-32")
    methods = ("auto", "enumerate", *RIVALS, *MULTI)

    def warm(self, case: Case) -> None:
        from dcra.api import minimize_batch

        A = np.random.default_rng(0).normal(size=(20, 24 if case.method != "enumerate" else 8))
        minimize_batch(A, np.eye(20)[:, :2], method=case.method.partition(" ")[0], starts=1, seed=0, n_jobs=1)

    def cases(self, choice: Choice) -> Iterator[Case]:
        samples = FEW_SAMPLES if choice.preset == "small" else SAMPLES
        for size in choice.sizes or self.sizes:
            kind, _, bits = size.partition("-")
            rivals = ("enumerate",) if bits == "16" else RIVALS + (MULTI if kind == "classes" else ())
            wanted = [m for m in ("auto", *rivals) if m in (choice.methods or self.methods)]
            for seed in range(choice.instances or 1):
                if "auto" in wanted and size == "classes-32":
                    yield from (Case(f"{size}-{samples}", "auto", seed, budget) for budget in SECONDS)
                yield from (Case(f"{size}-{samples}", method, seed) for method in wanted)

    def run(self, case: Case) -> Row:
        from dcra.api import minimize_batch

        kind, bits, samples = case.instance.split("-")
        W, Y, counts = targets(kind, int(bits), int(samples), case.seed)
        if case.method != "auto":
            Y, counts = Y[:, :SHOWN], counts[:SHOWN]
        method, _, several = case.method.partition(" x")
        starts = None if method == "auto" else int(several or 1)
        wall, cpu = time.perf_counter(), time.process_time()
        result = minimize_batch(
            W, Y, method=method, starts=starts, seed=case.seed, time_limit=case.budget, n_jobs=self.threads
        )
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        solved, shown = len(counts), min(SHOWN, len(counts))
        return {
            "fun": float(result.fun @ counts),
            "wall": wall,
            "cpu": cpu,
            "solved": solved,
            "shown": float(result.fun[:shown] @ counts[:shown]),
        }

    def message(self, rows: Sequence[Row]) -> str:
        """Rows are compared where as many targets were solved: slow methods were given fewer."""
        parts = [{**row, "instance": f"{row['instance']}/{row['solved']}"} for row in rows]
        return super().message(parts)

    def report(self, rows: Sequence[Row]) -> list[Section]:
        parts: list[Section] = [Text("The X-step of supervised hashing", [WORDS])]
        for instance, found in grouped([row for row in rows if "shown" in row], "instance").items():
            parts.append(_table(str(instance), found))
        return parts


def targets(kind: str, bits: int, samples: int, seed: int) -> Targets:
    from dcra.apps.hashing.starts import random_coefficients

    if kind == "classes":
        counts = np.bincount(np.arange(samples) % CLASSES).astype(float)
        return Targets(random_coefficients(CLASSES, bits, False, seed), np.eye(CLASSES), counts)
    F = _features()[np.random.default_rng(seed).permutation(len(_features()))[:samples]]
    W, mean = _regression(F, bits, seed)
    return Targets(W, np.ascontiguousarray((F - mean).T), np.ones(len(F)))


def _seconds(rows: Sequence[Row]) -> float:
    """CPU seconds for all targets, in the mean."""
    kind, _, samples = rows[0]["instance"].split("-")
    distinct = CLASSES if kind == "classes" else int(samples)
    return float(np.mean([row["cpu"] * distinct / row["solved"] for row in rows]))


@lru_cache(maxsize=1)
def _features() -> Host:
    from dcra import datasets

    try:
        F = datasets.cifar10().features.astype(np.float64)
    except (OSError, ImportError) as error:
        raise Skip(str(error)) from error
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    return F


def _regression(F: Host, bits: int, seed: int) -> tuple[Host, Host]:
    """W (d, bits) and intercept (d,) of the ridge regression of F on codes made from it."""
    from dcra.apps.hashing.blocks import SampleRows
    from dcra.apps.hashing.starts import feature_codes

    codes = feature_codes(SampleRows(F), bits, seed, 1).astype(np.float64)
    X = np.concatenate([codes, np.ones((len(F), 1))], axis=1)
    penalty = np.diag(np.append(np.full(bits, 0.5), 0.0))
    V = np.linalg.solve(X.T @ X + penalty, X.T @ F)
    return np.ascontiguousarray(V[:-1].T), V[-1]


def _table(instance: str, rows: Sequence[Row]) -> ReportTable:
    """Each rival beside "auto" on the targets that the rival was given, averaged over seeds."""
    by = grouped(rows, "method", "budget")
    lines: list[list[Cell]] = []
    for (method, budget), found in sorted(by.items(), key=lambda item: _mean(item[1], "shown")):
        seeds = {row["seed"] for row in found}
        ours = grouped([row for row in rows if row["method"] == "auto" and row["seed"] in seeds], "budget")
        value, seconds = _mean(found, "shown"), _seconds(found)
        name = method if budget is None else f"{method}, {budget:g} s"
        final = _mean(ours[None], "shown") if None in ours else None
        sooner = [_seconds(r) for r in ours.values() if _mean(r, "shown") <= value * (1 + 1e-9)]
        reached = min(sooner, default=None) if method != "auto" else None
        above = None if final is None else 100 * (value / final - 1)
        lines.append([name, found[0]["solved"], value, above, seconds, reached])
    columns = [
        "method",
        "targets solved",
        "objective",
        "% above auto's end",
        "CPU seconds",
        "auto is there in",
    ]
    return ReportTable(instance, columns, lines, CAPTION)


CAPTION = (
    f"Objective of at most the first {SHOWN} distinct targets, each counted as often as it occurs. CPU "
    "seconds for all targets: measured for 'auto', scaled from those solved for the others. 'auto is there "
    "in': those of the shortest run of 'auto' with an objective no larger. Mean over the rival's seeds."
)


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))
