"""Pictures and tables of results. Pictures need matplotlib, imported here only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import inf
from pathlib import Path
from typing import Any, Protocol

BLUE, ORANGE, GREY = "#1f6feb", "#d1580b", "#57606a"
OTHERS = ("#8250df", "#1a7f37", "#bf3989", "#9a6700")
SIZE = (6.4, 3.8)


class Story(Protocol):
    """What is drawn of a result; rows of the history are (seconds, fun, lower_bound)."""

    @property
    def history(self) -> tuple[tuple[float, float, float], ...]: ...
    @property
    def seconds(self) -> float: ...
    @property
    def fun(self) -> float: ...
    @property
    def lower_bound(self) -> float: ...
    @property
    def method(self) -> str: ...
    @property
    def status(self) -> Any: ...


def plot_history(result: Story, ax: Any = None) -> Any:
    """Objective and lower bound over time, as steps, the gap between them, the target. Returns the axes."""
    ax = _axes() if ax is None else ax
    draw_objective(ax, result, f"best objective: {result.fun:.6g}", BLUE)
    end = (result.seconds, result.fun, result.lower_bound)
    rows = [row for row in (*result.history, end) if row[2] > -inf]
    if rows:
        times, values, bounds = zip(*rows, strict=True)
        label = f"lower bound: {result.lower_bound:.6g}"
        ax.step(times, bounds, where="post", label=label, color=ORANGE, linestyle="--")
        ax.fill_between(times, bounds, values, step="post", color=BLUE, alpha=0.06, linewidth=0)
    target = getattr(result, "target", None)
    if target is not None:
        ax.axhline(target, color=GREY, linestyle=":", linewidth=1, label=f"target: {target:.6g}")
    ax.set_title(f"method {result.method}, {result.status.value.replace('_', ' ')}")
    return _finished(ax, [result])


def plot_comparison(results: Mapping[str, Story], levels: Mapping[str, float], ax: Any = None) -> Any:
    """Objectives of several results over time, the last one on top, and named levels. Returns the axes."""
    ax = _axes() if ax is None else ax
    *others, ours = results.items()
    for (name, result), color in zip(others, OTHERS * len(others), strict=False):
        draw_objective(ax, result, f"{name}: {result.fun:.6g}", color)
    draw_objective(ax, ours[1], f"{ours[0]}: {ours[1].fun:.6g}", BLUE)
    for name, level in levels.items():
        ax.axhline(level, color=GREY, linestyle=":", linewidth=1)
        ax.text(
            0.01, level, name, transform=ax.get_yaxis_transform(), va="bottom", color=GREY, fontsize="small"
        )
    return _finished(ax, list(results.values()))


def as_html(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values as a table for a notebook."""
    lines = [
        f"<tr><th style='text-align:right'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows
    ]
    return f"<table>{''.join(lines)}</table>"


def save_history(result: Story, path: str | Path) -> None:
    """Write `plot_history` to a file, whose extension says in which format."""
    figure = new_figure()
    plot_history(result, figure.subplots())
    figure.savefig(path, dpi=150)


def new_figure() -> Any:
    """A figure that no window shows and nobody has to close."""
    _require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=SIZE, layout="constrained")


def picture_types() -> list[str]:
    """Extensions that pictures can be written with."""
    _require_matplotlib()
    from matplotlib.backend_bases import FigureCanvasBase

    return [f".{name}" for name in FigureCanvasBase.get_supported_filetypes()]


def draw_objective(ax: Any, result: Story, label: str, color: str) -> None:
    times = [row[0] for row in result.history] + [result.seconds]
    values = [row[1] for row in result.history] + [result.fun]
    ax.step(times, values, where="post", label=label, color=color, linewidth=2)
    ax.plot(times[-1], values[-1], "o", color=color, markersize=5)


def _axes() -> Any:
    _require_matplotlib()
    from matplotlib import pyplot as plt

    _, ax = plt.subplots(figsize=SIZE, layout="constrained")
    return ax


def _finished(ax: Any, results: list[Story]) -> Any:
    first = min((result.history[0][0] for result in results if result.history), default=0.0)
    if first > 0 and max(result.seconds for result in results) / first > 20:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("")  # over less than a decade or two their labels would overlap
    ax.set(xlabel="seconds", ylabel="objective")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("plotting needs matplotlib: pip install 'dcra[plot]'") from error
