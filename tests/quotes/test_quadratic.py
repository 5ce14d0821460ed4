"""The tables of docs/quadratic.md that are over several sets of rows."""

from __future__ import annotations

from pathlib import Path

from .measures import chosen, reached, reached_after, rows_of
from .pages import ROOT, computes

ANY = 10**6


def found(sets, budget, most, above=0):
    """`auto` on the library files of some sets, seed 0."""
    rows = [row for name in sets for row in rows_of(name)]
    rows = [row for row in rows if row["instance"].startswith(("biqmac/", "qaplib/"))]
    rows = [row for row in chosen(rows, method="auto", seed=0, budget=budget) if above < row["n"] <= most]
    return reached(rows, ANY), rows


LIBRARIES = {
    "Biq Mac, up to 400 variables": (("qubo", "maxcut"), 400, 0),
    "Biq Mac, 500 and 1,000 variables": (("qubo", "maxcut"), ANY, 400),
    "QAPLIB, up to 30 facilities": (("qap",), 30, 0),
    "QAPLIB, 31 to 100 facilities": (("qap",), 100, 30),
}


@computes("docs/quadratic.md", "| library | seconds | files with a listed value |")
def test_the_table_of_libraries(head, body):
    lines = []
    for name, seconds, *_ in body:
        sets, most, above = LIBRARIES[name]
        (files, hits, mean, worst), rows = found(sets, float(seconds), most, above)
        last = f"{reached_after(rows)[0]:.1f} s" if hits == files else ""
        lines.append([name, seconds, f"{files}", f"{hits}", last, f"{mean:.3f}", f"{worst:.3f}"])
    return lines


def test_the_page_names_the_answers_that_are_beyond_the_lists():
    beyond = {
        Path(row["instance"]).stem
        for name in ("qubo", "maxcut", "qap")
        for row in rows_of(name)
        if row["listed"] and row["fun"] < min(row["listed"])
    }
    assert len(beyond) == 2
    line = (ROOT / "docs/quadratic.md").read_text().split("answers are beyond the lists:")[1].split("\n")[0]
    assert all(name in line for name in beyond)
