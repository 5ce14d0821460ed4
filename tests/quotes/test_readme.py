"""What the README says that this package reaches, beside others in the same seconds."""

from __future__ import annotations

from .measures import Rows, at_most_seconds, chosen, mean_fun, proof_cell, rows_of
from .pages import computes
from .test_constraints import SOLVERS
from .test_tables import mean_gap, over_floor

NAMES = {
    "dcra-paper": "the paper's method",
    "l2box-admm": "L2-box ADMM",
    "gurobi": "Gurobi",
    "milp": "HiGHS",
    "cpsat": "CP-SAT",
    "dwave-sa": "dwave-samplers",
}


def others(found: dict[str, str]) -> str:
    return ", ".join(f"{NAMES[method]} {cell}" for method, cell in found.items())


def regression() -> list[str]:
    rows = chosen(rows_of("table1"), size="300x300", factor=1.0)
    rivals = ("dcra-paper", "l2box-admm", "gurobi", "milp")
    found = {method: over_floor(chosen(rows, method=method)) for method in ("auto", *rivals)}
    what = f"l1 regression over spins, 300 x 300, {rows[0]['budget']:.3f} s: objective over [the floor]"
    return [f"{what}(docs/benchmarks.md#reports)", found.pop("auto"), others(found)]


def proof() -> list[str]:
    rows = chosen(rows_of("exact"), family="likely", n=200)
    found = {method: proof_cell(chosen(rows, method=method)) for method in ("exact", "gurobi", "milp")}
    what = "l1 regression, 200 x 400, three tenths of the rows wrong: CPU seconds to the proof"
    return [what, found.pop("exact"), others(found)]


def count() -> list[str]:
    rows = chosen(rows_of("constrained"), size="cardinality-300x300")
    found = {method: f"{mean_fun(rows, method=method)[0]:.0f}" for method in ("auto", "milp", "gurobi")}
    what = f"l1 regression, 300 x 300, exactly 150 of the spins up, {rows[0]['budget']:g} s: mean objective"
    return [what, found.pop("auto"), others(found)]


def cuts() -> list[str]:
    graphs = [row for row in rows_of("maxcut") if row["instance"].startswith("gset/") and row["n"] <= 3000]
    rows = chosen(graphs, budget=10.0)
    found = {method: f"{mean_gap(chosen(rows, method=method), 28)} %" for method in ("auto", "dwave-sa")}
    return [
        "Max-Cut, 28 G-set graphs, 10 s: mean gap to the best known cuts",
        found.pop("auto"),
        others(found),
    ]


def splits() -> list[str]:
    rows = chosen(at_most_seconds(rows_of("marketsplit"), 10), m=6)
    found = {method: solved_of(chosen(rows, method=method)) for method in ("auto", *SOLVERS)}
    what = "market split, six equations in 50 variables, 10 s: files solved"
    return [what, found.pop("auto"), others(found)]


def solved_of(rows: Rows) -> str:
    return f"{sum(row['solved'] for row in rows)} of {len(rows)}"


@computes("README.md", "| one thread each | dcra | others |")
def test_the_table_of_what_it_reaches(head, body):
    return [regression(), proof(), count(), cuts(), splits()]
