"""Benchmark `maxsat`: files of the MaxSAT Evaluation, random Max-3-SAT, weighted partial problems."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dcra.apps import maxsat
from dcra.apps.maxsat import ClauseProblem, Clauses
from dcra.bench import maxsat_rivals
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.maxsat_rivals import ClauseAnswer
from dcra.bench.sections import ReportTable, Section, Text

SECONDS = {"evaluation": 1.0, "max3sat": 30.0, "independent-set": 5.0, "partial-3sat": 5.0}
"""Families, and the budget of each."""

SMALL_FILES, SMALL_COUNT, FULL_COUNT = 12, 1, 10
OURS = ("auto", "anneal", "tabu", "flip")


class MaxSat(Benchmark):
    """Weight of false clauses at equal time."""

    name: ClassVar[str] = "maxsat"
    summary: ClassVar[str] = "Max-SAT: Evaluation files, random Max-3-SAT, weighted partial problems"
    sizes: ClassVar[Sequence[str]] = tuple(SECONDS)
    methods: ClassVar[Sequence[str]] = (*OURS, *maxsat_rivals.RIVALS)

    def cases(self, choice: Choice) -> Iterable[Case]:
        small = choice.preset == "small"
        for family in choice.sizes or self.sizes:
            count = choice.instances or (SMALL_COUNT if small else FULL_COUNT)
            names = [f"{family}-{i}" for i in range(count)]
            if family == "evaluation":
                files = sorted(read_known())
                few = choice.instances or (SMALL_FILES if small else len(files))
                names = [f"{family}-{name}" for name in files[:: max(1, len(files) // few)][:few]]
            for name in names:
                for method in choice.methods or self.methods:
                    yield Case(name, method, 0, SECONDS[family] * (choice.budget or 1.0))

    def run(self, case: Case) -> Row:
        problem = ClauseProblem(instance(case.instance))
        solver = solver_of(case, problem)
        wall, cpu = time.perf_counter(), time.process_time()
        x, bound, bound_at = solver()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        clauses = problem.clauses
        cost, violated = clauses.cost(x), clauses.violated(x)
        fun = float(problem.objective(np.asarray(x, float)))
        row: Row = {"fun": fun, "cost": cost, "violated": violated, "wall": wall, "cpu": cpu}
        row |= {"bound": bound if bound > -inf else None, "bound_at": bound_at}
        return row | {"best_known": best_known(case.instance), "optimum": optimum(case.instance)}

    def report(self, rows: Sequence[Row]) -> list[Section]:
        rows = [row for row in rows if "cost" in row]
        words = (
            "Cost of the best assignment at equal time; - where hard clauses stayed false. auto is the "
            "search over clauses; anneal, tabu and flip see the sparse matrix of the same problem."
        )
        best: dict[str, float] = {}
        for row in rows:
            known_cost = inf if row["best_known"] is None else row["best_known"]
            fun = row["fun"] if row["violated"] == 0 else inf
            best[row["instance"]] = min(best.get(row["instance"], inf), fun, known_cost)
        cells = []
        for row in rows:
            cost = row["cost"] if row["violated"] == 0 else "-"
            name = row["instance"]
            cells.append((name, row["method"], cost, row["bound"], best[name], row["wall"]))
        columns = ("instance", "method", "cost", "bound", "best of all", "seconds")
        tables = [*_shares(rows, best), *_optima(rows), *_bounds(rows)]
        return [Text("Max-SAT", [words]), *tables, ReportTable("All runs", columns, cells, words)]


def _shares(rows: Sequence[Row], best: dict[str, float]) -> list[Section]:
    """How often each method is as good as the best of all, by family."""
    keys = sorted({(family_of(row["instance"]), row["method"]) for row in rows})
    cells = []
    for family, method in keys:
        own = [row for row in rows if (family_of(row["instance"]), row["method"]) == (family, method)]
        hits = [row["violated"] == 0 and row["fun"] <= best[row["instance"]] for row in own]
        feasible = [row["violated"] == 0 for row in own]
        cells.append((family, method, len(own), float(np.mean(feasible)), float(np.mean(hits))))
    columns = ("family", "method", "runs", "feasible", "share at the best")
    return [
        ReportTable("By family", columns, cells, "Best: of all methods here and of the published values.")
    ]


def _optima(rows: Sequence[Row]) -> list[Section]:
    """How many of the files with a proven optimum each method solves."""
    proven = [row for row in rows if row.get("optimum") is not None]
    cells = []
    for method, budget in sorted({(row["method"], row["budget"]) for row in proven}):
        own = [row for row in proven if (row["method"], row["budget"]) == (method, budget)]
        reached = sum(row["cost"] == row["optimum"] for row in own)
        cells.append((method, budget, len(own), reached, reached / len(own)))
    columns = ("method", "seconds", "files", "at the optimum", "share")
    words = "Files of the Evaluation whose optimum was proven and published."
    return [ReportTable("Proven optima", columns, cells, words)] if cells else []


def _bounds(rows: Sequence[Row]) -> list[Section]:
    """Our lower bounds, by kind of instance."""
    ours = [row for row in rows if row["method"] == "auto" and row["bound"] is not None]
    kinds: dict[tuple[str, float], list[Row]] = {}
    for row in ours:
        if row["violated"] == 0:
            kinds.setdefault((kind_of(row["instance"]), row["budget"]), []).append(row)
    cells = []
    for (kind, budget), own in sorted(kinds.items()):
        gaps = [(row["cost"] - row["bound"]) / max(row["cost"], 1) for row in own]
        seconds = [row["bound_at"] for row in own if row.get("bound_at") is not None]
        proven = sum(gap <= 0 for gap in gaps)
        at = float(np.mean(seconds)) if seconds else None
        cells.append((kind, budget, len(own), float(np.mean(gaps)), proven, at))
    columns = ("kind", "seconds", "runs", "mean gap", "proven optimal", "mean second of the bound")
    words = "Gap: (cost - bound) / cost, of auto; the bound has a tenth of the time at most."
    return [ReportTable("Lower bounds", columns, cells, words)] if cells else []


def kind_of(name: str) -> str:
    """The folder of an Evaluation's file, or else the family."""
    family = family_of(name)
    return name.removeprefix(f"{family}-").rpartition("/")[0] or family


