"""Tables of proofs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dcra
from dcra.bench.base import Row
from dcra.bench.compare import grouped
from dcra.bench.exact_families import FAMILIES, SERIES, problem_of

from .measures import chosen, proof_cell, proofs, rows_of
from .pages import Make, computes

PAGE = "docs/exact.md"
COUPLED = {
    "coupled_l1": "l1 losses",
    "coupled_huber": "Huber losses",
    "coupled_third": "a third of the spins up",
}
NORMS = {
    "l2": "l2, planted",
    "linf": "maximum, planted",
    "l2_nothing": "l2, pure noise",
    "linf_nothing": "maximum, pure noise",
}
CURVED = {"detection": "squares", "logistic": "logistic"}
METHODS = ("exact", "auto", "gurobi", "milp", "cpsat", "scip")


def rivalled() -> list[list[str]]:
    """Seconds of every method, of families that others take."""
    rows = [row for row in rows_of("exact") if row["family"] in FAMILIES]
    lines = []
    for (family, n, r), group in by_place(rows):
        if not FAMILIES[family].alone:
            cells = [proof_cell(chosen(group, method=method)) for method in METHODS]
            lines.append([family, str(n), str(r), *cells])
    return lines


def of_ours(titles: dict[str, str]) -> list[list[str]]:
    """Seconds and nodes of `exact`, and seconds of `auto`, of these families."""
    rows = [row for row in rows_of("exact") if row["family"] in titles]
    lines = []
    for (family, n, r), group in by_place(rows):
        exact, auto = (chosen(group, method=method) for method in ("exact", "auto"))
        nodes = f"{np.median([row['nodes'] for row in exact]):,.0f}"
        lines.append([titles[family], str(n), str(r or ""), proof_cell(exact), nodes, proof_cell(auto)])
    return lines


def by_place(rows: list[Row]) -> list[tuple[tuple[str, int, int], list[Row]]]:
    """Groups by family, n and rows, as the families are listed."""
    order = list(FAMILIES)
    groups = grouped(rows, "family", "n", "rows").items()
    return sorted(groups, key=lambda item: (order.index(item[0][0]), *item[0][1:]))


def files() -> list[list[str]]:
    """How many of a series of files are proved, and what that takes, least to most."""
    groups = grouped(chosen(rows_of("exact"), method="exact"), "family")
    lines = []
    for name in (name for name in SERIES if name in groups):
        proved = [row for row in groups[name] if row["proved"]]
        count = (
            str(len(proved)) if len(proved) == len(groups[name]) else f"{len(proved)} of {len(groups[name])}"
        )
        sizes = span([row["n"] for row in groups[name]], "{:.0f}")
        seconds, nodes = (span([row[key] for row in proved], form) for key, form in FORMS.items())
        lines.append(
            [f"`{name}`".replace("_", " ") if "gka" in name else f"`{name}`", sizes, count, seconds, nodes]
        )
    return lines


FORMS = {"cpu": "{:.2g}", "nodes": "{:,.0f}"}


def span(values: list[float], form: str) -> str:
    """The least and the largest."""
    ends = list(dict.fromkeys(form.format(end) for end in (min(values), max(values)))) if values else []
    return " to ".join(ends)


TABLES = {
    "| couplings beside | n | rows |": lambda: of_ours(COUPLED),
    "| norm | n | rows |": lambda: of_ours(NORMS),
    "| family | n | rows | exact |": rivalled,
    "| loss | n | rows |": lambda: of_ours(CURVED),
    "| files | n | proved |": files,
}


def made(lines: Callable[[], list[list[str]]]) -> Make:
    return lambda head, body: lines()


(
    test_the_table_of_couplings,
    test_the_table_of_norms,
    test_the_table_of_proofs,
    test_the_table_of_curved_losses,
    test_the_table_of_files,
) = (computes(PAGE, heading)(made(lines)) for heading, lines in TABLES.items())


def test_what_is_proved_of_a_file_is_what_is_listed():
    for row in rows_of("exact"):
        if row["proved"] and row.get("listed"):
            assert row["fun"] == min(row["listed"]), row["instance"]


def test_more_is_proved_than_by_gurobi_in_every_family_but_one():
    for family in (name for name in FAMILIES if not FAMILIES[name].alone):
        part = chosen(rows_of("exact"), family=family)
        ours, theirs = proofs(part, "exact", "gurobi")[0], proofs(part, "gurobi")[0]
        assert ours == theirs == proofs(part, "gurobi")[1] if family == "gross" else ours > theirs


@pytest.mark.parametrize("family", [name for name in FAMILIES if not FAMILIES[name].alone])
def test_problems_are_still_those_of_the_rows(family):
    """What comes after a family, or is solved before it, changes none of its problems."""
    rows = [row for row in chosen(rows_of("exact"), family=family, method="exact") if row["proved"]]
    least = min(rows, key=lambda row: row["cpu"])
    found = dcra.solve(problem_of(least["instance"]), method="exact", seed=0, n_jobs=1)
    assert found.fun == pytest.approx(least["fun"], rel=1e-12)
