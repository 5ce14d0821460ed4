"""Signals recovered at the threshold of the linear program."""

from __future__ import annotations

from dcra.bench.compare import grouped

from .measures import at_the_edge, chosen, rows_of
from .pages import computes


@computes("docs/compressed-sensing.md", "| mu | rho | signals | lp | amp | recover |")
def test_the_table_of_thresholds(head, body):
    found = [row for method in head[3:] for row in at_the_edge(rows_of("bcs"), method).values()]
    unbiased = sorted(grouped(chosen(found, mu=0), "rho").items())
    parts = [(0, f"{rho:g}", part) for rho, part in unbiased]
    parts += [(mu, "all", part) for mu, part in sorted(grouped(found, "mu").items())]
    lines = []
    for mu, rho, part in parts:
        hits = [sum(row["exact"] for row in chosen(part, method=method)) for method in head[3:]]
        lines.append([f"{mu}", rho, *(f"{number}" for number in (len(grouped(part, "instance")), *hits))])
    return lines
