"""What benchmark `mimo` shows: curves of bit error rate, and the numbers behind them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dcra.bench.base import Row
from dcra.bench.sections import Figure, Panel, ReportTable, Section, Series, Text

WORDS = [
    "detect is `mimo.detect` of this package: tree search, annealing and sphere search, and in large frames "
    "sampling; -soft decides bit by bit, by sampling; -l1 and -huber have other losses, searched by method "
    "auto. The paper's method has no part in any of them.",
    "Bit error rate over SNR = E|Hs|^2/E|n|^2; bars are two standard errors, from the differences between "
    "frames. All methods see the same frames and the true noise variance. 'matched filter' is the bound with "
    "all other symbols, and the impulses, known; 'Bayes floor' the large-system limit of the best detector "
    "for independent entries and QPSK. Where no bit was wrong there is no point.",
    "Loss ratio is |y - Hs|^2 over that of the symbols sent: below 1 the likeliest frame is not the one sent "
    "and a lower loss no longer means fewer errors; soft decisions do better there. 'behind' is by how many "
    "standard errors of the difference, frame by frame, a method has more wrong bits than the best one.",
]

Key = tuple[str, int, str]


class Cell(NamedTuple):
    """One method on all frames of a system at an SNR; errors by (channel, frame)."""

    errors: dict[tuple[str, int], int]
    bits: int
    ratio: float
    worst: float
    seconds: float

    @property
    def rate(self) -> tuple[float, float]:
        """Bit error rate and its standard error: at least that of one wrong bit in all."""
        counts = np.array(list(self.errors.values()), float)
        deviation = float(counts.std()) if counts.size > 1 else float(counts[0]) ** 0.5
        return float(counts.sum()) / self.bits, max(deviation * counts.size**0.5, 1.0) / self.bits


def sections(rows: Sequence[Row], systems: Mapping[str, Any]) -> list[Section]:
    """Text, one figure, and one table per system."""
    cells = gathered([row for row in rows if "errors" in row])
    sizes = [size for size in systems if any(key[0] == size for key in cells)]
    panels = [_panel(size, systems[size], cells) for size in sizes]
    tables = [_table(size, cells) for size in sizes]
    text = Text("MIMO detection", [*WORDS, *map(verdict, lost_cells(cells))])
    return [text, Figure("Bit error rates", panels, WORDS[1]), *tables]


def gathered(rows: Sequence[Row]) -> dict[Key, Cell]:
    """Channels put together by (size, SNR, method)."""
    groups: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["size"], row["snr"], row["method"]].append(row)
    return {key: _cell(group) for key, group in groups.items()}


def _cell(rows: Sequence[Row]) -> Cell:
    frames = [row["frames"] for row in rows]
    return Cell(
        errors={(row["instance"], f): wrong for row in rows for f, wrong in enumerate(row["errors"])},
        bits=sum(row["bits"] for row in rows),
        ratio=float(np.average([row["ratio"] for row in rows], weights=frames)),
        worst=max(row["worst_ratio"] for row in rows),
        seconds=sum(row["wall"] for row in rows) / sum(frames),
    )


def behind(cell: Cell, best: Cell) -> float:
    """By how many standard errors a method has more errors than another, on the frames both have seen."""
    common = [frame for frame in cell.errors if frame in best.errors]  # in order: sums must not vary
    more = np.array([cell.errors[frame] - best.errors[frame] for frame in common], float)
    if not more.any():
        return 0.0
    return float(more.sum() / max(float(more.std()) * more.size**0.5, 1.0))


def best_of(cells: Mapping[Key, Cell], size: str, snr: int) -> Cell:
    """The fewest wrong bits among all methods."""
    return min((cell for key, cell in cells.items() if key[:2] == (size, snr)), key=lambda cell: cell.rate[0])


def lost_cells(cells: Mapping[Key, Cell]) -> list[tuple[str, int, str, float]]:
    """Where the best of our modes is more than two standard errors behind: size, SNR, mode, how far."""
    lost = []
    for size, snr in dict.fromkeys(key[:2] for key in cells):
        ours = [key for key in cells if key[:2] == (size, snr) and key[2].startswith("detect")]
        if ours:
            key = min(ours, key=lambda key: cells[key].rate[0])
            far = behind(cells[key], best_of(cells, size, snr))
            if far > 2:
                lost.append((*key, far))
    return lost


def verdict(lost: tuple[str, int, str, float]) -> str:
    """A sentence."""
    size, snr, mode, far = lost
    return f"Lost: {size} at {snr} dB, where {mode} is {far:.1f} standard errors behind the best."


def _panel(size: str, system: Any, cells: Mapping[Key, Cell]) -> Panel:
    from dcra.apps.mimo import CONSTELLATIONS
    from dcra.apps.mimo.channels import IMPULSE_GAIN
    from dcra.bench.mimo import bayes_floor, matched_filter_bound

    snrs = sorted({key[1] for key in cells if key[0] == size})
    methods = list(dict.fromkeys(key[2] for key in cells if key[0] == size))
    series = []
    for method in methods:
        known = [snr for snr in snrs if (size, snr, method) in cells]
        rates = [cells[size, snr, method].rate for snr in known]
        low, high = [max(p - 2 * e, 0) or None for p, e in rates], [p + 2 * e for p, e in rates]
        series.append(Series(method, [float(s) for s in known], [p or None for p, _ in rates], low, high))
    kind = CONSTELLATIONS[system.constellation]
    powers = [10 ** (snr / 10) for snr in snrs]
    grid = [float(snr) for snr in snrs]
    bounds = [
        matched_filter_bound(kind, power * (IMPULSE_GAIN if system.impulsive else 1)) for power in powers
    ]
    least = 0.1 / max(cell.bits for key, cell in cells.items() if key[0] == size)  # below, nothing is seen
    series.append(Series("matched filter", grid, [bound if bound > least else None for bound in bounds]))
    if kind.name == "qpsk" and not system.rho and not system.impulsive:
        series.append(Series("Bayes floor", grid, [bayes_floor(power) for power in powers]))
    return Panel(size, "SNR (dB)", "bit error rate", series, log_y=True)


def _table(size: str, cells: Mapping[Key, Cell]) -> ReportTable:
    rows = []
    for (_, snr, method), cell in sorted(
        ((key, cell) for key, cell in cells.items() if key[0] == size),
        key=lambda item: (item[0][1], item[1].rate[0]),
    ):
        far = behind(cell, best_of(cells, size, snr))
        rows.append((snr, method, *cell.rate, far, cell.ratio, cell.worst, cell.seconds))
    columns = ("SNR dB", "method", "BER", "s.e.", "behind", "loss ratio", "worst ratio", "seconds a frame")
    return ReportTable(size, columns, rows, WORDS[2])
