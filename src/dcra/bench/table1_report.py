"""The report of benchmark `table1`."""

from __future__ import annotations

from collections.abc import Sequence

from dcra.bench.base import Row
from dcra.bench.compare import grouped
from dcra.bench.paper import PAPER
from dcra.bench.sections import Section
from dcra.bench.table1_figures import anytime, profiles
from dcra.bench.table1_own_block import own_block
from dcra.bench.table1_published import objectives, seconds
from dcra.bench.table1_tables import OURS, glance, tables
from dcra.bench.table1_words import summary


def sections(rows: Sequence[Row]) -> list[Section]:
    """Everything the report says."""
    order = [f"{n}x{d}" for n, d in PAPER]
    rows = sorted(rows, key=lambda row: (order.index(row["size"]), row["seed"]))
    runs = by_budget(rows)
    parts: list[Section] = [summary(runs, OURS), *own_block(runs)]
    if rows:
        parts += [glance(runs), profiles(runs), *anytime(rows), objectives(rows), seconds(rows)]
    for title, group in runs.items():
        parts += tables(title, group)
    return parts


def by_budget(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by their budgets, shortest first, under the words for them; a method's own end comes last."""
    groups = grouped(rows, "factor")
    factors = sorted((factor for factor in groups if factor is not None), key=float)
    named = {
        "at the paper's seconds" if factor == 1 else f"at {factor:g} x the paper's seconds": groups[factor]
        for factor in factors
    }
    return named | ({"to its own end": groups[None]} if None in groups else {})
