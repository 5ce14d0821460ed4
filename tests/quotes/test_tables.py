"""Tables on the pages, computed cell by cell from the rows in docs/results."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dcra.bench.compare import grouped

from .measures import chosen, error_rate, retrieval, rows_of
from .pages import ROOT, computes


@computes("docs/benchmarks.md", "| n, d | HiGHS |")
def test_the_table_of_objectives_over_the_floor(head, body):
    names = {"HiGHS": "milp", "Gurobi": "gurobi", "MPEC-EPM": "mpec-epm", "L2-box ADMM": "l2box-admm"}
    ten = head.index("10 x: HiGHS")
    factors = [1.0 if k < ten else 10.0 for k in range(len(head))]
    found = grouped(rows_of("table1"), "size", "method", "factor")
    assert len(body) == 15
    for line in body:
        size = line[0].replace(", ", "x")
        for k, cell in enumerate(line[1:], 1):
            title = head[k].removeprefix("10 x: ")
            rows = found.get((size, names.get(title, title), factors[k]), [])
            expected = f"{np.mean([row['fun'] / row['floor'] for row in rows]):.3f}" if rows else ""
            assert cell == expected, (size, head[k])


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
    data = ""
    for line in body:
        data = {"": data, "MIRFLICKR-25K": "mirflickr25k", "CIFAR-10": "cifar10", "MNIST": "mnist"}[line[0]]
        means = [retrieval(rows_of("hashing"), data, NAMES[line[1]], f"map_{k}") for k in ("hash", "learned")]
        for k, cell in enumerate(line[2:]):
            expected = [f"{found[k]:.3f}".lstrip("0") for found in means[: cell.count("/") + 1]]
            assert cell == " / ".join(expected), (data, line[1], k)


def bit_errors(system, head, body):
    """Shares of wrong bits over SNR."""
    for line in body:
        for method, cell in zip(head[1:], line[1:], strict=True):
            rows = chosen(rows_of("mimo"), size=system, snr=int(line[0]), method=method)
            rate = sum(row["wrong"] for row in rows) / sum(row["bits"] for row in rows)
            digits = len(cell.partition(".")[2])
            assert float(cell) == pytest.approx(rate, abs=0.51 * 10**-digits), (system, line[0], method)


@computes("docs/mimo.md", "| SNR dB | zf | mmse | mmse-sic | k-best | ep | sdr | detect | detect-soft |")
def test_the_table_of_correlated_channels(head, body):
    bit_errors("corr-32", head, body)


@computes("docs/mimo.md", "| SNR dB | zf | mmse | mmse-sic | k-best | ep | sdr | detect | detect-l1 |")
def test_the_table_of_impulsive_noise(head, body):
    bit_errors("impulse-32", head, body)


@computes("docs/mimo.md", "| SNR dB | detect | standard error |")
def test_the_table_of_many_channels(head, body):
    assert len(body) == 5
    for line in body:
        rates = {
            m: error_rate(rows_of("mimo"), "qam-16", int(line[0]), m) for m in ("detect", "k-best", "mmse")
        }
        rows = chosen(rows_of("mimo"), size="qam-16", snr=int(line[0]), method="detect")
        assert len(rows) >= 20
        rest = [float(np.mean([row[name] for row in rows])) for name in ("proven", "cpu")]
        expected = [*rates["detect"], rates["k-best"][0], rates["mmse"][0], *rest]
        for cell, number in zip(line[1:], expected, strict=True):
            assert float(cell) == pytest.approx(number, abs=0.51 * 10 ** -len(cell.partition(".")[2]))


@computes("docs/methods.md", "| family | milp | gurobi | flip |")
def test_the_table_of_families(head, body):
    found = grouped(rows_of("families"), "family", "method")
    assert len(body) == len({family for family, _ in found})
    for family, *cells in body:
        for method, cell in zip(head[1:], cells, strict=True):
            rows = found.get((family, method), [])
            assert cell == (f"{np.mean([row['fun'] for row in rows]):.0f}" if rows else ""), (family, method)


@computes("docs/quadratic.md", "| G-set | seconds | auto |")
def test_the_table_of_cuts(head, body):
    rows = [row for row in rows_of("maxcut") if row["instance"].startswith("gset/")]
    large = False
    for name, seconds, *cells in body:
        large = name.startswith("9 ") if name else large
        part = [row for row in rows if (row["n"] > 3000) == large and row["budget"] == float(seconds)]
        for method, cell in zip(head[2:], cells, strict=True):
            best = [(row["fun"], min(row["listed"])) for row in chosen(part, method=method)]
            number, _, count = cell.strip(")").partition(" (")
            assert len(best) == (0 if not cell else int(count or (9 if large else 28))), (
                name,
                seconds,
                method,
            )
            if cell:
                digits = len(number.partition(".")[2])
                mean = float(np.mean([100 * (fun - known) / abs(known) for fun, known in best]))
                assert number.strip("*") == f"{mean:.{digits}f}", (name, seconds, method)


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
