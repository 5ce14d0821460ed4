"""What a report is made of: plain data, drawn by the HTML page and by matplotlib alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Cell = str | float | int | None


@dataclass(frozen=True)
class Text:
    """A heading and paragraphs of plain words."""

    title: str
    paragraphs: Sequence[str]


@dataclass(frozen=True)
class ReportTable:
    """Columns by name, and one sequence of cells per row; the caption defines what the columns say."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    digits: int = 4
    """Significant digits of the numbers shown; the download has them all."""
    best: Literal["", "min", "max"] = ""
    """Which number of each line stands out."""
    best_from: int = 0
    """The first column that takes part in that."""
    frozen: int = 1
    """Columns that stay in sight when the others are scrolled."""
    group: str = ""
    """Tables and figures one after another with the same group share a place on the page, as tabs."""
    tab: str = ""
    """What the tab of this table says; the title by default."""


@dataclass(frozen=True)
class Series:
    """One curve: points (x, y), and where given the band or bar from `low` to `high`."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    kind: Literal["line", "points", "step"] = "line"
    bars: bool = False
    """Draw `low` and `high` as bars rather than as a band."""
    strong: bool = False
    """The curve to look at first."""


@dataclass(frozen=True)
class Heat:
    """A map of values z[j][i] at (x[i], y[j]); curves may be drawn over it."""

    x: Sequence[float]
    y: Sequence[float]
    z: Sequence[Sequence[float | None]]
    label: str = ""
    span: tuple[float, float] | None = None
    """The values at the two ends of the colour scale; None takes them from z."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series] = ()
    heat: Heat | None = None
    log_x: bool = False
    log_y: bool = False
    x_ticks: Sequence[float] = ()
    """Where the ticks of x are, for values that only come so; none lets the scale choose."""


@dataclass(frozen=True)
class Figure:
    """Panels side by side; a series of the same name has the same colour in all of them."""

    title: str
    panels: Sequence[Panel] = field(default_factory=tuple)
    caption: str = ""
    group: str = ""
    """Figures and tables one after another with the same group share a place on the page, as tabs."""
    tab: str = ""
    """What the tab of this figure says; the title by default."""


Section = Text | ReportTable | Figure
