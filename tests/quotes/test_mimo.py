"""The table of large frames on the page of detection."""

from __future__ import annotations

import numpy as np

from dcra.bench.mimo import bayes_floor

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
    assert len(body) == 8
    for line in body:
        n, snr = map(int, line[0].split(", "))
        for title, cell in zip(head[1:], line[1:], strict=True):
            assert cell == expected(title, line[0], f"iid-{n}", snr), (title, line[0])


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
