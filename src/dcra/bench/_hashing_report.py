"""Tables and figures of the hashing benchmark, from its rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from dcra.bench.base import Row
from dcra.bench.sections import Figure, Panel, ReportTable, Section, Series, Text

CODING = {"hash": "hash function for queries and database", "learned": "learned codes in the database"}
OURS, PEERS = "supervised-auto", ("sdh", "fsdh", "codewords")
RECALL = np.linspace(0, 1, 101).tolist()

NAMES = (
    "supervised-auto is `SupervisedHashing` with its own options, paper-... the paper's model (l1, labels, a "
    "random start, no intercept), linear-... that with the paper's linear hash function; all end with the "
    "method of the X-step: auto, dcra-paper (the paper's own, with its constants), dcra (with ours), others."
)

PROTOCOL = (
    "Random queries (1,000; 2,000 of MIRFLICKR-25K); all other samples are training set and database. "
    "Samples at equal distance rank in the order of the database. Means over seeds"
)


def sections(rows: Sequence[Row], sizes: Sequence[str], methods: Sequence[str]) -> list[Section]:
    """Everything that can be shown of the rows at hand."""
    cells = _Cells([row for row in rows if "map_hash" in row])
    names = [m for m in methods if cells.has(method=m)]
    sets = [s for s in sizes if cells.has(size=s)]
    parts: list[Section] = [Text("Supervised hashing", [NAMES, cells.protocol])]
    parts.append(_verdicts(cells, sets))
    parts += [_table(cells, size, names) for size in sets]
    for coding, words in CODING.items():
        parts.append(_by_bits(cells, sets, names, f"map_{coding}", f"mAP, {words}"))
        parts.append(_by_bits(cells, sets, names, f"ndcg20_{coding}", f"NDCG@20, {words}"))
        parts += [_curves(cells, sets, names, coding, bits) for bits in (16, 32)]
        parts.append(_depths(cells, sets, names, coding))
    parts.append(_by_bits(cells, sets, names, "cpu", "CPU seconds of the fit", log=True))
    return parts


class _Cells:
    """Rows by data set, bits and method."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.by: dict[tuple[str, int, str], list[Row]] = {}
        for row in rows:
            size, bits, _ = row["instance"].split("-")
            self.by.setdefault((size, int(bits), row["method"]), []).append(row)

    def has(self, size: str | None = None, method: str | None = None) -> bool:
        return any(size in (None, s) and method in (None, m) for s, _, m in self.by)

    @property
    def protocol(self) -> str:
        """What every caption must say: the split, the rule for ties, the seeds."""
        used: dict[str, set[int]] = {}
        for (_, _, method), rows in self.by.items():
            used.setdefault(method, set()).update(row["seed"] for row in rows)
        seeds = set().union(*used.values())
        fewer = [f"{method}: {_listed(own)}" for method, own in used.items() if own != seeds]
        exceptions = f" ({'; '.join(fewer)})" if fewer else ""
        return f"{PROTOCOL} {_listed(seeds)}{exceptions}."

    @property
    def bits(self) -> list[int]:
        return sorted({bits for _, bits, _ in self.by})

    def mean(self, size: str, bits: int, method: str, key: str) -> Any:
        """The mean over seeds of a number or of a list of numbers; None where there is no row."""
        rows = self.by.get((size, bits, method))
        return None if not rows else np.mean([row[key] for row in rows], axis=0).tolist()

    def paired(self, size: str, bits: int, method: str, key: str, other: str) -> tuple[float, float] | None:
        """Mean and standard error of the differences method - other on the same seeds."""
        theirs = {row["seed"]: row[key] for row in self.by.get((size, bits, other), [])}
        rows = self.by.get((size, bits, method), [])
        pairs = [row[key] - theirs[row["seed"]] for row in rows if row["seed"] in theirs]
        if len(pairs) < 2 or method == other:
            return None
        return float(np.mean(pairs)), float(np.std(pairs, ddof=1) / np.sqrt(len(pairs)))

    def difference(self, size: str, bits: int, method: str, key: str) -> str:
        """The paired difference to ours, in words."""
        found = self.paired(size, bits, method, key, OURS)
        return "" if found is None else f"{found[0]:+.4f} ± {found[1]:.4f}"


def _listed(seeds: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(seeds)))


