"""Signals recovered at the threshold of the linear program."""

from __future__ import annotations

from .measures import at_the_edge, rows_of
from .pages import computes


@computes("docs/compressed-sensing.md", "| mu | rho | signals | lp | amp | recover |")
def test_the_table_of_thresholds(head, body):
    found = {method: at_the_edge(rows_of("bcs"), method) for method in head[3:]}
    mus = {row["mu"] for row in found["recover"].values()}
    assert {int(line[0]) for line in body} == mus
    for mu, rho, signals, *cells in body:
        for method, cell in zip(head[3:], cells, strict=True):
            rows = [row for row in found[method].values() if row["mu"] == int(mu)]
            rows = [row for row in rows if rho == "all" or row["rho"] == float(rho)]
            assert int(signals) == len(rows)
            assert int(cell) == sum(row["exact"] for row in rows), (mu, rho, method)
