"""What the campaign was run for, by its rows."""

from __future__ import annotations

from dcra.bench.compare import grouped

from .measures import rows_of, solved_and_refused
from .pages import computes

PARTS = {
    "problems": "problems",
    "plans": "plans",
    "fixed variables, pools": "partly",
    "proofs": "proofs",
    "bounded integers": "whole_numbers",
    "applications": "fields",
    "devices": "devices",
    "damaged files": "files",
}


@computes("docs/trust.md", "| part | runs | solves, calls or files |")
def test_the_table_of_the_campaign(head, body):
    found = grouped(rows_of("campaign"), "instance")
    lines = []
    for part, name in PARTS.items():
        if rows := found.get(name):
            findings = sum(len(row["findings"]) for row in rows)
            numbers = [len(rows), *solved_and_refused(rows), findings]
            lines.append([part, *(f"{number:,.0f}" for number in numbers)])
    return lines