def _verdicts(cells: _Cells, sizes: Sequence[str]) -> ReportTable:
    """Ours beside the best of the supervised peers, cell by cell."""
    lines = []
    for size, bits, coding in product(sizes, cells.bits, CODING):
        key = f"map_{coding}"
        means = {peer: cells.mean(size, bits, peer, key) for peer in PEERS}
        known = {peer: mean for peer, mean in means.items() if mean is not None}
        ours = cells.mean(size, bits, OURS, key)
        if ours is None or not known:
            continue
        best = max(known, key=lambda peer: known[peer])
        found = cells.paired(size, bits, OURS, key, best)
        verdict = "" if found is None else "yes" if found[0] >= -2 * found[1] else "no"
        words = "" if found is None else f"{found[0]:+.4f} ± {found[1]:.4f}"
        lines.append([size, bits, coding, ours, best, known[best], words, verdict])
    columns = ["data", "bits", "database", "mAP", "best peer", "its mAP", "difference", "at or above"]
    caption = (
        f"{OURS} beside the best of {', '.join(PEERS)}: mean mAP over seeds, the mean paired difference with "
        "its standard error, and whether it is no worse than two standard errors below."
    )
    return ReportTable(f"{OURS} and the best peer", columns, lines, caption, frozen=3)


def _table(cells: _Cells, size: str, methods: Sequence[str]) -> ReportTable:
    columns = [
        "bits",
        "method",
        "mAP hash",
        f"vs {OURS}",
        "mAP learned",
        f"vs {OURS} ",
        "ties averaged",
        "objective",
        "seconds",
    ]
    rows = []
    for bits in cells.bits:
        for method in methods:
            if cells.mean(size, bits, method, "fun") is None:
                continue
            rows.append(
                [
                    bits,
                    method,
                    cells.mean(size, bits, method, "map_hash"),
                    cells.difference(size, bits, method, "map_hash"),
                    cells.mean(size, bits, method, "map_learned"),
                    cells.difference(size, bits, method, "map_learned"),
                    cells.mean(size, bits, method, "map_expected_hash"),
                    cells.mean(size, bits, method, "fun"),
                    cells.mean(size, bits, method, "wall"),
                ]
            )
    caption = (
        "mAP over the whole ranking: 'hash' codes queries and database by the hash function, 'learned' keeps "
        f"the learned codes in the database. 'vs {OURS}': mean paired difference over seeds, and its error. "
        "'ties averaged': mAP hash, in the mean over orders of equal distances. Objective: min over W, w of "
        "|Y - X W' - 1 w'|_1 + |W|^2/2 for the learned codes X. Seconds of the fit on one thread."
    )
    return ReportTable(size, columns, rows, caption, frozen=2, group="Numbers by data set", tab=size)


def _by_bits(
    cells: _Cells, sizes: Sequence[str], methods: Sequence[str], key: str, title: str, log: bool = False
) -> Figure:
    panels = []
    for size in sizes:
        series = [
            Series(m, cells.bits, [cells.mean(size, bits, m, key) for bits in cells.bits], strong=m == OURS)
            for m in methods
        ]
        panels.append(Panel(size, "bits", title.split(",")[0], series, log_y=log, x_ticks=cells.bits))
    what, _, coding = title.partition(", ")
    return Figure(title, panels, f"{title}. {cells.protocol}", group=_place(coding), tab=what)


def _place(coding: str) -> str:
    """The tabs that a figure is among."""
    return f"Figures: {coding}" if coding else ""


def _curves(cells: _Cells, sizes: Sequence[str], methods: Sequence[str], coding: str, bits: int) -> Figure:
    panels = []
    for size in sizes:
        curves = {m: cells.mean(size, bits, m, f"curve_{coding}") for m in methods}
        series = [
            Series(m, RECALL, curve, strong=m == OURS) for m, curve in curves.items() if curve is not None
        ]
        panels.append(Panel(size, "recall", "precision", series))
    title = f"Precision and recall, {bits} bits, {CODING[coding]}"
    caption = f"{title}: the best precision at this recall or beyond. {cells.protocol}"
    return Figure(
        title, panels, caption, group=_place(CODING[coding]), tab=f"Precision and recall, {bits} bits"
    )


def _depths(cells: _Cells, sizes: Sequence[str], methods: Sequence[str], coding: str) -> Figure:
    bits = 32 if 32 in cells.bits else max(cells.bits, default=32)
    panels = []
    for size in sizes:
        series = []
        for m in methods:
            depths = cells.mean(size, bits, m, f"depths_{coding}")
            if depths is not None:
                precision = cells.mean(size, bits, m, f"precision_{coding}")
                series.append(Series(m, depths, precision, strong=m == OURS))
        panels.append(Panel(size, "retrieved samples", "precision", series, log_x=True))
    title = f"Precision among the first retrieved, {bits} bits, {CODING[coding]}"
    caption = f"{title}. {cells.protocol}"
    return Figure(title, panels, caption, group=_place(CODING[coding]), tab="Precision of the first")