def solver_of(case: Case, problem: ClauseProblem) -> Callable[[], ClauseAnswer]:
    """A call that returns an assignment and a lower bound on the cost."""
    if case.method not in OURS:
        return lambda: maxsat_rivals.solve(case.method, problem, case.budget or inf)
    options: dict[str, Any] = {"method": case.method, "seed": case.seed}
    maxsat.solve(problem, starts=1, **options)  # imported before the clock starts

    def ours() -> ClauseAnswer:
        found = maxsat.solve(problem, time_limit=case.budget, **options)
        history = found.result.history
        known = [row.seconds for row in history if row.lower_bound >= found.result.lower_bound]
        return ClauseAnswer(found.assignment, found.lower_bound, known[0] if known else None)

    return ours


def family_of(name: str) -> str:
    return next(family for family in SECONDS if name.startswith(f"{family}-"))


def instance(name: str) -> Clauses:
    """The clauses behind a name."""
    family = family_of(name)
    rest = name.removeprefix(f"{family}-")
    if family == "evaluation":
        return _file(rest)
    index = int(rest)
    if family == "max3sat":
        return maxsat.random_clauses(2000, 10_000, 3, index)
    return independent_set(200, 0.06, index) if family == "independent-set" else partial_3sat(500, 3.5, index)


def independent_set(n: int, density: float, seed: int) -> Clauses:
    """Weighted vertices as soft units, edges of a random graph as hard clauses."""
    rng = np.random.default_rng(seed)
    u, v = np.triu_indices(n, 1)
    edge = rng.random(u.size) < density
    hard = np.column_stack([-(u[edge] + 1), -(v[edge] + 1)]).tolist()
    return Clauses.of([[i] for i in range(1, n + 1)], rng.integers(1, 20, n), hard)


def partial_3sat(n: int, ratio: float, seed: int) -> Clauses:
    """Random hard 3-clauses, and a soft unit of random sign and weight for each variable."""
    rng = np.random.default_rng(seed)
    hard = maxsat.random_clauses(n, int(ratio * n), 3, seed).lists()
    soft = [[int(v)] for v in np.arange(1, n + 1) * rng.choice([-1, 1], n)]
    return Clauses.of(soft, rng.integers(1, 100, n), hard)


def read_known() -> dict[str, dict[str, Any]]:
    """Published optima and best costs of the Evaluation's files, by name; empty without the data."""
    path = _folder() / "best_known.json"
    table: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.is_file() else {}
    return {name: entry for name, entry in table.items() if (_folder() / name).is_file()}


def best_known(name: str) -> float | None:
    """The least cost known before, for files of the Evaluation."""
    entry = read_known().get(name.removeprefix("evaluation-"), {})
    costs = [entry.get(key) for key in ("published_opt_unsat", "best_found_here_unsat")]
    return min((float(cost) for cost in costs if cost is not None), default=None)


def optimum(name: str) -> float | None:
    """The proven optimum of a file of the Evaluation, where there is one."""
    found = read_known().get(name.removeprefix("evaluation-"), {}).get("published_opt_unsat")
    return None if found is None else float(found)


def _file(name: str) -> Clauses:
    from dcra import io

    path = _folder() / name
    if not path.is_file():
        raise Skip(f"{name} is not there; DCRA_DATA names the folder of the test data")
    problem = io.read(path)
    assert isinstance(problem, ClauseProblem)
    return problem.clauses


def _folder() -> Path:
    return Path(os.environ.get("DCRA_DATA", "")) / "maxsat"
