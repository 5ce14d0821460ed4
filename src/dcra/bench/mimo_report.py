"""What benchmark `mimo` shows: curves of bit error rate, and the numbers behind them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from dcra.bench.base import Row
from dcra.bench.sections import Figure, Panel, Section, Series, Table, Text

WORDS = [
    "Bit error rate over SNR = E|Hs|^2/E|n|^2; bars are two standard errors. All methods see the same frames "
    "and the true noise variance. 'matched filter' is the bound with all other symbols known, 'Bayes floor' "
    "the large-system limit of the best detector for independent entries and QPSK.",
    "Loss ratio is |y - Hs|^2 over that of the symbols sent: below 1 the likeliest frame is not the one sent "
    "and a lower loss no longer means fewer errors; soft decisions do better there.",
]


def sections(rows: Sequence[Row], systems: Mapping[str, Any]) -> list[Section]:
    """Text, one figure, and one table per system."""
    cells = gathered([row for row in rows if "wrong" in row])
    sizes = [size for size in systems if any(key[0] == size for key in cells)]
    panels = [_panel(size, systems[size], cells) for size in sizes]
    tables = [_table(size, cells) for size in sizes]
    return [Text("MIMO detection", WORDS), Figure("Bit error rates", panels, WORDS[0]), *tables]


def gathered(rows: Sequence[Row]) -> dict[tuple[str, int, str], dict[str, float]]:
    """Sums over channels by (size, SNR, method)."""
    cells: dict[tuple[str, int, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        cell = cells[row["size"], row["snr"], row["method"]]
        for name in ("bits", "wrong", "frames", "wall"):
            cell[name] += row[name]
        cell["ratio"] += row["ratio"] * row["frames"]
        cell["worst"] = max(cell["worst"], row["worst_ratio"])
    return cells


def rate(cell: Mapping[str, float]) -> tuple[float, float]:
    """Bit error rate and its standard error, as if bits were independent."""
    p = cell["wrong"] / cell["bits"]
    return p, sqrt(max(p * (1 - p), 1 / cell["bits"]) / cell["bits"])


def _panel(size: str, system: Any, cells: Mapping[tuple[str, int, str], Mapping[str, float]]) -> Panel:
    from dcra.apps.mimo import CONSTELLATIONS
    from dcra.bench.mimo import bayes_floor, matched_filter_bound

    snrs = sorted({key[1] for key in cells if key[0] == size})
    methods = list(dict.fromkeys(key[2] for key in cells if key[0] == size))
    series = []
    for method in methods:
        known = [snr for snr in snrs if (size, snr, method) in cells]
        rates = [rate(cells[size, snr, method]) for snr in known]
        low, high = [max(p - 2 * e, 0) or None for p, e in rates], [p + 2 * e for p, e in rates]
        series.append(Series(method, [float(s) for s in known], [p or None for p, _ in rates], low, high))
    kind = CONSTELLATIONS[system.constellation]
    powers = [10 ** (snr / 10) for snr in snrs]
    grid = [float(snr) for snr in snrs]
    series.append(Series("matched filter", grid, [matched_filter_bound(kind, power) for power in powers]))
    if kind.name == "qpsk" and not system.rho and not system.impulsive:
        series.append(Series("Bayes floor", grid, [bayes_floor(power) for power in powers]))
    return Panel(size, "SNR (dB)", "bit error rate", series, log_y=True)


def _table(size: str, cells: Mapping[tuple[str, int, str], Mapping[str, float]]) -> Table:
    rows = []
    for key, cell in sorted(cells.items(), key=lambda item: (item[0][1], rate(item[1])[0])):
        if key[0] == size:
            p, e = rate(cell)
            frame = cell["wall"] / cell["frames"]
            rows.append((key[1], key[2], p, e, cell["ratio"] / cell["frames"], cell["worst"], frame))
    columns = ("SNR dB", "method", "BER", "s.e.", "loss ratio", "worst ratio", "seconds a frame")
    return Table(size, columns, rows, WORDS[1])
