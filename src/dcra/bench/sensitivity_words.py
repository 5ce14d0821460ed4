"""What the rows of benchmark `sensitivity` say, in words; nothing is called best that chance can explain."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np

from dcra.bench.base import Row
from dcra.bench.compare import grouped
from dcra.bench.sections import ReportTable, Text
from dcra.bench.sensitivity import STUDIES

ERRORS = 2.0
"""Differences of at most so many standard errors are called chance."""

PAPER_SAYS = {
    "paper-rank": "improves rapidly from small m, then stable beyond 1 to 10; above 10 less stable at the "
    "larger size; runtime rises sharply for large m",
    "paper-rho": "moderate values are stable and good; very small ones unstable and slower; very large ones "
    "can be worse",
    "paper-delta": "stable over a broad range; very large values quicker, often at the expense of quality",
}


class Level(NamedTuple):
    """One value of a parameter: its trials, the mean, and how far it lies above the best value, in shares."""

    value: float
    trials: int
    mean: float
    deviation: float
    above: float
    error: float
    cpu: float

    @property
    def alike(self) -> bool:
        """Whether the difference to the best value is within chance, as far as that is known."""
        return self.above == 0 or (isfinite(self.error) and self.above <= ERRORS * self.error)


def levels(rows: Sequence[Row]) -> list[Level]:
    """Every value of one study at one size, smallest first.

    A trial is the same instance and the same start for all values, so differences are taken trial by trial.
    One trial says nothing of chance: its error is infinite.
    """
    trials = dict(sorted(grouped(rows, "value").items()))
    best = min(trials, key=lambda value: spread(trials[value], "fun")[0])
    base = {row["seed"]: row["fun"] for row in trials[best]}
    found = []
    for value, group in trials.items():
        mean, deviation = spread(group, "fun")
        pairs = [(row["fun"], base[row["seed"]]) for row in group if row["seed"] in base]
        shares = np.asarray([a - b for a, b in pairs]) / np.mean([b for _, b in pairs])
        error = float(shares.std(ddof=1)) / sqrt(shares.size) if shares.size > 1 else inf
        cpu = float(np.mean([row["cpu"] for row in group]))
        found.append(Level(value, len(group), mean, deviation, float(shares.mean()), error, cpu))
    return found


def spread(rows: Sequence[Row], field: str) -> tuple[float, float]:
    """Mean and standard deviation."""
    values = np.asarray([row[field] for row in rows], float)
    return float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else 0.0


def heading(name: str) -> str:
    """What is varied, in words."""
    study = STUDIES[name]
    kind = "Paper's preset" if name.startswith("paper-") else f"Engine {study.engine}"
    return f"{kind}: {study.label.partition(' (')[0]}"


def message(studies: dict[str, list[Row]]) -> Text:
    """Two sentences: what moves the paper's preset, and what moves our default."""
    if not studies:
        return Text("In short", ["There are no finished rows yet."])
    groups = {
        "One start of the paper's preset": [name for name in studies if name.startswith("paper-")],
        "One start of engine dcra with our constants": [
            name for name in studies if STUDIES[name].engine == "dcra"
        ],
    }
    if not any(groups.values()):
        groups = {"One start of engine sweep": list(studies)}
    words = [
        f"{who} is as good as at its best value, to two standard errors, for "
        + "; ".join(_good(name, studies[name]) for name in names)
        + "."
        for who, names in groups.items()
        if names
    ]
    return Text("In short", words)


def _good(name: str, rows: Sequence[Row]) -> str:
    parts = []
    for size, group in grouped(rows, "size").items():
        found = levels(group)
        worst = max(found, key=lambda level: level.above)
        flat = all(level.alike for level in found)
        far = f"{span(around(found))} at {size} (worst: {worst.value:.4g}, {_percent(worst)} above)"
        parts.append(f"every value at {size} (flat)" if flat else far)
    return f"{heading(name).partition(': ')[2]} of {', '.join(parts)}"


def span(run: Sequence[Level]) -> str:
    """The first and the last value of a run."""
    first, last = f"{run[0].value:.4g}", f"{run[-1].value:.4g}"
    return first if first == last else f"{first} to {last}"


def _percent(level: Level) -> str:
    error = f"± {100 * level.error:.1f} %" if isfinite(level.error) else "% in one trial"
    return f"{100 * level.above:.1f} {error}"


def sentence(name: str, rows: Sequence[Row]) -> str:
    """Where the objective cannot be told from the best, size by size; "flat" where that is everywhere."""
    parts = []
    for size, group in grouped(rows, "size").items():
        found = levels(group)
        worst = max(found, key=lambda level: level.above)
        if all(level.alike for level in found):
            parts.append(f"flat at {size}: no value is above the lowest mean by over two standard errors")
            continue
        where = span(around(found))
        parts.append(
            f"at {size} nothing is better than {where} by over two standard errors, and the worst value, "
            f"{worst.value:.4g}, is {_percent(worst)} above"
        )
    return f"{heading(name)}: {'; '.join(parts)}."


def around(found: Sequence[Level]) -> Sequence[Level]:
    """The unbroken run of values that cannot be told from the best one, which lies in it."""
    first = last = min(range(len(found)), key=lambda i: found[i].above)
    while first > 0 and found[first - 1].alike:
        first -= 1
    while last + 1 < len(found) and found[last + 1].alike:
        last += 1
    return found[first : last + 1]


def beside_the_paper(studies: dict[str, list[Row]]) -> list[ReportTable]:
    """The paper's sentences on its Figure 1 beside what the rows of its preset show; none without them."""
    lines = [
        [heading(name).partition(": ")[2], PAPER_SAYS[name], size, measured(levels(group))]
        for name in PAPER_SAYS
        if name in studies
        for size, group in grouped(studies[name], "size").items()
    ]
    columns = ["parameter", "the paper says", "size", "measured"]
    caption = (
        "Ends and best of each range: mean objective above the best value with its standard error, standard "
        "deviation over trials, CPU seconds of a start."
    )
    return [ReportTable("Beside the paper's words", columns, lines, caption)] if lines else []


def measured(found: Sequence[Level]) -> str:
    """The smallest, the best and the largest value, in one line."""
    best = min(found, key=lambda level: level.above)
    chosen = dict.fromkeys((found[0], best, found[-1]))
    return "at " + "; at ".join(
        f"{level.value:.4g}{' (best)' if level is best else ''}: {_percent(level)}, "
        f"s.d. {level.deviation:.3g}, {level.cpu:.2g} s"
        for level in chosen
    )
