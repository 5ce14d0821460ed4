"""What the campaign was run for, by its rows."""

from __future__ import annotations

from dcra.bench.compare import grouped

from .measures import rows_of, solved_and_refused
from .pages import computes

PARTS = {
    "problems": "problems",
    "plans": "plans",
    "proofs": "proofs",
    "bounded integers": "whole_numbers",
    "applications": "fields",
    "devices": "devices",
    "damaged files": "files",
}


@computes("docs/trust.md", "| part | runs | solves, calls or files |")
def test_the_table_of_the_campaign(head, body):
    found = {
        part: rows for part, rows in grouped(rows_of("campaign"), "instance").items() if part != "limits"
    }
    assert {PARTS[line[0]] for line in body} == set(found)
    for part, *cells in body:
        rows = found[PARTS[part]]
        findings = sum(len(row["findings"]) for row in rows)
        expected = [len(rows), *solved_and_refused(rows), findings]
        assert [int(cell.replace(",", "").replace("none", "0")) for cell in cells] == expected, part
