"""Draw what `dcra bench regression` has found: planted weights recovered, over the share of wrong rows.

    dcra bench regression --preset full --out regression
    python examples/robust_regression.py regression robust_regression.png

Bars are two standard errors. What the methods are says `dcra.bench.regression`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dcra.bench import rows
from dcra.bench.compare import grouped
from dcra.bench.regression import N_ROWS, N_WEIGHTS, spread

LABELS = {
    "l1": "auto, l1",
    "l1-capped": "auto, l1 then capped",
    "lp": "l1 relaxed (LP), rounded",
    "huber": "Huber, rounded",
    "ridge": "ridge (CV), rounded",
    "lasso": "lasso (CV), rounded",
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555", "#E69F00")  # Okabe and Ito's, and grey
MARKERS = ("o", "s", "^", "D", "v", "X")


def draw(found: Sequence[dict[str, Any]], path: Path) -> None:
    """Shares recovered, a curve for each method."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 4.6), layout="constrained")
    axes = figure.add_subplot()
    groups = grouped(found, "method", "percent")
    percents = sorted({percent for _, percent in groups})
    for m, method in enumerate(LABELS):
        shares = [[100 * row["found"] for row in groups.get((method, p), [])] for p in percents]
        if all(shares):
            x = np.asarray(percents) + 0.45 * (m - 2.5)  # side by side, so that no bar hides another
            curve(axes, m, x, shares)
    axes.axhline(50, color="#999999", linewidth=1, linestyle=":")
    axes.text(0, 49, "guessing", color="#666666", va="top", ha="left", fontsize=9)
    axes.set_xlabel("rows hit by gross errors (%)")
    axes.set_ylabel("planted weights found (%)")
    count = len({row["instance"] for row in found}) // len(percents)
    axes.set_title(f"{N_WEIGHTS} weights of ±1 from {N_ROWS} rows, {count} data sets per point")
    axes.set_xticks(percents)
    axes.set_ylim(42, 103)
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right center", frameon=False)
    figure.savefig(path, dpi=150)


def curve(axes: Any, m: int, x: Any, shares: Sequence[Sequence[float]]) -> None:
    """Means with bars; ours are thick."""
    ours = m < 2
    axes.errorbar(
        x,
        [np.mean(part) for part in shares],
        [2 * spread(part) for part in shares],
        color=COLOURS[m],
        marker=MARKERS[m],
        linestyle="-" if ours else "--",
        linewidth=2.4 if ours else 1.4,
        markersize=7 if ours else 6,
        capsize=3,
        label=list(LABELS.values())[m],
        zorder=3 if ours else 2,
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where the rows are")
    parser.add_argument("picture", type=Path, help="where to write the picture")
    options = parser.parse_args(argv)
    found = [row for row in rows.read(options.folder) if row.get("status", "ok") == "ok"]
    draw(found, options.picture)


if __name__ == "__main__":
    main()
