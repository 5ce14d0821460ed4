"""Comparing rows: who wins, by how much, how soon, how often."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host
from dcra.bench.base import Row
from dcra.bench.sections import Series

TIE = 1e-9
"""Objectives that differ by less than this, relatively, are equal: the rest is rounding."""

NEVER = 1e200
"""Larger than any objective: there is no answer yet."""

DEFINITIONS = (
    "A win is a strictly better judged objective on the same instance; objectives equal to nine digits are "
    "ties and counted apart. The relative difference is (ours - other) / other, averaged over instances: "
    "negative means that ours is better."
)


class Duel(NamedTuple):
    """Our rows against another's on the same instances: shares, and the mean of (ours - other) / other."""

    wins: float
    ties: float
    difference: float | None
    pairs: int

    @property
    def losses(self) -> float:
        return abs(round(1 - self.wins - self.ties, 9))


def grouped(rows: Iterable[Row], *names: str) -> dict[Any, list[Row]]:
    """Rows by the value of a field, or by a tuple of several, in order of appearance."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        key = tuple(row.get(name) for name in names)
        groups.setdefault(key if len(names) > 1 else key[0], []).append(row)
    return groups


def mean(rows: Sequence[Row], name: str) -> float | None:
    """Mean of a field over the rows that have it."""
    values = [row[name] for row in rows if row.get(name) is not None]
    return float(np.mean(values)) if values else None


def sign(ours: float, other: float) -> int:
    """-1 where ours is strictly better, 0 for a tie, 1 where it is worse."""
    if abs(ours - other) <= TIE * max(abs(ours), abs(other)):
        return 0
    return -1 if ours < other else 1


def duel(ours: Sequence[Row], others: Sequence[Row]) -> Duel | None:
    """How we fare on the instances that both have; None if there are none."""
    theirs = {(row["instance"], row["seed"]): row["fun"] for row in others}
    pairs = [
        (row["fun"], theirs[row["instance"], row["seed"]])
        for row in ours
        if (row["instance"], row["seed"]) in theirs
    ]
    if not pairs:
        return None
    signs = [sign(a, b) for a, b in pairs]
    differences = [(a - b) / b if b else 0.0 for a, b in pairs if b or a == b]
    count = len(pairs)
    difference = float(np.mean(differences)) if differences else None
    return Duel(signs.count(-1) / count, signs.count(0) / count, difference, count)


def best_shares(rows: Sequence[Row]) -> dict[str, tuple[float, float]]:
    """For each method the shares of instances where it alone is best, and where it is best with others."""
    groups = grouped(rows, "instance", "seed").values()
    counts = {row["method"]: [0, 0] for row in rows}
    for group in groups:
        least = min(row["fun"] for row in group)
        leaders = {row["method"] for row in group if sign(row["fun"], least) == 0}
        for method in leaders:
            counts[method][len(leaders) > 1] += 1
    return {method: (alone / len(groups), tied / len(groups)) for method, (alone, tied) in counts.items()}


def profile(rows: Sequence[Row], strong: str = "", worst: float = 3.0) -> list[Series]:
    """Performance profile: the share of instances on which a method is within a factor of the best."""
    grid = np.geomspace(1.0, worst, 121)
    ratios: dict[str, list[float]] = {}
    groups = grouped(rows, "instance", "seed").values()
    for group in groups:
        least = min(row["fun"] for row in group)
        for row in group:
            ratios.setdefault(row["method"], []).append(row["fun"] / least if least else inf)
    return [
        Series(
            method,
            grid.tolist(),
            [sum(ratio <= x * (1 + TIE) for ratio in found) / len(groups) for x in grid],
            kind="step",
            strong=method == strong,
        )
        for method, found in ratios.items()
    ]


def anytime(
    rows: Sequence[Row], strong: str = "", scale: str | None = None, points: int = 60
) -> list[Series]:
    """Median objective over time, with quartiles, one curve for each method, all to the same end.

    `scale` names a field to divide by. A point is drawn where half of the instances have an answer.
    """
    end = max(max(_path(row)[-1, 0], row["wall"]) for row in rows)
    return [
        _curve(method, group, scale, end, points, method == strong)
        for method, group in grouped(rows, "method").items()
    ]


def _curve(
    method: str, rows: Sequence[Row], scale: str | None, end: float, points: int, strong: bool
) -> Series:
    paths = [_path(row) for row in rows]
    units = np.asarray([row[scale] if scale is not None else 1.0 for row in rows])
    first = max(1e-5, min(path[0, 0] for path in paths))
    grid = np.geomspace(first, max(end, 1.01 * first), points)
    grid = np.unique([*grid, *(path[0, 0] for path in paths)])  # curves begin where they do
    values = np.stack([_at(path, grid) for path in paths]) / units[:, None]
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    shown = middle < NEVER

    def listed(curve: Host) -> list[float | None]:
        return [float(v) if v < NEVER else None for v in curve[shown]]

    return Series(
        method, grid[shown].tolist(), listed(middle), listed(low), listed(high), kind="step", strong=strong
    )


def _path(row: Row) -> Host:
    """The improvements (seconds, objective) of a row; the answer alone where it has none."""
    return np.asarray(row.get("history") or [[row["wall"], row["fun"]]], float)


def _at(path: Host, times: Host) -> Host:
    """The best value of a history at each of some times; huge before there is one."""
    index = np.searchsorted(path[:, 0], times * (1 + 1e-9), side="right") - 1
    return np.where(index >= 0, path[np.maximum(index, 0), 1], NEVER * 1e9)


def columns(
    groups: dict[Any, list[Row]], methods: Sequence[str], cell: Callable[[list[Row]], Any]
) -> list[list[Any]]:
    """One line of cells for each group, one cell for each method; None where a method has no rows."""
    lines = []
    for group in groups.values():
        parts = grouped(group, "method")
        lines.append([cell(parts[method]) if method in parts else None for method in methods])
    return lines
