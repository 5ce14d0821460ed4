"""What the rows of benchmark `table1` say, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from dcra.bench.base import Row
from dcra.bench.compare import best_shares, duel, grouped, mean
from dcra.bench.gaussian import size_of
from dcra.bench.paper import PAPER
from dcra.bench.sections import Text

CLOSEST = 3
"""Rivals that are named."""


def summary(runs: dict[str, list[Row]], ours: str) -> Text:
    """Where `ours` wins at each budget, by how much, and where it does not."""
    paragraphs = [budget(title, rows, ours) for title, rows in runs.items()]
    return Text("In short", paragraphs or ["There are no finished rows yet."])


def budget(title: str, rows: Sequence[Row], ours: str) -> str:
    """What is to be said of one budget."""
    parts = grouped(rows, "method")
    count = len(grouped(rows, "instance"))
    sizes = list(grouped(rows, "size"))
    head = f"{title[0].upper()}{title[1:]} ({_many(len(sizes), 'size')}, {_many(count, 'instance')}): "
    if ours not in parts or len(parts) == 1:
        return f"{head}no rivals to compare {ours} with."
    said = (standing(rows, ours), levels(parts[ours]), rivals(parts, ours), losses(rows, ours))
    return head + " ".join(said)


def standing(rows: Sequence[Row], ours: str) -> str:
    """How often we are best of all."""
    alone, tied = best_shares(rows)[ours]
    others = len({row["method"] for row in rows}) - 1
    words = f"{ours} alone has the best objective in {alone:.0%} of the instances, among {others} rivals"
    return f"{words}, and shares it in {tied:.0%}." if tied else f"{words}."


def levels(rows: Sequence[Row]) -> str:
    """Our objective in units of the floor and of the paper's."""
    sizes = grouped(rows, "size")
    floors = [_mean(found, "fun") / _mean(found, "floor") - 1 for found in sizes.values()]
    printed = [_mean(found, "fun") / PAPER[size_of(size)].dcra - 1 for size, found in sizes.items()]
    return (
        f"Its mean objective lies {_range(floors)} above the floor, "
        f"and {_range([-share for share in printed])} below what the paper prints for its DCRA."
    )


def rivals(parts: dict[str, list[Row]], ours: str) -> str:
    """The closest rivals by mean relative difference."""
    found = {
        method: fight.difference
        for method, others in parts.items()
        if method != ours and (fight := duel(parts[ours], others)) and fight.difference is not None
    }
    ranked = sorted(found.items(), key=lambda item: -item[1])
    closest = ", ".join(f"{method} ({100 * difference:+.1f}%)" for method, difference in ranked[:CLOSEST])
    return f"The closest rivals by mean relative difference are {closest}."


def losses(rows: Sequence[Row], ours: str) -> str:
    """The sizes at which somebody's mean objective is better, with name and amount."""
    lost = []
    for size, found in grouped(rows, "size").items():
        parts = grouped(found, "method")
        leads = {method: lead(parts.get(ours, ()), others) for method, others in parts.items()}
        best = max(leads, key=lambda method: leads[method])
        if leads[best] > 0:
            lost.append(f"{size} ({best} is {leads[best]:.1%} lower)")
    if not lost:
        return "No rival has a better mean objective at any size."
    return f"It does not have the best mean objective at {', '.join(lost)}."


def lead(ours: Sequence[Row], others: Sequence[Row]) -> float:
    """How much lower another's mean objective is on the instances that both have."""
    theirs = {row["instance"]: row["fun"] for row in others}
    pairs = [(row["fun"], theirs[row["instance"]]) for row in ours if row["instance"] in theirs]
    return 1 - sum(b for _, b in pairs) / sum(a for a, _ in pairs) if pairs else 0.0


def _mean(rows: Sequence[Row], name: str) -> float:
    found = mean(rows, name)
    assert found is not None
    return found


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _range(shares: Sequence[float]) -> str:
    low, high = min(shares), max(shares)
    return f"{low:.1%}" if f"{low:.1%}" == f"{high:.1%}" else f"{low:.1%} to {high:.1%}"
