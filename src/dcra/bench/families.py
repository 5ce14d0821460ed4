"""Benchmark `families`: problems that are not Gaussian l1 - other matrices, other losses, planted answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dcra._array import Host
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.compare import DEFINITIONS, columns, duel, grouped, mean
from dcra.bench.sections import ReportTable, Section, Text
from dcra.bench.solving import summarise_solve, timed
from dcra.model.problem import Problem
from dcra.model.term import Term

Random = np.random.Generator


class Family(NamedTuple):
    """How instances are drawn, (A, b, planted x or None), their loss, and the seconds of a search."""

    draw: Callable[[Random], tuple[Any, Host, Host | None]]
    loss: str = "l1"
    seconds: float = 0.2


def _gaussian(rng: Random, r: int = 300, n: int = 300) -> tuple[Host, Host, None]:
    return rng.standard_normal((r, n)), rng.standard_normal(r), None


def _sparse(rng: Random) -> tuple[Any, Host, None]:
    from scipy import sparse

    A = sparse.random_array((5000, 5000), density=0.01, rng=rng, data_sampler=rng.standard_normal)
    return A.tocsc(), rng.standard_normal(5000), None


def _correlated(rng: Random) -> tuple[Host, Host, None]:
    """Neighbouring columns agree to 90 %."""
    A, b, _ = _gaussian(rng)
    for j in range(1, A.shape[1]):
        A[:, j] = 0.9 * A[:, j - 1] + np.sqrt(1 - 0.9**2) * A[:, j]
    return A, b, None


def _signs(rng: Random) -> tuple[Host, Host, None]:
    return np.where(rng.random((300, 300)) < 0.5, -1.0, 1.0), rng.standard_normal(300), None


def _heavy(rng: Random) -> tuple[Host, Host, None]:
    """Rows of very different weight."""
    A, b, _ = _gaussian(rng)
    size = np.abs(rng.standard_t(1.5, 300))
    return size[:, None] * A, size * b, None


def _margins(rng: Random) -> tuple[Host, Host, None]:
    """Hinge: labelled rows a_i want y_i <a_i, x> >= sqrt n."""
    A, _, _ = _gaussian(rng, 500)
    return -A, np.full(500, -np.sqrt(300.0)), None


def _planted(rng: Random) -> tuple[Host, Host, Host]:
    """b = A x + noise, one row in ten grossly wrong: l1 recovers x."""
    A, x = rng.standard_normal((400, 300)), np.where(rng.random(300) < 0.5, -1.0, 1.0)
    noise = np.where(rng.random(400) < 0.1, 50.0, 0.5) * rng.standard_normal(400)
    return A, A @ x + noise, x


FAMILIES = {
    "sparse": Family(_sparse, seconds=2.0),
    "correlated": Family(_correlated),
    "signs": Family(_signs),
    "heavy": Family(_heavy),
    "huber": Family(_gaussian, "huber"),
    "quantile": Family(_gaussian, "quantile"),
    "hinge": Family(_margins, "hinge"),
    "squared": Family(_gaussian, "squared"),
    "logistic": Family(_margins, "logistic"),
    "planted": Family(_planted),
}


class Families(Benchmark):
    """`auto` against the searches it is made of, and exact solvers, where nothing is Gaussian l1."""

    name: ClassVar[str] = "families"
    summary: ClassVar[str] = "other matrices, other losses, planted answers: ten families"
    sizes: ClassVar[Sequence[str]] = tuple(FAMILIES)
    methods: ClassVar[Sequence[str]] = ("auto", "sweep", "anneal", "tabu", "flip", "milp", "gurobi")

    def cases(self, choice: Choice) -> Iterable[Case]:
        small = choice.preset == "small"
        for family in choice.sizes or self.sizes:
            for i in range(choice.instances or (2 if small else 10)):
                for factor in [choice.budget] if choice.budget else [1.0] if small else [1.0, 10.0]:
                    for method in choice.methods or self.methods:
                        yield Case(f"{family}-{i}", method, i, factor * FAMILIES[family].seconds)

    def run(self, case: Case) -> Row:
        name, _, number = case.instance.rpartition("-")
        family = FAMILIES[name]
        A, b, planted = family.draw(np.random.default_rng((list(FAMILIES).index(name), int(number))))
        problem = Problem([Term(family.loss, A, b)])
        try:
            solved = timed(problem, case.method, seed=case.seed, n_jobs=self.threads, time_limit=case.budget)
        except ValueError as error:  # a loss that the method does not know
            raise Skip(str(error)) from error
        assert case.budget is not None
        row = {"family": name, "factor": case.budget / family.seconds, **summarise_solve(problem, solved)}
        if planted is not None:
            row["recovered"] = bool(np.array_equal(np.asarray(solved.result.x), planted))
        return row

    def report(self, rows: Sequence[Row]) -> list[Section]:
        methods = [method for method in self.methods if any(row["method"] == method for row in rows)]
        sections: list[Section] = [Text("Families", [self.__doc__ or "", DEFINITIONS])]
        for factor, group in sorted(grouped(rows, "factor").items()):
            families = grouped(group, "family")
            means = columns(families, methods, lambda part: mean(part, "fun"))
            seconds = [FAMILIES[name].seconds * factor for name in families]
            lines = [[*head, *cells] for *head, cells in zip(families, seconds, means, strict=True)]
            title = f"Mean objective at {factor:g} x the seconds of the family"
            caption = "Smaller is better; mean over instances."
            sections.append(ReportTable(title, ["family", "seconds", *methods], lines, caption))
            sections.append(_duels(factor, families, methods))
        return sections


def _duels(factor: float, families: dict[str, list[Row]], methods: Sequence[str]) -> ReportTable:
    """Shares of instances on which `auto` is no worse."""
    rivals = [method for method in methods if method != "auto"]
    lines = []
    for name, part in families.items():
        by = grouped(part, "method")
        fights = [duel(by.get("auto", []), by.get(rival, [])) for rival in rivals]
        lines.append([name, *(None if f is None else f.wins + f.ties for f in fights)])
    return ReportTable(
        f"Share of instances on which auto is no worse, {factor:g} x",
        ["family", *rivals],
        lines,
        "Wins and ties of auto over each rival on the same instance and seed.",
    )
