"""Tables on the pages, computed cell by cell from the rows in docs/results."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dcra.bench.compare import grouped
from dcra.bench.paper import PAPER

from .measures import chosen, retrieval, rows_of
from .pages import ROOT, computes


@computes("docs/benchmarks.md", "| n, d | HiGHS |", [range(1, 13), range(13, 20)])
def test_the_table_of_objectives_over_the_floor(head, body):
    names = {"HiGHS": "milp", "Gurobi": "gurobi", "MPEC-EPM": "mpec-epm", "L2-box ADMM": "l2box-admm"}
    ten = head.index("10 x: HiGHS")
    factors = [1.0 if k < ten else 10.0 for k in range(len(head))]
    found = grouped(rows_of("table1"), "size", "method", "factor")
    lines = []
    for n, d in PAPER:
        titles = [title.removeprefix("10 x: ") for title in head[1:]]
        parts = [
            found.get((f"{n}x{d}", names.get(title, title), factor), [])
            for title, factor in zip(titles, factors[1:], strict=True)
        ]
        lines.append([f"{n}, {d}", *(over_floor(rows) for rows in parts)])
    return lines


def over_floor(rows):
    return f"{np.mean([row['fun'] / row['floor'] for row in rows]):.3f}" if rows else ""


DATA = {"CIFAR-10": "cifar10", "MNIST": "mnist", "MIRFLICKR-25K": "mirflickr25k"}
NAMES = {
    "SupervisedHashing": "supervised-auto",
    "FSDH": "fsdh",
    "SDH": "sdh",
    "codewords": "codewords",
    "paper's model, X-step by `auto`": "paper-auto",
    "ITQ": "itq",
    "LSH": "lsh",
}


@computes("docs/hashing.md", "| | method | 16 | 32 | 64 | 96 |")
def test_the_table_of_retrieval(head, body):
    lines = []
    for title, data in DATA.items():
        for name, method in NAMES.items():
            kinds = ("hash",) if name in ("ITQ", "LSH") else ("hash", "learned")
            means = [retrieval(rows_of("hashing"), data, method, f"map_{kind}") for kind in kinds]
            shown = [
                " / ".join(f"{mean:.3f}".lstrip("0") for mean in pair) for pair in zip(*means, strict=True)
            ]
            lines.append(["" if lines and name != "SupervisedHashing" else title, name, *shown])
    return lines


@computes("docs/methods.md", "| family | milp | gurobi | flip |", [range(1, 8)])
def test_the_table_of_families(head, body):
    found = grouped(rows_of("families"), "family", "method")
    return [
        [family, *(mean(found.get((family, method), [])) for method in head[1:])]
        for family in dict.fromkeys(family for family, _ in found)
    ]


def mean(rows):
    return f"{np.mean([row['fun'] for row in rows]):.0f}" if rows else ""


@computes("docs/quadratic.md", "| G-set | seconds | auto |", [range(2, 8)])
def test_the_table_of_cuts(head, body):
    rows = [row for row in rows_of("maxcut") if row["instance"].startswith("gset/")]
    lines = []
    for large, count in ((False, 28), (True, 9)):
        sized = [row for row in rows if (row["n"] > 3000) == large]
        name = "9 graphs of 5,000 to 9,000" if large else "28 graphs up to 3,000 nodes"
        for k, (seconds, part) in enumerate(sorted(grouped(sized, "budget").items())):
            gaps = [mean_gap(chosen(part, method=method), count) for method in head[2:]]
            lines.append(["" if k else name, f"{seconds:g}", *gaps])
    return lines


def mean_gap(rows, count):
    """In per cent of the best known cuts; of how many graphs, where it is not all."""
    if not rows:
        return ""
    best = [(row["fun"], min(row["listed"])) for row in rows]
    gap = np.mean([100 * (fun - known) / abs(known) for fun, known in best])
    graphs = len({row["instance"] for row in rows})
    return f"{gap:.3f}" + (f" ({graphs})" if graphs != count else "")


@pytest.mark.usefixtures("compiled_loops")
def test_the_readme_prints_what_the_call_prints():
    """All but seconds and iterations, which are the machine's: its loops sum in an order of their own."""
    readme = (ROOT / "README.md").read_text()
    part = readme.split("## A problem in ten lines")[1]
    code, shown = part.split("```python\n")[1].split("```")[0], part.split("says what is to be said:\n")[1]
    names: dict[str, object] = {}
    exec(code, names)

    def lines(text: str) -> list[str]:
        return [
            re.sub(r", (\d+ iterations, )?[\d.]+ s$", "", line.strip()) for line in text.strip().splitlines()
        ]

    assert lines(str(names["result"])) == lines(shown.split("\n\n")[0])
