"""A benchmark and a method of your own, without a change to dcra.

    PYTHONPATH=examples dcra bench own_benchmark:Sums --out sums
    dcra report sums                      (with the same PYTHONPATH)

A package of yours can give both a name, by entry points in its pyproject.toml:

    [project.entry-points."dcra.benchmarks"]
    sums = "own_benchmark:Sums"

    [project.entry-points."dcra.methods"]
    quick-anneal = "own_benchmark:quick_anneal"
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np

import dcra
from dcra.bench.base import Benchmark, Case, Choice, Row
from dcra.bench.compare import grouped, mean
from dcra.bench.sections import ReportTable, Section, Text
from dcra.bench.solving import summarise_solve, timed
from dcra.polish.anneal import Anneal


def quick_anneal() -> Anneal:
    """A method is a function without arguments that returns an engine with its options."""
    return Anneal(passes=100)


def numbers(name: str) -> dcra.Problem:
    """An instance from its name alone: split 40 numbers into two halves of nearly equal sum."""
    rng = np.random.default_rng(int(name.rpartition("-")[2]))
    return dcra.Problem([dcra.Term("l1", rng.random((1, 40)), np.zeros(1))])


class Sums(Benchmark):
    """min |a'x| over spins."""

    name: ClassVar[str] = "sums"
    summary: ClassVar[str] = "numbers split into two halves of nearly equal sum"
    sizes: ClassVar[Sequence[str]] = ("40",)
    methods: ClassVar[Sequence[str]] = ("auto", "flip", "random")

    def cases(self, choice: Choice) -> Iterable[Case]:
        for i in range(choice.instances or 3):
            for method in choice.methods or self.methods:
                yield Case(f"sums-40-{i}", method, i)

    def run(self, case: Case) -> Row:
        problem = numbers(case.instance)
        solved = timed(problem, case.method, seed=case.seed, starts=8, n_jobs=self.threads)
        return {"size": "40", **summarise_solve(problem, solved)}

    def report(self, rows: Sequence[Row]) -> list[Section]:
        means = {method: mean(found, "fun") for method, found in grouped(rows, "method").items()}
        best = min(means, key=lambda method: means[method] or 0.0, default="nobody")
        words = (
            f"Over {len(grouped(rows, 'instance'))} instances the smallest mean difference is that of {best}."
        )
        table = ReportTable("Means", ["method", "mean difference"], [[*pair] for pair in means.items()])
        return [Text("In short", [words]), table]
