"""The figures of a report as files for papers, by matplotlib."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.bench.report import Report
from dcra.bench.sections import Figure, Heat, Panel, Series
from dcra.io.contents import replacing
from dcra.messages import suggest

FORMATS = ("png", "pdf")
WIDTH, HEIGHT, ACROSS = 4.2, 3.1, 3
"""Inches of a panel, and panels side by side."""

COLOURS = (
    *("#2454d6", "#d9541e", "#12855a", "#a13bb5", "#b58900"),
    *("#0f8fb3", "#c2255c", "#6b7a1e", "#7a5c46", "#6d6f78"),
)
DASHES = ("-", "--", ":")
Look = dict[str, tuple[str, str]]


def check_format(name: str) -> None:
    """Refuse what cannot be drawn, before anything is."""
    if name not in FORMATS:
        raise ValueError(suggest("--figures", name, FORMATS))
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("`--figures` needs matplotlib: pip install 'dcra[plot]'") from None


def draw_all(report: Report, folder: Path, form: str) -> Iterator[Path]:
    """Draw every figure of a report; the files, as they are written."""
    folder.mkdir(exist_ok=True)
    figures = [part for part in report.sections if isinstance(part, Figure)]
    names = [one.name for figure in figures for panel in figure.panels for one in panel.series]
    looks = {
        name: (colour, dash)
        for name, (dash, colour) in zip(dict.fromkeys(names), product(DASHES, COLOURS), strict=False)
    }
    for i, figure in enumerate(figures, 1):
        words = re.sub(r"[^a-z0-9]+", "-", figure.title.lower()).strip("-")
        file = folder / f"{i:02d}-{words}.{form}"
        with replacing(file) as draft:
            save(figure, draft, looks)
        yield file


def save(figure: Figure, file: Path, looks: Look) -> None:
    """Draw one figure, with a legend for all its panels below them."""
    from matplotlib.figure import Figure as Canvas

    across = min(ACROSS, len(figure.panels)) or 1
    down = -(-len(figure.panels) // across) or 1
    canvas = Canvas(figsize=(WIDTH * across, HEIGHT * down + 0.6), layout="constrained")
    axes = canvas.subplots(down, across, squeeze=False).ravel()
    for ax, panel in zip(axes, figure.panels, strict=False):
        draw(ax, panel, looks)
    for ax in axes[len(figure.panels) :]:
        ax.set_axis_off()
    handles = {
        label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    if handles:
        canvas.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=6, frameon=False, fontsize=8
        )
    canvas.savefig(file, dpi=200)


def draw(ax: Any, panel: Panel, looks: Look) -> None:
    """One pair of axes."""
    ax.set_title(panel.title, fontsize=10)
    ax.set_xlabel(panel.x_label, fontsize=9)
    ax.set_ylabel(panel.y_label, fontsize=9)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    if panel.log_x:
        ax.set_xscale("log")
    if panel.log_y:
        ax.set_yscale("log")
    if panel.heat is not None:
        _map(ax, panel.heat)
    else:
        ax.grid(alpha=0.25, linewidth=0.6)
    for one in panel.series:
        _series(ax, one, *looks.get(one.name, (COLOURS[0], "-")), over_map=panel.heat is not None)
    if panel.x_ticks:
        ax.set_xticks(panel.x_ticks, [f"{value:g}" for value in panel.x_ticks], minor=False)
    for axis, log in ((ax.xaxis, panel.log_x and not panel.x_ticks), (ax.yaxis, panel.log_y)):
        low, high = axis.get_view_interval()
        if log and high < 20 * low:  # too short for powers of ten alone
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter("{x:g}")
            axis.set_tick_params(which="minor", labelsize=7)


def _series(ax: Any, one: Series, colour: str, dash: str, over_map: bool) -> None:
    from matplotlib.patheffects import withStroke

    x, y = np.asarray(one.x, float), _numbers(one.y)
    marker = "o" if one.kind == "points" or one.bars or len(x) == 1 else ""
    options = {"color": colour, "label": one.name, "linewidth": 2.2 if one.strong else 1.2}
    style = "none" if one.kind == "points" else dash
    halo = [withStroke(linewidth=3.5, foreground="white")] if over_map else None
    ax.plot(
        x,
        y,
        marker=marker,
        markersize=3.5,
        linestyle=style,
        drawstyle="steps-post" if one.kind == "step" else "default",
        zorder=3 if one.strong else 2,
        path_effects=halo,
        **options,
    )
    if one.low is None or one.high is None:
        return
    low, high = _numbers(one.low), _numbers(one.high)
    if one.bars:
        spread = np.maximum([y - low, high - y], 0)
        ax.errorbar(x, y, spread, fmt="none", ecolor=colour, elinewidth=0.9, capsize=2.5)
    else:
        ax.fill_between(
            x, low, high, color=colour, alpha=0.12, step="post" if one.kind == "step" else None, linewidth=0
        )


def _map(ax: Any, heat: Heat) -> None:
    low, high = heat.span or (None, None)
    z = np.ma.masked_invalid(np.stack([_numbers(line) for line in heat.z]))
    mesh = ax.pcolormesh(
        heat.x, heat.y, z, vmin=low, vmax=high, shading="nearest", cmap="viridis", rasterized=True
    )
    ax.figure.colorbar(mesh, ax=ax, label=heat.label)


def _numbers(values: Sequence[float | None]) -> Host:
    return np.asarray([np.nan if value is None else value for value in values], float)
