"""The table of large frames on the page of detection."""

from __future__ import annotations

from itertools import product

import numpy as np

from dcra.bench.compare import grouped
from dcra.bench.mimo import bayes_floor
from dcra.bench.mimo_report import behind, best_of, gathered

from .measures import chosen, error_rate, rows_of
from .pages import computes

PUBLISHED = {
    "MCPG": {"800, 4": ".1267", "800, 6": ".0691", "800, 8": ".0121"}
    | {"1200, 4": ".1270", "1200, 6": ".0703", "1200, 8": ".0125"},
    "HOTML": {"800, 4": ".1464", "800, 6": ".0821", "800, 8": ".0122"}
    | {"1200, 4": ".1458", "1200, 6": ".0837", "1200, 8": ".0126"},
}
"""Rates that the authors of MCPG printed, over a hundred frames each."""


@computes("docs/mimo.md", "| antennas, SNR dB | Bayes floor |")
def test_the_table_of_large_frames(head, body):
    lines = []
    for n, snr in product((800, 1200), (4, 6, 8, 10)):
        place = f"{n}, {snr}"
        lines.append([place, *(expected(title, place, f"iid-{n}", snr) for title in head[1:])])
    return lines


def expected(title: str, place: str, size: str, snr: int) -> str:
    """What a cell has to say."""
    if title in PUBLISHED:
        return PUBLISHED[title].get(place, "")
    if title == "Bayes floor":
        return digits(bayes_floor(10 ** (snr / 10)))
    rows = chosen(rows_of("mimo"), size=size, snr=snr, method="detect")
    if title == "largest loss, detect":
        return f"{max(row['worst_ratio'] for row in rows):.3f}"
    if title == "CPU s a frame":
        return f"{np.mean([row['cpu'] / row['frames'] for row in rows]):.2f}"
    if title == "standard error":
        return f"{error_rate(rows, size, snr, 'detect')[1]:.5f}".lstrip("0")
    return rate(size, snr, title)


def rate(size: str, snr: int, method: str) -> str:
    """The share of wrong bits; of fewer than ten channels it says of how many."""
    rows = chosen(rows_of("mimo"), size=size, snr=snr, method=method)
    if not rows:
        return ""
    wrong = sum(row["wrong"] for row in rows) / sum(row["bits"] for row in rows)
    return digits(wrong) + (f" ({len(rows)})" if len(rows) < 10 else "")


def digits(number: float) -> str:
    """Four digits behind the point, five of small numbers."""
    return f"{number:.{5 if number < 0.005 else 4}f}".lstrip("0")


def bit_errors(system: str, methods: list[str]) -> list[list[str]]:
    """Shares of wrong bits over SNR; bold up to two standard errors of the difference from the least."""
    cells = gathered(chosen(rows_of("mimo"), size=system))
    lines = []
    for snr in sorted({at for size, at, _ in cells if size == system}):
        best = best_of(cells, system, snr)
        good = {method for method in methods if behind(cells[system, snr, method], best) <= 2}
        told = {method: share(cells[system, snr, method].rate[0]) for method in methods}
        lines.append([f"{snr}", *(f"**{told[m]}**" if m in good else told[m] for m in methods)])
    return lines


def share(number: float) -> str:
    """Four digits behind the point, five of less than a hundredth."""
    return f"{number:.{5 if number < 0.01 else 4}f}".lstrip("0") if number else "0"


@computes("docs/mimo.md", "| SNR dB | zf | mmse | mmse-sic | k-best | ep | sdr | detect | detect-soft |")
def test_the_table_of_correlated_channels(head, body):
    return bit_errors("corr-32", head[1:])


@computes("docs/mimo.md", "| SNR dB | zf | mmse | mmse-sic | k-best | ep | sdr | detect | detect-l1 |")
def test_the_table_of_impulsive_noise(head, body):
    return bit_errors("impulse-32", head[1:])


@computes("docs/mimo.md", "| SNR dB | detect | standard error |")
def test_the_table_of_many_channels(head, body):
    rows = chosen(rows_of("mimo"), size="qam-16")
    lines = []
    for snr, part in sorted(grouped(rows, "snr").items()):
        ours = chosen(part, method="detect")
        rates = {m: error_rate(rows, "qam-16", snr, m) for m in ("detect", "k-best", "mmse")}
        numbers = [*rates["detect"], rates["k-best"][0], rates["mmse"][0]]
        proven, seconds = (float(np.mean([row[name] for row in ours])) for name in ("proven", "cpu"))
        lines.append([f"{snr}", *map(small, numbers), f"{proven:.2f}", f"{seconds:.2f}"])
    assert len(chosen(rows, method="detect")) >= 20 * len(lines)
    return lines


def small(number: float) -> str:
    """Four digits behind the point, six of less than a thousandth."""
    return f"{number:.{6 if number < 0.001 else 4}f}".lstrip("0") if number else "0"
